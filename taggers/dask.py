"""Train and tag many files on a Dask cluster; only the workers read the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distributed import Client, get_client

from structsvm.integrations.dask import check_workers, gathered
from taggers.commands.tagging import tag as tag_file
from taggers.features.extract import as_columns
from taggers.labels.files import read_held_out
from taggers.labels.label_encoding import split_by_sentence
from taggers.model import TaggerModel
from taggers.sources.cluster import ClusterSource, on_worker
from taggers.sources.memory import as_sentences
from taggers.tagger import Chunker, NerTagger, PosTagger, SequenceTagger


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

    The number of shards is an option of the tagger; by default each thread of the cluster gets one. The
    result depends on the parts and on the number of shards, not on the workers. Templates with word classes,
    gazetteers or y[-1] joined with other features, and options that only one process supports, are refused.

    Parameters
    ----------
    parts, checkpoint, reading
        See `ClusterSource`.
    dev
        A file that the driver reads, to keep the weights of the best pass.
    """
    source = ClusterSource(client, parts, checkpoint=checkpoint, **reading)
    if dev is None:
        return tagger.fit_source(source)
    facts = source.survey(tagger.TASK)
    held_out = read_held_out(dev, facts.columns, facts.name, reading.get("encoding", "utf-8"))
    return tagger.fit_source(source, *held_out)


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
        client.submit(on_worker, tag_file, str(model), str(file), str(output), pure=False, **options)
        for file, output in zip(files, outputs, strict=True)
    ]
    return sum(gathered(client, jobs))


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
