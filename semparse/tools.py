"""Schemas from the definitions of tools that language models are given.

    {"name": "dim", "parameters": {"type": "object", "required": ["level"], "properties": {
        "level": {"type": "integer"}, "room": {"enum": ["hall", "office"]}}}}

The parameters become named arguments, as in `dim(level=20, room=hall)`. Values are those of `enum`; without
it, numbers and texts are open types. Parameters of the same name share their values.
"""

from __future__ import annotations

import json
from typing import Any

from semparse.entities.numbers import NUMBER
from semparse.meaning import is_name
from semparse.schema import SchemaError

INTEGER = r"[+-]?\d+"
OPEN: dict[Any, bool | str] = {"string": True, "number": NUMBER, "integer": INTEGER}


def schema_of(tools: list[Any]) -> dict[str, Any]:
    """The JSON object of the schema of these tools; raises SchemaError."""
    relations: dict[str, Any] = {}
    types: dict[str, set[str]] = {}
    open_types: dict[str, bool | str] = {}
    for tool in tools:
        name, properties, required = _tool(tool)
        names = sorted(properties, key=lambda key: f"{key}=")  # the order of meanings
        slots = [f"{name} {k}" for k in range(len(names))]
        if name in relations:
            raise SchemaError(f"two tools are called {name!r}; rename one of them")
        relations[name] = {"slots": slots, "least": len(required)}
        for k, slot in enumerate(slots):  # the arguments before it may be left out, unless required
            earlier = [sum(one in required for one in names[:i]) for i in range(len(names))]
            types[slot] = {f"{names[i]}=" for i in range(k, len(names)) if earlier[i] <= k}
        for key, its in properties.items():
            values, is_open = _values(its, f"{name}: {key}")
            relations[f"{key}="] = {"slots": [key]}
            types.setdefault(key, set()).update(values)
            if is_open is not False:
                open_types[key] = is_open if open_types.get(key, is_open) == is_open else True
    return {"relations": relations, "types": {key: sorted(its) for key, its in types.items()},
            "open": open_types}  # fmt: skip


def _tool(tool: Any) -> tuple[str, dict[str, Any], set[str]]:
    """The name of a tool, its parameters and those that it requires."""
    inner = tool.get("function", tool) if isinstance(tool, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    given = (inner.get("parameters") or inner.get("input_schema") or {}) if isinstance(inner, dict) else {}
    properties = given.get("properties", {}) if isinstance(given, dict) else None
    if not isinstance(name, str) or not name or not isinstance(properties, dict):
        raise SchemaError(f'{tool!r} is not a tool; write {{"name": ..., "parameters": {{...}}}}')
    listed = given.get("required", [])
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise SchemaError(f"{name!r}: required must be a list of names, got {listed!r}")
    required = set(listed)
    wrong = next((key for key in properties if not is_name(f"{key}=")), None)
    if wrong is not None:
        raise SchemaError(f"{wrong!r} cannot be a parameter of {name!r}; use letters, digits and _")
    if lacking := required - properties.keys():
        raise SchemaError(f"{name!r} requires {min(lacking)!r}, which is not among its properties")
    return name, properties, required


def _values(parameter: Any, what: str) -> tuple[list[str], bool | str]:
    """The values that a parameter lists, and whether it has others: a regular expression, or True."""
    kind = parameter.get("type") if isinstance(parameter, dict) else None
    kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
    listed = parameter.get("enum") if isinstance(parameter, dict) else None
    if isinstance(listed, list):
        found = [one if isinstance(one, str) else json.dumps(one) for one in listed if one is not None]
        return found, False
    if kinds == ["boolean"]:
        return ["true", "false"], False
    if len(kinds) != 1 or not isinstance(kinds[0], str) or kinds[0] not in OPEN:
        raise SchemaError(f"{what}: its type is {kind!r}; use string, number, integer, boolean or an enum")
    return [], OPEN[kinds[0]]
