"""Options are chosen for a data set: repeatably, in a given time, and a command makes the same model."""

import re
import shlex
import warnings
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from structsvm import LaRank
from taggers import Chunker, MorphTagger, NerTagger, PosTagger, SequenceTagger, commands
from taggers.commands.tuning import flags, seconds
from taggers.features.extract import Extractor
from taggers.model import TaggerModel
from taggers.options import OPTIONS
from taggers.sources.memory import MemorySource
from taggers.trainer import cautious_bias
from taggers.tuning import FEW, Data, find_options, fit_rivals, tune
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, chunk_data

X, Y = chunk_data(60)
X_DEV, Y_DEV = chunk_data(30, seed=1)
SMALL = {"template": "w[0], p[0]", "cutoff": 1}  # two options less to choose


def test_a_number_of_trials_repeats_for_a_seed():
    first, again, other = (
        find_options(Chunker(**SMALL, random_state=seed), X, Y, trials=5) for seed in (0, 0, 1)
    )
    told = [[(t.round, t.options, t.score) for t in found.trials] for found in (first, again, other)]
    assert told[0] == told[1] != told[2]
    assert first.options == again.options


def test_rounds_get_smaller_and_keep_the_defaults():
    seen = []
    tuning = find_options(Chunker(**SMALL), X, Y, trials=9, callback=seen.append)
    assert seen == tuning.trials
    sizes = [sum(t.round == number for t in seen) for number in range(3)]
    assert sizes[0] == 9 > sizes[1] >= 3 >= sizes[2] >= 1
    assert all({} in [t.options for t in seen if t.round == number] for number in range(3))
    assert tuning.score == max(t.score for t in seen if t.round == 2)
    assert tuning.score_name == "F1"


def test_only_options_that_are_not_set_are_searched():
    tuning = find_options(NerTagger(**SMALL, C=0.3, labels="IOB1"), X, Y, trials=20)
    assert {name for t in tuning.trials for name in t.options} == {"inference"}
    searched = {option.name for option in OPTIONS if option.search}
    words, tags = ([[token[k] for token in s] for s in X] for k in (0, 1))
    found = find_options(PosTagger(), words, tags, trials=12)
    assert {name for t in found.trials for name in t.options} <= searched - {"labels"}
    assert found.score_name == "accuracy"


@pytest.mark.parametrize(
    ("label", "name"), [(None, "F1"), (frozenset({"O", "B-NP"}), "accuracy")], ids=["gap", "set"]
)
def test_a_missing_label_does_not_change_the_measure_but_a_set_does(label, name):
    y_dev = [list(labels) for labels in Y_DEV]
    y_dev[0][0] = label
    tuning = find_options(Chunker(**SMALL), X, Y, trials=1, X_dev=X_DEV, y_dev=y_dev)
    assert tuning.score_name == name
    tagger = Chunker(**SMALL, epochs=2).fit(X, Y, X_dev=X_DEV, y_dev=y_dev)
    assert max(tagger.dev_scores_) == tagger.score(X_DEV, y_dev)
    held_out = tagger.held_out(X_DEV, y_dev).encode(tagger.model_)
    assert held_out.name == name


@pytest.mark.parametrize(("n", "name"), [(1, "accuracy"), (60, "F1")])
def test_folds_with_gaps_are_compared_by_phrases(n, name):
    gaps = [[None, *labels[1:]] for labels in Y[:n]]
    tuning = find_options(Chunker(**SMALL), X[:n], gaps, trials=1)
    assert tuning.score_name == name
    assert ("epochs" in tuning.options) == (name == "F1")


@pytest.mark.parametrize("n", [60, FEW + 4])
def test_tuning_needs_no_held_out_data(n):
    tuning = tune(Chunker(**SMALL, inference="greedy"), *chunk_data(n), trials=2)
    assert tuning.tagger.score(X_DEV, Y_DEV) > 0.95
    assert ("epochs" in tuning.options) == (n > FEW)  # predictions before learning say nothing of passes


