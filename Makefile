# Each target sets up .venv by itself; you only need Python 3.11+, a C compiler and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CODE := structsvm taggers semparse corpora
SOURCES := pyproject.toml setup.py $(shell find $(CODE) -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
# Prints a list of requirements from pyproject.toml: $(call needs,build-system,requires)
needs = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["$(1)"]["$(2)"])')

.PHONY: demo test lint docs sanitize sanitize-quick debug package bench bench-quick clean

demo: .venv/run.done
	$(BIN)/structsvm demo

test: .venv/test.done
	$(BIN)/python -m pytest -n auto

# cython-lint calls pycodestyle by name.
lint: .venv/test.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint $(CODE)
	$(BIN)/mypy

docs: .venv/docs.done
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The suite and the fuzzers under AddressSanitizer and UBSan, in build/sanitize: about an hour.
sanitize: .venv/test.done
	$(BIN)/python -m tests.checked sanitize

# The tests of memory and 2,000 fuzz cases: a few minutes.
sanitize-quick: .venv/test.done
	$(BIN)/python -m tests.checked sanitize --quick

# The suite and the fuzzers with Cython's bounds checks, in build/debug.
debug: .venv/test.done
	$(BIN)/python -m tests.checked debug

# Build the sdist, the wheel and the abi3 wheel in dist/, then install and run them in empty environments.
package: .venv/package.done
	$(BIN)/python -m pytest -m packaging

# Takes an hour; the tables name the peers that could not be installed.
bench: .venv/bench.done
	$(BIN)/python -m benchmarks.peers.install
	$(BIN)/python -m benchmarks peers

# Fails if training or tagging is slower, relative to python-crfsuite, than benchmarks/reference.json.
bench-quick: .venv/bench.done
	$(BIN)/python -m benchmarks guard

# Compiles in place, while pip downloads the dependencies; --no-compile leaves byte code to the first import.
# pip then only registers the checkout: setup.py reuses what is compiled.
.venv/run.done: $(SOURCES)
	@test -x $(BIN)/python || { echo "creating .venv"; $(PYTHON) -m venv .venv; }
	@echo "installing build requirements"
	@$(PIP) --no-compile $(call needs,build-system,requires)
	@$(PIP) --no-compile $(call needs,project,dependencies) & install=$$!; \
	$(BIN)/python setup.py -q build_ext --inplace; built=$$?; \
	wait $$install && exit $$built
	@$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

# By its name, which is installed already: pip adds what the extra needs and compiles nothing again.
$(patsubst %,.venv/%.done,test package docs bench): .venv/%.done: .venv/run.done
	@echo "installing what '$*' needs"
	@$(PIP) "structsvm-nlp[$*]"
	@touch $@

clean:
	rm -rf .venv build dist site *.egg-info
	find $(CODE) \( -name '*.so' -o -name '*.c' \) -delete
