"""Training data in a file that is larger than memory: slices that stay on disk.

LaRank trains on one slice after the other. Only the sentences, coefficients and difference vectors of the
current slice are in memory; all slices share w. The slices are blocks of one dual, which never decreases, so
the duality gap over all of them is exact. Features are counted over the whole file, in sorted runs on disk.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files import DataError, SparseRows
from structsvm.files.atomic import temporary_space
from structsvm.optimizers.parallel import ShardLaRank
from structsvm.problems.sequence import SequenceLabels, SequenceProblem, Sequences
from structsvm.validation import check_positive
from taggers.features._extract import count_rows, remap
from taggers.features.extract import KeyTable, concatenate, encode
from taggers.features.feature_names import feature_names
from taggers.features.word_classes import add_words
from taggers.formats.base import FileColumns
from taggers.labels._labels import Labels
from taggers.labels.files import Labelled, paths_of, read_labelled_parts
from taggers.model import TaggerModel
from taggers.sources.base import Facts, Settings, Source, check_columns_suffice, learn_labels
from taggers.trainer import RoundCurve, larank_options, problem_with_loss

BUCKETS = 64  # ranges of feature keys that are counted one after the other
MOST_MEMORY = 1e15  # bytes
COPIES = 3  # of w: the slice's, the common one, and the model's
USUAL_PEAK = 100_000_000  # bytes, after a file has been read in parts
PER_TOKEN, PER_FEATURE = 400, 24  # bytes of a token and of each of its features, as a support pattern


def parse_memory(text: str) -> int:
    """The bytes of a size such as 200M or 2G."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG])B?", text.strip(), re.IGNORECASE)
    if found is None or not float(found[1]):
        raise ValueError(f"--memory must be a size such as 200M or 2G, got {text!r}")
    size = float(found[1]) * 1000 ** ("KMG".index(found[2].upper()) + 1)
    check_positive(high=MOST_MEMORY, **{"--memory": size})
    return int(size)


@dataclass
class Slice:
    """A part of the training set on disk, and what LaRank has learned from it."""

    path: Path
    losses: float = 0.0  # its part of the dual, apart from ||w||^2 / 2
    patterns: int = 0
    argmax: int = 0

    def data(self) -> tuple[Sequences, SequenceLabels]:
        with np.load(self.path) as arrays:
            X = Sequences(arrays["rows"], arrays["token_ptr"], arrays["sentence_ptr"])
            return X, SequenceLabels(arrays["codes"], X.sentence_ptr)

    @property
    def state(self) -> Path:
        return self.path.with_suffix(".state.npz")


