# Everything a newcomer needs; each target sets up what it uses.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(if $(filter Windows_NT,$(OS)),$(VENV)/Scripts,$(VENV)/bin)
READY  := $(VENV)/.ready
AGENTS := tests/agents/node_modules
WORKERS ?= auto

.PHONY: demo test test-clients test-agents test-stress check packages bench-startup bench-hooks bench-store clean

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

check: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

packages: $(READY)
	$(BIN)/python scripts/build_packages.py

bench-startup: $(READY)
	$(BIN)/python bench/startup.py

bench-hooks: $(READY)
	$(BIN)/python bench/hooks.py

bench-store: $(READY)
	$(BIN)/python bench/store.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

$(AGENTS)/.ready: tests/agents/package.json
	npm --prefix tests/agents install --no-package-lock --no-audit --no-fund --loglevel=error
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .coverage*
