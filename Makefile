# Everything runs in .venv, which these targets make; `make run` and `make test` need nothing but Python and make.
PYTHON ?= python3
VENV := .venv
# More than two cores' worth: the tests with a Slurm mostly wait.
WORKERS ?= 4
BIN := $(VENV)/bin
export PATH := $(abspath $(BIN)):$(PATH)
# The tests start thousands of Python processes: without kept bytecode each compiles the whole package.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run check test lint docs pictures bench chaos mutants soak fuzz sbom size coverage release-check clean

run: $(VENV)/.run
	@cd examples/mosaic && headway run
	@echo "The mosaic: examples/mosaic/mosaic.png (before background correction: examples/mosaic/before.png)"

# What a contributor runs before each commit: no root, no Debian packages, under three minutes on two cores.
PURE := not slurm and not tools and not browser and not chaos and not slow
check: $(VENV)/.dev lint
	$(BIN)/python -m pytest -q -n logical --maxprocesses 8 --dist loadgroup --hypothesis-profile quick -m "$(PURE)"

test: $(VENV)/.dev lint
	@tests/packages.sh
	@$(BIN)/python -m tests.nextflow
	@# Compile the kernels once, not in every worker at the same time.
	@$(BIN)/python -m tests.compile_kernels
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --durations=25

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The documentation as a site, and the man page; a warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --builder html --doctree-dir docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m sphinx --quiet --fail-on-warning --builder man --doctree-dir docs/_build/doctrees docs docs/_build/man
	@echo "The site: docs/_build/html/index.html; the man page: man -l docs/_build/man/headway.1"

# The moving recording and the other pictures of the site, from real runs.
pictures: $(VENV)/.docs
	PYTHONPATH=docs/_ext $(BIN)/python -m headway_site.pictures

# Heavier proof: thousands of whole runs in virtual time (all is well, or the seed's story is told), a thousand real kills.
SEEDS ?= 10000
chaos: $(VENV)/.dev
	@tests/packages.sh
	$(BIN)/python -m tests.chaos --seeds $(SEEDS) --workers $(WORKERS)

# Would a test notice? Copies of Headway, each with one promise broken, and the test that must find each.
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants --jobs 2

# An hour of work under kills: what a service and a dashboard hold does not grow.
MINUTES ?= 60
soak: $(VENV)/.dev
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

# Hostile texts for everything that reads text from outside: so many for each reader, or for one; 4,600,000 in all.
CASES ?= 100000
SEED ?= 1
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED) --reader "$(READER)"

# Lines of code, files and tokens of each room, beside those of the last release.
size: $(VENV)/.run
	@$(BIN)/python -m tests.size

# Which lines no test of `make check` runs, in processes that they start neither.
coverage: $(VENV)/.dev
	$(BIN)/python -m tests.measure_coverage -m "$(PURE)"

# Both distributions, built, installed into a clean environment and tried there: docs/releasing.md says what comes then.
release-check: $(VENV)/.run
	$(BIN)/python -m tests.release_check

# What Headway needs when it runs, with versions and licences, as CycloneDX.
sbom: $(VENV)/.dev
	$(BIN)/python -m tests.sbom sbom.json

# Timings, as ratios against named peers in the same run.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) docs/_build docs/reference .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.run: pyproject.toml papers/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Headway needs Python 3.11 or newer: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[simulate]' --editable papers
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --editable papers
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@
