"""Built-in problems, one file a structure."""

from structsvm.problems.ambiguous import AmbiguousBags
from structsvm.problems.grammar import Grammar
from structsvm.problems.multiclass import Multiclass
from structsvm.problems.outputs import Taxonomy
from structsvm.problems.sequence import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.strings import StringProblem
from structsvm.problems.trees import TreeProblem

__all__ = [
    "AmbiguousBags",
    "Grammar",
    "Multiclass",
    "SequenceLabels",
    "SequenceProblem",
    "Sequences",
    "StringProblem",
    "Taxonomy",
    "TreeProblem",
]
