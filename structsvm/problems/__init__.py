"""Built-in problems, with one file per structure."""

from structsvm.problems.ambiguous import AmbiguousBags
from structsvm.problems.dependency.problem import ArcFeatures, DependencyProblem, arc_features
from structsvm.problems.joint import JointKernelProblem
from structsvm.problems.multiclass import Multiclass
from structsvm.problems.sequence.problem import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.string import StringProblem
from structsvm.problems.taxonomies import Taxonomy
from structsvm.problems.tree.grammar import Grammar
from structsvm.problems.tree.problem import TreeProblem

__all__ = [
    "AmbiguousBags", "ArcFeatures", "DependencyProblem", "Grammar", "JointKernelProblem", "Multiclass",
    "SequenceLabels", "SequenceProblem", "Sequences", "StringProblem", "Taxonomy", "TreeProblem",
    "arc_features",
]  # fmt: skip
