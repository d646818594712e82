# Each target sets up .venv by itself; you only need Python 3.11+, a C compiler and make.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
CODE := structsvm taggers semparse corpora
SOURCES := pyproject.toml setup.py $(shell find $(CODE) -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
# Prints a list of requirements from pyproject.toml: $(call needs,build-system,requires)
needs = $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["$(1)"]["$(2)"])')

.PHONY: demo test test-oldest build lint docs sanitize sanitize-quick debug package bench bench-quick clean

demo: .venv/run.done
	$(BIN)/structsvm demo

test: .venv/test.done
	$(BIN)/python -m pytest -n auto

# Compiles what changed in the checkout; installs nothing.
build:
	$(BIN)/python setup.py -q build_ext --inplace

# The tests of what uses other packages, with the lowest versions that pyproject.toml allows, in .venv-oldest.
# Old packages use what newer ones deprecate.
OLDEST := structsvm/test_connections.py structsvm/test_dask.py structsvm/test_local_service.py
OLDEST += structsvm/test_persist.py structsvm/test_kernel_forms.py
OLDEST += taggers/test_cli.py taggers/test_columns.py taggers/test_serve.py taggers/test_serve_protocols.py
OLDEST += taggers/test_sklearn.py taggers/test_spacy.py taggers/test_tagger.py semparse/test_parse_cli.py
test-oldest: .venv-oldest/test.done
	.venv-oldest/bin/python -m pytest -n auto -W ignore::DeprecationWarning -W ignore::FutureWarning \
		$(addprefix tests/,$(OLDEST))

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

.venv-oldest/test.done: $(SOURCES) tests/oldest.py
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	@$(PYTHON) tests/oldest.py > .venv-oldest/constraints.txt
	@.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-oldest/constraints.txt \
		setuptools cython
	@.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-oldest/constraints.txt \
		--no-build-isolation --editable ".[sklearn,spacy,serve,dask]" dkpro-cassis pytest pytest-xdist hypothesis
	@touch $@

clean:
	rm -rf .venv .venv-oldest build dist site *.egg-info
	find $(CODE) \( -name '*.so' -o -name '*.c' \) -delete
