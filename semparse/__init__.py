"""Meaning representations and parsers that learn them from ambiguous supervision."""

from semparse.concepts.labeller import ConceptLabeller
from semparse.meaning import MR, MeaningError, as_mr, distinct, parse_mr, parse_mrs
from semparse.ospas import Ospas
from semparse.parse import Parse
from semparse.schema import Relation, Schema, SchemaError, SchemaLearner

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
