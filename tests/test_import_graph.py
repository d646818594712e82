"""The packages keep to their layers, and the script that checks it finds what it should."""

import re
from pathlib import Path

import pytest

from tests import import_graph
from tests.import_graph import Import, cycles, layering, python_imports, violations


def test_the_packages_have_no_cycles_and_keep_to_their_layers():
    assert violations() == []


def test_a_cycle_is_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert not cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


@pytest.mark.parametrize(
    ("source", "base", "name"),
    [
        ("structsvm.problem", "taggers", "Chunker"),
        ("corpora.registry", "structsvm", "LaRank"),
        ("taggers.model", "semparse", "Ospas"),
        ("taggers.model", "structsvm._dual.linear", "LinearDual"),
        ("semparse.ospas", "structsvm.problem", "_check"),
        ("taggers.model", "spacy", ""),
        ("taggers.model", "benchmarks.harness", "timed"),
        ("taggers.sources.cluster", "taggers.commands.tagging", "tag"),
    ],
)
def test_a_forbidden_import_is_found(source, base, name):
    assert layering(Import(source, 1, base, name, at_load=True))


@pytest.mark.parametrize(
    ("source", "base", "name"),
    [
        ("structsvm.cli.train", "taggers", "Chunker"),
        ("structsvm.optimizers.larank", "structsvm._dual.linear", "LinearDual"),
        ("corpora.registry", "structsvm.files.errors", "DataError"),
        ("taggers.spacy.tagger", "spacy.language", "Language"),
        ("taggers.dask", "taggers.commands.tagging", "tag"),
    ],
)
def test_an_import_of_the_layers_is_allowed(source, base, name):
    assert layering(Import(source, 1, base, name, at_load=True)) is None


def test_imports_in_functions_and_for_type_checkers_do_not_run_at_load():
    text = "import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    import c\n"
    found = python_imports("m", Path("m.py"), text)
    assert [(one.base, one.at_load) for one in found] == [("a", True), ("b", False), ("c", False)]


def test_cimports_over_several_lines_are_read():
    found = import_graph.cython_imports("m", "from x.y cimport (\n    A,\n    B,\n)\nfrom z cimport C\n")
    assert [(one.base, one.name) for one in found] == [("x.y", "A"), ("x.y", "B"), ("z", "C")]


def test_tests_share_helpers_and_do_not_import_each_other():
    imported = re.compile(r"^(?:from|import) tests\.\S*?\b(test_\w+)", re.MULTILINE)
    found = [
        (path.name, other)
        for path in Path(__file__).parent.rglob("*.py")
        for other in imported.findall(path.read_text(encoding="utf-8"))
        if other != path.stem  # a script in a test may import its own file
    ]
    assert found == []
