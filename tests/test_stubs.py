"""What the stubs of compiled modules say is there: names, parameters and defaults."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STUBS = sorted(
    path for package in ("structsvm", "taggers", "semparse") for path in (ROOT / package).rglob("*.pyi")
)


def name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def members(body):
    """The functions, classes and attributes of a stub by name."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id, node


def described(node):
    """The parameters of a function of a stub: (name, is keyword only, has a default)."""
    arguments, most = node.args, len(node.args.args)
    for place, one in enumerate(arguments.args):
        yield one.arg, False, place >= most - len(arguments.defaults)
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield one.arg, True, default is not None


def compiled(function):
    """The parameters of a compiled function, in the same form."""
    for one in inspect.signature(function).parameters.values():
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            yield one.name, one.kind is one.KEYWORD_ONLY, one.default is not one.empty


def differences(owner, node, where):
    """What a stub says otherwise than its module, in sentences."""
    for member, one in members(node.body):
        if member.startswith("_") and isinstance(one, ast.ClassDef):
            continue  # a type that only the stub needs
        if not hasattr(owner, member):
            yield f"{where}.{member} does not exist"
        elif isinstance(one, ast.ClassDef):
            yield from differences(getattr(owner, member), one, f"{where}.{member}")
        elif isinstance(one, ast.FunctionDef) and not one.decorator_list:
            yield from signatures(owner, member, one, f"{where}.{member}")


def signatures(owner, member, node, where):
    """The difference between the parameters of a function and of its stub, in a sentence."""
    function = owner if member == "__init__" else getattr(owner, member)
    try:
        found = [one for one in compiled(function) if one[0] != "self"]
    except ValueError:  # a compiled class without a signature
        return
    said = [one for one in described(node) if one[0] != "self"]
    if found != said and (member != "__init__" or found):
        yield f"{where} has the parameters {found}, but the stub says {said}"


@pytest.mark.parametrize("path", STUBS, ids=name)
def test_the_stub_agrees_with_its_compiled_module(path):
    module = import_module(name(path))
    found = [*differences(module, ast.parse(path.read_text(encoding="utf-8")), module.__name__)]
    assert not found, "\n".join(found)


def test_each_compiled_module_that_python_imports_has_a_stub():
    assert len(STUBS) > 30
    for path in STUBS:
        assert path.with_suffix(".pyx").exists()
