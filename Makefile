# Each target sets itself up from nothing: its own virtual environment in .venv, uv where it is there, else pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Systems that others wrote: frameworks get Steelyard beside them, servers stand alone.
FRAMEWORKS := llamaindex langchain
SERVERS := litellm transformers proxy
FOREIGN := $(FRAMEWORKS:%=.venv-foreign/%/.installed) $(SERVERS:%=.venv-foreign/%/.installed)

.PHONY: demo test foreign test-foreign check bench bench-quick clean

demo: $(VENV)/.demo
	@$(BIN)/python examples/demo.py

test: $(VENV)/.tools
	$(BIN)/python -m pytest -q -n 2 --ignore=tests/foreign

foreign: $(FOREIGN)

test-foreign: $(VENV)/.tools $(FOREIGN)
	STEELYARD_TEST_FOREIGN=required $(BIN)/python -m pytest -q tests/foreign

check: $(VENV)/.tools
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run

# CPU of 20,000 samples beside a bare loop; fails only far above the goal, as a busy machine measures badly.
bench-quick: $(VENV)/.installed
	$(BIN)/python -m benchmarks.run --quick

clean:
	rm -rf $(VENV) .venv-foreign out

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

$(FRAMEWORKS:%=.venv-foreign/%/.installed): .venv-foreign/%/.installed: pyproject.toml
	@PYTHON="$(PYTHON)" sh tools/install.sh .venv-foreign/$* foreign-$*
	@touch $@

$(SERVERS:%=.venv-foreign/%/.installed): .venv-foreign/%/.installed: pyproject.toml
	@PYTHON="$(PYTHON)" sh tools/install.sh --alone .venv-foreign/$* foreign-$*
	@touch $@
