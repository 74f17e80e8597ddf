# Every target works on a fresh clone with only Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test check fuzz bench clean

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@

demo: $(INSTALLED)
	$(BIN)/python examples/demo.py --output demo

test: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(PYTEST_ARGS)

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Hostile input for everything public; FUZZ_ARGS="--minutes 5 --only KernelPCA" for less.
fuzz: $(INSTALLED)
	$(BIN)/python tests/hostile/mutilations.py 10000
	$(BIN)/python tests/hostile/fuzz.py --minutes 60 --jobs auto $(FUZZ_ARGS)

bench: $(INSTALLED)
	$(BIN)/python benchmarks/speed/kernel_pca.py

clean:
	rm -rf $(VENV) demo fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis
