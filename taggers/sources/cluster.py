"""Training data that only the workers of a Dask cluster read.

The driver collects the labels and features of all files, then trains with
`structsvm.integrations.dask.DaskLaRank`. It holds the model, never the data.
"""

from __future__ import annotations

import glob
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, Future, get_worker

from structsvm.files import DataError, SparseRows
from structsvm.integrations.dask import DaskLaRank, check_workers, gathered
from structsvm.problems.sequence import SequenceLabels, Sequences
from structsvm.training import Pass, Report
from taggers.features.extract import KeyTable, concatenate, encode
from taggers.features.feature_names import feature_names
from taggers.features.word_classes import add_words
from taggers.formats._columns import Columns
from taggers.labels._labels import Labels
from taggers.labels.files import Labelled, read_labelled
from taggers.labels.label_encoding import GoldLabels, detect_scheme
from taggers.model import TaggerModel
from taggers.sources.base import Facts, Settings, Source, check_columns_suffice, learn_labels
from taggers.trainer import RoundCurve, larank_options, problem_with_loss

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


class ClusterSource(Source[Future, DaskLaRank]):
    """Labelled files that the workers of a cluster read, or partitions that they hold.

    parts: files or patterns such as part-*.conll.gz, which every worker must be able to read; or a Dask bag
    of sentences, each a list of tuples (word, ..., label); or a Dask dataframe with a row for each token,
    whose first column numbers the sentences and whose last one has the labels, with no sentence in two
    partitions. checkpoint: a folder where every round is saved; the same training continues one that ended
    early, to the same bytes. reading: the options of `read_labelled`.
    """

    kind = "cluster"

    def __init__(
        self, client: Client, parts: Any, *, checkpoint: str | Path | None = None, **reading: Any
    ) -> None:
        self.client, self.reading, self.checkpoint = client, reading, checkpoint
        self._partitions = _partitions(client, parts)
        self.files = list(self._partitions) or found_files(parts)
        self._workers = check_workers(client)
        self._facts: Facts | None = None
        self._learner: DaskLaRank | None = None
        self._trainings = 0

    def survey(self, task: str) -> Facts:
        if self._facts is None:
            shares = [Share((file,)) for file in self.files]
            each = [one for facts in self._each(survey_share, shares) for one in facts]
            each = [one for one in each if one["tokens"]]  # partitions may be empty
            if not each:
                raise ValueError("the data set is empty; pass at least one token")
            self.files = [one["file"] for one in each]
            _check_alike(each, same_labels=not self._partitions)
            self._facts = Facts(
                each[0]["width"], sum((one["triples"] for one in each), Counter()),
                sum(one["sentences"] for one in each), sum(one["tokens"] for one in each),
                each[0]["columns"], each[0]["file"],
            )  # fmt: skip
        return self._facts.of(task)

    def datasets(self, model: TaggerModel, facts: Facts, settings: Settings) -> list[Future]:
        check_columns_suffice(model, "a cluster")
        learn_labels(model, facts)
        shares = divided(self.files, settings["shards"] or sum(self.client.nthreads().values()))
        counted = self._each(count_share, shares, model)
        keys = np.concatenate([keys for keys, _, _ in counted])
        table, place = np.unique(keys, return_inverse=True)
        counts = np.bincount(place, np.concatenate([counts for _, counts, _ in counted]))
        order = np.argsort(-counts, kind="stable")  # the weights of frequent features share cache lines
        model.space.table = KeyTable(table[order[counts[order] >= settings["cutoff"]]])
        model.space.words = np.unique(np.concatenate([words for _, _, words in counted]))
        if settings["keep_names"]:
            each = self._each(name_share, shares, model)
            model.space.names = [next(filter(None, names), None) for names in zip(*each, strict=True)]
        workers = self._workers
        return [  # where the shards of `DaskLaRank` will be
            self._submit(encode_share, share, model, facts.usual, workers=[workers[k % len(workers)]])
            for k, share in enumerate(shares)
        ]

    def learner(self, model: TaggerModel, settings: Settings, datasets: Iterable[Future]) -> DaskLaRank:
        assert self._facts is not None
        problem, data = problem_with_loss(model, settings), list(datasets)
        learner = DaskLaRank(
            self.client, problem, data, n_weights=problem.offset + len(model.space) * problem.stride,
            **larank_options(settings),
        )  # fmt: skip
        self._learner = learner
        if self.checkpoint is not None:  # each further training has a folder of its own
            folder = Path(self.checkpoint, *[str(self._trainings)] * bool(self._trainings))
            learner.keep(folder, _identity(model, settings, self._facts, len(data)))
        self._trainings += 1
        if settings["callback"] is not None:
            learner.callback = RoundCurve(settings["callback"], self._facts.sentences)
        self._stride, self._width = problem.stride, problem.width
        return learner

    def report(self, learner: DaskLaRank) -> Report[SparseRows]:
        best, scores = learner.notes.get("best"), learner.notes.get("scores", np.zeros(0))
        n_rows = learner.n_weights // self._stride
        weights = None if best is None else SparseRows.from_vector(best, n_rows, self._stride, self._width)
        return Report(learner.epochs_done, scores.tolist(), weights)

    def keep(self, done: Pass[SparseRows]) -> None:
        learner, report = done.learner, done.report
        assert isinstance(learner, DaskLaRank)
        if report.weights is not None:
            learner.notes["best"] = report.weights.dense(self._stride).reshape(-1)
            learner.notes["scores"] = np.array(report.scores)
        learner.save_pass()

    def figures(self, learner: DaskLaRank) -> dict[str, Any]:
        return {"gap": learner.gap(), "curve": []}

    def close(self) -> None:
        if self._learner is not None:
            self._learner.close()

    def _submit(self, work: Any, share: Share, *arguments: Any, workers: list[str] | None = None) -> Future:
        """Call `work` with the columns of the share, on one of these workers if they are alive."""
        held = [self._partitions[name] for name in share.files if name in self._partitions]
        return self.client.submit(
            _with_columns, work, share, self.reading, held, *arguments, pure=False, workers=workers,
            allow_other_workers=workers is not None,
        )  # fmt: skip

    def _each(self, work: Any, shares: Sequence[Share], *arguments: Any) -> list[Any]:
        """The results of `work` for all shares."""
        return gathered(self.client, [self._submit(work, share, *arguments) for share in shares])


