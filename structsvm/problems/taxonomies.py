"""Output features for related classes, so that examples of one class help to learn the others.

Each function returns Lambda, a row for each class (Tsochantaridis' thesis, 4.3): the `output_features` of
`Multiclass`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np


def taxonomy_features(paths: Sequence[Sequence[Hashable]], *, node_weight: float = 1.0) -> np.ndarray:
    """Lambda for classes in a tree: a feature for each node, shared by the classes below it.

    paths: for each class its nodes from the top down, the class itself last, such as ("animal", "dog").
    Nodes are identified by their whole path, so a name may occur in two branches. `node_weight` weighs
    inner nodes against the classes themselves.
    """
    check_paths(paths)
    prefixes = [[tuple(path[: depth + 1]) for depth in range(len(path))] for path in paths]
    nodes = sorted(
        {node for chain in prefixes for node in chain}, key=lambda node: (len(node), list(map(repr, node)))
    )
    column = {node: k for k, node in enumerate(nodes)}
    features = np.zeros((len(paths), len(nodes)))
    for row, chain in enumerate(prefixes):
        for node in chain:
            features[row, column[node]] = 1.0 if node == chain[-1] else node_weight
    return features


def tree_loss(paths: Sequence[Sequence[Hashable]]) -> np.ndarray:
    """loss[y, c]: the height of the lowest common ancestor of two classes; a root above all classes is added.

    Heights are counted in levels below the ancestor, up to the deeper of the two classes.
    """
    check_paths(paths)
    loss = np.zeros((len(paths), len(paths)))
    for i, a in enumerate(paths):
        for j, b in enumerate(paths):
            common = 0
            while common < min(len(a), len(b)) and a[common] == b[common]:
                common += 1
            loss[i, j] = max(len(a), len(b)) - common if i != j else 0.0
    return loss


class Taxonomy:
    """Classes in a tree, with output features and a tree loss for `LaRankClassifier` and `Multiclass`.

        LaRankClassifier(**Taxonomy.of_names(set(y), ".").options()).fit(X, y)

    paths: for each class its nodes from the top down, such as {"dog": ("animal", "dog")}. It must contain
    exactly the classes of the training data, because the classifier matches its sorted classes with them.
    """

    def __init__(self, paths: Mapping[Any, Sequence[Hashable]]) -> None:
        if len(paths) < 2:
            raise ValueError(f"a taxonomy of {len(paths)} class(es); a taxonomy needs at least two")
        self.classes = np.unique(np.asarray(list(paths)))
        self.paths = [tuple(paths[label]) for label in self.classes.tolist()]
        check_paths(self.paths)

    @classmethod
    def of_names(cls, names: Iterable[str], separator: str) -> Self:
        """Build from classes whose names are their paths, such as rec.sport.hockey."""
        return cls({name: name.split(separator) for name in names})

    def options(
        self, *, features: bool = True, loss: bool = True, node_weight: float = 1.0
    ) -> dict[str, Any]:
        """The options of a classifier: class features, tree loss, or both."""
        options: dict[str, Any] = {}
        if features:
            options["output_features"] = taxonomy_features(self.paths, node_weight=node_weight)
        if loss:
            options["loss"] = tree_loss(self.paths)
        return options

    def mean_loss(self, y: Any, predicted: Any) -> float:
        """The mean tree loss of predictions: 1 for a sister class, more for a more distant one."""
        place = {label: k for k, label in enumerate(self.classes.tolist())}
        loss = tree_loss(self.paths)
        pairs = zip(np.asarray(y).tolist(), np.asarray(predicted).tolist(), strict=True)
        return float(np.mean([loss[place[a], place[b]] for a, b in pairs]))


def description_features(descriptions: Sequence[Sequence[str]]) -> np.ndarray:
    """Lambda from words that describe each class.

    Each row has a feature for the class and its words weighted by idf, scaled to unit length.
    """
    words = sorted({word for description in descriptions for word in description})
    column = {word: k for k, word in enumerate(words)}
    counts = np.zeros((len(descriptions), len(words)))
    for row, description in enumerate(descriptions):
        for word in description:
            counts[row, column[word]] += 1
    weighted = counts * np.log((1 + len(descriptions)) / np.maximum((counts > 0).sum(axis=0), 1))
    length = np.linalg.norm(weighted, axis=1, keepdims=True)
    return np.hstack([np.eye(len(descriptions)), weighted / np.where(length > 0, length, 1)])


def similarity_features(similarity: Any) -> np.ndarray:
    """Lambda with Lambda Lambda' = similarity, a positive semi-definite matrix between classes."""
    similarity = np.asarray(similarity, dtype=np.float64)
    if similarity.ndim != 2 or not np.allclose(similarity, similarity.T):
        raise ValueError("class similarities must form a symmetric matrix")
    values, vectors = np.linalg.eigh(similarity)
    if values.min() < -1e-8 * max(values.max(), 1.0):
        raise ValueError(
            "class similarities must be positive semi-definite, "
            f"but the smallest eigenvalue is {values.min():.3g}"
        )
    kept = values > 1e-12 * max(values.max(), 1.0)
    return vectors[:, kept] * np.sqrt(values[kept])


def check_paths(paths: Sequence[Sequence[Hashable]]) -> None:
    if any(len(path) == 0 for path in paths):
        raise ValueError("every class needs a path of at least one node, the class itself")
    if len({tuple(path) for path in paths}) != len(paths):
        raise ValueError("two classes have the same path in the taxonomy")
