# Each target sets itself up from nothing: its own virtual environment in .venv, uv where it is there, else pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Systems that others wrote: frameworks get Steelyard beside them, servers stand alone.
FRAMEWORKS := llamaindex langchain ray
SERVERS := litellm transformers proxy
FOREIGN := $(FRAMEWORKS:%=.venv-foreign/%/.installed) $(SERVERS:%=.venv-foreign/%/.installed)

.PHONY: demo test test-browser test-scale foreign test-foreign test-ray check docs bench bench-quick package clean

demo: $(VENV)/.demo
	@$(BIN)/python examples/demo.py

# Each process reads its share of the files, in three parts: what it has read stays in its memory. Without bytecode
# every program that a test starts would compile ours again, which takes longer than most of them run. pytest does not
# ignore a folder that is named as an argument, hence the filter.
test: SHARES = $(BIN)/python -m tests.shares 4 -q -o console_output_style=classic --ignore=tests/foreign
test: UNITS = -m "not browser and not scale"
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.tools
	@$(BIN)/python -m tests.servers
	$(SHARES) $(UNITS) --frameworks without $(filter-out tests/foreign,$(wildcard tests/[a-r]*)) src
	$(SHARES) $(UNITS) --frameworks without tests/[!a-r]*
	$(SHARES) $(UNITS) --frameworks only tests

# The same with many more repetitions and new random examples: for the night, or before a release.
.PHONY: test-thorough
test-thorough: export STEELYARD_TEST_THOROUGH = 1
test-thorough: test

# Pages in Chromium: what uses it has the mark, wherever it stands. axe-core is for these tests alone. A file's tests
# share a store, which is made once where one worker has them all.
test-browser: $(VENV)/.tools tests/browser/node_modules/.installed
	STEELYARD_TEST_BROWSER=required $(BIN)/python -m pytest -q -n 2 --dist loadscope -m browser tests/browser tests/report tests/viewer

# Runs with several worker processes on PostgreSQL, which are killed, stopped and cut off.
test-scale: $(VENV)/.tools
	$(BIN)/python -m pytest -q -n 4 -m scale tests/workers

foreign: $(FOREIGN)

test-foreign: $(VENV)/.tools $(FOREIGN)
	STEELYARD_TEST_FOREIGN=required $(BIN)/python -m pytest -q --ignore=$(RAY_TESTS) tests/foreign

# Apart from the others, as a cluster's start may fail on a busy machine: what failed is tried once more.
RAY_TESTS := tests/foreign/test_ray_cluster.py
test-ray: $(VENV)/.tools .venv-foreign/ray/.installed
	export STEELYARD_TEST_FOREIGN=required; \
	$(BIN)/python -m pytest -q $(RAY_TESTS) || $(BIN)/python -m pytest -q --last-failed $(RAY_TESTS)

check: $(VENV)/.tools
	$(BIN)/ruff format --check src tests benchmarks examples tools
	$(BIN)/ruff check src tests benchmarks examples tools
	$(BIN)/mypy
	$(BIN)/mypy --strict examples/agents/build.py examples/agents/desk.py
	$(BIN)/mypy --strict examples/demo.py examples/judges/build.py examples/labels/label.py examples/rag/locate.py examples/tables/score.py
	$(BIN)/lint-imports

# The documentation as a site, in site/: a dead link, or anything that a page would load from elsewhere, fails.
docs: .venv-docs/.installed $(VENV)/.tools
	.venv-docs/bin/zensical build --strict
	STEELYARD_TEST_SITE=required $(BIN)/python -m pytest -q tests/docs/test_site.py

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.run

# CPU of 20,000 samples beside a bare loop; fails only far above the goal, as a busy machine measures badly.
bench-quick: $(VENV)/.installed
	$(BIN)/python -m benchmarks.run --quick

package: $(VENV)/.tools
	rm -rf dist
	$(BIN)/python -m build --outdir dist . >/dev/null
	$(BIN)/twine check --strict dist/*

# The Dockerfile: a linter's rules (dockerfilelint, from npm), and its steps in a plain environment without Docker.
.PHONY: container
container:
	npx --yes dockerfilelint@1.8.0 Dockerfile
	PYTHON="$(PYTHON)" sh tools/container_steps.sh

clean:
	rm -rf dist site $(VENV) .venv-docs .venv-foreign tests/browser/node_modules out

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

.venv-docs/.installed: pyproject.toml
	@PYTHON="$(PYTHON)" sh tools/install.sh --alone .venv-docs docs
	@touch $@

tests/browser/node_modules/.installed: tests/browser/package-lock.json
	sh tools/browser.sh
	cd tests/browser && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

$(FRAMEWORKS:%=.venv-foreign/%/.installed): .venv-foreign/%/.installed: pyproject.toml
	@PYTHON="$(PYTHON)" sh tools/install.sh .venv-foreign/$* foreign-$*
	@touch $@

$(SERVERS:%=.venv-foreign/%/.installed): .venv-foreign/%/.installed: pyproject.toml
	@PYTHON="$(PYTHON)" sh tools/install.sh --alone .venv-foreign/$* foreign-$*
	@touch $@