def test_with_held_out_data_a_change_stays_only_if_it_is_better():
    for second, chosen in (("PER", {"inference": "greedy", "labels": "IOB2"}), ("LOC", {})):
        X_dev, y_dev = data = lists(second)
        found = find_options(NerTagger(template="w[0]"), *data, trials=99, X_dev=X_dev, y_dev=y_dev)
        assert found.options == chosen
        assert (found.score, found.score_name, found.untried) == (1, "F1", 0)
        tried = [trial.options for trial in found.trials]
        assert tried[:2] == [{}, {"inference": "greedy", "labels": "IOB2"}]
        assert all(chosen.items() <= options.items() for options in tried[2:])  # they are added to it
        assert {"C", "epochs", "cutoff"} <= {name for options in tried for name in options}
        tagger = tune(NerTagger(template="w[0]"), *data, trials=2, X_dev=X_dev, y_dev=y_dev).tagger
        assert tagger.model_.labels.inference == chosen.get("inference", "exact")


def test_changes_share_one_extraction_of_features(monkeypatch):
    extracted, rows = [], Extractor.rows

    class Counted(Extractor):
        def rows(self, columns, *args, **options):
            extracted.append(columns.n_sentences)
            return rows(self, columns, *args, **options)

    monkeypatch.setattr("taggers.features.space.Extractor", Counted)
    X_dev, y_dev = lists("PER", 4)
    found = find_options(
        NerTagger(template="w[0]", cutoff=1), *lists("PER", 5), trials=99, X_dev=X_dev, y_dev=y_dev
    )
    assert len(found.trials) > 5
    assert extracted == [10, 8]


