"""Meaning representations and parsers that learn them from ambiguous supervision."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semparse.concepts.labeller import ConceptLabeller
    from semparse.meaning import MR, MeaningError, as_mr, distinct, parse_mr, parse_mrs
    from semparse.ospas import Ospas
    from semparse.parse import Parse
    from semparse.schema import Relation, Schema, SchemaError, SchemaLearner

MODULES = {
    "semparse.concepts.labeller": ("ConceptLabeller",),
    "semparse.meaning": ("MR", "MeaningError", "as_mr", "distinct", "parse_mr", "parse_mrs"),
    "semparse.ospas": ("Ospas",),
    "semparse.parse": ("Parse",),
    "semparse.schema": ("Relation", "Schema", "SchemaError", "SchemaLearner"),
}
__all__ = [
    "MR",
    "ConceptLabeller",
    "MeaningError",
    "Ospas",
    "Parse",
    "Relation",
    "Schema",
    "SchemaError",
    "SchemaLearner",
    "as_mr",
    "distinct",
    "parse_mr",
    "parse_mrs",
]


def __getattr__(name: str) -> Any:
    """Import the parsers when they are first used, so that the command line starts fast."""
    for module, names in MODULES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(module), name)
    raise AttributeError(f"module 'semparse' has no attribute {name!r}")
