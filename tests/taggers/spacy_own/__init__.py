"""spaCy's own tests of a component, read from the installed spaCy and run against ours.

Only names change: the factory, settings of spaCy's Thinc model, and lines that look into that model. Tests
that do not mention the factory are left out. A test that cannot apply to us is listed with its reason and
must fail, so that nobody misses one that begins to pass.
"""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

THINC = r"[^\n]*\.model\.(get_dim|attrs)\b[^\n]*"  # lines that look into the Thinc model


def adopt(
    module: str,
    factory: str,
    unfit: Mapping[str, str],
    *,
    ours: str = "",
    changes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the tests and fixtures of a module of spacy.tests, for our factory instead of spaCy's.

    unfit: why a test cannot apply. ours: our factory, if its name differs. changes: further code to replace.
    """
    spec = find_spec(f"spacy.tests.{module}") if find_spec("spacy") and find_spec("spacy.tests") else None
    if spec is None or spec.origin is None:
        pytest.skip("this spaCy has no tests", allow_module_level=True)
    new = f'"{ours or f"structsvm_{factory}"}"'
    source = re.sub(rf'"{factory}"(?!:)', new, Path(spec.origin).read_text(encoding="utf-8"))
    for old, text in (changes or {}).items():
        source = source.replace(old, text)
    source = re.sub(rf"(?m)^( *){THINC}$", r"\1pass", source)
    made = types.ModuleType(f"adopted_{module}")
    made.__package__, made.__file__ = spec.name.rpartition(".")[0], spec.origin
    exec(compile(source, spec.origin, "exec"), vars(made))
    found = _mentioning(new, source, vars(made))
    if strange := unfit.keys() - found.keys():
        raise ValueError(f"spacy.tests.{module} has no {', '.join(sorted(strange))}")
    for name, reason in unfit.items():
        found[name] = pytest.mark.xfail(reason=reason, strict=True)(found[name])
    found["pytestmark"] = pytest.mark.filterwarnings("default")  # spaCy's suite shows warnings, too
    return found


def _mentioning(factory: str, source: str, made: Mapping[str, Any]) -> dict[str, Any]:
    """Return all fixtures, and the tests that name the factory themselves or by a fixture."""
    lines = source.splitlines()
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    named: set[str] = set()
    for function in functions * 2:  # fixtures use fixtures
        first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
        if factory in "\n".join(lines[first - 1 : function.end_lineno]) or named & {
            argument.arg for argument in function.args.args
        }:
            named.add(function.name)
    return {
        name: value
        for name, value in made.items()
        if (name.startswith("test_") and name in named) or isinstance(value, FixtureFunctionDefinition)
    }
