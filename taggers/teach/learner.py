"""Let a tagger learn in a teaching session.

A question is {"tokens": [...]}, with {"columns": [[...], ...]} if the tagger reads more than words, and with
{"spaces": [...]}, whether a space follows each token, if the file has the text. An answer
has a label for each token: None if the annotator does not know it. Phrases (ner, chunk) use IOB2, regardless
of the scheme of the tagger.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from structsvm import active
from structsvm.files.errors import DataError
from structsvm.teach.answers import Answer
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.space import MOST_LABELS
from taggers.online import check_usable
from taggers.options import PHRASE_TASKS, RIVALS
from taggers.tagger import TASKS, SequenceTagger
from taggers.teach.reasons import in_words

SCHEME = "IOB2"
MOST_NAME = 60
MOST_NAMES = 500
REASONS = 8
MOST_FEATURES = 500_000  # that a session may add; with MOST_SUPPORT, this bounds the memory
MOST_SUPPORT = 20_000
AT_ONCE = 500  # sentences to learn before forgetting features
REPROCESS = 5  # n_R of LaRank: people are slow, so old answers can be revisited more often than in training

Labels = list[str | None]


class TagLearner:
    """A tagger that learns one sentence at a time.

    task: pos, chunk, ner or label. model: a model file to start from. pool: unlabelled sentences; word
    classes are learned from them if the template uses any. options: the options of the tagger.
    """

    def __init__(
        self, task: str, *, model: str | Path | None = None, pool: Sequence[Any] = (), **options: Any
    ) -> None:
        if task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
        self.task = task
        self.kind = "spans" if task in PHRASE_TASKS else "tokens"
        self._model, self._pool, self._options = model, pool, options
        self._blank = self._start()
        self.tagger = copy.deepcopy(self._blank)
        self._names = self._names_of(self.tagger)

    def _start(self) -> SequenceTagger:
        """The tagger before its first answer."""
        if self._model is not None:
            tagger = TASKS[self.task].load(self._model, **self._options)
            self._check_model(tagger)
            return tagger
        usual: dict[str, Any] = dict(RIVALS.get(self.task, {}))  # greedy learns faster
        if self._options.get("algorithm") == "crf":
            usual = {}
        if self._options.get("algorithm", "larank") == "larank":
            usual["reprocess"] = REPROCESS
        tagger = TASKS[self.task](**{**usual, **self._options})
        tagger.declare(
            ["O"] if self.kind == "spans" else [], width=_width(self._pool), X=[*map(_sentence, self._pool)]
        )
        return tagger

    def _check_model(self, tagger: SequenceTagger) -> None:
        model = tagger.model_
        template = check_usable(model, self._model, otherwise="choose another model")
        if self.kind == "spans" and model.labels.outer == "none":
            raise ValueError(
                f"the labels of {self._model} mark no phrases; use the task label instead of {self.task}"
            )
        if self.kind == "tokens" and model.labels.outer != "none":
            raise ValueError(f"the labels of {self._model} mark phrases; use the task ner or chunk")
        if self._pool and _width(self._pool) < template.width:
            raise DataError(
                f"{self._model} needs {template.width} columns, but the sentences have "
                f"{_width(self._pool)}; choose them with --columns"
            )

    def _names_of(self, tagger: SequenceTagger) -> list[str]:
        """The labels that a tagger knows, types of phrases without their prefixes."""
        return self.names_in(tagger.model_.names)

    def fresh(self) -> Self:
        new = copy.copy(self)
        new.tagger = copy.deepcopy(self._blank)
        new._names = new._names_of(new.tagger)
        return new

    # -- labels ---------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return list(self._names)

    def add_name(self, name: str) -> str:
        name = name.strip()
        if not re.fullmatch(r"\S+", name) or len(name) > MOST_NAME or not name.isprintable():
            raise DataError(f"a label has 1 to {MOST_NAME} printable characters and no spaces, got {name!r}")
        if name == "_" or (self.kind == "spans" and name == "O"):
            raise DataError(f"{name} means that a token has no label; choose another name")
        if name not in self._names:
            if len(self._names) >= MOST_NAMES:
                raise DataError(f"there are {MOST_NAMES} labels already; use fewer, or structsvm train")
            self._declare(name)
            self._names.append(name)
        return name

    def _declare(self, name: str) -> None:
        labels = [name]
        if self.kind == "spans":
            labels = schemes.convert([f"B-{name}", f"I-{name}", "O"], SCHEME, self._outer)
            labels += schemes.convert([f"B-{name}", "O"], SCHEME, self._outer)
        if len(self.tagger.model_.labels) + len(labels) <= MOST_LABELS:
            self.tagger.declare(labels)

    @property
    def _outer(self) -> str:
        return self.tagger.model_.labels.outer

    def names_in(self, value: Iterable[str | None]) -> list[str]:
        """The labels that an answer uses, without prefixes."""
        used = [label for label in value if label is not None]
        return phrase_types(used) if self.kind == "spans" else list(dict.fromkeys(used))

    def check(self, item: Any, value: Any) -> Labels:
        tokens = item["tokens"]
        if not isinstance(value, list) or len(value) != len(tokens):
            raise DataError(f"an answer must be a list of {len(tokens)} labels")
        for label in value:
            if label is not None and not self._is_known(label):
                raise DataError(f"{label!r} is not a label; add it first")
        if all(label is None for label in value):
            raise DataError("no token has a label; skip the sentence instead")
        return in_scheme(value, SCHEME, SCHEME) if self.kind == "spans" else list(value)

    def valid(self, answer: Answer) -> bool:
        item = answer.item
        known = isinstance(item, dict) and item.keys() <= {"tokens", "columns", "spaces"}
        if not known or not _texts(item.get("tokens")):
            return False
        columns, spaces, n = item.get("columns", []), item.get("spaces", []), len(item["tokens"])
        lists = [labels for labels in (answer.value, answer.guess) if labels is not None]
        return (
            isinstance(columns, list) and all(_texts(one) and len(one) == n for one in columns)
            and isinstance(spaces, list) and len(spaces) in (0, n) and {*map(type, spaces)} <= {bool}
            and all(isinstance(labels, list) and len(labels) == n for labels in lists)
            and all(label is None or isinstance(label, str) for labels in lists for label in labels)
        )  # fmt: skip

    def _is_known(self, label: Any) -> bool:
        if not isinstance(label, str):
            return False
        if self.kind == "tokens":
            return label in self._names
        prefix, type_ = schemes.split(label)
        return label == "O" or (prefix in ("B", "I") and type_ in self._names)

    # -- the model ------------------------------------------------------------------------------

    def learn(self, answers: Sequence[Answer]) -> None:
        y = [answer.value for answer in answers]
        if self.kind == "spans":
            y = [in_scheme(value, SCHEME, self._outer) for value in y]
        X = [_sentence(answer.item) for answer in answers]
        for start in range(0, len(X), AT_ONCE):
            self.tagger.partial_fit(X[start : start + AT_ONCE], y[start : start + AT_ONCE])
            if len(X) > AT_ONCE:
                self.tidy()

    def tidy(self) -> None:
        """Forget features and support patterns if there are many more than in the model at the beginning."""
        first, options = self._blank.model_, {}
        if first.space.bigrams is None:
            options["max_features"] = len(first.space) + MOST_FEATURES
        if self.tagger.settings()["algorithm"] not in ("perceptron", "crf"):
            options["max_support"] = len((first.state or {}).get("dual.upper", ())) + MOST_SUPPORT
        self.tagger.forget(**options)

    def _tag(self, items: Sequence[Any]) -> tuple[list[list[str]], np.ndarray, np.ndarray] | None:
        """The labels of each sentence, the margins of all tokens, and where each sentence begins."""
        if not self._names:
            return None
        columns = Columns.from_sentences([_sentence(item) for item in items])
        margins = np.zeros(columns.n_tokens, np.float32)
        ids, names = self.tagger.tag_with_names(columns, margins=margins, live=True)
        ptr = columns.sentence_ptr
        labels = [[names[k] for k in ids[a:b].tolist()] for a, b in pairwise(ptr.tolist())]
        if self.kind == "spans" and self._outer != SCHEME:
            labels = [schemes.convert(one, self._outer, SCHEME) for one in labels]
        return labels, margins, ptr

    def guess(self, items: Sequence[Any]) -> list[tuple[Labels, list[float]]] | None:
        found = self._tag(items) if items else None
        if found is None:
            return None
        labels, margins, ptr = found
        finite = np.minimum(margins.astype(np.float64), 99.0)  # JSON has no infinity
        return [
            (list(one), finite[a:b].round(3).tolist())
            for one, (a, b) in zip(labels, pairwise(ptr.tolist()), strict=True)
        ]

    def rank(self, items: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
        found = self._tag(items) if items else None
        if found is None:
            return None
        _, margins, ptr = found
        return active.usefulness(margins, ptr), active.smallest(margins, ptr)

    def doubt(self, answers: Sequence[Answer]) -> list[tuple[float, list[int]]]:
        """The largest margin with which the model prefers another label, and the tokens where it does."""
        found = self.guess([answer.item for answer in answers])
        if found is None:
            return [(0.0, [])] * len(answers)
        doubts = []
        for answer, (labels, margins) in zip(answers, found, strict=True):
            pairs = zip(answer.value, labels, strict=True)
            at = [k for k, (given, best) in enumerate(pairs) if given is not None and given != best]
            doubts.append((max((margins[k] for k in at), default=0.0), at))
        return doubts

    def count(self, guess: Any, value: Any) -> tuple[int, int, int]:
        """Tokens or phrases that are right, guessed and wanted; unknown tokens do not count."""
        known = [(a, b) for a, b in zip(guess, value, strict=True) if b is not None]
        if self.kind == "tokens":
            return sum(a == b for a, b in known), len(known), len(known)
        guessed = set(schemes.spans([a for a, _ in known], SCHEME))
        wanted = set(schemes.spans([b for _, b in known], SCHEME))
        return len(guessed & wanted), len(guessed), len(wanted)

    def units(self, one: Answer, two: Answer) -> list[tuple[str, str]]:
        """The pairs of labels that two annotators gave to the same tokens."""
        pairs = zip(one.value, two.value, strict=True)
        return [(a, b) for a, b in pairs if a is not None and b is not None]

    # -- on demand ------------------------------------------------------------------------------

    def explain(self, item: Any, at: int) -> dict[str, Any]:
        if not 0 <= at < len(item["tokens"]):
            raise DataError(f"position {at} is outside the {len(item['tokens'])} tokens")
        if not self._names:
            return {"label": None, "margin": None, "reasons": []}
        found = self.tagger.explain(_sentence(item))[at]
        reasons: dict[str, float] = {}  # some features say the same, such as w[0] and w.lower[0]
        for name, weight in (*found["features"], *found["history"]):
            said = in_words(name)
            reasons[said] = reasons.get(said, 0.0) + float(weight)
        best = sorted(reasons.items(), key=lambda pair: -abs(pair[1]))[:REASONS]
        return {
            "label": found["label"], "margin": round(min(float(found["margin"]), 99.0), 3),
            "reasons": [(name, round(weight, 4)) for name, weight in best if weight],
        }  # fmt: skip

    def alternatives(self, item: Any, n: int) -> list[tuple[float | None, Labels]]:
        """The n best labellings; with greedy inference, one for each of the least certain tokens."""
        guess = self.guess([item])
        if guess is None:
            return []
        if self.tagger.model_.labels.inference == "exact":
            best = self.tagger.predict_nbest([_sentence(item)], n, live=True)[0]
            return [(round(score, 3), self._shown(labels)) for score, labels in best]
        labels, margins = guess[0]
        found: list[Labels] = []
        for at in np.argsort(margins, kind="stable")[: n - 1].tolist():
            other = self._second(item, at)
            if other is not None and other not in (labels, *found):
                found.append(other)
        return [(None, labels), *[(None, other) for other in found]]

    def _second(self, item: Any, at: int) -> Labels | None:
        """The labelling with the second-best label, by its features, at one token."""
        tokens = _sentence(item)
        now = self.tagger.tag(tokens)
        model = self.tagger.model_
        features = model.features(Columns.from_sentences([tokens]))
        rows = features.rows[features.token_ptr[at] : features.token_ptr[at + 1]]
        scores = model.decoder.feature_rows(rows)[:, : len(model.labels)].sum(axis=0)
        for k in np.argsort(-scores, kind="stable").tolist():
            found = self.tagger.tag(tokens, forced={at: model.labels[k]})
            if found[at] != now[at]:
                return self._shown(found)
        return None

    def _shown(self, labels: Sequence[str]) -> Labels:
        return list(schemes.convert(labels, self._outer, SCHEME)) if self.kind == "spans" else list(labels)

    def save(self, path: str | Path) -> None:
        self.tagger.save(path, training_state=True)


def phrase_types(labels: Iterable[str]) -> list[str]:
    """The types of phrases in labels, in order."""
    return list(dict.fromkeys(schemes.split(label)[1] for label in labels if label != "O"))


def in_scheme(value: Sequence[str | None], source: str, target: str) -> Labels:
    """Labels in another scheme, part by part between unknown tokens."""
    found: Labels = []
    part: list[str] = []
    for label in [*value, None]:
        if label is None:
            found += schemes.convert(part, source, target) if part else []
            found.append(None)
            part = []
        else:
            part.append(label)
    return found[:-1]


def _texts(words: Any) -> bool:
    """Whether this is a list of strings, none of them empty."""
    return isinstance(words, list) and words != [] and all(isinstance(w, str) and w for w in words)


def _width(pool: Sequence[Any]) -> int:
    return 1 + len(pool[0].get("columns", ())) if pool else 1


def _sentence(item: Any) -> list[Any]:
    """The tokens of a question as taggers read them."""
    return list(zip(item["tokens"], *item["columns"], strict=True)) if "columns" in item else item["tokens"]