class DiskSource(Source[Slice, "DiskLaRank"]):
    """Labelled files of any size, to train on in about `memory` bytes.

    reading: the options of `read_labelled_parts`.
    """

    kind = "disk"

    def __init__(self, file: str | Path | Sequence[str | Path], memory: int, **reading: Any) -> None:
        self.files, self.memory, self.reading = paths_of(file), memory, reading
        self._facts: Facts | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._n_rows = 0

    def _parts(self) -> Iterator[Labelled]:
        return chain.from_iterable(read_labelled_parts(file, **self.reading) for file in self.files)

    def survey(self, task: str) -> Facts:
        if self._facts is None:
            self._facts = self._survey()
        return self._facts.of(task)

    def _survey(self) -> Facts:
        triples: Counter[Any] = Counter()
        sentences = tokens = 0
        alike = FileColumns()
        for part in self._parts():
            columns, gold = part
            alike = alike or part.file_columns("")
            if part.file_columns("") != alike:
                raise DataError("the columns are not those of the first file", columns.name)
            if columns.format.ready or not gold.complete:
                raise DataError("--memory needs columns of words with complete labels", columns.name)
            triples += gold.triples()
            sentences += columns.n_sentences
            tokens += columns.n_tokens
        return Facts(part.place, triples, sentences, tokens, alike, columns.name)

    def datasets(self, model: TaggerModel, facts: Facts, settings: Settings) -> Iterator[Slice]:
        check_columns_suffice(model, "--memory")
        learn_labels(model, facts)
        self._folder = tempfile.TemporaryDirectory(prefix="structsvm-")
        parts = self._extract(model, Path(self._folder.name), facts.usual)
        model.space.table = KeyTable(_frequent(parts, settings["cutoff"]))
        if settings["keep_names"]:
            for columns, _ in self._parts():
                model.space.names = feature_names(model, columns, model.space.names)
        problem = model.problem()
        n_weights = problem.offset + len(model.space) * problem.stride
        room = self.memory - peak_bytes() - COPIES * 8 * n_weights
        per_token = PER_TOKEN + PER_FEATURE * self._n_rows / facts.tokens
        if room < per_token * 1000:
            raise DataError(
                f"{len(model.space):,} features and {len(model.labels)} labels leave no room in --memory; "
                f"allow at least {(self.memory - room + 1e7) / 1e6:.0f}M, or drop rare features with "
                "--cutoff", ", ".join(map(str, self.files)),
            )  # fmt: skip
        return self._slices(parts, model.space.table.keys, room / per_token)

    def learner(self, model: TaggerModel, settings: Settings, datasets: Iterable[Slice]) -> DiskLaRank:
        learner = DiskLaRank(
            problem_with_loss(model, settings), list(datasets), len(model.space), **larank_options(settings)
        )
        if settings["callback"] is not None:
            assert self._facts is not None
            learner.callback = RoundCurve(settings["callback"], self._facts.sentences)
        return learner

    def figures(self, learner: DiskLaRank) -> dict[str, Any]:
        return {"gap": learner.primal() - learner.dual_, "slices": len(learner.slices), "curve": []}

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def _extract(self, model: TaggerModel, folder: Path, usual: dict[str, str]) -> list[Path]:
        """Save each part of the file with its own numbering of features, and count each feature."""
        self._n_rows, words = 0, KeyTable()
        parts: list[Path] = []
        labels = Labels(list(model.labels.labels))
        assert model.space.extractor is not None  # there is a template
        for columns, gold in self._parts():
            table = KeyTable()
            X = encode(columns, model.space.extractor, table, grow=True)
            codes = gold.renamed(usual).encode(labels, model.labels.outer, model.labels.inner).codes
            counts = np.zeros(len(table), np.int64)
            count_rows(counts, X.rows)
            order = np.argsort(table.keys)
            number = np.empty(len(order), np.int32)
            number[order] = np.arange(len(order), dtype=np.int32)
            path = folder / f"part-{len(parts)}"
            with temporary_space():
                np.save(f"{path}.keys.npy", table.keys[order])
                np.save(f"{path}.counts.npy", counts[order])
                np.savez(f"{path}.npz", rows=number[X.rows], token_ptr=X.token_ptr,
                         sentence_ptr=X.sentence_ptr, codes=codes)  # fmt: skip
            parts.append(path)
            self._n_rows += len(X.rows)
            add_words(words, columns)
        model.space = model.space.with_words(words)
        return parts

    def _slices(self, parts: list[Path], table: np.ndarray, n_tokens: float) -> Iterator[Slice]:
        """Join parts into slices of about `n_tokens` tokens, and number the features as the model does."""
        waiting: list[Sequences] = []
        codes: list[np.ndarray] = []
        for number, path in enumerate(parts):
            keys = np.load(f"{path}.keys.npy")
            row = np.searchsorted(table, keys)
            known = table.take(row, mode="clip") == keys if len(table) else np.zeros(len(keys), bool)
            with np.load(f"{path}.npz") as part:
                new = np.where(known, row, -1).astype(np.int32)
                X = Sequences(*remap(part["rows"], part["token_ptr"], new), part["sentence_ptr"])
                waiting.append(X)
                codes.append(part["codes"])
            last = number == len(parts) - 1
            if last or sum(map(len, codes)) + len(codes[-1]) > n_tokens:
                whole, target = concatenate(waiting), path.parent / f"slice-{number}.npz"
                with temporary_space():
                    np.savez(target, rows=whole.rows, token_ptr=whole.token_ptr,
                             sentence_ptr=whole.sentence_ptr, codes=np.concatenate(codes))  # fmt: skip
                waiting, codes = [], []
                yield Slice(target)
            for end in (".keys.npy", ".counts.npy", ".npz"):
                Path(f"{path}{end}").unlink()


