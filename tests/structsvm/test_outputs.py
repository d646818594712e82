"""Output features on cases computed by hand, and as part of the joint feature."""

import numpy as np
import pytest

from structsvm import LaRank, LaRankClassifier, Multiclass, Problem
from structsvm.problems.taxonomies import (
    Taxonomy,
    description_features,
    similarity_features,
    taxonomy_features,
    tree_loss,
)
from tests.structsvm.helpers import noisy_classes
from tests.structsvm.qp import multiclass_outputs, solve

PATHS = [("animal", "dog"), ("animal", "cat"), ("rock",)]


def test_taxonomy_features_mark_the_nodes_above_a_class():
    # Columns: animal, rock, then animal/cat, animal/dog.
    expected = [[0.5, 0, 0, 1], [0.5, 0, 1, 0], [0, 1, 0, 0]]
    assert np.array_equal(taxonomy_features(PATHS, node_weight=0.5), expected)


def test_a_name_in_two_branches_is_two_nodes():
    features = taxonomy_features([("a", "x"), ("b", "x")])
    assert features.shape == (2, 4)
    assert features[0] @ features[1] == 0


def test_tree_loss_is_the_height_of_the_common_ancestor():
    assert np.array_equal(tree_loss(PATHS), [[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    assert np.array_equal(tree_loss([("a",), ("b",)]), [[0, 1], [1, 0]])
    assert tree_loss([("a", "b", "c"), ("a", "d")])[0, 1] == 2


@pytest.mark.parametrize("paths", [[("a",), ()], [("a", "b"), ("a", "b")]], ids=["empty", "twice"])
def test_wrong_paths_are_refused(paths):
    for function in (taxonomy_features, tree_loss):
        with pytest.raises(ValueError, match=r"path"):
            function(paths)


def test_description_features_share_words_by_rarity():
    features = description_features([["red", "fruit"], ["fruit"], []])
    assert np.array_equal(features[:, :3], np.eye(3))
    fruit, red = np.log(4 / 2), np.log(4 / 1)
    np.testing.assert_allclose(features[0, 3:], np.array([fruit, red]) / np.hypot(fruit, red))
    np.testing.assert_allclose(features[1, 3:], [1, 0])
    np.testing.assert_allclose(features[2, 3:], [0, 0])


def test_similarity_features_have_the_given_products():
    similarity = np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 0]])
    features = similarity_features(similarity)
    np.testing.assert_allclose(features @ features.T, similarity, atol=1e-12)
    assert features.shape == (3, 2)


@pytest.mark.parametrize("similarity", [[[1, 0.5], [0.2, 1]], [[1, 2], [2, 1]], [1.0]])
def test_what_is_not_a_similarity_is_refused(similarity):
    with pytest.raises(ValueError, match="class similarities must"):
        similarity_features(similarity)


class Explicit(Problem):
    """Lambda(y) (x) x written out, without any help of Multiclass."""

    n_features = 6 * 4

    def __init__(self, Lambda, loss):
        self.Lambda, self.losses = Lambda, loss

    def joint_feature(self, x, y):
        return np.outer(x, self.Lambda[y]).ravel()

    def loss(self, y, other):
        return self.losses[y, other]

    def candidates(self, x):
        return range(3)


def test_output_features_are_the_explicit_joint_feature():
    X, y = noisy_classes(30, k=3)  # Lambda holds zeros and ones: no rounding tells the doors apart
    Lambda, loss = taxonomy_features(PATHS), tree_loss(PATHS)
    fast = LaRank(Multiclass(loss=loss, output_features=Lambda), C=0.2, epochs=3).fit(X, y)
    slow = LaRank(Explicit(Lambda, loss), C=0.2, epochs=3).fit(X, y)
    np.testing.assert_allclose(fast.weights_, slow.weights_, rtol=1e-9, atol=1e-12)
    assert fast.dual_ == pytest.approx(slow.dual_, rel=1e-10)
    assert fast.predict(X).tolist() == slow.predict(X)


def test_a_taxonomy_reaches_the_optimum_of_its_own_dual():
    X, y = noisy_classes(8, k=3)
    Lambda, loss = taxonomy_features(PATHS), tree_loss(PATHS)
    best = solve(multiclass_outputs(X, y, loss, Lambda), np.full(8, 0.5))
    optimizer = LaRank(Multiclass(loss=loss, output_features=Lambda), C=0.5, gap_tolerance=1e-7).fit(X, y)
    assert optimizer.dual_ == pytest.approx(best.dual, rel=1e-6)


def test_classes_below_a_shared_node_help_each_other():
    # One example of class 1: what is learned of its sister 0 sets both apart from class 2.
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal([2, 1], 0.3, (30, 2)), rng.normal([-2, 0], 0.3, (30, 2)), [[2, -1]]])
    y = np.array([0] * 30 + [2] * 30 + [1])
    optimizer = LaRank(Multiclass(output_features=taxonomy_features(PATHS)), epochs=5).fit(X, y)
    scores = optimizer.problem.decision_function([[2.0, -1.0]], optimizer.weights_)[0]
    assert scores[0] > scores[2]
    assert scores[1] > scores[2]


def test_a_taxonomy_of_names_lines_up_with_the_sorted_classes_of_a_classifier():
    names = ["rec.sport.hockey", "comp.graphics", "rec.autos", "comp.windows"]
    taxonomy = Taxonomy.of_names(names, ".")
    assert taxonomy.classes.tolist() == sorted(names)
    options = taxonomy.options()
    assert options["output_features"].shape == (4, 4 + 3)  # comp, rec, rec.sport
    assert options["loss"].tolist() == [[0, 1, 2, 3], [1, 0, 2, 3], [2, 2, 0, 2], [3, 3, 2, 0]]
    X, y = noisy_classes(40, noise=0.3)
    model = LaRankClassifier(**options).fit(X, np.array(names)[y])
    assert model.score(X, np.array(names)[y]) == 1
    assert taxonomy.options(features=False).keys() == {"loss"}
    assert taxonomy.options(loss=False).keys() == {"output_features"}


def test_mean_loss_counts_levels():
    taxonomy = Taxonomy({"dog": ("animal", "dog"), "cat": ("animal", "cat"), "rock": ("rock",)})
    assert taxonomy.mean_loss(["dog", "dog", "cat", "rock"], ["dog", "cat", "rock", "rock"]) == 3 / 4


def test_a_taxonomy_needs_two_classes():
    with pytest.raises(ValueError, match="needs at least two"):
        Taxonomy({"a": ("a",)})
