"""Built-in problems, one file a structure."""

from structsvm.problems.ambiguous import AmbiguousBags
from structsvm.problems.multiclass import Multiclass
from structsvm.problems.outputs import Taxonomy
from structsvm.problems.sequence import SequenceLabels, SequenceProblem, Sequences

__all__ = ["AmbiguousBags", "Multiclass", "SequenceLabels", "SequenceProblem", "Sequences", "Taxonomy"]
