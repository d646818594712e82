"""The experiments of the papers on small data of our own, and the verdicts of the kept results."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.experiment import experiments
from benchmarks.harness import RESULTS
from benchmarks.papers import caches, duality, sequences, weak_labels
from benchmarks.reproduce import kept_rows, markdown, verdict

KEPT = {name: RESULTS / f"{name}.json" for name in experiments() if (RESULTS / f"{name}.json").exists()}


@pytest.mark.parametrize("name", KEPT)
def test_every_kept_number_that_differs_from_the_papers_has_a_reason(name):
    entry, data = experiments()[name], json.loads(KEPT[name].read_text(encoding="utf-8"))
    verdicts = {verdict(row, entry.because).partition(" because ")[::2] for row in kept_rows(data)}
    assert {word for word, _ in verdicts} <= {"matches", "differs", "no data"}
    assert ("differs", "") not in verdicts
    assert KEPT[name].with_suffix(".md").read_text(encoding="utf-8") == markdown(entry, data)


def test_the_gap_of_one_example_is_never_above_the_bound_of_the_lemma():
    for C, best in duality.CASES.values():
        run = duality.measure(C)
        gap, bound = np.array(run["gap"]), np.array(run["bound"])
        assert np.all(gap <= bound + 1e-12)
        assert np.all(np.array(run["suboptimality"]) <= gap + 1e-12)
        assert run["alpha"][int(np.argmin(gap))] == pytest.approx(best)
        assert gap[0] == pytest.approx(C)  # alpha = 0: P = C, D = 0


@pytest.mark.parametrize("method", [*caches.HULLER, "LaSVM x1"])
def test_every_kernel_machine_of_the_cache_experiments_separates_digits(method, monkeypatch):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = (2000 * np.eye(3)[y] + rng.normal(size=(120, 3))).astype(np.float32)
    digits = SimpleNamespace(X_train=X, y_train=y, X_test=X, y_test=y)
    monkeypatch.setattr("corpora.load_mnist", lambda: digits)
    found = caches.measure(method, cache=1.0, C=10.0, digits=[0, 2], n=90)
    assert found["error"] == [0, 0]
    assert all(0 < n <= 90 for n in found["support"])


def test_a_pass_in_file_order_does_not_depend_on_the_seed():
    from taggers import SequenceTagger

    X = [["a", "b"], ["b", "a", "c"], ["c"], ["a", "c"], ["b", "b"]]
    y = [["X", "Y"], ["Y", "X", "X"], ["X"], ["X", "Y"], ["Y", "X"]]

    def duals(file_order):
        taggers = [
            SequenceTagger(template="w[0]", algorithm="pa", epochs=1, C=10, random_state=seed)
            for seed in range(6)
        ]
        with sequences.optimizers_with(file_order):
            return {round(tagger.fit(X, y).optimizer_.dual_, 9) for tagger in taggers}

    assert len(duals(True)) == 1
    assert len(duals(False)) > 1


def test_a_weakly_labelled_triple_has_a_label_for_each_word_in_its_bag():
    found = weak_labels.measure(seed=0, n_train=60, n_test=40)
    assert sorted(found["labels"]) == found["bag"]
    assert len(found["words"]) == len(found["labels"]) == len(found["predicted"])
    assert weak_labels.PRONOUNS & set(found["words"])
    assert all("(" in fact and " = " in fact for fact in found["facts"])
