# Everything here runs in VENV, which is made on first use: `make demo` works from a fresh clone.
.DEFAULT_GOAL := help
.SUFFIXES:
SHELL := /bin/sh

PYTHON = python3
VENV = .venv
# An index to take torch from, also by the environment; .ci/torch says what is taken without one.
export TORCH_INDEX ?=
PYTEST_ARGS =
# Processes that share the tests: `make test WORKERS=0` runs them in one. Each begins with a piece of its own, since
# neighbouring tests share runs and caches, and takes from others' when it is done.
WORKERS = auto
SIDE_BY_SIDE = --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal
# A test that takes so many seconds is ended and named; where it hangs outside Python no signal reaches it, and its process
# ends a little later. Whole sweeps and clusters have more time.
LIMIT = --timeout=600 -o faulthandler_timeout=700 -o faulthandler_exit_on_timeout=true
PATIENT = --timeout=1800 -o faulthandler_timeout=2100 -o faulthandler_exit_on_timeout=true
# Bytecode is written when a module is first imported: of most modules never.
PIP_INSTALL = install --quiet --no-compile --disable-pip-version-check
BENCH =
MODEL = fairseq
STAGES =

BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SUPPORTED := import sys; print((3, 11) <= sys.version_info[:2] <= (3, 14))

.PHONY: help demo environment test test-quick smoke test-long test-browser test-slurm test-ray test-oracles published test-gpu check format notebooks bench gpu tour site release lock clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

demo: $(INSTALLED)  ## train and score the small embedded example: minutes on a laptop
	@$(BIN)/aiayn train scale=demo experiment=table3/base

environment: $(INSTALLED)  ## create .venv, or update it

test: $(INSTALLED)  ## run the tests; PYTEST_ARGS="-k masks" narrows it
	@$(BIN)/pytest $(SIDE_BY_SIDE) $(LIMIT) -m 'not long and not slurm and not ray and not smoke and not oracles' $(PYTEST_ARGS)

test-quick: $(INSTALLED)  ## run those of single modules that take no seconds
	@$(BIN)/pytest $(SIDE_BY_SIDE) $(LIMIT) -m 'not slow and not long and not slurm and not ray and not smoke and not oracles' tests/unit tests/config $(PYTEST_ARGS)

smoke: $(INSTALLED)  ## train, resume, evaluate, translate, report: under a minute
	@$(BIN)/pytest $(LIMIT) tests/test_smoke.py

test-long: $(INSTALLED)  ## run those of whole sweeps, kills and builds: half an hour
	@$(BIN)/pytest $(SIDE_BY_SIDE) $(PATIENT) -m 'long and not browser' $(PYTEST_ARGS)

test-browser: $(INSTALLED)  ## run those of pages in Chromium; without one they are skipped
	@$(BIN)/pytest $(SIDE_BY_SIDE) $(PATIENT) -m browser $(PYTEST_ARGS)

test-slurm: $(INSTALLED)  ## run those on a Slurm of two nodes, started here; says what it lacks
	@$(BIN)/python tests/slurm/loopback/cluster.py
	@AIAYN_REQUIRE_SLURM=1 $(BIN)/pytest $(PATIENT) -m slurm tests/slurm $(PYTEST_ARGS)

test-ray: $(INSTALLED)  ## run those on a Ray of two nodes, started here; installs the extra and ray[default]
	@$(BIN)/python tests/ray_cluster/loopback/nodes.py 2>/dev/null || \
	  $(BIN)/python -m pip $(PIP_INSTALL) --editable '.[ray]' 'ray[default]'
	@AIAYN_REQUIRE_RAY=1 $(BIN)/pytest $(PATIENT) -m ray tests/ray_cluster $(PYTEST_ARGS)

test-oracles: $(INSTALLED)  ## compare with fairseq and transformers, in .venv-oracles; skips a missing library
	@$(BIN)/pytest $(PATIENT) -m oracles tests/oracles $(PYTEST_ARGS)

published: $(INSTALLED)  ## newstest2014 by a published model, with a network: MODEL=fairseq or opus
	@PYTHONPATH=benchmarks $(BIN)/python tests/oracles/newstest2014.py $(MODEL)

test-gpu: $(INSTALLED)  ## run those that need GPUs; on a machine without they are skipped
	@$(BIN)/pytest $(LIMIT) -m gpu tests/gpu $(PYTEST_ARGS)

check: $(INSTALLED)  ## formatting, lint, types and import contracts; changes nothing
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(INSTALLED)  ## format, and mend what the linter can
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

notebooks: $(INSTALLED)  ## execute docs/notebooks and store their outputs: minutes
	@$(BIN)/python tests/support/notebooks.py

bench: $(INSTALLED)  ## measure, and write docs/performance.md; BENCH="training decoding" narrows it
	@$(BIN)/python benchmarks/run.py $(BENCH)

# On a machine without an index: the interpreter that is there, with the packages of pyproject.toml.
gpu:  ## measure on a GPU, without installing: STAGES="agreement speed" narrows it, PYTHON= names the interpreter
	@PYTHONPATH=src:benchmarks$${PYTHONPATH:+:$$PYTHONPATH} $(PYTHON) benchmarks/gpu.py $(STAGES)

tour: $(INSTALLED)  ## run every command of the README and docs, shortened: half an hour
	@$(BIN)/python tests/support/tour.py

site: $(INSTALLED)  ## build docs/ as a site into build/site and check its links
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@$(BIN)/python website/site_check.py build/site

# The wheel is tried where there is nothing else: in an environment of the locked packages, away from the checkout's code.
release: $(INSTALLED)  ## build wheel and sdist, and run the smoke suite from the wheel and requirements.lock
	@rm -rf dist build/release
	@$(BIN)/python -m hatchling build
	@$(BIN)/python -m venv build/release
	@build/release/bin/pip $(PIP_INSTALL) "$$(sed -n 's/^# \(torch==.*\)$$/\1/p' requirements.lock)"
	@build/release/bin/pip $(PIP_INSTALL) --no-deps --require-hashes -r requirements.lock
	@build/release/bin/pip $(PIP_INSTALL) --no-deps dist/*.whl
	@build/release/bin/pip check
	@build/release/bin/pip $(PIP_INSTALL) 'pytest<10' 'hypothesis<7'
	@build/release/bin/pytest tests/test_smoke.py

lock: $(INSTALLED)  ## renew requirements.lock
	@.ci/lock $(BIN)

clean:  ## remove what the tools left behind; environments, runs and the data cache stay
	@rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml | $(BIN)/pip
	@echo 'Installing into $(VENV)' >&2
	@$(BIN)/python .ci/torch
	@$(BIN)/python -m pip $(PIP_INSTALL) --editable '.[dev]'
	@touch $@

# venv writes pip last, so an environment that was cut short is made anew.
$(BIN)/pip:
	$(if $(filter True,$(shell $(PYTHON) -c '$(SUPPORTED)' 2>&1 || echo False)),,\
	  $(error PYTHON=$(PYTHON) is not Python 3.11 to 3.14: name one, as in `make PYTHON=python3.12`))
	@$(PYTHON) -m venv --clear $(VENV)