def test_changes_for_which_there_is_no_time_are_counted(monkeypatch):
    now, epoch = [0.0], LaRank.epoch

    def slow(self):
        now[0] += 1
        return epoch(self)

    monkeypatch.setattr("taggers.tuning.time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(LaRank, "epoch", slow)
    for budget, passes, trials in ((1, 1, 1), (11, 7, 2)):
        now[0] = 0
        tagger = Chunker(**SMALL, epochs=3)
        tuning = find_options(tagger, X, Y, budget=budget, X_dev=X_DEV, y_dev=Y_DEV)
        assert (now[0], len(tuning.trials)) == (passes, trials)
        changes = find_options(tagger, X, Y, trials=99, X_dev=X_DEV, y_dev=Y_DEV).trials
        assert tuning.untried == len(changes) - trials


def test_the_time_is_kept():
    tuning = find_options(Chunker(**SMALL), X, Y, budget=1e-6)
    assert len(tuning.trials) == 1
    assert tuning.options == {}


def test_the_time_is_kept_within_a_trial(monkeypatch):
    now, epoch = [0.0], LaRank.epoch

    def slow(self):
        now[0] += 1
        return epoch(self)

    monkeypatch.setattr("taggers.tuning.time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(LaRank, "epoch", slow)
    for budget, passes, trials in ((2, 2, 1), (14, 9, 2)):
        now[0] = 0
        tuning = find_options(Chunker(**SMALL), *chunk_data(FEW + 4), budget=budget)
        assert (now[0], len(tuning.trials)) == (passes, trials)


def test_the_first_round_without_held_out_data_uses_a_share_of_the_sentences():
    data = Data(Chunker(**SMALL), *chunk_data(FEW + 4))
    sizes = [[len(chosen) for chosen, *_ in data._parts(number)] for number in range(3)]
    assert [len(each) for each in sizes] == [1, 1, 3]
    assert 2.9 < sizes[1][0] / sizes[0][0] < 3.1


def test_candidates_that_predict_the_same_score_the_same():
    found = find_options(SequenceTagger(**SMALL, constrained=False, inference="exact", C=0.1), X, Y, trials=3)
    scores = {t.options.get("labels", "none"): t.score for t in found.trials if t.round == 0}
    assert {"none", "IOB2"} <= set(scores)
    assert scores["none"] == scores["IOB2"]


@pytest.mark.parametrize(
    "tagger",
    [NerTagger(order=3), NerTagger(template="w[0], y[-2]|w[0]"), MorphTagger(), PosTagger(order=2)],
    ids=["order", "bigrams", "share", "order-pos"],
)
def test_exact_inference_is_not_tried_where_it_is_impossible(tagger):
    data = Data(tagger, X, Y)
    assert data.choices(tagger.OPTIONS["inference"]) == [None]  # the default is greedy already


def test_a_tagger_that_must_be_greedy_is_tuned():
    words = [[token[0] for token in s] for s in X]
    tagger = NerTagger(order=3, template="w[0]")
    assert len(find_options(tagger, words, Y, trials=4).trials) >= 4


def test_random_fields_are_tuned_with_exact_inference_and_values_of_C_of_their_own():
    tagger = Chunker(algorithm="crf", epochs=1, cutoff=1)
    data = Data(tagger, X, Y)
    assert data.choices(tagger.OPTIONS["inference"]) == [None]
    assert data.choices(tagger.OPTIONS["C"]) == [None, 0.25, 0.5, 2, 4]
    tried = find_options(tagger, X[:20], Y[:20], trials=7, X_dev=X_DEV, y_dev=Y_DEV).trials
    assert len(tried) >= 7


def test_two_rounds_are_refused():
    with pytest.raises(ValueError, match="tune cannot use doc_label"):
        find_options(NerTagger(template="w[0], p[0], doc_label[0]"), X, Y, trials=1)


@pytest.mark.parametrize(
    "budget", [{}, {"budget": 3, "trials": 2}, {"trials": 0}, {"trials": 2.5}, {"budget": -1.0}]
)
def test_a_bad_budget_is_refused(budget):
    with pytest.raises(ValueError, match=r"budget|trials"):
        find_options(Chunker(), X, Y, **budget)


def test_the_printed_command_makes_the_same_model(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(60))
    (tmp_path / "dev.txt").write_bytes(as_columns(20, seed=1))
    done = run("tune", "chunk", "train.txt", "--dev", "dev.txt", "--trials", "4", "--cutoff", "1",
               "--template", "w[0], p[0]", "-o", "a b.ssvm", cwd=tmp_path)  # fmt: skip
    assert b"(defaults)" in done.stderr
    assert b"best F1" in done.stderr
    assert b"raise --budget" not in done.stderr
    model = (tmp_path / "a b.ssvm").read_bytes()
    words = shlex.split(done.stdout.decode())
    assert words[:4] == ["structsvm", "train", "chunk", "train.txt"]
    (tmp_path / "a b.ssvm").unlink()
    run(*words[1:], "-q", cwd=tmp_path)
    assert (tmp_path / "a b.ssvm").read_bytes() == model


def test_a_search_that_ends_early_says_so(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(60))
    done = run("tune", "chunk", "train.txt", "--budget", "0.001s", "-o", "m.ssvm", cwd=tmp_path)
    assert b"of 3 rounds, so only a part of the data chose these options; raise --budget" in done.stderr


def test_bad_input_gets_a_sentence(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(5))
    for words, told in (
        (("chunk", "-"), "standard input"),
        (("verbs", "train.txt"), "task must be one of"),
        (("ud", "train.txt"), "task must be one of"),
        (("label", "none.txt", "--algorithm", "perceptron", "-C", "0.5"), "-C has no effect"),
        (("label", "none.txt", "--algorithm", "perceptron", "--jobs", "2"), "--jobs has no effect"),
        (("chunk", "train.txt", "--budget", "soon"), "such as 120s"),
        (
            ("chunk", "train.txt", "--budget", "9s", "--trials", "3"),
            "--trials cannot be combined with --budget",
        ),
    ):
        done = run("tune", *words, "-o", "m.ssvm", cwd=tmp_path)
        refused(done, 2, told)
        assert b"round" not in done.stderr  # no table before it
    assert not (tmp_path / "m.ssvm").exists()


def test_times_and_flags():
    assert [seconds(text) for text in ("90", "120s", "1.5m", "1h")] == [90, 120, 90, 3600]
    options = {"C": 0.2, "keep_names": True, "classes": ["a", "b"], "label_weight": {"O": 0.3}}
    assert flags(options) == ["--classes", "a", "--classes", "b", "-C", "0.2", "--label-weight", "O=0.3",
                              "--keep-names"]  # fmt: skip


def lists(second: str, n: int = 40):
    """Two words and a comma between them: the label of the second word depends on the first one."""
    pairs = [("Ada", "PER", second), ("Lund", "LOC", "LOC")] * n
    return [[w, ",", "both"] for w, *_ in pairs], [[f"B-{a}", "O", f"B-{b}"] for _, a, b in pairs]


@pytest.mark.parametrize(("second", "best"), [("PER", "greedy"), ("LOC", "exact")])
def test_held_out_data_decide_between_the_default_and_its_rival(second, best, tmp_path):
    # Only greedy inference looks two labels back; if both score the same, the default stays.
    for name in ("train", "dev"):
        blocks = ["".join(map("{} {}\n".format, *pair)) for pair in zip(*lists(second), strict=True)]
        (tmp_path / name).write_text("\n".join(blocks))
    told = run("train", "ner", "train", "--dev", "dev", "--template", "w[0]", "-o", "m", cwd=tmp_path)
    assert NerTagger.load(tmp_path / "m").model_.labels.inference == best
    assert "the best of (exact, IOBES" in told.stderr.decode()
    assert "; greedy, IOB2 100.00)" in told.stderr.decode()


@pytest.mark.parametrize("options", [{"inference": "exact"}, {"labels": "IOB2"}, {"algorithm": "pa"}])
def test_options_that_are_set_have_no_rival(options):
    found = []

    class Callback:
        def __call__(self, point):
            pass

        def compared(self, settings, score):
            found.append(score)

    data = lists("PER", 5)
    tagger = NerTagger(template="w[0]", callback=Callback(), **options)
    assert fit_rivals(tagger, MemorySource(*data), *data) is tagger
    assert len(found) == 1


def test_the_training_state_of_a_tagger_is_freed_before_its_rival_trains():
    alive = []

    class Callback:
        def __call__(self, point):
            if self.first is not None:
                alive.append(self.first())

        def compared(self, settings, score):
            self.first = self.first or weakref.ref(tagger.optimizer_)

        first = None

    data = lists("PER", 5)
    tagger = NerTagger(template="w[0]", callback=Callback())
    fit_rivals(tagger, MemorySource(*data), *data)
    assert alive
    assert set(alive) == {None}


def test_the_better_of_two_rivals_is_saved_as_if_it_had_been_trained_alone(tmp_path):
    data = lists("PER", 5)
    kept = fit_rivals(NerTagger(), MemorySource(*data), *data)
    alone = NerTagger(inference=kept.model_.labels.inference, labels=kept.model_.labels.inner)
    alone.fit(*data, X_dev=data[0], y_dev=data[1])
    models = [TaggerModel.load(save(tagger, tmp_path / name)) for tagger, name in ((kept, "a"), (alone, "b"))]
    assert (
        models[0].space.table.keys.tolist()
        == models[1].space.table.keys.tolist()
        == kept.model_.space.table.keys.tolist()
    )
    assert models[0].weights.cells.tobytes() == models[1].weights.cells.tobytes()
    assert kept.predict(data[0]) == alone.predict(data[0])


def save(tagger, path):
    tagger.save(path)
    return path


def test_rivals_and_passes_share_one_extraction_of_features(monkeypatch):
    extracted, rows = [], Extractor.rows

    class Counted(Extractor):
        def rows(self, columns, *args, **options):
            extracted.append(columns.n_sentences)
            return rows(self, columns, *args, **options)

    monkeypatch.setattr("taggers.features.space.Extractor", Counted)
    data, held_out = lists("PER", 5), lists("PER", 4)
    kept = fit_rivals(NerTagger(template="w[0]", epochs=4), MemorySource(*data), *held_out)
    assert kept.model_.labels.inference == "greedy"  # so both made passes
    assert extracted == [len(data[0]), len(held_out[0])]


def test_a_rival_that_is_not_ahead_stops_after_one_pass():
    passes, compared = [], []

    class Callback:
        def __call__(self, point):
            pass

        def scored(self, value):
            passes.append(value)

        def compared(self, settings, score):
            compared.append((settings, len(passes)))

    data = lists("LOC", 5)
    tagger = NerTagger(template="w[0]", epochs=3, patience=5, callback=Callback())
    assert fit_rivals(tagger, MemorySource(*data), *data) is tagger
    assert compared == [("exact, IOBES", 3), ("greedy, IOB2", 4)]


def one_in(n, words=("Ada", "Bo", "Cy", "Di")):
    """Sentences of a name and a verb; the label of the name is missing in one of n."""
    X = [[words[k % len(words)], "runs"] for k in range(60)]
    return X, [["O" if n and k % n else "B-PER", "O"] for k in range(60)]


def test_a_bias_is_chosen_only_if_it_is_better_by_more_than_a_standard_error():
    train, dev = one_in(2), one_in(0)
    options = {"template": "w[0], bias", "C": 0.01, "labels": "IOB2"}
    noisy = fit_rivals(NerTagger(**options), MemorySource(*train), *dev)
    clean = fit_rivals(NerTagger(**options), MemorySource(*dev), *dev)
    assert noisy.bias_["O"] < 0
    assert clean.bias_ == {}
    assert fit_rivals(NerTagger(**options), MemorySource(*train), *dev, bias=False).bias_ == {}
    plain = NerTagger(**options).fit(*train, X_dev=dev[0], y_dev=dev[1])
    assert noisy.score(*dev) > plain.score(*dev)


def missing(share, n=400):
    """Sentences of a name and a verb; a share of the names has no label."""
    X = [[f"Name{k % 8}", "runs", f"Place{k % 8}"] for k in range(n)]
    return X, [["O" if k % 100 < 100 * share else "B-PER", "O", "B-LOC"] for k in range(n)]


@pytest.mark.parametrize(("share", "options", "C"), [
    (0.2, {}, 0.02), (0.0, {}, None), (0.2, {"C": 0.05}, 0.05), (0.2, {"algorithm": "crf"}, None),
])  # fmt: skip
def test_a_smaller_C_is_used_if_labels_look_wrong(share, options, C):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tagger = fit_rivals(NerTagger(template="w[0]", **options), MemorySource(*missing(share)))
    assert tagger.C == C
    assert [str(one.message) for one in told] == [
        "at least 11.1% of the phrases look mislabelled, so C is 0.02; structsvm doubts lists them, and -C "
        "sets another C"
    ] * (C == 0.02)


def test_held_out_data_decide_whether_a_smaller_C_is_used():
    kept = fit_rivals(NerTagger(template="w[0]"), MemorySource(*missing(0.2)), *missing(0.0))
    assert kept.C is None  # both find all names


def test_contradictions_are_counted_as_phrases():
    X, y = [["Ada", "Bo"]] * 3 + [["Cy", "Di"]], [["B-PER", "O"]] * 2 + [["B-LOC", "O"], ["O", "B-PER"]]
    source = MemorySource(X, y)
    tagger = NerTagger(template="w[0]", inference="exact").fit(X[:2] + X[3:], [*y[:2], ["B-PER", "O"]])
    assert tagger.predict(X[2:]) == [["B-PER", "O"], ["B-PER", "O"]]
    assert source.contradicted(tagger.model_) == (2, 1, 4)  # a wrong type, a wrong phrase; one is missing
    source.reuse = True
    assert source.contradicted(tagger.fit_source(source).model_) == source.contradicted(tagger.model_)


def test_the_search_for_a_bias_ends_two_steps_after_the_best():
    asked = []

    def count(bias):
        asked.append(bias)
        right = 100 - round(abs(bias + 0.4) * 100)
        return np.tile([1, 1, 0], (100, 1)) + np.outer(np.arange(100) < right, [0, 0, 1])

    assert cautious_bias(count) == (-0.4, 1)
    assert sorted(asked) == [k / 10 for k in range(-6, 3)]


def test_the_search_for_a_bias_passes_a_dip():
    right = {-4: 60, -3: 90, -2: 85, -1: 48, 0: 50, 1: 49, 2: 20, -5: 55}

    def count(bias):
        return np.tile([1, 1, 0], (100, 1)) + np.outer(np.arange(100) < right[round(10 * bias)], [0, 0, 1])

    assert cautious_bias(count) == (-0.3, 0.9)


def test_the_bias_and_the_score_that_train_prints_are_those_of_the_model(tmp_path):
    for name, (X, y) in {"train": one_in(2), "dev": one_in(0)}.items():
        blocks = ["".join(map("{} {}\n".format, *pair)) for pair in zip(X, y, strict=True)]
        (tmp_path / name).write_text("\n".join(blocks))
    told = run("train", "ner", "train", "--dev", "dev", "--template", "w[0], bias", "-C", "0.01",
               "-o", "m", cwd=tmp_path).stderr.decode()  # fmt: skip
    tagger = NerTagger.load(tmp_path / "m")
    assert float(re.search(r"bias of O (\S+),", told)[1]) == tagger.bias_["O"] < 0
    f1 = commands.evaluate(tmp_path / "m", tmp_path / "dev").f1
    assert f"dev F1 of the saved model {100 * f1:.2f} (without the bias" in told
