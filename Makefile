# Each target sets up .venv by itself; nothing else is needed but Python 3.11+, a C compiler and make.
PYTHON ?= python3
BIN := .venv/bin
COMPILED := $(foreach dir,structsvm structsvm/problems taggers semparse corpora,$(addprefix $(dir)/,*.pyx *.pxd *.h))
SOURCES := pyproject.toml $(wildcard $(COMPILED))

.PHONY: demo test lint bench clean

demo: .venv/run.done
	$(BIN)/structsvm demo

test: .venv/test.done
	$(BIN)/python -m pytest

lint: .venv/test.done
	$(BIN)/ruff check .
	$(BIN)/cython-lint structsvm taggers semparse corpora
	$(BIN)/mypy

bench: .venv/bench.done
	$(BIN)/python -m benchmarks

# Rebuilt when a compiled source changes: the editable install compiles in place.
.venv/run.done: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/test.done: .venv/run.done
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

.venv/bench.done: .venv/run.done
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

clean:
	rm -rf .venv build dist *.egg-info
	find structsvm taggers semparse corpora -name "*.so" -delete -o -name "_*.c" -delete
