# Every target makes the virtual environment it needs; nothing has to be installed but Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)

.PHONY: demo test lint clean

demo: $(VENV)/.package
	$(RUN)/python -m predictree.demo

test: lint $(VENV)/.test
	sh tests/ui/install-browser.sh
	$(RUN)/pytest -n auto

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.package: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.test: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.lint: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
