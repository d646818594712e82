"""Concept labelling with world knowledge: find the object in the world that each word of a sentence names.

    "he cooks the rice"  ->  John cook - rice         as John and the rice are in the kitchen

A network with lookup tables for words and concepts (appendix C of Bordes' thesis) labels the word with the
most confident label first. It then uses facts about that concept, such as its location, to label the
remaining words.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Any, Self

import numpy as np

from semparse.concepts._concepts import ORDERS, Network
from semparse.concepts.alignment import align
from structsvm.files import consistent, load_model, save_model
from structsvm.files.codec import Array, Field, Kind, Table, mapped, names
from structsvm.guard import reads, training
from structsvm.integrations.sklearn import Estimator, sequence_tags
from structsvm.validation import check_choice, check_count, check_positive, check_seed

World = Mapping[str, Mapping[str, str]]
KIND = Kind("concepts", "concept labeller", "use one written by ConceptLabeller.save")
SHAPES: dict[str, tuple[str, ...]] = {
    "words": ("words and 2", "dimension"), "concepts": ("concepts and 1", "dimension"),
    "W": ("window", "dimension", "hidden"), "V": ("window", "parts", "hidden"), "H": ("parts", "hidden"),
    "b_g": ("hidden",), "b_h": ("hidden",),
}  # fmt: skip
FIELDS = Table(
    Field("parameters", mapped(), "the options of the labeller"),
    Field("words", names(least=1), "the words that have a vector"),
    Field("concepts", names(least=1), "the concepts"),
)
NETWORK = Table(*(
    Field(name, Array(np.float32, *shape, high=1e30), f"the parameters {name} of the network")
    for name, shape in SHAPES.items()
))  # fmt: skip
ALIGNED = (2, 4)  # passes to try, besides all of them
PART = 500  # visits between two checks for Ctrl-C


@dataclass(eq=False, repr=False)
class ConceptLabeller(Estimator):
    """Labels each word with a concept, given the state of the world.

    The score of a labelling is sum_i g_i(x, y) . h(y_i) (see `_concepts`). Training visits sentences one by
    one and labels them greedily. At the first mistake it makes one gradient step, so that every right
    continuation scores above the wrong one by 1. The learning rate falls linearly to a tenth. Training stops
    after `epochs` passes, or after a pass without a mistake. A visit costs about dimension * hidden *
    (relations + 1) * length^2 operations.

    Parameters
    ----------
    relations : the relations of concepts to use, as named in the worlds; none for words alone.
    order : order-free (the surest word first), left-right, or independent (labels do not see each other).
    dimension, hidden, window : sizes of the vectors of words and concepts, of g and h, and how many words
        around it a word sees, itself included.
    aligned : with weak labels, passes that take the bags as aligned by what occurs together
        (`bag_alignment`), before those with the thesis' own update, which asks any label of the bag on any
        word to beat the wrong one. Alone (0), that update learns the bags, but on our data not which word
        each label belongs to; after a few aligned passes it may still unlearn that. None trains with 2, 4
        and only aligned passes, and keeps the weights with the fewest mistakes in the last pass.
    """

    _: KW_ONLY
    relations: Sequence[str] = ("location", "containedby")
    order: str = "order-free"
    dimension: int = 20
    hidden: int = 200
    window: int = 13
    rate: float = 0.02
    epochs: int = 6
    aligned: int | None = None
    random_state: int = 0
    arrays_: dict[str, np.ndarray] = field(init=False)
    errors_: list[float] = field(init=False)
    aligned_: int = field(init=False)

    def fit(
        self,
        sentences: Sequence[Sequence[str]],
        worlds: Sequence[World],
        labels: Sequence[Sequence[str]],
        *,
        weak: bool = False,
        callback: Callable[[int, float], object] | None = None,
    ) -> Self:
        """Learn from sentences, the worlds they were said in, {relation: {concept: concept}}, and labels.

        labels has a concept for each word, such as "-" for words that name none. With weak, their order is
        ignored: they are the bag of concepts that the sentence names. callback receives each pass and its
        share of sentences with a mistake; `errors_` has those of the weights that are kept, and `aligned_`
        their number of aligned passes.
        """
        with training(self):
            self._fit(sentences, worlds, labels, weak, callback)
        return self

    def _fit(
        self,
        sentences: Sequence[Sequence[str]],
        worlds: Sequence[World],
        labels: Sequence[Sequence[str]],
        weak: bool,
        callback: Callable[[int, float], object] | None,
    ) -> None:
        self._check_options()
        if not len(sentences) == len(worlds) == len(labels):
            raise ValueError(f"{len(sentences)} sentences, {len(worlds)} worlds and {len(labels)} labellings")
        if not len(sentences):
            raise ValueError("there are no sentences; pass at least one")
        for k, (sentence, concepts) in enumerate(zip(sentences, labels, strict=True)):
            if not sentence or len(sentence) != len(concepts):
                raise ValueError(f"sentence {k} has {len(sentence)} words and {len(concepts)} labels")
        words = {word: k for k, word in enumerate(_names(sentences), 2)}  # 0: outside, 1: unknown
        known = {concept: k for k, concept in enumerate(_names(labels))}
        data = self._encoded(sentences, worlds, words, known)
        truth = np.array([known[c] for concepts in labels for c in concepts], np.int32)
        if weak:
            truth = align(data[0], truth, data[1], (len(words) + 2, len(known)))
        self.words_, self.concepts_ = words, known
        tried = [self.epochs]
        if weak and self.aligned is not None:
            tried = [self.aligned]
        elif weak:
            tried = [*(passes for passes in ALIGNED if passes < self.epochs), *tried]
        found = []
        for self.aligned_ in tried:
            self._train(data, truth, callback)
            found.append((self.arrays_, self.errors_, self.aligned_))
        self.arrays_, self.errors_, self.aligned_ = min(found, key=lambda trained: trained[1][-1])

    def _train(
        self,
        data: tuple[np.ndarray, np.ndarray, np.ndarray],
        truth: np.ndarray,
        callback: Callable[[int, float], object] | None,
    ) -> None:
        """Passes over the encoded sentences, from new weights; a callback may predict with them."""
        starts = data[1]
        n = len(starts) - 1
        rng = np.random.default_rng(check_seed(self.random_state))
        arrays = self._initial(rng, len(self.words_), len(self.concepts_))
        network = Network(arrays, int(np.diff(starts).max()), self.order)
        self.arrays_, self.errors_ = arrays, []
        for epoch in range(self.epochs):
            visits = rng.permutation(n)
            rate = self.rate * (1 - 0.9 * epoch / self.epochs)
            by_bag = epoch >= self.aligned_
            parts = range(0, n, PART)
            right = sum(network.train(*data, truth, visits[k : k + PART], by_bag, rate) for k in parts)
            if not all(np.isfinite(array).all() for array in arrays.values()):
                raise ValueError(f"the weights diverged because a rate of {self.rate} is too high; lower it")
            self.errors_.append(1 - right / n)
            if callback is not None:
                callback(epoch, self.errors_[-1])
            if right == n:
                break

    def _check_options(self) -> None:
        check_choice(order=(self.order, tuple(ORDERS)))
        if isinstance(self.relations, str) or not all(isinstance(name, str) for name in self.relations):
            raise ValueError(f"relations must be a list of names, got {self.relations!r}")
        sizes = {name: getattr(self, name) for name in ("dimension", "hidden", "window", "epochs")}
        for name, value in sizes.items():
            check_count(**{name: value}, low=1)
        if self.aligned is not None:
            check_count(aligned=self.aligned, low=0)
        check_positive(rate=self.rate)
        if self.window % 2 == 0:
            raise ValueError(f"window must be odd, with the word in the middle, got {self.window}")

    @reads
    def predict(self, sentences: Sequence[Sequence[str]], worlds: Sequence[World]) -> list[list[str]]:
        """The concept of each word."""
        if not hasattr(self, "arrays_"):
            raise self.not_fitted()
        if len(sentences) != len(worlds):
            raise ValueError(f"{len(sentences)} sentences and {len(worlds)} worlds")
        if not all(sentences):
            raise ValueError("a sentence has no words")
        words, starts, values = self._encoded(sentences, worlds, self.words_, self.concepts_)
        found = np.empty(len(words), np.int32)
        longest = max(map(len, sentences), default=1)
        Network(self.arrays_, longest, self.order).predict(words, starts, values, found)
        names = list(self.concepts_)
        return [[names[c] for c in found[a:b]] for a, b in pairwise(starts)]

    @reads
    def neighbours(self, concept: str, n: int = 2) -> list[str]:
        """The concepts whose vectors are nearest."""
        vectors = self.arrays_["concepts"][:-1]
        distances = np.linalg.norm(vectors - vectors[self.concepts_[concept]], axis=1)
        names = list(self.concepts_)
        return [names[k] for k in np.argsort(distances, kind="stable") if names[k] != concept][:n]

    def __sklearn_tags__(self) -> Any:
        return sequence_tags()

    @reads
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, completely or not at all."""
        if not hasattr(self, "arrays_"):
            raise self.not_fitted()
        known = {"words": list(self.words_), "concepts": list(self.concepts_)}
        _, meta = FIELDS.write({"parameters": self.get_params(), **known})
        save_model(path, NETWORK.write(self.arrays_)[0], {"kind": KIND.name, **meta})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file, or raise ModelFileError."""
        arrays, meta = load_model(path)
        KIND.check(path, meta)
        with consistent(path, "labeller"):
            found = FIELDS.read(arrays, meta)
            labeller = cls(**found["parameters"])
            labeller._check_options()
            check_seed(labeller.random_state)
            labeller.words_ = {word: k + 2 for k, word in enumerate(found["words"])}
            labeller.concepts_ = {concept: k for k, concept in enumerate(found["concepts"])}
            sizes = labeller._sizes(len(labeller.words_), len(labeller.concepts_))
            labeller.arrays_ = NETWORK.read(arrays, {}, "", **sizes)
        return labeller

    def _sizes(self, n_words: int, n_concepts: int) -> dict[str, int]:
        """The dimensions of the parameters."""
        return {
            "words and 2": n_words + 2, "concepts and 1": n_concepts + 1, "dimension": self.dimension,
            "hidden": self.hidden, "window": self.window, "parts": self.dimension * (1 + len(self.relations)),
        }  # fmt: skip

    def _initial(self, rng: np.random.Generator, n_words: int, n_concepts: int) -> dict[str, np.ndarray]:
        """Random parameters, each even on +-1 / sqrt(inputs)."""
        sizes = self._sizes(n_words, n_concepts)
        around = self.window * (self.dimension + sizes["parts"])
        inputs = {"words": 1, "concepts": 1, "W": around, "V": around, "H": sizes["parts"]}
        shapes = {name: [sizes[dimension] for dimension in shape] for name, shape in SHAPES.items()}
        return {
            name: rng.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(inputs[name]))
            if name in inputs
            else np.zeros(shape, np.float32)
            for name, shape in shapes.items()
        }

    def _encoded(
        self,
        sentences: Sequence[Sequence[str]],
        worlds: Sequence[World],
        known: Mapping[str, int],
        concepts: Mapping[str, int],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Words, where sentences start, and what each concept is related to, as numbers."""
        words = np.array([known.get(word, 1) for x in sentences for word in x], np.int32)
        starts = np.cumsum([0, *map(len, sentences)], dtype=np.int32)
        none = n = len(concepts)
        values = np.full((len(worlds), max(1, len(self.relations) * n)), none, np.int32)
        for row, world in zip(values, worlds, strict=True):
            for k, relation in enumerate(self.relations):
                for concept, other in world.get(relation, {}).items():
                    if concept in concepts:
                        row[k * n + concepts[concept]] = concepts.get(other, none)
        return words, starts, values


def _names(lists: Iterable[Iterable[Any]]) -> list[str]:
    return sorted({name for one in lists for name in one})
