"""Intervals of scores, and comparisons of two models."""

import json
import random

import numpy as np
import pytest

from taggers import NerTagger, commands
from taggers.conlleval import evaluate
from taggers.uncertainty import better, compare, interval, sentence_counts
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns

LABELS = ["O", "O", "B-X", "I-X", "B-Y"]


def rows(rng, n):
    return [[rng.choice(LABELS) for _ in range(rng.randint(0, 8))] for _ in range(n)]


def spoiled(rng, gold, share):
    return [[rng.choice(LABELS) if rng.random() < share else label for label in row] for row in gold]


@pytest.mark.parametrize("seed", range(10))
def test_the_counts_of_sentences_add_up_to_those_of_the_evaluation(seed):
    rng = random.Random(seed)
    gold = rows(rng, 30)
    predicted = spoiled(rng, gold, 0.3)
    whole = evaluate(gold, predicted)
    total = whole.phrases
    counts = sentence_counts(gold, predicted, spans=True)
    assert counts.sum(axis=0).tolist() == [total.gold, total.found, total.correct]
    for number in range(30):
        alone = evaluate(gold[number : number + 1], predicted[number : number + 1]).phrases
        assert counts[number].tolist() == [alone.gold, alone.found, alone.correct]
    assert interval(counts).score == pytest.approx(whole.f1)
    tokens = sentence_counts(gold, predicted, spans=False)
    assert interval(tokens).score == pytest.approx(whole.accuracy)


def test_the_interval_is_as_wide_as_the_scores_of_new_samples_differ():
    rng = np.random.default_rng(3)

    def sample():
        right = rng.random((400, 1)) < 0.7
        return np.hstack([np.ones((400, 2), np.int64), right.astype(np.int64)])

    scores = [interval(sample(), samples=1).score for _ in range(1000)]
    found = interval(sample())
    spread = np.subtract(*np.percentile(scores, [97.5, 2.5]))
    assert found.high - found.low == pytest.approx(spread, rel=0.2)
    assert found.low < found.score < found.high


def test_equal_and_clearly_different_models_get_the_right_verdict():
    rng = random.Random(1)
    gold = rows(rng, 300)
    good, bad, other = (
        sentence_counts(gold, spoiled(rng, gold, share), spans=True) for share in (0.1, 0.5, 0.1)
    )
    assert compare(bad, good).beyond_chance
    assert compare(bad, good).p < 0.01
    assert compare(good, good).p == 1
    assert not compare(good, good).beyond_chance
    assert not compare(good, other).beyond_chance
    assert compare(good, bad).difference.score == -compare(bad, good).difference.score


def test_chance_is_called_a_difference_about_as_often_as_its_level_says():
    rng = np.random.default_rng(5)
    calls = 0
    for _ in range(200):
        right = rng.random((2, 100, 1)) < 0.6
        ones = np.ones((100, 2), np.int64)
        first, second = (np.hstack([ones, one.astype(np.int64)]) for one in right)
        calls += compare(first, second, samples=300).beyond_chance
    assert calls < 22  # 10 expected at a level of 5 per cent


def test_different_test_sets_are_refused():
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(np.ones((2, 3), int), np.ones((3, 3), int))


def test_the_command_line_shows_intervals_and_compares_models(tmp_path):
    for name, n, seed in (("small.txt", 2, 0), ("large.txt", 60, 0), ("test.txt", 120, 9)):
        (tmp_path / name).write_bytes(as_columns(n, seed=seed))
    for name in ("small", "large"):
        done = run(
            "train", "chunk", f"{name}.txt", "--columns", "0", "-q", "-o", f"{name}.ssvm", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    shown = run("evaluate", "small.ssvm", "test.txt", cwd=tmp_path)
    found = json.loads(run("evaluate", "small.ssvm", "test.txt", "--json", cwd=tmp_path).stdout)
    low, high = (100 * found["interval"][name] for name in ("low", "high"))
    assert f"95% interval of FB1: {low:.2f} to {high:.2f} (1,000 bootstrap samples" in shown.stdout.decode()
    assert low < 100 * found["phrases"]["f1"] < high
    told = run("compare", "small.ssvm", "large.ssvm", "test.txt", cwd=tmp_path).stdout.decode()
    assert told.endswith("large.ssvm is better\n")
    same = run("compare", "large.ssvm", "large.ssvm", "test.txt", cwd=tmp_path).stdout.decode()
    assert same.endswith("the difference may be chance\n")
    numbers = json.loads(
        run("compare", "small.ssvm", "large.ssvm", "test.txt", "--json", cwd=tmp_path).stdout
    )
    assert numbers["beyond_chance"] is True
    assert numbers["measure"] == "F1"
    refused(run("compare", "en", "large.ssvm", "test.txt", cwd=tmp_path), 2, "models of one column")


def test_a_comparison_of_labels_without_phrases_is_by_accuracy(tmp_path):
    (tmp_path / "f").write_text("a N\nb V\n\nb V\na N\n\n" * 5)
    X, y = [["a", "b"], ["b", "a"]] * 5, [["N", "V"], ["V", "N"]] * 5
    for name in "mn":
        NerTagger().fit(X, y).save(tmp_path / name)
    found = commands.compare_models(tmp_path / "m", tmp_path / "n", tmp_path / "f")
    assert (found.measure, found.first.score, found.p) == ("accuracy", 1, 1)


def test_unlabelled_tokens_count_neither_in_an_evaluation_nor_in_a_comparison(tmp_path):
    name = {"text": "Anna met Otto.", "label": [[0, 4, "PER"], [9, 13, "PER"]]}
    cut = {"text": "Anna left.", "label": [[0, 3, "PER"]]}  # its border is within a token
    (tmp_path / "f.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [name] * 5 + [cut]))
    X, y = [["Anna", "met", "Otto", "."]] * 5, [["B-PER", "O", "B-PER", "O"]] * 5
    NerTagger().fit(X, y).save(tmp_path / "m")
    with pytest.warns(UserWarning, match="their tokens count as unlabelled"):
        found = commands.compare_models(tmp_path / "m", tmp_path / "m", tmp_path / "f.jsonl")
    with pytest.warns(UserWarning, match="their tokens count as unlabelled"):
        alone = commands.evaluate(tmp_path / "m", tmp_path / "f.jsonl")
    assert found.first == alone.interval
    assert found.first.score == alone.f1 == 1


def test_a_score_is_better_only_beyond_one_standard_error():
    rng = np.random.default_rng(1)
    first = np.stack([np.ones(400, int), np.ones(400, int), rng.random(400) < 0.5], axis=1)

    def changed(right, wrong):
        second = first.copy()
        second[np.flatnonzero(first[:, 2] == 0)[:right], 2] = 1
        second[np.flatnonzero(first[:, 2])[:wrong], 2] = 0
        return second

    # The standard deviation of a difference of n changes is about the square root of n.
    assert better(first, changed(20, 10))
    assert not better(first, changed(22, 20))
    assert not better(first, changed(10, 20))
    assert not better(first, first)
