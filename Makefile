# Two commands for a newcomer: `make demo` runs the main job without hardware, `make test` the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
STRICT := --config-settings editable_mode=strict

.PHONY: demo test test-all check docs format clean

demo: $(VENV)/.demo
	$(BIN)/aiepipe build-run mlir/matmul.mlir -o aiepipe-out

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto

# the slow ones too: more draws of the property tests, the plain engine on whole programs, thousands of runs
test-all: $(VENV)/.test
	$(BIN)/python -m pytest -n auto -m "slow or not slow"

# pyright and import-linter see the mapping aiepipe -> pipeline/ only through a strict editable install
check: $(VENV)/.check
	$(PIP) --no-deps --editable . $(STRICT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(PIP) --no-deps --editable .

# the docs site, in build/docs: every link and anchor is right, and nothing in it is fetched from elsewhere
docs: $(VENV)/.check
	$(BIN)/python scripts/generate_cli_reference.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --clean
	$(BIN)/python scripts/check_site.py build/docs

format: $(VENV)/.check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist aiepipe-out *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "aiepipe needs Python 3.11 or later; $(PYTHON) is $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	@echo "installing aiepipe into $(VENV) (IREE's compiler is some 100 MB) ..." >&2
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	@echo "installing aiepipe and its test tools into $(VENV) (IREE's compiler is some 100 MB) ..." >&2
	$(PIP) --editable ".[test]"
	@touch $@ $(VENV)/.demo

$(VENV)/.check: pyproject.toml | $(VENV)/bin/python
	@echo "installing aiepipe and its developer tools into $(VENV) ..." >&2
	$(PIP) --editable ".[check]"
	@touch $@ $(VENV)/.test $(VENV)/.demo
