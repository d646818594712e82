"""Train and tag many files on a Dask cluster; only the workers read the data.

The driver collects the labels and features of all files, then trains with
`structsvm.integrations.dask.DaskLaRank`. It holds the model, never the data.
"""

from __future__ import annotations

import glob
import json
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, Future, get_client, get_worker

from structsvm.files import DataError
from structsvm.integrations.dask import DaskLaRank, check_workers, gathered
from structsvm.problems.sequence import SequenceLabels
from structsvm.training import Pass, Report, passes
from taggers import metrics
from taggers.commands.tagging import tag as tag_file
from taggers.features.extract import KeyTable, as_columns, concatenate, encode
from taggers.features.word_classes import WORDS
from taggers.formats._columns import Columns
from taggers.labels._labels import Labels
from taggers.labels.files import Labelled, read_labelled
from taggers.labels.label_encoding import (
    GoldLabels,
    detect_scheme,
    inner_labels,
    loss_matrix,
    split_by_sentence,
)
from taggers.labels.schemes import Triple
from taggers.model import TaggerModel
from taggers.options import checked_settings
from taggers.slices import needs_more_than_columns
from taggers.tagger import Chunker, NerTagger, PosTagger, SequenceTagger, as_sentences
from taggers.trainer import Trainer, TrainingPoint

ENDS = ("E-", "S-", "L-", "U-")  # of labels in schemes such as IOBES and BILOU


@dataclass(frozen=True)
class Share:
    """The files or partitions of a shard. Shards that share one take every `step`-th sentence of it."""

    files: tuple[str, ...]
    first: int = 0
    step: int = 1

    def of(self, columns: Columns) -> Columns:
        """The sentences of the columns that belong to this share."""
        if self.step == 1:
            return columns
        lengths = np.diff(columns.sentence_ptr)
        own = np.arange(len(lengths)) % self.step == self.first
        tokens = np.repeat(own, lengths)
        return Columns.from_spans(
            columns.data, columns.spans[tokens], columns.ends[tokens], columns.lines[tokens],
            np.append(0, np.cumsum(lengths[own])), format=columns.format, wanted=range(columns.width),
            n_columns=columns.width, name=columns.name, first_line=columns.first_line,
        )  # fmt: skip


def train(
    client: Client,
    tagger: Any,
    parts: Any,
    *,
    dev: str | Path | None = None,
    checkpoint: str | Path | None = None,
    **reading: Any,
) -> Any:
    """Train a tagger on data that the workers hold or read; return the tagger, as `fit` does.

    parts: files or patterns such as part-*.conll.gz, which every worker must be able to read; or a Dask bag
    of sentences, each a list of tuples (word, ..., label); or a Dask dataframe with a row for each token,
    whose first column numbers the sentences and whose last one has the labels, with no sentence in two
    partitions. dev: a file that the driver reads, to keep the weights of the best pass. checkpoint: a folder
    where every round is saved; the same call continues a training that ended early, to the same bytes.
    reading: the options format, encoding, inputs and labels of `read_labelled`.

    The number of shards is an option of the tagger; by default each thread of the cluster gets one. The
    result depends on the parts and on the number of shards, not on the workers. Templates with word classes,
    gazetteers or y[-1] joined with other features, and options that only one process supports, are refused.
    """
    settings = checked_settings(tagger)
    if settings["algorithm"] != "larank":
        raise ValueError(f"{settings['algorithm']} trains on one machine only; use larank")
    partitions = _partitions(client, parts)
    files = found_files(parts) if partitions is None else list(partitions)
    workers = check_workers(client)
    shares = divided(files, settings["shards"] or sum(client.nthreads().values()))
    cluster = Source(client, reading, partitions or {})
    model, size = _new_model(cluster, tagger, shares)
    data = [  # where the shards of `DaskLaRank` will be
        cluster.submit(encode_share, share, model, workers=[workers[k % len(workers)]])
        for k, share in enumerate(shares)
    ]
    loss = loss_matrix(model.labels, dict(settings["label_weight"] or {}), model.outer, model.inner)
    problem = model.problem(loss)
    learner = DaskLaRank(
        client, problem, data, n_weights=problem.offset + len(model.table) * problem.stride,
        C=settings["C"], n_reprocess=settings["reprocess"], random_state=settings["random_state"],
    )  # fmt: skip
    if checkpoint is not None:
        learner.keep(checkpoint, _identity(model, settings, size, shares))
    try:
        held_out, gold = (None, None) if dev is None else read_labelled(dev, **reading)
        weights, scores = _passes(learner, model, settings, held_out, gold, size["sentences"])
        gap = learner.gap()
    finally:
        learner.close()
    trainer = Trainer(model.with_weights(weights), settings)
    trainer.scores = scores
    trainer.model.report = size | {
        "features": len(model.table), "epochs": learner.epochs_done,
        **metrics.score_report(scores, gold, phrases=model.outer != "none"),
        "dual": learner.dual_, "gap": gap, "support_patterns": learner.n_support_patterns_, "curve": [],
    }  # fmt: skip
    tagger._trainer = trainer
    return tagger


