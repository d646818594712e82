"""Grammars, CKY against all trees enumerated, and the stratified search against brute force."""

import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from structsvm import LaRank, Perceptron, SVMStruct
from structsvm._dual.oracle import PythonOracle
from structsvm.problem import Problem
from structsvm.problems import Grammar, TreeProblem
from structsvm.problems.tree.grammar import binarise, brackets, debinarise, leaves_of, rules_of
from structsvm.problems.tree.problem import tree_scores
from tests.structsvm.qp import solve

RULES = """
S -> NP VP | VP          # an imperative
NP -> DT NN | DT JJ NN | NP PP | NN | Q
Q -> CD NN | CD
VP -> V NP | V NP PP | V | VP PP
PP -> P NP
"""
GRAMMAR = Grammar.from_string(RULES, start=["S", "NP"])
SENTENCES = [
    "DT NN V DT NN P DT NN",
    "V NN P NN P NN",
    "NN V CD P DT JJ NN",
    "DT NN P CD NN",
    "CD V CD NN",
    "V",
]
X = [sentence.split() for sentence in SENTENCES]


@cache
def all_trees(x):
    return list(TreeProblem(GRAMMAR).candidates(x))


class SlowTrees(TreeProblem):
    """The same problem through the Python door: all trees enumerated."""

    argmax = Problem.argmax
    predict = Problem.predict

    def candidates(self, x):
        return all_trees(tuple(x))

    def oracle(self):
        return PythonOracle(self)


def some_trees(seed):
    """A tree for each sentence, the best one under random weights."""
    return TreeProblem(GRAMMAR).predict(X, np.random.default_rng(seed).normal(size=len(GRAMMAR)))


def test_a_grammar_of_trees_has_their_rules_and_their_start():
    tree = ("S", ("NP", "DT", "NN"), ("VP", "V", ("NP", "NN")))
    grammar = Grammar.from_trees([tree, tree])
    assert set(grammar.rules) == {
        ("", ("S",)), ("S", ("NP", "VP")), ("NP", ("DT", "NN")), ("VP", ("V", "NP")), ("NP", ("NN",))
    }  # fmt: skip
    assert (grammar.labels, grammar.terminals) == (["NP", "S", "VP"], ["DT", "NN", "V"])
    assert grammar.decode(grammar.encode(tree), leaves_of(tree)) == tree


def test_relative_frequencies_are_log_shares_among_the_rules_of_a_label():
    grammar = Grammar.from_string("S -> A A | A\nA -> x | y")
    w = np.exp(grammar.relative_frequencies([("S", ("A", "x"), ("A", "y")), ("S", ("A", "x"))]))
    shares = dict(zip(grammar.rules, w, strict=True))
    assert shares["S", ("A",)] == pytest.approx(0.5)
    assert shares["A", ("x",)] == pytest.approx(2 / 3)
    assert shares["", ("S",)] == pytest.approx(1)


@pytest.mark.parametrize("order", [None, 0, 1, 2])
def test_binarised_trees_have_two_children_and_come_back(order):
    tree = ("S", ("NP", "DT", "JJ", "JJ", "NN"), "x", ("VP", ("V", "a"), "b", "c"))
    twofold = binarise(tree, order=order)
    assert all(len(right) <= 2 for _, right in rules_of(twofold))
    assert debinarise(twofold) == tree
    assert leaves_of(twofold) == leaves_of(tree)


def test_a_short_memory_lets_a_grammar_make_rules_it_has_not_seen():
    trees = [("S", "a", "b", "c"), ("S", "x", "b", "c", "d")]
    x = ["a", "b", "c", "d"]
    exact, loose = (
        TreeProblem(Grammar.from_trees(binarise(tree, order=order) for tree in trees)) for order in (None, 1)
    )
    assert exact.predict([x], np.zeros(exact.n_features)) == [None]
    (tree,) = loose.predict([x], np.zeros(loose.n_features))
    assert debinarise(tree) == ("S", *x)


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), x=st.sampled_from(X))
def test_cky_finds_the_best_of_all_trees(seed, x):
    problem = TreeProblem(GRAMMAR)
    w = np.random.default_rng(seed).normal(size=len(GRAMMAR))
    trees = all_trees(tuple(x))
    assert len(set(trees)) == len(trees) > 0
    (found,) = problem.predict([x], w)
    assert found in trees
    assert problem.score(x, found, w) == pytest.approx(max(problem.score(x, tree, w) for tree in trees))