def _partitions(client: Client, parts: Any) -> dict[str, Future]:
    """The partitions of a Dask bag or dataframe; none for files."""
    if not hasattr(parts, "to_delayed"):
        return {}
    futures = client.compute(list(parts.to_delayed()))
    return {f"partition {number}": future for number, future in enumerate(futures)}


def _identity(model: TaggerModel, settings: Settings, facts: Facts, shards: int) -> str:
    """A string that identifies a training by its data, features, labels, options and shards."""
    options = {k: v for k, v in settings.items() if k not in ("callback", "epochs", "patience", "jobs")}
    size = {"sentences": facts.sentences, "tokens": facts.tokens}
    return json.dumps(
        [zlib.crc32(model.space.table.keys.tobytes()), list(model.labels.labels), size, shards, options],
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


def on_worker(work: Any, *arguments: Any, **options: Any) -> Any:
    """Call a function; add the worker to the message of a DataError."""
    try:
        return work(*arguments, **options)
    except DataError as error:
        raise DataError(f"{error} (on worker {get_worker().address})") from None


def _with_columns(work: Any, share: Share, reading: dict[str, Any], held: list[Any], *arguments: Any) -> Any:
    """Call a function with the columns of each file or partition of a share."""
    if held:
        read = (
            Columns.from_sentences(on_worker(_sentences, one, name), name=name)
            for one, name in zip(held, share.files, strict=True)
        )
    else:
        read = (on_worker(read_labelled, file, **reading).columns for file in share.files)
    return work(read, share, *arguments)


def _sentences(partition: Any, name: str) -> list[list[tuple[str, ...]]]:
    """The sentences of a partition of a bag or dataframe, with the label as the last part of a token."""
    if not hasattr(partition, "itertuples"):
        return [[tuple(token) for token in sentence] for sentence in partition]
    for place, column in enumerate(partition.columns[1:], 1):
        for value in partition.iloc[:, place]:
            if not isinstance(value, str):
                what = f"the column {column} has {value!r}; words and labels must be strings"
                raise DataError(what, name)
    rows = partition.itertuples(index=False, name=None)
    return [[row[1:] for row in few] for _, few in groupby(rows, key=lambda row: row[0])]


def survey_share(read: Iterable[Columns], share: Share) -> list[dict[str, Any]]:
    """Facts about each file of a share that the driver needs to create a model."""
    facts = []
    for columns in read:
        gold = GoldLabels.from_column(columns, columns.width - 1)
        facts.append({
            "columns": Labelled(columns, gold).file_columns(""), "file": columns.name,
            "worker": get_worker().address, "width": columns.width - 1, "ready": columns.format.ready,
            "names": gold.names, "triples": gold.triples(), "tokens": columns.n_tokens,
            "sentences": columns.n_sentences,
        })  # fmt: skip
    return facts


def count_share(read: Iterable[Columns], share: Share, model: TaggerModel) -> tuple[np.ndarray, ...]:
    """The keys and counts of the features in the share, and its words."""
    table, words, counts = KeyTable(), KeyTable(), np.zeros(0, np.int64)
    for columns in map(share.of, read):
        assert model.space.extractor is not None  # there is a template
        rows = encode(columns, model.space.extractor, table, grow=True).rows
        more = np.bincount(rows, minlength=len(table))
        more[: len(counts)] += counts
        counts = more
        add_words(words, columns)
    return np.array(table.keys), counts, words.halves


def name_share(read: Iterable[Columns], share: Share, model: TaggerModel) -> list[str | None]:
    """The names of the features of the model that occur in the share; None for others."""
    names: list[str | None] = [None] * len(model.space)
    for columns in map(share.of, read):
        names = feature_names(model, columns, names)
    return names


def encode_share(
    read: Iterable[Columns], share: Share, model: TaggerModel, usual: dict[str, str]
) -> tuple[Sequences, SequenceLabels]:
    """X and y of the share, encoded with the features and labels of the model."""
    X, codes = [], []
    for columns in map(share.of, read):
        gold = GoldLabels.from_column(columns, columns.width - 1).renamed(usual)
        labels = gold.encode(Labels(list(model.labels.labels)), model.labels.outer, model.labels.inner)
        if labels.sets:
            raise DataError("has tokens without a label; a cluster needs complete labels", columns.name)
        X.append(model.features(columns))
        codes.append(labels.codes)
    whole = concatenate(X)
    return whole, SequenceLabels(np.concatenate(codes), whole.sentence_ptr)


# -- on the driver ------------------------------------------------------------------------------


def _check_alike(facts: list[dict[str, Any]], *, same_labels: bool) -> None:
    """Raise DataError for files that are too different for one model.

    same_labels: whether each must share a label with the first; a small partition may have others.
    """
    first = facts[0]
    if first["ready"]:
        raise DataError("already contains features, which a cluster does not support", first["file"])
    for one in facts:
        for name in ("format", "n_columns"):
            own, usual = one["columns"][name], first["columns"][name]
            if own != usual:
                raise DataError(
                    f"has {name} {own} (worker {one['worker']}), but {first['file']} has {usual}", one["file"]
                )
        if same_labels and not set(one["names"]) & set(first["names"]):
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
