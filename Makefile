# Each target sets itself up from nothing: its own virtual environment in .venv, uv where it is there, else pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench clean

demo: $(VENV)/.demo
	@$(BIN)/python examples/demo.py

test: $(VENV)/.tools
	$(BIN)/python -m pytest -q -n 2

check: $(VENV)/.tools
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run

clean:
	rm -rf $(VENV) out

$(VENV)/.installed: pyproject.toml
	@PYTHON="$(PYTHON)" sh tools/install.sh $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.installed
	@PYTHON="$(PYTHON)" sh tools/install.sh $(VENV) demo
	@touch $@

$(VENV)/.tools: $(VENV)/.installed
	@PYTHON="$(PYTHON)" sh tools/install.sh $(VENV) test check
	@touch $@

$(VENV)/.bench: $(VENV)/.installed
	@PYTHON="$(PYTHON)" sh tools/install.sh $(VENV) bench
	@touch $@
