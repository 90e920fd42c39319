# Every target makes the virtual environment it needs; nothing has to be installed but Python and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)

.PHONY: demo test lint docs nightly clean

demo: $(VENV)/.demo
	$(RUN)/python -m predictree.cli.examples

test: lint $(VENV)/.test
	sh tests/ui/install-browser.sh
	$(RUN)/pytest -n auto

# Fuzzers, kills, big shapes and a soak of the server, in 25 minutes: benchmarks/reliability.md.
nightly: $(VENV)/.test
	nice -n 10 $(BIN)/python -W ignore benchmarks/nightly.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

docs: $(VENV)/.docs
	$(RUN)/sphinx-build -M html docs docs/_build -W --keep-going -n
	@echo "open docs/_build/html/index.html"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.package: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.demo: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --editable '.[app,frames,persist,report]'
	touch $@

$(VENV)/.test: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.lint: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

$(VENV)/.docs: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

# What the library is compared with, in an environment of its own (see benchmarks/readable.py).
$(VENV)/.peers: benchmarks/peers.txt
	$(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip install --quiet --requirement $<
	touch $@

clean:
	rm -rf docs/_build docs/auto_gallery docs/generated $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
