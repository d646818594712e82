"""Print the imports between the folders of the four packages, and check their layering.

`python tests/import_graph.py` prints the graph and the violations; it fails if there are any:

- a cycle of imports at module level, also through `cimport`;
- an import that the layering forbids, also inside functions and for type checkers;
- a private module or name imported from another package;
- a private attribute of another package's objects touched in `taggers`, `semparse` or `corpora`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("structsvm", "taggers", "semparse", "corpora")
# Prefixes that each prefix may import from the other packages; the longest prefix of a module counts.
ALLOWED: dict[str, tuple[str, ...]] = {
    "structsvm": (),
    "structsvm.cli": ("taggers", "semparse", "corpora"),
    "corpora": ("structsvm.files", "structsvm.validation"),
    "taggers": ("structsvm", "corpora"),
    "semparse": ("structsvm", "corpora"),
}
# Optional dependencies: imported at module level only by modules that have one of these names in their path.
WEB = ("starlette", "serve", "teach")
OPTIONAL = {
    "spacy": ("spacy",),
    "sklearn": ("sklearn",),
    "matplotlib": ("matplotlib",),
    "distributed": ("dask", "cluster"),
    "starlette": WEB,
    "h11": ("h11",),
}
# Private by their look, but documented by those who define them.
FOREIGN = {
    "_": "spaCy keeps custom attributes in Doc._",
    "_fields": "the fields of a named tuple",
    "_is_text_encoding": "the standard library has no other way to ask a codec",
}
CYTHON = re.compile(
    r"^(?P<indent>[ \t]*)(?:from (?P<base>[\w.]+) c?import (?P<names>\([^)]*\)|[^\n#]*)"
    r"|c?import (?P<plain>[\w.]+))",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Import:
    """One import statement: `name` of `base`, or the module `base` if `name` is empty."""

    source: str
    line: int
    base: str
    name: str
    at_load: bool  # runs when the source is imported

    @property
    def where(self) -> str:
        return f"{self.source}:{self.line}"


def modules() -> dict[str, list[Path]]:
    """Files of each module; a compiled one has a .pyx, a .pxd, or both."""
    found = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in (".py", ".pyx", ".pxd"):
                parts = path.relative_to(ROOT).with_suffix("").parts
                found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)].append(path)
    return dict(found)


def imports(module: str, path: Path) -> Iterator[Import]:
    text = path.read_text(encoding="utf-8")
    yield from python_imports(module, path, text) if path.suffix == ".py" else cython_imports(module, text)


def all_imports(known: dict[str, list[Path]]) -> list[Import]:
    return [found for module, paths in known.items() for path in paths for found in imports(module, path)]


def cython_imports(module: str, text: str) -> Iterator[Import]:
    for match in CYTHON.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        at_load = not match["indent"]
        if match["plain"]:
            yield Import(module, line, match["plain"], "", at_load)
            continue
        for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?", match["names"]):
            yield Import(module, line, match["base"], name, at_load)


def python_imports(module: str, path: Path, text: str) -> Iterator[Import]:
    def walk(node: ast.AST, at_load: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, node.lineno, alias.name, "", at_load)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
            for alias in node.names:
                yield Import(module, node.lineno, base, alias.name, at_load)
        lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for part in node.body:
                yield from walk(part, False)
            for part in node.orelse:
                yield from walk(part, at_load)
            return
        for child in ast.iter_child_nodes(node):
            yield from walk(child, at_load and not lazy)

    yield from walk(ast.parse(text), True)


def top(name: str) -> str:
    return name.split(".")[0]


def within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def target(found: Import, known: dict[str, list[Path]]) -> str:
    """The module that an import loads."""
    inner = f"{found.base}.{found.name}"
    return inner if inner in known else found.base


def graph(known: dict[str, list[Path]], statements: list[Import]) -> dict[str, set[str]]:
    """Modules of ours that each module imports when it is loaded."""
    edges: dict[str, set[str]] = {module: set() for module in known}
    for found in statements:
        if found.at_load and target(found, known) in known and target(found, known) != found.source:
            edges[found.source].add(target(found, known))
    return edges


def cycles(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return ["import cycle: " + " -> ".join(reversed(error.args[1]))]
    return []


COMMANDS = "taggers.commands"
ABOVE_COMMANDS = ("taggers.dask", "taggers.teach.commands")  # modules of taggers that may import commands


def layering(found: Import) -> str | None:
    """The violation of one import, or None."""
    if top(found.base) in OPTIONAL:
        adapter = any(name in found.source.split(".") for name in OPTIONAL[top(found.base)])
        return None if adapter or not found.at_load else f"{found.where}: import {top(found.base)} lazily"
    if top(found.base) in ("tests", "benchmarks"):
        return f"{found.where}: {top(found.base)} is not installed"
    if within(found.base, COMMANDS) and top(found.source) == "taggers":
        above = any(within(found.source, name) for name in (COMMANDS, *ABOVE_COMMANDS))
        return None if above else f"{found.where}: {found.source} must not import {found.base}"
    if top(found.base) not in PACKAGES or top(found.base) == top(found.source):
        return None
    rule = max((prefix for prefix in ALLOWED if within(found.source, prefix)), key=len)
    name = ".".join(filter(None, [found.base, found.name]))
    if not any(within(name, allowed) for allowed in ALLOWED[rule]):
        return f"{found.where}: {rule} must not import {name}"
    if any(private(part) for part in name.split(".")):
        return f"{found.where}: {name} is private to {top(name)}"
    return None


def private_names(package: str) -> set[str]:
    """Private attributes that a package defines: methods, class variables, attributes of self."""
    names = set()
    for path in (ROOT / package).rglob("*.py*"):
        if path.suffix in (".pyx", ".pxd"):
            names |= set(re.findall(r"\b(_[a-z]\w*)", path.read_text(encoding="utf-8")))
        elif path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    names.add(node.attr)
                elif isinstance(node, ast.arg):
                    names.add(node.arg)
    return {name for name in names if private(name)}


def private_attributes(package: str) -> list[str]:
    """Private attributes that the code of a package touches but does not define."""
    own = private_names(package)
    problems = []
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in own | set(FOREIGN):
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                problems.append(f"{place}: {ast.unparse(node)} is private to another package")
    return problems


def violations() -> list[str]:
    known = modules()
    statements = all_imports(known)
    found = cycles(graph(known, statements))
    found += dict.fromkeys(problem for one in statements if (problem := layering(one)))
    return found + [problem for package in PACKAGES[1:] for problem in private_attributes(package)]


def folder(module: str, known: dict[str, list[Path]]) -> str:
    inside = known[module][0].parent.relative_to(ROOT).parts
    return "/".join(inside)


def main() -> int:
    known = modules()
    statements = all_imports(known)
    between = defaultdict(set)
    for module, needed in graph(known, statements).items():
        between[folder(module, known)] |= {folder(other, known) for other in needed}
    for name in sorted(between):
        print(f"{name:28} -> {', '.join(sorted(between[name] - {name})) or '-'}")
    problems = violations()
    print("\n" + ("\n".join(problems) if problems else "no violations"))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
