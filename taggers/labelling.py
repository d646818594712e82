"""What a trained tagger does with sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from taggers import encoding as data
from taggers import explanation
from taggers.formats._columns import Columns
from taggers.model import TaggerModel


class Labellings(list[list[str]]):
    """The labels of sentences. As an array it has one dimension, whatever their lengths.

    (scikit-learn makes one when it joins what was predicted in the parts of a cross-validation.)
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = np.empty(len(self), object)
        for place, labels in enumerate(self):
            array[place] = labels
        return array


class Labelling(ABC):
    """Labels sentences with a model."""

    jobs: int

    @abstractmethod
    def _ready(self) -> TaggerModel:
        """The model."""

    def predict(self, X: Any) -> list[list[str]]:
        """The labels of each sentence."""
        model = self._ready()
        if isinstance(X, Columns) or self.jobs == 1:
            features = data.features_of(data.materialised(X), model)
            found = data.split(model.tag(features, jobs=self.jobs), model.names, features.sentence_ptr)
            return Labellings(found)
        X = data.materialised(X)
        parts = [X[k * len(X) // self.jobs : (k + 1) * len(X) // self.jobs] for k in range(self.jobs)]
        with ThreadPoolExecutor(self.jobs) as pool:
            encoded = pool.map(lambda part: data.features_of(part, model), [part for part in parts if part])
            tagged = [data.split(model.tag(f), model.names, f.sentence_ptr) for f in encoded]
        return Labellings(labels for part in tagged for labels in part)

    def tag(self, tokens: Sequence[Any], forced: Mapping[int, str] | None = None) -> list[str]:
        """The labels of one sentence; `forced` says which label the tokens at some places must get."""
        model = self._ready()
        features = data.features_of([data.tokens_of(tokens)], model)
        force = None
        if forced:
            force = np.full(features.n_tokens, -1, np.int32)
            for at, name in forced.items():
                if name not in model.labels:
                    raise ValueError(
                        f"label {name!r} cannot be forced: this tagger has {', '.join(model.labels)}"
                    )
                force[at] = model.labels.index(name)
        ids = model.tag(features, forced=force)
        return [model.names[k] for k in ids]

    def predict_margins(self, X: Any) -> list[list[float]]:
        """For each token, by how much the best labelling beats the best one with another label there.

        It is inf where no other label is possible.
        """
        model = self._ready()
        features = data.features_of(data.materialised(X), model)
        margins = np.zeros(features.n_tokens, np.float32)
        model.tag(features, margins=margins, jobs=self.jobs)
        ptr = features.sentence_ptr.tolist()
        return [margins[a:b].tolist() for a, b in pairwise(ptr)]

    def predict_nbest(self, X: Any, n: int) -> list[list[tuple[float, list[str]]]]:
        """The n best labellings of each sentence, as (score, labels); exact inference only."""
        model = self._ready()
        features = data.features_of(data.materialised(X), model)
        return [model.n_best(features, sentence, n) for sentence in range(features.n_sentences)]

    def explain(self, tokens: Sequence[Any]) -> list[dict[str, Any]]:
        """For each token of a sentence its label and what speaks for it, with weights."""
        return explanation.explain(self._ready(), data.tokens_of(tokens))

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens with the right label, among those with gold."""
        X = data.materialised(X)
        return data.accuracy(data.gold_of(X, y), self.predict(X))