def tag(
    client: Client,
    model: str | Path,
    files: Sequence[str | Path],
    outputs: Sequence[str | Path],
    **options: Any,
) -> int:
    """Label files on the workers; return the number of tokens. Each output is complete or absent.

    options: those of `taggers.commands.tag`. A task that is repeated writes the same bytes.
    """
    if len(files) != len(outputs):
        raise ValueError(f"{len(files)} files but {len(outputs)} outputs; name one output for each file")
    if len(set(map(str, outputs))) < len(outputs):
        raise ValueError("two files have the same output; choose different names")
    check_workers(client)
    jobs = [
        client.submit(_on_worker, tag_file, str(model), str(file), str(output), pure=False, **options)
        for file, output in zip(files, outputs, strict=True)
    ]
    return sum(gathered(client, jobs))


@dataclass(frozen=True)
class Source:
    """The training data: files that the workers read, or partitions that they hold, by name."""

    client: Client
    reading: dict[str, Any]
    partitions: dict[str, Future]

    def submit(self, work: Any, share: Share, *arguments: Any, workers: list[str] | None = None) -> Future:
        """Call `work` with the columns of the share, on one of these workers if they are alive."""
        held = [self.partitions[name] for name in share.files if name in self.partitions]
        return self.client.submit(
            _with_columns, work, share, self.reading, held, *arguments, pure=False, workers=workers,
            allow_other_workers=workers is not None,
        )  # fmt: skip

    def each(self, work: Any, shares: Sequence[Share], *arguments: Any) -> list[Any]:
        """The results of `work` for all shares."""
        return gathered(self.client, [self.submit(work, share, *arguments) for share in shares])


def _partitions(client: Client, parts: Any) -> dict[str, Future] | None:
    """The partitions of a Dask bag or dataframe; None for files."""
    if not hasattr(parts, "to_delayed"):
        return None
    futures = client.compute(list(parts.to_delayed()))
    return {f"partition {number}": future for number, future in enumerate(futures)}


def _identity(model: TaggerModel, settings: dict[str, Any], size: dict[str, int], shares: list[Share]) -> str:
    """A string that identifies a training by its data, features, labels, options and shards."""
    options = {k: v for k, v in settings.items() if k not in ("callback", "epochs", "patience", "jobs")}
    return json.dumps(
        [zlib.crc32(model.table.keys.tobytes()), model.labels, size, len(shares), options],
        sort_keys=True, default=str,
    )  # fmt: skip


def found_files(parts: str | Path | Iterable[str | Path]) -> list[str]:
    """The files that match the patterns, in order and without duplicates."""
    files: dict[str, None] = {}
    for part in [parts] if isinstance(parts, str | Path) else parts:
        matching = sorted(glob.glob(str(part))) or ([] if glob.has_magic(str(part)) else [str(part)])
        if not matching:
            raise DataError("no file matches this pattern; check the path", str(part))
        files.update(dict.fromkeys(matching))
    return list(files)


