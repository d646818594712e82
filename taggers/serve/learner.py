"""A tagger that tags and learns at the same time, and repeats what it has learned after a restart."""

from __future__ import annotations

import hashlib
import json
import os
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from structsvm.files import DataError
from structsvm.files.journal import Journal
from structsvm.integrations.starlette import Refused
from taggers.formats._columns import Columns
from taggers.model import TaggerModel
from taggers.model_file import find_model
from taggers.online import check_usable
from taggers.serve.limits import MOST_LABELS
from taggers.serve.sentences import Label, Sentence, Tagged, Token, names_of, sentences_of_text
from taggers.tagger import SequenceTagger

FORMAT = "structsvm serve 1"
FEATURES = 10  # a token costs at least as much as a hundred scores of two labels


class Answer(NamedTuple):
    """The answer to a request to learn; `digest` identifies its content."""

    digest: str
    status: int
    content: dict[str, Any]


class Learner:
    """A tagger with a journal of everything that it was asked to learn.

    Each request is written to the journal, then learned, then answered. Opening a journal learns its records
    again in the same order, so the model and the answers are the same as before the restart. While `apply`
    runs, no other thread may use the model.

    model: a file, or the name of an included model. journal: None for a model that does not learn. loaded:
    the content of the file, if it was read already.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        journal: str | os.PathLike[str] | None = None,
        loaded: TaggerModel | None = None,
    ) -> None:
        self.tagger = SequenceTagger.load(model) if loaded is None else SequenceTagger.from_model(loaded)
        space = self.tagger.model_.space
        if space.template is None and not space.own_features and journal is None:
            self.width = 0  # tokens are their features
        else:
            template = check_usable(
                self.tagger.model_, model, otherwise="" if journal is None else "leave out the journal"
            )
            self.width = max(template.width, 1)
        self.scheme = self.tagger.model_.labels.outer
        self.task = str(self.tagger.model_.parameters.get("class", "SequenceTagger"))
        self.n_learned = 0  # sentences
        self._answers: dict[str, Answer] = {}  # by idempotency key
        self._seen: set[str] = set()  # digests of sentences with their labels
        self.journal = None if journal is None else Journal(journal)
        if self.journal is not None:
            try:
                self._replay(self.journal, model)
            except BaseException:
                self.close()
                raise

    def _replay(self, journal: Journal, model: str | os.PathLike[str]) -> None:
        with open(find_model(model), "rb") as file:
            head = {"format": FORMAT, "model": hashlib.file_digest(file, "sha256").hexdigest()}
        if not journal.records:
            journal.append(head)
        elif journal.records[0] != head:
            raise DataError(
                f"this journal does not belong to the model {model}; use the model that it was started with, "
                "or a new journal", str(journal.path), 1,
            )  # fmt: skip
        self.tagger.declare([], width=self.width)  # prepares to learn, so that the first request need not
        for number, record in enumerate(journal.records[1:], 2):
            try:
                self.apply(record)
            except (KeyError, TypeError, AttributeError):
                raise DataError(
                    "not a record of structsvm serve; restore the file", str(journal.path), number
                ) from None
        journal.records.clear()

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.tagger.model_.names)

    def cost(self, n_tokens: int) -> int:
        """How long it takes to tag or learn this many tokens, in no particular unit."""
        return n_tokens * (self.n_labels + FEATURES) ** 2

    def split(self, text: str) -> list[Sentence]:
        """The sentences of a text."""
        return sentences_of_text(text, self.width)

    def tag(
        self, sentences: list[list[Token]], *, margins: bool = True, probabilities: bool = False
    ) -> list[Tagged]:
        """The labels of each sentence, with their margins and probabilities if requested."""
        columns: Any = Columns.from_sentences(sentences) if self.width else sentences
        ends = [0, *accumulate(map(len, sentences))]
        found = np.zeros(ends[-1], np.float32) if margins else None
        likely = np.zeros(ends[-1], np.float32) if probabilities else None
        try:
            ids, names = self.tagger.tag_with_names(columns, margins=found, likely=likely, live=True)
        except (TypeError, ValueError) as error:
            if self.width:
                raise
            raise Refused(str(error)) from None
        labels = [names[k] for k in ids.tolist()]
        margin, probability = ([] if one is None else one.tolist() for one in (found, likely))
        return [Tagged(labels[a:b], margin[a:b], probability[a:b]) for a, b in pairwise(ends)]

    def check_asked(self, *, margins: bool, probabilities: bool) -> None:
        """Refuse probabilities if the model is not calibrated."""
        if probabilities and not self.tagger.model_.probable:
            raise Refused(
                "the probabilities of this model are not calibrated; train it with --dev FILE --calibrate, "
                "or with --algorithm crf"
            )

    def alternatives(self, tokens: list[Token], n: int) -> list[tuple[list[str], float]]:
        """The n best labellings after the best one, with the differences of their scores to it.

        There are none if the model is greedy.
        """
        if self.tagger.model_.labels.inference == "greedy":
            return []
        (best, *others), *_ = self.tagger.predict_nbest([tokens], n + 1, live=True)
        return [(labels, score - best[0]) for score, labels in others]

    def answered(self, record: dict[str, Any]) -> Answer | None:
        """The answer to the earlier request with this key; its digest may differ."""
        return self._answers.get(record["key"]) if record.get("key") else None

    def apply(self, record: dict[str, Any]) -> Answer:
        """Learn a record of the journal."""
        X, y = sentences_of(record)
        try:
            self._check_labels(y)
            self.tagger.partial_fit(X, y)
        except (ValueError, MemoryError) as error:  # the tagger is unchanged, as it will be after a restart
            answer = Answer(digest(record), 400, {"error": str(error)})
        else:
            self.n_learned += len(X)
            self._seen.update(map(digest, zip(record["X"], record["y"], strict=True)))
            answer = Answer(digest(record), 200, {"learned": len(X), "version": self.n_learned})
        if record.get("key"):
            self._answers[record["key"]] = answer
        return answer

    def knows(self, X: list[Token], y: list[Label]) -> bool:
        """Whether this sentence was learned with these labels."""
        return digest((X, y)) in self._seen

    def save(self, path: str) -> None:
        """Write the model with everything it has learned, including its training state."""
        self.tagger.save(path, training_state=True)

    def close(self) -> None:
        """Close the journal."""
        if self.journal is not None:
            self.journal.close()

    def _check_labels(self, y: list[list[Any]]) -> None:
        if len(names_of(y).union(self.tagger.model_.labels)) > MOST_LABELS:
            raise ValueError(f"the model would have more than {MOST_LABELS} labels")


def sentences_of(record: dict[str, Any]) -> tuple[list[list[Token]], list[list[Any]]]:
    """X and y of a record, in the form that taggers accept."""
    X = [[token if isinstance(token, str) else tuple(token) for token in tokens] for tokens in record["X"]]
    y = [[set(label) if isinstance(label, list) else label for label in labels] for labels in record["y"]]
    return X, y


def digest(value: Any) -> str:
    """A short name of a JSON value."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()