def test_sentences_have_as_many_trees_as_counted_by_hand():
    # PP attachment: with 1 noun, 1, 2, 5 trees for 0, 1, 2 phrases; the object of V has one place more.
    grammar = Grammar.from_string("NP -> n | NP PP\nPP -> p NP")
    counts = [len(list(TreeProblem(grammar).candidates(("n p " * k + "n").split()))) for k in range(5)]
    assert counts == [1, 1, 2, 5, 14]


LOSSES = ["f1", "0/1", lambda right, answered, gold: (answered - right) + 0.5 * (gold - right)]
FORMS = [(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("l1", "l2")]


@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
@pytest.mark.parametrize("loss", LOSSES, ids=["f1", "0/1", "counts"])
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_the_most_violated_tree_is_that_of_brute_force(loss, rescaling, slack, seed):
    w = np.random.default_rng(seed).normal(size=len(GRAMMAR))
    y = some_trees(seed + 1)
    fast, slow = (SVMStruct(kind(GRAMMAR, loss=loss), rescaling=rescaling, slack=slack).begin(X, y)
                  for kind in (TreeProblem, SlowTrees))  # fmt: skip
    slacks = []
    for optimizer in (fast, slow):
        optimizer._machine.weights[:] = w
        slacks.append(optimizer._machine.slacks(optimizer._held))
    np.testing.assert_allclose(slacks[0], slacks[1], atol=1e-12)


@pytest.mark.parametrize("loss", ["f1", "0/1"])
@pytest.mark.parametrize(("rescaling", "slack"), FORMS)
def test_training_reaches_the_optimum_over_all_trees(loss, rescaling, slack):
    problem, y = TreeProblem(GRAMMAR, loss=loss), some_trees(3)
    outputs = []
    for x, tree in zip(X, y, strict=True):
        feature = np.bincount(GRAMMAR.encode(tree), minlength=len(GRAMMAR))
        outputs.append([
            (problem.loss(tree, other), feature - np.bincount(GRAMMAR.encode(other), minlength=len(GRAMMAR)))
            for other in all_trees(tuple(x)) if other != tree
        ])  # fmt: skip
    best = solve(outputs, np.full(len(X), 2.0), rescaling=rescaling, slack=slack)
    form = {"C": 2.0, "rescaling": rescaling, "slack": slack}
    for optimizer in (SVMStruct(problem, epsilon=1e-7, **form), LaRank(problem, gap_tolerance=1e-6, **form)):
        optimizer.fit(X, y)
        assert optimizer.dual_ == pytest.approx(best.dual, rel=1e-5)
        assert optimizer.primal() == pytest.approx(best.primal, rel=1e-5)


@pytest.mark.parametrize("loss", ["f1", "0/1"])
def test_both_doors_give_the_same_model(loss):
    y = some_trees(5)
    kinds = (TreeProblem(GRAMMAR, loss=loss), SlowTrees(GRAMMAR, loss=loss))
    fast, slow = (SVMStruct(problem, C=3.0, epsilon=1e-6).fit(X, y) for problem in kinds)
    np.testing.assert_allclose(fast.weights_, slow.weights_, atol=1e-3)
    assert fast.predict(X) == y
    fast, slow = (Perceptron(problem, epochs=20).fit(X, y) for problem in kinds)
    assert fast.predict(X) == slow.predict(X) == y


def test_a_learned_grammar_gives_the_trees_back():
    y = some_trees(7)
    optimizer = LaRank(TreeProblem(GRAMMAR), C=100.0, epochs=20).fit(X, y)
    assert optimizer.predict(X) == y
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.predict(X) == y
    for one in (optimizer, again):
        one.partial_fit(X[:2], some_trees(8)[:2])
    assert np.array_equal(optimizer.weights_, again.weights_)


def test_scores_count_brackets_of_all_trees_together():
    gold = [("S", ("A", "x"), ("B", "y", "z")), ("S", "x")]
    answered = [("S", ("A", "x", "y"), ("C", "z")), None]
    assert brackets(gold[0]) == {("S", 0, 3): 1, ("A", 0, 1): 1, ("B", 1, 3): 1}
    scores = tree_scores(gold, answered)
    assert scores == pytest.approx((0, 100 / 3, 100 / 4, 200 / 7))
    assert tree_scores(gold, gold) == (100, 100, 100, 100)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "grammar is empty"),
        ("S -> A B\nA -> C\nB -> x\nC -> D\nD -> A | y", "cycle, A -> C -> D -> A"),
        ("S -> S | x", "cycle, S -> S"),
        ("S -> A\nA - x", "line 2: 'A - x' is not a rule"),
        ("S -> A |", "is not a rule"),
    ],
)
def test_wrong_grammars_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        Grammar.from_string(text)


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        ([], "grammar is empty"),
        (["DT"], r"trees\[0\] is 'DT'"),
        ([("NP", ())], r"trees\[0\] holds \(\)"),
        ([("NP", "DT", 3)], "holds 3"),
        ([("NP", "DT"), ("S", ("DT", "x"))], "'DT' is a label in one place and a terminal in another"),
        ([("A", ("B", "x")), ("B", ("A", "x"))], "unary rules form a cycle"),
    ],
)
def test_wrong_trees_are_refused(trees, message):
    with pytest.raises(ValueError, match=message):
        Grammar.from_trees(trees)