def divided(files: Sequence[str], shards: int) -> list[Share]:
    """The files of each shard: whole files if there are enough, otherwise parts of them."""
    if len(files) >= shards:
        return [Share(tuple(files[k::shards])) for k in range(shards)]
    on = [len(range(k, shards, len(files))) for k in range(len(files))]  # shards of each file
    return [Share((files[k % len(files)],), k // len(files), on[k % len(files)]) for k in range(shards)]


# -- on a worker --------------------------------------------------------------------------------


def _on_worker(work: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function; add the worker to the message of a DataError."""
    try:
        return work(*arguments, **options)
    except DataError as error:
        raise DataError(f"{error} (on worker {get_worker().address})") from None


def _with_columns(work: Any, share: Share, reading: dict[str, Any], held: list[Any], *arguments: Any) -> Any:
    """Call a function with the columns of each file or partition of a share."""
    if held:
        read = (
            Columns.from_sentences(_sentences(one), name=name)
            for one, name in zip(held, share.files, strict=True)
        )
    else:
        read = (_on_worker(read_labelled, file, **reading).columns for file in share.files)
    return work(read, share, *arguments)


def _sentences(partition: Any) -> list[list[tuple[str, ...]]]:
    """The sentences of a partition of a bag or dataframe, with the label as the last part of a token."""
    if not hasattr(partition, "itertuples"):
        return [[tuple(token) for token in sentence] for sentence in partition]
    rows = partition.itertuples(index=False, name=None)
    return [[tuple(map(str, row[1:])) for row in few] for _, few in groupby(rows, key=lambda row: row[0])]


def survey_share(read: Iterable[Columns], share: Share, task: str) -> list[dict[str, Any]]:
    """Facts about the files that the driver needs to create a model, from one of the shares of each file."""
    facts = []
    for columns in read if share.first == 0 else ():
        gold = GoldLabels.from_column(columns, columns.width - 1)
        facts.append({
            **Labelled(columns, gold).file_columns(task), "file": columns.name,
            "worker": get_worker().address, "width": columns.width - 1, "ready": columns.format.ready,
            "names": gold.names, "triples": gold.triples(), "tokens": columns.n_tokens,
            "sentences": columns.n_sentences,
        })  # fmt: skip
    return facts


def count_share(read: Iterable[Columns], share: Share, model: TaggerModel) -> tuple[np.ndarray, ...]:
    """The keys and counts of the features in the share, and its words."""
    table, words, counts = KeyTable(), KeyTable(), np.zeros(0, np.int64)
    for columns in map(share.of, read):
        assert model.extractor is not None  # there is a template
        rows = encode(columns, model.extractor, table, grow=True).rows
        more = np.bincount(rows, minlength=len(table))
        more[: len(counts)] += counts
        counts = more
        words.rows(WORDS.keys(columns)[:, 0], grow=True)
    return np.array(table.keys), counts, words.halves


def encode_share(read: Iterable[Columns], share: Share, model: TaggerModel) -> Any:
    """X and y of the share, encoded with the features and labels of the model."""
    X, codes = [], []
    for columns in map(share.of, read):
        gold = GoldLabels.from_column(columns, columns.width - 1)
        labels = gold.encode(Labels(model.labels), model.outer, model.inner)
        if labels.sets:
            raise DataError("has tokens without a label; a cluster needs complete labels", columns.name)
        X.append(model.features(columns))
        codes.append(labels.codes)
    whole = concatenate(X)
    return whole, SequenceLabels(np.concatenate(codes), whole.sentence_ptr)


# -- on the driver ------------------------------------------------------------------------------


def _new_model(cluster: Source, tagger: Any, shares: list[Share]) -> tuple[TaggerModel, dict[str, int]]:
    """A model with the labels, features and words of all files, and their size; workers read them twice."""
    surveys = cluster.each(survey_share, shares, tagger.TASK)
    facts = list({one["file"]: one for survey in surveys for one in survey}.values())
    _check_alike(facts)
    first = facts[0]
    triples: Counter[Triple] = sum((one["triples"] for one in facts), Counter())
    model = tagger._new_model(None, first["width"], triples, tagger.settings())
    if needs_more_than_columns(model):
        raise ValueError(
            "a cluster supports templates without word classes, gazetteers, vectors, values, doc_form, "
            "doc_label, functions and y[-1] joined with features; use a simpler template, or train on one "
            "machine with --jobs"
        )
    seen = sorted({name for one in facts for name in one["names"]})
    model.labels = sorted(inner_labels(seen, model.outer, model.inner))
    counted = cluster.each(count_share, shares, model)
    keys = np.concatenate([keys for keys, _, _ in counted])
    table, place = np.unique(keys, return_inverse=True)
    counts = np.bincount(place, np.concatenate([counts for _, counts, _ in counted]))
    order = np.argsort(-counts, kind="stable")  # the weights of frequent features share cache lines
    model.table = KeyTable(table[order[counts[order] >= tagger.settings()["cutoff"]]])
    model.words = np.unique(np.concatenate([words for _, _, words in counted]))
    model.files = {name: first[name] for name in ("format", "inputs", "label", "n_columns", "task")}
    return model, {name: sum(one[name] for one in facts) for name in ("sentences", "tokens")}


def _check_alike(facts: list[dict[str, Any]]) -> None:
    """Raise DataError for files that are too different for one model."""
    first = facts[0]
    if first["ready"]:
        raise DataError("has ready features, which a cluster does not support", first["file"])
    for one in facts:
        for name in ("format", "n_columns"):
            if one[name] != first[name]:
                raise DataError(
                    f"has {name} {one[name]} (worker {one['worker']}), but {first['file']} has {first[name]}",
                    one["file"],
                )
        if not set(one["names"]) & set(first["names"]):
            raise DataError(
                f"has labels such as {one['names'][0]} (worker {one['worker']}), none of which "
                f"{first['file']} has; is this the right column?", one["file"],
            )  # fmt: skip
    phrases = [one for one in facts if any(name[1:2] == "-" for name in one["names"])]
    marked = [any(name[:2] in ENDS for name in one["names"]) for one in phrases]
    if len(set(marked)) > 1 and detect_scheme(phrases[0]["triples"]) != "none":
        odd = phrases[marked.index(not marked[0])]
        told = "marks" if marked[0] else "does not mark"
        raise DataError(
            f"has labels of another scheme than {phrases[0]['file']} (worker {odd['worker']}), which {told} "
            "the ends of phrases; convert one of them", odd["file"],
        )  # fmt: skip


def _passes(
    learner: DaskLaRank,
    model: TaggerModel,
    settings: dict[str, Any],
    dev: Any,
    gold: GoldLabels | None,
    size: int,
) -> tuple[np.ndarray, list[float]]:
    """Train pass by pass; return the weights, of the best pass if there is a dev file, and the scores."""
    begun, callback, notes = time.perf_counter(), settings["callback"], learner.notes
    report = Report(learner.epochs_done, notes.get("scores", np.zeros(0)).tolist(), notes.get("best"))

    def tell(learner: DaskLaRank) -> Any:
        epoch, done = divmod(learner.rounds - 1, learner.per_epoch)
        if callback is None:
            return False
        wanted = getattr(callback, "primal", False) and done + 1 == learner.per_epoch
        primal = learner.primal() if wanted else np.nan
        seconds, seen = time.perf_counter() - begun, size * (done + 1) // learner.per_epoch
        rate = (epoch * size + seen) / seconds
        counts = learner.n_support_patterns_, learner.n_argmax_
        point = TrainingPoint(seconds, epoch, seen, rate, learner.dual_, *counts)
        return callback(point._replace(primal=primal, round=done + 1))

    def score() -> tuple[float, np.ndarray]:
        now = model.with_weights(learner.weights_)
        assert gold is not None
        found = metrics.score_ids(gold, now.tag(dev), now.names, phrases=now.outer != "none")
        getattr(callback, "scored", lambda score: None)(found)
        return found, learner.weights_.copy()

    def keep(done: Pass) -> None:
        if report.weights is not None:
            notes["best"], notes["scores"] = report.weights, np.array(report.scores)
        learner.save_pass()

    learner.callback = tell
    passes(
        learner, epochs=settings["epochs"], score=None if gold is None else score,
        patience=settings["patience"], callbacks=[keep], report=report,
    )  # fmt: skip
    return learner.weights_ if report.weights is None else report.weights, report.scores


# -- estimators ---------------------------------------------------------------------------------


class OnCluster:
    """Train and label on the workers of `client`, or of the current client if it is None."""

    client: Client | None = None

    def fit(self, X: Any, y: Any = None, **options: Any) -> Any:
        """Train; X is what `train` takes, or a bag of sentences, with y a bag of their labels."""
        if y is not None:
            from dask.bag import zip as zipped

            X = zipped(X, y).map(_labelled)
        return train(self.client or get_client(), self, X, **options)

    def predict(self, X: Any) -> Any:
        """The labels of the sentences of a bag, as a bag, or of a list, as a list."""
        labels = super().predict  # type: ignore[misc]
        if not hasattr(X, "map_partitions"):
            return labels(X)
        return X.map_partitions(_predicted, self.model_)  # type: ignore[attr-defined]


def _labelled(pair: tuple[Any, Any]) -> list[tuple[str, ...]]:
    tokens, labels = pair
    return [
        (*((token,) if isinstance(token, str) else token), label)
        for token, label in zip(tokens, labels, strict=True)
    ]


def _predicted(sentences: Any, model: TaggerModel) -> list[list[str]]:
    columns = as_columns(as_sentences(sentences))
    return split_by_sentence(model.tag(columns), model.names, columns.sentence_ptr)


class DaskSequenceTagger(OnCluster, SequenceTagger):  # type: ignore[misc]
    """`SequenceTagger` on a Dask cluster."""


class DaskPosTagger(OnCluster, PosTagger):  # type: ignore[misc]
    """`PosTagger` on a Dask cluster."""


class DaskChunker(OnCluster, Chunker):  # type: ignore[misc]
    """`Chunker` on a Dask cluster."""


class DaskNerTagger(OnCluster, NerTagger):  # type: ignore[misc]
    """`NerTagger` on a Dask cluster."""
