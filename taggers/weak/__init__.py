"""Learn from sources of unknown quality instead of gold labels, and find errors in your own labels."""

from taggers.weak.aggregate import Consensus, aggregate
from taggers.weak.agreement import Agreed, agreements
from taggers.weak.distil import Distilled, distil
from taggers.weak.doubts import Doubt, find_label_errors
from taggers.weak.sources import Source, annotators, collect, function, gazetteer, patterns, regex, teacher

__all__ = [
    "Agreed", "Consensus", "Distilled", "Doubt", "Source", "aggregate", "agreements", "annotators", "collect",
    "distil", "find_label_errors", "function", "gazetteer", "patterns", "regex", "teacher",
]  # fmt: skip