def _frequent(parts: list[Path], cutoff: int) -> np.ndarray:
    """The sorted keys that occur at least `cutoff` times in the file, one range of keys at a time."""
    runs = [(np.load(f"{path}.keys.npy", mmap_mode="r"), np.load(f"{path}.counts.npy", mmap_mode="r"))
            for path in parts]  # fmt: skip
    ends = np.array([(1 << 64) // BUCKETS * k for k in range(1, BUCKETS)], np.uint64)
    places = [np.concatenate([[0], np.searchsorted(keys, ends), [len(keys)]]) for keys, _ in runs]
    found = []
    for k in range(BUCKETS):
        cuts = [slice(at[k], at[k + 1]) for at in places]
        keys = np.concatenate([run[0][cut] for run, cut in zip(runs, cuts, strict=True)])
        counts = np.concatenate([run[1][cut] for run, cut in zip(runs, cuts, strict=True)])
        distinct, which = np.unique(keys, return_inverse=True)
        found.append(distinct[np.bincount(which, counts) >= max(cutoff, 1)])
    return np.concatenate(found)


class DiskLaRank:
    """A `Learner`: LaRank on one slice after the other, which share w. Each slice is a round of a pass.

    options: those of `LaRank`.
    """

    def __init__(
        self, problem: SequenceProblem, slices: list[Slice], n_features: int, **options: Any
    ) -> None:
        self.problem, self.slices, self.options = problem, slices, options
        self.per_epoch = len(slices)
        self.weights = np.zeros(problem.offset + n_features * problem.stride)
        self.epochs_done = self.rounds = 0
        self.callback: Callable[[DiskLaRank], Any] | None = None  # called after every round

    def _on(self, number: int) -> ShardLaRank:
        """LaRank on a slice, in the state that it had after its last pass, with the current w."""
        one = self.slices[number]
        learner = ShardLaRank(
            self.problem, shard=number, shards=1, n_weights=len(self.weights), **self.options
        ).begin(*one.data())  # type: ignore[arg-type]
        if one.state.exists():
            with np.load(one.state) as state:
                learner.rebuild(dict(state), self.weights)
        else:
            learner.adopt_weights(self.weights)
        return learner

    def epoch(self) -> bool:
        for number, one in enumerate(self.slices):
            learner = self._on(number)
            learner.epochs_done = self.epochs_done
            learner.epoch()
            self.weights = learner.weights_at(slice(len(self.weights))).copy()
            one.losses, one.patterns, one.argmax = learner.counts()
            with temporary_space():
                np.savez(one.state, **learner.snapshot())  # type: ignore[arg-type]
            self.rounds += 1
            if self.callback is not None and self.callback(self):
                return True
        self.epochs_done += 1
        return False

    @property
    def dual_(self) -> float:
        return sum(one.losses for one in self.slices) - float(self.weights @ self.weights) / 2

    @property
    def n_support_patterns_(self) -> int:
        return sum(one.patterns for one in self.slices)

    @property
    def n_argmax_(self) -> int:
        return sum(one.argmax for one in self.slices)

    def primal(self) -> float:
        slack = sum(self._on(number).slack_sum() for number in range(len(self.slices)))
        return float(self.weights @ self.weights) / 2 + slack

    def weight_rows(self, n_rows: int, stride: int, n_labels: int) -> SparseRows:
        return SparseRows.from_vector(self.weights, n_rows, stride, n_labels)

    def unconverged(self) -> str:
        return ""


def peak_bytes() -> int:
    """The most memory that this process has used so far; on Windows, a usual value."""
    try:
        import resource
    except ModuleNotFoundError:
        return USUAL_PEAK
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)
