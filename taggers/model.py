"""The model of a tagger: which features to extract, their weights, and the labels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from structsvm.files import SparseRows
from structsvm.options import Option
from structsvm.problems.sequence import Candidates, Decoder, SequenceProblem, Sequences
from structsvm.threads import StoppablePool
from structsvm.validation import MOST, MOST_BEST, check_count, check_number
from taggers.features.class_files import read_classes
from taggers.features.extract import shares
from taggers.features.knowledge import Knowledge, named_sources, read_gazetteer
from taggers.features.space import FeatureSpace
from taggers.formats._columns import Columns
from taggers.formats.base import FileColumns
from taggers.labels import schemes
from taggers.labels.label_encoding import by_label
from taggers.labels.parts import values
from taggers.labels.space import LabelSpace
from taggers.options import OPTIONS

if TYPE_CHECKING:
    from structsvm.training import Learner

MOST_ALIKE = 64
LARGEST_BIAS = 1e6  # far above any score, and exact enough in float32


@dataclass
class TaggerModel:
    """Weights (rows for previous labels, then rows for features) and everything else to label sentences.

    space: the features. labels: the labels that have weights, and what users see of them.
    candidates: the labels that tokens may get, by feature; None: all. Further training drops them.
    temperature: of probabilities, see `calibrated`.
    likelihood: whether the weights maximize the likelihood of labels, as in a conditional random field.
    bias: what `biased` has added to the weights, by label; further training keeps it.
    files: the format and columns of the training file.
    report: figures of the training. parameters: the options given to the tagger.
    state: the training state, if it was kept.
    """

    space: FeatureSpace
    labels: LabelSpace
    weights: SparseRows = field(default_factory=lambda: SparseRows.from_dense(np.zeros((0, 1))))
    candidates: Candidates | None = None
    temperature: float = 1.0
    likelihood: bool = False
    bias: dict[str, float] = field(default_factory=dict)
    files: FileColumns = field(default_factory=FileColumns)
    report: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    state: dict[str, np.ndarray] | None = None

    def problem(self, loss: np.ndarray | None = None) -> SequenceProblem:
        """The structured problem of the weights."""
        bigrams = self.space.bigrams
        return self.labels.problem(None if bigrams is None else bigrams.distances, loss)

    def with_weights(self, learner: Learner) -> TaggerModel:
        """This model with the weights of a learner."""
        return self.with_rows(self.rows_of(learner))

    @property
    def probable(self) -> bool:
        """Whether the model was trained or calibrated to predict probabilities."""
        return self.likelihood or self.temperature != 1

    def rows_of(self, learner: Learner) -> SparseRows:
        """The weights of a learner as rows, in float32, with the bias; rows without examples are zero."""
        problem = self.problem()
        rows = learner.weight_rows(self.n_rows, problem.stride, problem.width)
        return rows.shifted(len(self.labels) + 1, self.shift) if self.bias else rows

    @property
    def shift(self) -> np.ndarray:
        """The bias of each label."""
        return np.array([self.bias.get(label, 0.0) for label in self.labels])

    def with_rows(self, rows: SparseRows) -> TaggerModel:
        """This model with other weights."""
        return replace(self, space=self.space.fully_named(), weights=rows, state=None)

    def with_rows_of(self, used: np.ndarray) -> TaggerModel:
        """This model with the weights of some features, to label sentences with their rows among these.

        The mask `used` must contain the features that have candidates.
        """
        rows = self.weights.kept(np.concatenate([np.ones(self.first_row, bool), used]))
        sets = None if self.candidates is None else self.candidates.kept(used)
        return replace(self, weights=rows, candidates=sets, state=None)

    def with_decoder(self, decoder: Decoder) -> TaggerModel:
        """This model with a decoder of its own, to label sentences whose rows are those of the decoder."""
        model = object.__new__(TaggerModel)
        model.__dict__.update(self.__dict__, decoder=decoder)  # and everything that is cached
        return model

    def with_features(self, keep: np.ndarray) -> TaggerModel:
        """This model with only some of its features, no weights, and about as much room as before."""
        none = SparseRows.from_dense(np.zeros((0, 1)))
        space = self.space.kept(keep, len(keep) + len(keep) // 32)
        return replace(self, space=space, weights=none, state=None, candidates=None)

    @cached_property
    def decoder(self) -> Decoder:
        return Decoder(self.problem(), self.weights, candidates=self.candidates)

    @cached_property
    def first_row(self) -> int:
        """The first row of the weights that is a feature's."""
        return self.problem().history

    @property
    def names(self) -> list[str]:
        """The labels as users see them; `tag` returns positions in this list."""
        return self.labels.names

    @property
    def parts(self) -> list[str]:
        """The columns of CoNLL-U whose values a label joins; empty for simple labels."""
        return list(self.files.get("parts", ()))

    def part_names(self, part: str | None) -> list[str]:
        """The values that labels have for one of these columns; None: the labels themselves."""
        if part is None:
            return self.names
        parts = self.parts
        at = parts.index(part)
        return [values(name, len(parts))[at] for name in self.names]

    @property
    def n_rows(self) -> int:
        """The rows of weights that the model needs."""
        return self.first_row + len(self.space)

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.__dataclass_fields__}

    # -- labelling ------------------------------------------------------------------------------

    def features(self, X: Any, *, jobs: int = 1) -> Sequences:
        """The features of sentences, or of columns, that the model knows; jobs: the number of threads."""
        return self.space.encode(X, self.labels, jobs=jobs)

    def tag(
        self,
        X: Columns | Sequences,
        *,
        forced: np.ndarray | None = None,
        margins: np.ndarray | None = None,
        jobs: int = 1,
    ) -> np.ndarray:
        """The label of each token, as a position in `names`; `forced` holds positions in `labels`, or -1."""
        data = self.features(X, jobs=jobs) if isinstance(X, Columns) else X
        ids = np.zeros(data.n_tokens, np.int32)
        bounds = shares(data.sentence_ptr, jobs)

        def work(part: int) -> None:
            self.decoder.labels(data, bounds[part], bounds[part + 1], forced=forced, margins=margins, out=ids)

        if len(bounds) == 2:
            work(0)
        else:
            with StoppablePool(len(bounds) - 1) as pool:
                list(pool.map(work, range(len(bounds) - 1)))
        return self.labels.outward(ids, data.sentence_ptr)

    def marginals(self, X: Columns | Sequences) -> np.ndarray:
        """tokens x names, float32: the probability of each label of each token."""
        data = self.features(X) if isinstance(X, Columns) else X
        inner = self.decoder.marginals(data, self.temperature)
        if self.labels.rewriter is None:
            return inner
        outer = np.zeros((len(inner), len(self.names)), np.float32)
        for k, place in enumerate(self._places()):
            outer[:, place] += inner[:, k]
        return outer

    def _places(self) -> list[int]:
        """For each label that has weights, the position in `names` of what users see."""
        space = self.labels
        if space.rewriter is None:
            return list(range(len(space)))
        return [self.names.index(schemes.renamed(label, space.inner, space.outer)) for label in space]

    def log_likelihood(self, X: Sequences, allowed: np.ndarray) -> np.ndarray:
        """The logarithm of the probability that each sentence has allowed labels; allowed: tokens x names."""
        if self.labels.inference == "greedy" or X.bigrams is not None:
            raise ValueError("this needs exact inference, without features joined with a previous label")
        n, problem = len(self.labels), self.problem()
        moves = self.weights[: n + 1].astype(float) / self.temperature
        moves[problem.barred[:, :n] != 0] = -np.inf
        last = np.where(problem.barred_end != 0, -np.inf, 0.0)
        allowed = allowed[:, self._places()]
        found = np.zeros(len(X))

        def total(lattice: np.ndarray) -> Any:
            forward = moves[-1] + lattice[0]
            for row in lattice[1:]:
                forward = np.logaddexp.reduce(forward[:, None] + moves[:-1], axis=0) + row
            return np.logaddexp.reduce(forward + last)

        for sentence, (start, stop) in enumerate(pairwise(X.sentence_ptr.tolist())):
            if stop > start:
                lattice = self.decoder.lattice(X, sentence) / self.temperature
                agreeing = np.where(allowed[start:stop], lattice, -np.inf)
                found[sentence] = min(total(agreeing) - total(lattice), 0.0)
        return found

    def calibrated(self, X: Sequences, gold: np.ndarray) -> TaggerModel:
        """This model with the temperature that makes labels most probable: positions in `names`, or -1."""
        known = np.flatnonzero(gold >= 0)

        def cost(temperature: float) -> float:
            probable = replace(self, temperature=temperature).marginals(X)[known, gold[known]]
            return -float(np.log(np.maximum(probable, 1e-12)).mean())

        tried = {t: cost(t) for t in np.geomspace(0.05, 5, 9).tolist()} if len(known) else {1.0: 0.0}
        best = min(tried, key=tried.__getitem__)
        finer = {t: cost(t) for t in (best * np.geomspace(0.65, 1.5, 7)).tolist()} if len(known) else tried
        return replace(self, temperature=min(finer, key=finer.__getitem__))

    def biased(self, bias: Mapping[str, float]) -> TaggerModel:
        """This model with constants added to the scores of labels: names, types, or `phrases` (all but O).

        A token has one row of weights for its previous label, so the constants are added there.
        """
        if self.labels.share or self.problem().history < len(self.labels) + 1:
            raise ValueError("a bias needs labels without parts, and an order of at least 1")
        shift = by_label("bias", bias, self.labels, self.labels.outer, self.labels.inner, 0.0)
        if not (np.abs(self.shift + shift) <= LARGEST_BIAS).all():
            raise ValueError(f"a bias must be a finite number from -{LARGEST_BIAS:g} to {LARGEST_BIAS:g}")
        total = dict(zip(self.labels, (self.shift + shift).tolist(), strict=True))
        weights = self.weights.shifted(len(self.labels) + 1, shift)
        return replace(self, weights=weights, bias={label: value for label, value in total.items() if value})

    def n_best(self, X: Sequences, sentence: int, n: int) -> list[tuple[float, tuple[int, ...]]]:
        """The n best labellings of a sentence, as positions in `names`, with their scores, best first.

        It needs exact inference. Of inner labellings with the same meaning, the best one counts. There are
        fewer than n labellings if the MOST_ALIKE * n best inner ones have fewer meanings.
        """
        check_count(n=n, low=1, high=MOST_BEST)
        asked = n
        while True:
            found = self.decoder.n_best(X, sentence, asked)
            scores: dict[tuple[int, ...], float] = {}
            for score, path in found:
                ends = np.array([0, len(path)], np.int64)
                scores.setdefault(tuple(self.labels.outward(path, ends).tolist()), score)
            if len(scores) >= n or len(found) < asked or asked >= MOST_ALIKE * n:
                break
            asked *= 4
        return [(score, path) for path, score in list(scores.items())[:n]]

    # -- files ----------------------------------------------------------------------------------

    def compact(self, least: float = 0.0, dtype: str = "float32") -> TaggerModel:
        """This model without weights up to `least`, features without weights, and training state."""
        first = self.problem().history
        sets = self.candidates
        needed = np.zeros(0, np.int32) if sets is None else sets.rows
        weights, keep = self.weights.compact(least, dtype, first, needed + first)
        if least and self.weights.counts[first:].any() and not weights.counts[first:].any():
            warnings.warn(f"prune={least:g} drops the weights of all features; lower it", stacklevel=3)
        keep, round_before = keep[first:], self.space.first_round
        space = replace(
            self.space.kept(keep), bigram_numbers=self.space.kept_bigrams(keep, self.labels),
            first_round=None if round_before is None else round_before.compact(least, dtype),
        )  # fmt: skip
        sets = None if sets is None else sets.kept(keep)
        return replace(self, space=space, weights=weights, candidates=sets, state=None)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        prune: float | None = None,
        dtype: str = "float32",
        training_state: bool = False,
    ) -> None:
        """Write a model file, completely or not at all.

        Parameters
        ----------
        prune
            Drop weights of this magnitude or less, and features left without weights.
        dtype
            float32 keeps the weights unchanged; float16 and int8 round them and store 32 bits of the feature
            keys (an unseen feature is mistaken for a known one once in 2**32 / features times).
        training_state
            Save the training state, so that `resume` continues training exactly.
        """
        from taggers.model_file import write_model

        if training_state and (self.state is None or prune is not None or dtype != "float32"):
            raise ValueError(
                "training_state=True requires a model with a training state, float32 weights and no pruning"
            )
        self.space.check_first_round()
        if prune is not None:
            check_number(prune=prune, high=MOST)
        write_model(path, self if training_state else self.compact(prune or 0.0, dtype), dtype)

    @staticmethod
    def load(path: str | os.PathLike[str], options: Iterable[Option] = OPTIONS) -> TaggerModel:
        """Read a model file, or an included model by its name (en-pos), or raise ModelFileError.

        Parameters
        ----------
        options
            Those that the file may hold.
        """
        from taggers.model_file import read_arrays, unpacked

        return unpacked(path, *read_arrays(path), options)


def replace_knowledge(model: TaggerModel, *, classes: Any = None, gazetteers: Any = None) -> TaggerModel:
    """A model with other word classes, or other entries of its gazetteers, under the same names."""
    given = {"classes": named_sources(classes), "gazetteers": named_sources(gazetteers)}
    known = model.space.knowledge
    for kind, sources in given.items():
        for name in sources:
            if name not in getattr(known, kind):
                names = ", ".join(getattr(known, kind)) or "none"
                raise ValueError(f"the model has no {kind} called {name!r}; its {kind}: {names}")
    found = {name: read_gazetteer(source, folded=known.gazetteers[name].folded)
             for name, source in given["gazetteers"].items()}  # fmt: skip
    read = {name: read_classes(source) for name, source in given["classes"].items()}
    return _with_knowledge(model, known.with_classes(read).with_gazetteers(found))


def _with_knowledge(model: TaggerModel, knowledge: Knowledge) -> TaggerModel:
    """A model with other knowledge, and its first round too."""
    first = model.space.first_round
    first = None if first is None else _with_knowledge(first, knowledge)
    return replace(model, space=replace(model.space, knowledge=knowledge, first_round=first))
