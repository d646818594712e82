"""Sequence labelling: the problem, its data set `Sequences`, the decoder, and models with more labels."""

from structsvm.problems.sequence._decode import Decoder
from structsvm.problems.sequence.bigrams import Bigrams, labels_before
from structsvm.problems.sequence.candidates import Candidates
from structsvm.problems.sequence.problem import SequenceLabels, SequenceProblem, Sequences
from structsvm.problems.sequence.resize import wider_state, wider_weights

__all__ = [
    "Bigrams", "Candidates", "Decoder", "SequenceLabels", "SequenceProblem", "Sequences", "labels_before",
    "wider_state", "wider_weights",
]  # fmt: skip
