# Every target works on a fresh clone with only Python 3.11+ and make. Paths are relative to it, and programs of the
# environment are started as modules, so that it may lie anywhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

OLDEST := .venv-oldest

.PHONY: demo docs test test-all test-oldest check fuzz bench results dist clean

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py --output demo

# The site. Warnings are errors. DOCS_QUICK=1 builds pages alone: no gallery, no reference, and no code runs.
SITE := docs/_build/$(if $(DOCS_QUICK),quick,html)
docs: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --jobs auto docs $(SITE)
	$(BIN)/python docs/check_links.py $(SITE)

# What everyone runs, in some minutes. Tests that are marked as nets are left out: docs/develop/testing.md.
test: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "not net" $(PYTEST_ARGS)

# Everything.
test-all: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

# The suite with the lowest versions that pyproject.toml admits, on the lowest Python (which uv finds or fetches).
test-oldest: $(OLDEST)/.installed
	OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n auto $(PYTEST_ARGS)

$(OLDEST)/.installed: $(INSTALLED)
	$(BIN)/python -m uv venv --quiet --clear --python 3.11 $(OLDEST)
	$(BIN)/python -m uv pip install --quiet --python $(OLDEST) --resolution lowest-direct -e ".[test]"
	touch $@

check: $(INSTALLED)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

# Wrong model files, table files of every tool and country, random problems for what models say of themselves, and
# hostile input for everything public;
# FUZZ_ARGS="--minutes 5 --only KernelPCA" for less of the latter.
fuzz: $(INSTALLED)
	$(BIN)/python tests/hostile/mutilations.py 10000
	$(BIN)/python tests/hostile/forgeries.py 20000
	OMP_NUM_THREADS=1 $(BIN)/python tests/hostile/table_files.py 20000
	OMP_NUM_THREADS=1 $(BIN)/python tests/laws/claims_search.py --problems 5000
	$(BIN)/python tests/hostile/fuzz.py --minutes 60 --jobs auto $(FUZZ_ARGS)

bench: $(INSTALLED)
	$(BIN)/python benchmarks/speed/kernel_pca.py

# A night's work: pages and records of an older version are made anew, the oldest first. The list: benchmarks/results.py.
HOURS ?= 8
results: $(INSTALLED)
	$(BIN)/python benchmarks/results.py --hours $(HOURS)

# Wheel and source distribution in dist/, checked as PyPI checks them; then the wheel is installed on its own and used.
dist: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m uv run --isolated --no-project --with "$$(ls dist/*.whl)[cli]" python -c "import preimage; preimage.show_versions()"

clean:
	rm -rf $(VENV) $(OLDEST) dist demo fuzz
	rm -rf docs/_build docs/gallery docs/api/*.rst docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
