# Everything a newcomer needs; each target sets up what it uses.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(if $(filter Windows_NT,$(OS)),$(VENV)/Scripts,$(VENV)/bin)
READY  := $(VENV)/.ready
AMFS_BIN := $(subst $(VENV)/,$(VENV)-amfs/,$(BIN))
AGENTS := tests/agents/node_modules
AXE    := tests/browser/node_modules
WORKERS ?= auto

.PHONY: demo test test-unit test-clients test-agents test-stress check packages clean
.PHONY: bench bench-check bench-startup bench-hooks bench-search bench-store bench-web
.PHONY: demo-amfs test-amfs test-amfs-server bench-amfs test-browser pictures

demo: $(READY)
	@$(BIN)/python demo/run.py

test: $(READY)
	$(BIN)/pytest -n $(WORKERS) --cov --cov-report=term-missing:skip-covered

# What needs no process of its own: within a minute on four cores.
test-unit: $(READY)
	$(BIN)/pytest -n $(WORKERS) -m "not processes and not clients and not agents and not stress and not browser"

test-stress: $(READY)
	$(BIN)/pytest -m stress

test-clients: $(READY)
	$(BIN)/pytest -m clients

test-agents: $(READY) $(AGENTS)/.ready
	$(BIN)/pytest -m agents

test-browser: $(READY) $(AXE)/.ready
	$(BIN)/pytest tests/browser -m browser

# The screenshots of docs/dashboard.md.
pictures: $(READY) $(AXE)/.ready
	PICTURES=docs/images $(BIN)/pytest tests/browser -m browser -k photographed

demo-amfs: $(READY)
	@$(BIN)/python demo/amfs_bridge.py

test-amfs: $(READY)
	$(BIN)/pytest tests/senselab -m ""

# AMFS's own MCP server brings 70 packages: they stay out of the other tests' way.
test-amfs-server:
	$(PYTHON) -m venv $(VENV)-amfs
	$(AMFS_BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' 'amfs-mcp-server>=0.7.48,<0.8'
	$(AMFS_BIN)/python -m pytest tests/senselab/test_server.py

bench-amfs: $(READY)
	$(BIN)/python bench/amfs_adapter.py

check: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

packages: $(READY)
	$(BIN)/python scripts/build_packages.py

bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python bench/run_bench.py --write --check

bench-check: $(READY)
	$(BIN)/python bench/run_bench.py --quick --check

bench-startup: $(READY)
	$(BIN)/python bench/startup.py

bench-hooks: $(READY)
	$(BIN)/python bench/hooks.py

bench-web: $(READY)
	$(BIN)/python bench/web.py

bench-search: $(READY)
	$(BIN)/python bench/search.py --check

bench-store: $(READY)
	$(BIN)/python bench/store.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

$(AGENTS)/.ready: tests/agents/package.json
	npm --prefix tests/agents install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

$(AXE)/.ready: tests/browser/package.json $(READY)
	command -v chromium chromium-browser google-chrome || \
		(apt-get update && apt-get install -y --no-install-recommends chromium)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	npm --prefix tests/browser install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-amfs build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .coverage*
