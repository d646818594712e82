"""Train and tag with many files on a Dask cluster; the data stay where the workers read them.

The driver first collects the labels and the features of all files, then trains with
`structsvm.integrations.dask.DaskLaRank`. It holds the model, never the data.
"""

from __future__ import annotations

import glob
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, get_worker

from structsvm.files import DataError
from structsvm.integrations.dask import DaskLaRank, check_workers
from structsvm.optimizers.base import POINTS_PER_EPOCH
from structsvm.problems.sequence import SequenceLabels
from taggers import metrics
from taggers.commands.tagging import tag as tag_file
from taggers.commands.training import read_labelled
from taggers.features.extract import KeyTable, concatenate, encode
from taggers.features.word_classes import WORDS
from taggers.formats._columns import Columns
from taggers.labels._labels import Labels
from taggers.labels.label_encoding import GoldLabels, inner_labels, loss_matrix
from taggers.labels.schemes import Triple
from taggers.model import TaggerModel
from taggers.options import checked_settings
from taggers.trainer import Trainer, TrainingPoint


@dataclass(frozen=True)
class Share:
    """The files of one shard; of a file that several shards share, every `step`-th sentence."""

    files: tuple[str, ...]
    first: int = 0
    step: int = 1


def train(
    client: Client,
    tagger: Any,
    parts: str | Path | Iterable[str | Path],
    *,
    dev: str | Path | None = None,
    **reading: Any,
) -> Any:
    """Train a tagger on files that the workers read; returns the tagger, as `fit` does.

    parts: files or patterns such as part-*.conll.gz, which every worker must be able to read. dev: a file
    that the driver reads, to keep the weights of the best pass. reading: format, encoding, inputs and labels,
    as of `read_labelled`. The shards are those of the tagger, by default one for each thread of the cluster;
    the files and their number decide the result, not the workers. Templates with word classes, gazetteers or
    y[-1] joined with other features, and options that only one process supports, are refused.
    """
    settings = checked_settings(tagger)
    if settings["algorithm"] != "larank":
        raise ValueError(f"{settings['algorithm']} trains on one machine only; use larank")
    files = found_files(parts)
    check_workers(client)
    shares = divided(files, settings["shards"] or sum(client.nthreads().values()))
    model, size = _new_model(client, tagger, shares, reading)
    data = [client.submit(encode_share, share, reading, model, pure=False) for share in shares]
    loss = loss_matrix(model.labels, dict(settings["label_weight"] or {}), model.outer, model.inner)
    problem = model.problem(loss)
    learner = DaskLaRank(
        client, problem, data, n_weights=problem.offset + len(model.table) * problem.stride,
        C=settings["C"], n_reprocess=settings["reprocess"], random_state=settings["random_state"],
    )  # fmt: skip
    try:
        weights, scores = _passes(learner, model, settings, dev, reading, size["sentences"])
        gap = learner.gap()
    finally:
        learner.close()
    trainer = Trainer(model.with_weights(weights), settings)
    trainer.scores = scores
    trainer.model.report = size | {
        "features": len(model.table), "epochs": learner.epochs_done, "dev_scores": scores,
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
    """Label files on the workers: one output for each input, complete or absent; returns the tokens.

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
    return sum(client.gather(jobs))


def found_files(parts: str | Path | Iterable[str | Path]) -> list[str]:
    """The files that the patterns stand for, in order, each once."""
    files: dict[str, None] = {}
    for part in [parts] if isinstance(parts, str | Path) else parts:
        matching = sorted(glob.glob(str(part))) or ([] if glob.has_magic(str(part)) else [str(part)])
        if not matching:
            raise DataError("no file has a name of this pattern", str(part))
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
    """Call a function; an error names the worker."""
    try:
        return work(*arguments, **options)
    except DataError as error:
        raise DataError(f"{error} (on worker {get_worker().address})") from None


def _columns(share: Share, reading: dict[str, Any]) -> Iterable[Columns]:
    for file in share.files:
        yield _on_worker(read_labelled, file, **reading)


def survey_share(share: Share, reading: dict[str, Any]) -> list[dict[str, Any]]:
    """Facts about the files that the driver needs to make a model."""
    facts = []
    for columns in _columns(share, reading):
        gold = GoldLabels.from_column(columns, columns.width - 1)
        facts.append({
            "file": columns.name, "worker": get_worker().address, "format": columns.format.name,
            "inputs": list(columns.wanted[:-1]), "label": columns.wanted[-1], "n_columns": columns.n_columns,
            "width": columns.width - 1, "ready": columns.format.ready, "names": gold.names,
            "triples": gold.triples(), "tokens": columns.n_tokens, "sentences": columns.n_sentences,
        })  # fmt: skip
    return facts


def count_share(share: Share, reading: dict[str, Any], model: TaggerModel) -> tuple[np.ndarray, ...]:
    """The keys of the features in the share, how often each occurs, and the words."""
    table, words, counts = KeyTable(), KeyTable(), np.zeros(0, np.int64)
    for columns in _columns(share, reading):
        assert model.extractor is not None  # there is a template
        rows = encode(columns, model.extractor, table, grow=True)[share.first :: share.step].rows
        more = np.bincount(rows, minlength=len(table))
        more[: len(counts)] += counts
        counts = more
        words.rows(WORDS.keys(columns)[:, 0], grow=True)
    return np.array(table.keys), counts, words.halves


def encode_share(share: Share, reading: dict[str, Any], model: TaggerModel) -> Any:
    """X and y of the share, in the features and labels of the model."""
    X, codes = [], []
    for columns in _columns(share, reading):
        gold = GoldLabels.from_column(columns, columns.width - 1)
        own = slice(share.first, None, share.step)
        labels = gold.encode(Labels(model.labels), model.outer, model.inner)[own]
        if labels.sets:
            raise DataError("has tokens without a label; a cluster needs complete labels", columns.name)
        X.append(model.features(columns)[own])
        codes.append(labels.codes)
    whole = concatenate(X)
    return whole, SequenceLabels(np.concatenate(codes), whole.sentence_ptr)


# -- on the driver ------------------------------------------------------------------------------


def _new_model(
    client: Client, tagger: Any, shares: list[Share], reading: dict[str, Any]
) -> tuple[TaggerModel, dict[str, int]]:
    """A model with the labels, features and words of all files, and their size; reads them twice."""
    surveys = client.gather([client.submit(survey_share, share, reading, pure=False) for share in shares])
    facts = list({one["file"]: one for survey in surveys for one in survey}.values())
    _check_alike(facts)
    first = facts[0]
    triples: Counter[Triple] = sum((one["triples"] for one in facts), Counter())
    model = tagger._new_model(None, first["width"], triples, tagger.settings())
    own = model.function is not None or (model.template is not None and model.template.real)
    if model.label_bigrams is not None or model.knowledge.names or model.uses_documents or own:
        raise ValueError(
            "a cluster supports templates without word classes, gazetteers, vectors, values, doc_form, "
            "doc_label, functions and y[-1] joined with features; use a simpler template, or train on one "
            "machine with --jobs"
        )
    seen = sorted({name for one in facts for name in one["names"]})
    model.labels = sorted(inner_labels(seen, model.outer, model.inner))
    counted = client.gather(
        [client.submit(count_share, share, reading, model, pure=False) for share in shares]
    )
    keys = np.concatenate([keys for keys, _, _ in counted])
    table, place = np.unique(keys, return_inverse=True)
    counts = np.bincount(place, np.concatenate([counts for _, counts, _ in counted]))
    model.table = KeyTable(table[counts >= tagger.settings()["cutoff"]])
    model.words = np.unique(np.concatenate([words for _, _, words in counted]))
    model.files = {name: first[name] for name in ("format", "inputs", "label", "n_columns")}
    model.files["task"] = tagger.TASK
    return model, {name: sum(one[name] for one in facts) for name in ("sentences", "tokens")}


def _check_alike(facts: list[dict[str, Any]]) -> None:
    """Raise DataError for files that differ in what one model needs to be the same."""
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


def _passes(
    learner: DaskLaRank,
    model: TaggerModel,
    settings: dict[str, Any],
    dev: str | Path | None,
    reading: dict[str, Any],
    size: int,
) -> tuple[np.ndarray, list[float]]:
    """Train pass by pass; the weights, with development data those of the best pass, and the scores."""
    best, scores, begun, callback = None, [], time.perf_counter(), settings["callback"]
    columns = None if dev is None else read_labelled(dev, **reading)

    def report(learner: DaskLaRank) -> None:
        epoch, done = divmod(learner.rounds - 1, POINTS_PER_EPOCH)
        if callback is not None:
            seconds, seen = time.perf_counter() - begun, size * (done + 1) // POINTS_PER_EPOCH
            rate = (epoch * size + seen) / seconds
            counts = learner.n_support_patterns_, learner.n_argmax_
            callback(TrainingPoint(seconds, epoch, seen, rate, learner.dual_, *counts))

    for _ in range(settings["epochs"]):
        learner.epoch(report)
        if columns is not None:
            now, gold = (
                model.with_weights(learner.weights_),
                GoldLabels.from_column(columns, columns.width - 1),
            )
            scores.append(metrics.score_ids(gold, now.tag(columns), now.names, phrases=now.outer != "none"))
            getattr(callback, "scored", lambda score: None)(scores[-1])
            if scores[-1] > max(scores[:-1], default=-np.inf):
                best = learner.weights_.copy()
            if len(scores) - 1 - int(np.argmax(scores)) >= settings["patience"]:
                break
    return learner.weights_ if best is None else best, scores