@pytest.mark.parametrize(
    ("x", "tree", "message"),
    [
        ("DT NN V", ("S", ("NP", "DT", "NN")), "uses the rule S -> NP, which the grammar does not have"),
        ("DT NN", ("S", ("VP", "V")), "the tree and the sentence have different terminals"),
        ("V", "V", "a tree is a tuple"),
    ],
)
def test_a_tree_that_does_not_fit_is_reported_by_its_place(x, tree, message):
    optimizer = LaRank(TreeProblem(GRAMMAR))
    with pytest.raises(ValueError, match=f"sentence 1: .*{message}"):
        optimizer.fit([X[0], x.split()], [some_trees(1)[0], tree])


def test_a_sentence_without_a_tree_has_none():
    problem, w = TreeProblem(GRAMMAR), np.zeros(len(GRAMMAR))
    X = [["NN", "NN"], ["DT", "WRB"], [], ["V"]]
    assert problem.predict(X, w) == [None, None, None, ("S", ("VP", "V"))]
    with pytest.raises(ValueError, match="no tree for 'NN NN'"):
        problem.argmax(["NN", "NN"], w)
    with pytest.raises(ValueError, match="'WRB' is in no rule"):
        problem.productions.encode(["DT", "WRB"])
    with pytest.raises(ValueError, match="3 weights for a grammar"):
        problem.argmax(["V"], np.zeros(3))


@pytest.mark.parametrize(
    ("loss", "message"),
    [("f2", "loss must be"), (lambda *counts: 1.0, "loss of the right tree must be 0"),
     (lambda right, answered, gold: right - gold, "at least 0")],
)  # fmt: skip
def test_wrong_losses_are_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        LaRank(TreeProblem(GRAMMAR, loss=loss)).fit(X, some_trees(1))


symbols = st.sampled_from(["A", "B", "C", "x", "y"])
some_rules = st.lists(
    st.tuples(symbols.filter(str.isupper), st.lists(symbols, min_size=1, max_size=4)), max_size=9
)


@settings(max_examples=60)
@given(
    rules=some_rules, x=st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=5), seed=st.integers(0, 99)
)
def test_any_grammar_is_searched_as_by_brute_force(rules, x, seed):
    try:
        grammar = Grammar([("", ("A",)), ("A", ("x", "y")), *((left, tuple(right)) for left, right in rules)])
    except ValueError:
        reject()  # unary rules form a cycle
    problem, w = TreeProblem(grammar), np.random.default_rng(seed).normal(size=len(grammar))
    trees = list(problem.candidates(x))
    (found,) = problem.predict([x], w)
    if not trees:
        assert found is None
        return
    assert problem.score(x, found, w) == pytest.approx(max(problem.score(x, tree, w) for tree in trees))
    right = trees[seed % len(trees)]
    optimizer = LaRank(TreeProblem(grammar, loss="f1"), rescaling="slack").begin([x], [right])
    optimizer._machine.weights[:] = w
    margins = [problem.score(x, right, w) - problem.score(x, tree, w) for tree in trees]
    worst = max(problem.loss(right, tree) * (1 - m) for tree, m in zip(trees, margins, strict=True))
    assert optimizer._machine.slacks(optimizer._held)[0] == pytest.approx(max(worst, 0), abs=1e-9)


@pytest.mark.parametrize("value", [-np.inf, np.nan])
def test_weights_that_are_not_numbers_are_refused(value):
    grammar = Grammar.from_string("S -> A S | A\nA -> a | b")
    for sentence in (["a"] * 40, ["a"]):
        with pytest.raises(ValueError, match="finite"):
            TreeProblem(grammar).predict([sentence], np.full(len(grammar), value))


def test_a_word_named_like_a_label_has_no_tree():
    grammar = Grammar.from_string("S -> A S | A\nA -> a | b")
    found = TreeProblem(grammar).predict([["A"], ["zz"], ["a"]], np.zeros(len(grammar)))
    assert found == [None, None, ("S", ("A", "a"))]
