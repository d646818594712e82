"""Train on a file that is larger than memory, in slices that stay on disk.

LaRank trains on one slice after the other. Only the sentences, coefficients and difference vectors of the
current slice are in memory; all slices share w. The slices are blocks of one dual, which never decreases, so
the duality gap over all of them is exact. Features are counted over the whole file, in sorted runs on disk.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files import DataError
from structsvm.files.atomic import temporary_space
from structsvm.optimizers.parallel import ShardLaRank
from structsvm.problems.sequence import SequenceLabels, Sequences
from structsvm.validation import check_positive
from taggers import metrics
from taggers.features._extract import count_rows, remap
from taggers.features.extract import KeyTable, concatenate, encode
from taggers.features.word_classes import WORDS
from taggers.labels._labels import Labels
from taggers.labels.files import read_labelled, read_labelled_parts
from taggers.labels.label_encoding import GoldLabels, inner_labels, loss_matrix
from taggers.model import TaggerModel
from taggers.options import checked_settings
from taggers.trainer import Trainer, TrainingPoint

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


def needs_more_than_columns(model: TaggerModel) -> bool:
    """Whether features depend on more than the columns of a sentence, so that slices cannot supply them."""
    real = model.template is not None and model.template.real
    own = model.function is not None or real or model.label_bigrams is not None
    return bool(own or model.knowledge.names or model.uses_documents)


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


def train_in_slices(
    tagger: Any, file: str | Path, memory: int, *, dev: str | Path | None = None, **reading: Any
) -> Any:
    """Train a tagger on a file of any size in about `memory` bytes; return the tagger, as `fit` does."""
    settings = checked_settings(tagger)
    with tempfile.TemporaryDirectory(prefix="structsvm-") as folder:
        training = SlicedTraining(tagger, file, memory, Path(folder), settings, reading)
        held_out, gold = (None, None) if dev is None else read_labelled(dev, **reading)
        weights, scores = training.passes(held_out, gold)
        gap = training.gap()
    trainer = Trainer(training.model.with_weights(weights), settings)
    trainer.scores = scores
    trainer.model.report = training.size | {
        "features": len(training.model.table), "epochs": training.epochs_done,
        **metrics.score_report(scores, gold, phrases=training.model.outer != "none"),
        "dual": training.dual, "gap": gap, "slices": len(training.slices),
        "support_patterns": sum(one.patterns for one in training.slices), "curve": [],
    }  # fmt: skip
    tagger._trainer = trainer
    return tagger


class SlicedTraining:
    """The slices of a file, and the w that they share."""

    def __init__(
        self, tagger: Any, file: str | Path, memory: int, folder: Path, settings: Any, reading: Any
    ) -> None:
        self.folder, self.settings = folder, settings
        self.model, self.size = self._survey(tagger, file, reading)
        self._extract(file, reading)
        self.model.table, n_rows = KeyTable(self._frequent(settings["cutoff"])), self._n_rows
        loss = loss_matrix(
            self.model.labels, dict(settings["label_weight"] or {}), self.model.outer, self.model.inner
        )
        self.problem = self.model.problem(loss)
        n_weights = self.problem.offset + len(self.model.table) * self.problem.stride
        room = memory - peak_bytes() - COPIES * 8 * n_weights
        per_token = PER_TOKEN + PER_FEATURE * n_rows / self.size["tokens"]
        if room < per_token * 1000:
            raise DataError(
                f"{len(self.model.table):,} features and {len(self.model.labels)} labels leave no room in "
                f"--memory; allow at least {(memory - room + 1e7) / 1e6:.0f}M, or drop rare features with "
                "--cutoff", str(file),
            )  # fmt: skip
        self.slices = list(self._slices(room / per_token))
        self.weights, self.epochs_done = np.zeros(n_weights), 0

    # -- preparation ----------------------------------------------------------------------------

    def _survey(self, tagger: Any, file: str | Path, reading: Any) -> tuple[TaggerModel, dict[str, int]]:
        """A model that knows all labels of the file, and the size of the file."""
        triples: Counter[Any] = Counter()
        names: set[str] = set()
        size = {"sentences": 0, "tokens": 0}
        for part in read_labelled_parts(file, **reading):
            columns, gold = part
            if columns.format.ready or not gold.complete:
                raise DataError("--memory needs columns of words with complete labels", columns.name)
            triples += gold.triples()
            names.update(gold.names)
            size["sentences"] += columns.n_sentences
            size["tokens"] += columns.n_tokens
        model = tagger._new_model(None, columns.width - 1, triples, self.settings)
        if needs_more_than_columns(model):
            raise ValueError(
                "--memory supports templates without word classes, gazetteers, vectors, values, doc_form, "
                "doc_label, functions and y[-1] joined with features; use a simpler template"
            )
        model.labels = sorted(inner_labels(sorted(names), model.outer, model.inner))
        model.files = part.file_columns(tagger.TASK)
        return model, size

    def _extract(self, file: str | Path, reading: Any) -> None:
        """Save each part of the file with its own numbering of features, and count each feature."""
        model, self._n_rows, words = self.model, 0, KeyTable()
        self.parts: list[Any] = []
        labels = Labels(model.labels)
        assert model.extractor is not None  # there is a template
        for columns, gold in read_labelled_parts(file, **reading):
            table = KeyTable()
            X = encode(columns, model.extractor, table, grow=True)
            codes = gold.encode(labels, model.outer, model.inner).codes
            counts = np.zeros(len(table), np.int64)
            count_rows(counts, X.rows)
            order = np.argsort(table.keys)
            number = np.empty(len(order), np.int32)
            number[order] = np.arange(len(order), dtype=np.int32)
            path = self.folder / f"part-{len(self.parts)}"
            with temporary_space():
                np.save(f"{path}.keys.npy", table.keys[order])
                np.save(f"{path}.counts.npy", counts[order])
                np.savez(f"{path}.npz", rows=number[X.rows], token_ptr=X.token_ptr,
                         sentence_ptr=X.sentence_ptr, codes=codes)  # fmt: skip
            self.parts.append(path)
            self._n_rows += len(X.rows)
            words.rows(WORDS.keys(columns)[:, 0], grow=True)
        model.words = np.unique(words.halves)

    def _frequent(self, cutoff: int) -> np.ndarray:
        """The sorted keys that occur at least `cutoff` times in the file, one range of keys at a time."""
        runs = [(np.load(f"{path}.keys.npy", mmap_mode="r"), np.load(f"{path}.counts.npy", mmap_mode="r"))
                for path in self.parts]  # fmt: skip
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

    def _slices(self, n_tokens: float) -> Iterator[Slice]:
        """Join parts into slices of about `n_tokens` tokens, and number the features as the model does."""
        table, waiting, codes = self.model.table.keys, [], []
        for number, path in enumerate(self.parts):
            keys = np.load(f"{path}.keys.npy")
            row = np.searchsorted(table, keys)
            known = table.take(row, mode="clip") == keys if len(table) else np.zeros(len(keys), bool)
            with np.load(f"{path}.npz") as part:
                new = np.where(known, row, -1).astype(np.int32)
                X = Sequences(*remap(part["rows"], part["token_ptr"], new), part["sentence_ptr"])
                waiting.append(X)
                codes.append(part["codes"])
            last = number == len(self.parts) - 1
            if last or sum(map(len, codes)) + len(codes[-1]) > n_tokens:
                whole, target = concatenate(waiting), self.folder / f"slice-{number}.npz"
                with temporary_space():
                    np.savez(target, rows=whole.rows, token_ptr=whole.token_ptr,
                             sentence_ptr=whole.sentence_ptr, codes=np.concatenate(codes))  # fmt: skip
                waiting, codes = [], []
                yield Slice(target)
            for end in (".keys.npy", ".counts.npy", ".npz"):
                Path(f"{path}{end}").unlink()

    # -- training -------------------------------------------------------------------------------

    def _learner(self, number: int) -> ShardLaRank:
        """LaRank on a slice, in the state that it had after its last pass, with the current w."""
        one, settings = self.slices[number], self.settings
        learner = ShardLaRank(
            self.problem, shard=number, shards=1, n_weights=len(self.weights), C=settings["C"],
            n_reprocess=settings["reprocess"], random_state=settings["random_state"],
        ).begin(*one.data())  # type: ignore[arg-type]  # fmt: skip
        if one.state.exists():
            with np.load(one.state) as state:
                learner.rebuild(dict(state), self.weights)
        else:
            learner.adopt_weights(self.weights)
        return learner

    def passes(self, dev: Any, gold: GoldLabels | None) -> tuple[np.ndarray, list[float]]:
        """Train pass by pass; return the weights, of the best pass if there is a dev file, and the scores."""
        best, scores, begun, settings = None, [], time.perf_counter(), self.settings
        while self.epochs_done < settings["epochs"]:
            for number, one in enumerate(self.slices):
                learner = self._learner(number)
                learner.epochs_done = self.epochs_done
                learner.epoch()
                self.weights = learner.weights_at(slice(len(self.weights))).copy()
                one.losses, one.patterns, one.argmax = learner.counts()
                with temporary_space():
                    np.savez(one.state, **learner.snapshot())  # type: ignore[arg-type]
                self._report(number, begun)
            self.epochs_done += 1
            if gold is not None:
                model = self.model.with_weights(self.weights)
                phrases = model.outer != "none"
                scores.append(metrics.score_ids(gold, model.tag(dev), model.names, phrases=phrases))
                getattr(settings["callback"], "scored", lambda score: None)(scores[-1])
                if scores[-1] > max(scores[:-1], default=-np.inf):
                    best = self.weights.copy()
                if len(scores) - 1 - int(np.argmax(scores)) >= settings["patience"]:
                    break
        return self.weights if best is None else best, scores

    def _report(self, number: int, begun: float) -> None:
        callback = self.settings["callback"]
        if callback is not None:
            seconds = time.perf_counter() - begun
            seen = self.size["sentences"] * (number + 1) // len(self.slices)
            rate = (self.epochs_done * self.size["sentences"] + seen) / seconds
            counts = (sum(one.patterns for one in self.slices), sum(one.argmax for one in self.slices))
            callback(TrainingPoint(seconds, self.epochs_done, seen, rate, self.dual, *counts))

    @property
    def dual(self) -> float:
        """The dual objective of all slices."""
        return sum(one.losses for one in self.slices) - float(self.weights @ self.weights) / 2

    def gap(self) -> float:
        """primal - dual over all slices."""
        slack = sum(self._learner(number).slack_sum() for number in range(len(self.slices)))
        return float(self.weights @ self.weights) / 2 + slack - self.dual


def peak_bytes() -> int:
    """The most memory that this process has used so far; on Windows, a usual value."""
    try:
        import resource
    except ModuleNotFoundError:
        return USUAL_PEAK
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)
