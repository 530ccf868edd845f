# Everything here needs Python 3.11 or newer with its venv module, and make; the rest is installed into .venv.

PYTHON  ?= python3
VENV    ?= .venv
# Processes for the tests (0: none but pytest's own).
WORKERS ?= 2
# Further arguments for pytest, e.g. ARGS='-k oracle -x'.
ARGS    ?=
# The text for `make demo`.
TEXT ?=

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
export TEXT
# Modules are compiled by the first process that imports them; without that, each of hundreds of processes would do it.
unexport PYTHONDONTWRITEBYTECODE

bin    := $(VENV)/bin
python := $(bin)/python
pip    := $(python) -m pip --disable-pip-version-check install --quiet
logs   := build/logs

.PHONY: help demo models check test lint style types imports format quick compiled interpreted durations campaign-quick dist lock audit docs serve bench papers-quick clean distclean

help: ## this list
	@echo "Treewright: taggers and parsers by imitation learning, inverse RL and RL."
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | while IFS=@ read -r verb text; do \
		printf '%-20s %s\n' "$$verb" "$$text"; done
	@echo
	@echo "  Settings: PYTHON=$(PYTHON) VENV=$(VENV) WORKERS=$(WORKERS) ARGS='…' (for pytest) TEXT='…' (for the demo)"

# ---- installation: a stamp says what is installed, so that nothing is done twice

$(bin)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Treewright needs Python 3.11 or newer. If another one is installed: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		echo "A virtual environment cannot be made. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: $(bin)/pip pyproject.toml
	@echo "Installing Treewright into $(VENV) …"
	@$(pip) --editable .
	@$(python) -m compileall -q treewright
	@touch $@

$(VENV)/.installed-tools: $(bin)/pip pyproject.toml
	@echo "Installing Treewright into $(VENV), with the tools for tests and documentation …"
	@$(pip) --no-compile --editable '.[test,docs]'  # half the time: Python compiles the modules that are imported
	@touch $(VENV)/.installed $@

$(VENV)/.installed-bench: $(VENV)/.installed
	@echo "Installing the libraries to compare with …"
	@$(pip) --editable '.[bench]'
	@touch $@

# ---- using it

demo: $(VENV)/.installed ## analyse a paragraph with the bundled English model, and train a small tagger (TEXT='…')
	@$(python) -m treewright demo $(if $(TEXT),"$$TEXT")

models: $(VENV)/.installed ## train the bundled models again from the corpora
	@$(python) -m benchmarks models

bench: $(VENV)/.installed-bench ## compare speed and accuracy with other libraries
	@$(python) -m benchmarks $(or $(ARGS),all)

# Most of its time is compilation, which is kept on disk. Interpreted, the roll-outs of AMR take longer than that.
papers-quick: $(VENV)/.installed ## every table of the papers at a small size, as a test of the machinery
	@mkdir -p build/papers
	@for file in papers/*/*.toml; do \
		name=$$(echo $$file | tr / - ); store=build/papers/$${name%.toml}.sqlite; \
		echo "$$file"; \
		$(python) -m treewright experiment $$file --small --store $$store --quiet || exit 1; \
		$(python) -m treewright experiment report $$file --small --store $$store --out $${store%.sqlite} || exit 1; \
	done

# ---- checking it

check: ## style, types and the quick tests: a few minutes, for every change
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory quick
	@echo "Quick checks passed. Before a commit: make test"

test: ## everything that must be right before a commit: style, types, imports, all tests, documentation
	@$(MAKE) --no-print-directory --jobs=2 lint docs
	@$(MAKE) --no-print-directory compiled
	@$(MAKE) --no-print-directory interpreted
	@$(MAKE) --no-print-directory durations
	@echo
	@echo "compiled:    $$(tail -n 1 $(logs)/compiled.txt)"
	@echo "interpreted: $$(tail -n 1 $(logs)/interpreted.txt)"
	@echo "All checks passed."

lint: style types imports ## style, formatting, imports between packages, types

style: $(VENV)/.installed-tools
	@$(bin)/ruff check .
	@$(bin)/ruff format --check .

imports: $(VENV)/.installed-tools
	@mkdir -p $(logs)
	@$(bin)/lint-imports > $(logs)/imports.txt 2>&1 || { cat $(logs)/imports.txt; exit 1; }
	@tail -n 1 $(logs)/imports.txt

types: $(VENV)/.installed-tools
	@$(bin)/mypy

format: $(VENV)/.installed-tools ## put the sources into shape
	@$(bin)/ruff check --fix-only --quiet .
	@$(bin)/ruff format .

# The tests run in two ways. Compiled, as users run the library, all of them but those of code that is never compiled
# (`interpreted`, see tests/conftest.py). With the compiler off, the small cases (neither `jit` nor `slow`) of the
# library: that needs no compilation, and coverage sees into the kernels. Every test is in at least one of the two.
pytest  := pytest -q -n $(WORKERS) --dist loadfile
small   := -m 'not jit and not slow' --ignore=tests/cli tests treewright

quick: $(VENV)/.installed-tools ## the quick tests, with the compiler off
	@mkdir -p $(logs)
	@NUMBA_DISABLE_JIT=1 $(python) -m $(pytest) $(small) --junitxml=$(logs)/quick.xml $(ARGS) | tee $(logs)/quick.txt

compiled: $(VENV)/.installed-tools ## the tests as users run the library (ARGS='-k name')
	@mkdir -p $(logs)
	@$(python) -m $(pytest) -m 'not interpreted' --junitxml=$(logs)/compiled.xml $(ARGS) | tee $(logs)/compiled.txt

interpreted: $(VENV)/.installed-tools ## the quick tests with the compiler off, and what they cover
	@mkdir -p $(logs)
	@NUMBA_DISABLE_JIT=1 $(python) -m coverage run -m $(pytest) $(small) --junitxml=$(logs)/interpreted.xml $(ARGS) | tee $(logs)/interpreted.txt
	@$(python) -m coverage combine --quiet
	@$(python) -m coverage report $(if $(ARGS),--fail-under=0)

durations: ## where the time of the last runs went, by file and test
	@$(PYTHON) tests/durations.py $(logs) | tee $(logs)/durations.txt

docs: $(VENV)/.installed-tools ## the documentation, into site/
	@NO_MKDOCS_2_WARNING=1 $(bin)/mkdocs build --strict --quiet --site-dir site
	@echo "The documentation is in site/index.html."

serve: $(VENV)/.installed-tools ## the documentation in a browser, following every change
	@$(bin)/mkdocs serve

campaign-quick: $(VENV)/.installed-tools ## a few minutes of the reliability campaign: the first cases of every check
	@$(python) -m campaign --quick --jobs $(WORKERS) $(ARGS)

dist: $(VENV)/.installed-tools ## wheel and sdist into dist/: built three times, installed in an empty environment, tried
	@$(python) -m campaign.supply dist

lock: $(VENV)/.installed-tools ## the lock file of the test environment, with hashes
	@$(python) -m campaign.supply lock

audit: $(VENV)/.installed-tools ## known weaknesses of the locked packages (needs a network)
	@$(python) -m campaign.supply audit

# ---- tidying up

clean: ## remove what was built, but keep the virtual environment
	@rm -rf build dist site .coverage coverage.xml .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find treewright tests benchmarks campaign -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the virtual environment too
	@rm -rf .venv
