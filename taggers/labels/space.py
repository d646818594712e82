"""The label space of a model: its labels, their schemes, and how a sequence of them is scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from structsvm.files.codec import FLAG, Field, Table, names, text, whole
from structsvm.problems.sequence import SequenceProblem
from structsvm.validation import MOST
from taggers.labels import schemes
from taggers.labels.parts import all_parts, label_parts
from taggers.options import SCHEMES

MOST_LABELS = 10_000  # the loss matrix has a number for each pair
LABELS = Table(
    Field("labels", names(text(least=1, utf8=True), most=MOST_LABELS),
          "the labels, in the scheme of the weights"),
    Field("outer", text(SCHEMES), "the scheme of the labels that users see"),
    Field("inner", text(SCHEMES), "the scheme of the labels that have weights"),
    Field("constrained", FLAG, "whether only sequences that are valid in the scheme are predicted"),
    Field("inference", text(("exact", "greedy")), "Viterbi, or label by label"),
    Field("order", whole(high=MOST), "the number of previous labels that are features"),
    Field("share", FLAG, "whether labels share the weights of their parts", False),
)  # fmt: skip


@dataclass(frozen=True)
class LabelSpace(Sequence[str]):
    """A sequence of the labels that have weights, in the `inner` scheme.

    Users read and write the `outer` scheme. constrained: only sequences that are valid in the scheme are
    predicted. inference: exact or greedy. order: the number of previous labels that are features. share:
    labels share the weights of their parts, see `taggers.labels.parts`.
    """

    labels: tuple[str, ...] = ()
    outer: str = "none"
    inner: str = "none"
    constrained: bool = False
    inference: str = "exact"
    order: int = 1
    share: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.__dataclass_fields__}

    def packed(self) -> dict[str, Any]:
        """The metadata of the space for a model file."""
        return LABELS.write(vars(self) | {"labels": list(self.labels)})[1]

    @classmethod
    def unpacked(cls, meta: Mapping[str, Any]) -> LabelSpace:
        """The space of the metadata of a file; raise ValueError for wrong ones."""
        found = LABELS.read({}, meta)
        return cls(tuple(found.pop("labels")), **found)

    def with_labels(self, labels: Iterable[str]) -> LabelSpace:
        """This space with other labels."""
        return replace(self, labels=tuple(labels))

    @property
    def mark_phrases(self) -> bool:
        """Whether the labels mark phrases, and O all other tokens."""
        return self.outer != "none" and schemes.OUTSIDE in self.labels

    @property
    def can_be_biased(self) -> bool:
        """Whether a bias of O changes how many phrases are found; see `TaggerModel.biased`."""
        return self.mark_phrases and self.order > 0 and not self.share

    def problem(
        self, distances: tuple[int, ...] | None = None, loss: np.ndarray | None = None
    ) -> SequenceProblem:
        """The structured problem of the weights; without a loss, it is built once.

        distances: those of the previous labels that features are joined with.
        """
        built: dict[Any, SequenceProblem] = vars(self).setdefault("_problems", {})
        if loss is not None or distances not in built:
            options: dict[str, Any] = {"inference": self.inference, "order": self.order, "loss": loss}
            if distances is not None:
                options["bigrams"] = distances
            if self.share and self.labels:
                options["parts"] = label_parts(self.labels)
            if self.constrained:
                first, follow, last = schemes.allowed(self.labels, self.inner)
                options["barred"] = (~np.vstack([follow, first]), ~last)
            problem = SequenceProblem(len(self.labels), **options)
            if loss is not None:
                return problem
            built[distances] = problem
        return built[distances]

    @cached_property
    def rewriter(self) -> schemes.Rewriter | None:
        """From inner to outer labels; None where they are the same."""
        if self.inner == "none" or (self.constrained and self.inner == self.outer):
            return None
        return schemes.Rewriter(self.labels, self.inner, self.outer)

    @cached_property
    def names(self) -> list[str]:
        """The labels as users see them."""
        return list(self.labels) if self.rewriter is None else self.rewriter.names

    def outward(self, ids: np.ndarray, sentence_ptr: np.ndarray) -> np.ndarray:
        """Positions of labels as positions in `names`."""
        return ids if self.rewriter is None else self.rewriter(ids, sentence_ptr)

    @property
    def width(self) -> int:
        """The columns of a row of weights."""
        return label_parts(self.labels).n_parts if self.share else len(self)

    @property
    def columns(self) -> list[list[int]]:
        """For each label its columns in a row of weights: its own or, if labels share weights, its parts'."""
        return label_parts(self.labels).lists() if self.share else [[k] for k in range(len(self))]

    @property
    def weight_names(self) -> Sequence[str]:
        """The names of the columns of a row of weights: labels or, if labels share weights, parts."""
        return all_parts(self.labels) if self.share else self.labels
