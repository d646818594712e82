# Each target sets up .venv by itself; nothing else is needed but Python 3.11+, a C compiler and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CODE := structsvm taggers semparse corpora
FOLDERS := $(CODE) structsvm/problems structsvm/binary
COMPILED := $(foreach folder,$(FOLDERS),$(addprefix $(folder)/,*.pyx *.pxd *.h))
SOURCES := pyproject.toml setup.py $(wildcard $(COMPILED))

.PHONY: demo test lint package bench bench-quick clean

demo: .venv/run.done
	$(BIN)/structsvm demo

test: .venv/test.done
	$(BIN)/python -m pytest

# cython-lint calls pycodestyle by name.
lint: .venv/test.done
	$(BIN)/ruff check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint $(CODE)
	$(BIN)/mypy

package: .venv/test.done
	$(BIN)/python -m pytest -m packaging

# An hour; a peer that does not install is told in the tables.
bench: .venv/bench.done
	$(BIN)/python -m benchmarks.peers.install
	$(BIN)/python -m benchmarks peers

# Fails where training or labelling has become slower beside python-crfsuite than benchmarks/reference.json says.
bench-quick: .venv/bench.done
	$(BIN)/python -m benchmarks guard

# Rebuilt when a compiled source changes: the editable install compiles in place.
.venv/run.done: $(SOURCES)
	@echo "setting up .venv (a few minutes, most of them for the C compiler)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) --editable .
	@touch $@

# By its name, which is installed already: pip adds what the extra needs and compiles nothing again.
.venv/test.done .venv/bench.done: .venv/%.done: .venv/run.done
	@echo "installing what '$*' needs"
	@$(PIP) "structsvm-nlp[$*]"
	@touch $@

clean:
	rm -rf .venv build dist *.egg-info
	find $(CODE) -name "*.so" -delete -o -name "_*.c" -delete
