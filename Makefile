# make demo   grades a sample submission on this machine
# make test   runs the quick tests, with those for a GPU if there is one
# Both make .venv first, from python3, python3-venv and g++.

PYTHON ?= python3
ASSIGNMENT ?= silu
FROM ?= reference

BIN := .venv/bin
OLD = import sys; sys.exit(sys.version_info < (3, 10))

.PHONY: help setup demo test test-all test-slow gpu-test verify check clean
# Never write .venv twice at the same time.
.NOTPARALLEL:

help:
	@echo "make setup      make .venv with the command grade in it"
	@echo "make demo       grade a sample submission (ASSIGNMENT=$(ASSIGNMENT) FROM=$(FROM))"
	@echo "make test       tests of every package, and bad submissions (4 minutes)"
	@echo "make test-all   all tests: all attacks, samples, races, Dask, soak (15 minutes)"
	@echo "make test-slow  most tests that make test leaves out (Dask only if it is installed)"
	@echo "make gpu-test   the tests that need a GPU"
	@echo "make verify     grade all samples, references and stubs, and prove the assignments"
	@echo "make check      formatting, lint, types and layers"
	@echo "make clean      remove .venv and the caches of tools"

setup: .venv/.ready

demo: .venv/.ready
	$(BIN)/grade local $(ASSIGNMENT) --from $(FROM)

# Dead workers are not replaced: pytest-xdist's loadgroup would wait forever (its issue 1378).
# The hundreds of processes that tests start find what the first one has compiled.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2 --max-worker-restart 0

# All tests of a file in one process, which starts its server once.
test: .venv/.ready-test
	$(PYTEST) --dist loadfile -m "not slow and not alike"

# Some tests wait for others' processes: a third worker uses the processor meanwhile.
test-all: .venv/.ready-test-all
	$(PYTEST) -n 3 --dist loadgroup

test-slow: .venv/.ready-test
	$(PYTEST) --dist loadgroup -m slow

gpu-test: .venv/.ready-test
	$(BIN)/python -m pytest -m gpu

verify: .venv/.ready
	$(BIN)/grade verify

# Packages of an active environment count as installed, and their commands are on its path.
check: export PATH := $(abspath $(BIN)):$(PATH)
check: .venv/.ready-check
	ruff format --check .
	ruff check .
	mypy
	lint-imports

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.venv/.ready: EXTRAS =
# Compiled in advance.
.venv/.ready: $(wildcard grader/emulation/cuda_cpp/runtime/*)
.venv/.ready-test: EXTRAS = test
.venv/.ready-test-all: EXTRAS = test cluster numba
# The types of the tests are checked too, which needs their packages.
.venv/.ready-check: EXTRAS = test check
.venv/.ready .venv/.ready-test .venv/.ready-test-all .venv/.ready-check: pyproject.toml constraints.txt tools/set_up.py
	@command -v $(PYTHON) >/dev/null || { \
	  echo "set-up: there is no $(PYTHON)" >&2; \
	  echo "        fix it with: sudo apt-get install -y python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c '$(OLD)' || { \
	  echo "set-up: $$($(PYTHON) --version) is too old: 3.10 or newer is needed" >&2; \
	  echo "        fix it with: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12   (or another installed version)" >&2; \
	  exit 1; }
	@$(PYTHON) tools/set_up.py $(EXTRAS)
	@touch $@
