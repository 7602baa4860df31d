# Everything a newcomer needs; each target sets up what it uses.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(if $(filter Windows_NT,$(OS)),$(VENV)/Scripts,$(VENV)/bin)
READY  := $(VENV)/.ready
AGENTS := tests/agents/node_modules
AXE    := tests/browser/node_modules
WORKERS ?= auto

.PHONY: demo test test-clients test-agents test-stress test-browser pictures check packages bench-startup bench-hooks bench-web clean

demo: $(READY)
	@$(BIN)/python demo/run.py

test: $(READY)
	$(BIN)/pytest -n $(WORKERS) --cov --cov-report=term-missing:skip-covered

test-stress: $(READY)
	$(BIN)/pytest -m stress

test-clients: $(READY)
	$(BIN)/pytest -m clients

test-agents: $(READY) $(AGENTS)/.ready
	$(BIN)/pytest -m agents

test-browser: $(READY) $(AXE)/.ready
	$(BIN)/pytest -m browser

# The screenshots of docs/dashboard.md.
pictures: $(READY) $(AXE)/.ready
	PICTURES=docs/images $(BIN)/pytest -m browser -k photographed

check: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

packages: $(READY)
	$(BIN)/python scripts/build_packages.py

bench-startup: $(READY)
	$(BIN)/python bench/startup.py

bench-hooks: $(READY)
	$(BIN)/python bench/hooks.py

bench-web: $(READY)
	$(BIN)/python bench/web.py

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
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .coverage*
