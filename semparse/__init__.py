"""Meaning representations and parsers that learn them from ambiguous supervision."""

from typing import TYPE_CHECKING

from structsvm.lazy import lazy_names

if TYPE_CHECKING:
    from semparse.concepts.labeller import ConceptLabeller
    from semparse.meaning import MR, MeaningError, as_mr, distinct, parse_mr, parse_mrs
    from semparse.ospas import Ospas
    from semparse.parse import Parse
    from semparse.schema import Relation, Schema, SchemaError, SchemaLearner

__all__ = [
    "MR", "ConceptLabeller", "MeaningError", "Ospas", "Parse", "Relation", "Schema", "SchemaError",
    "SchemaLearner", "as_mr", "distinct", "parse_mr", "parse_mrs",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        "semparse.concepts.labeller": ("ConceptLabeller",),
        "semparse.meaning": ("MR", "MeaningError", "as_mr", "distinct", "parse_mr", "parse_mrs"),
        "semparse.ospas": ("Ospas",),
        "semparse.parse": ("Parse",),
        "semparse.schema": ("Relation", "Schema", "SchemaError", "SchemaLearner"),
    },
)
