"""Taggers as people use them from Python."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product

import numpy as np
import pytest

from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import Chunker, NerTagger, PosTagger, SequenceTagger
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.metrics import span_f1
from taggers.model import TaggerModel
from tests.taggers.sentences import as_columns, chunk_data

X, Y = chunk_data(80)
X_TEST, Y_TEST = chunk_data(40, seed=1)


def as_dicts(sentences):
    return [[{"word": token[0], "pos": token[1], "len": len(token[0]) / 8} for token in s] for s in sentences]


def saved_bytes(tagger, path, **options):
    tagger.save(path, **options)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("algorithm", "inference"),
    [*product(["larank", "pa", "perceptron", "svmstruct"], ["exact", "greedy"]), ("crf", "exact")],
)
def test_every_algorithm_learns(algorithm, inference):
    epochs = 100 if algorithm == "svmstruct" else 3
    tagger = SequenceTagger(algorithm=algorithm, inference=inference, epochs=epochs).fit(X, Y)
    assert tagger.score(X_TEST, Y_TEST) > 0.97
    assert tagger.classes_ == sorted({label for labels in Y for label in labels})


@pytest.mark.parametrize(("make", "scheme"), [(Chunker, "IOBES"), (NerTagger, "IOBES")])
def test_presets_learn_in_their_scheme_and_answer_in_that_of_the_data(make, scheme):
    tagger = make().fit(X, Y)
    assert tagger.model_.labels.inner == scheme
    assert any(label.startswith("S-") for label in tagger.model_.labels) == (scheme == "IOBES")
    predicted = tagger.predict(X_TEST)
    assert not any(schemes.violations(labels, "IOB2") for labels in predicted)
    assert tagger.score(X_TEST, Y_TEST) > 0.97


def test_parts_of_speech_from_words_alone():
    words = [[token[0] for token in s] for s in X]
    tags = [[token[1] for token in s] for s in X]
    tagger = PosTagger().fit(words, tags)
    assert tagger.score(words, tags) > 0.99
    assert tagger.tag(["the", "cat", "sees", "Anna", "."]) == ["DT", "NN", "VBZ", "NNP", "."]
    assert tagger.predict([]) == []
    assert tagger.predict([[], ["the"]])[0] == []


@pytest.mark.parametrize(
    "call",
    [
        "PosTagger.load('en-pos').tag([()])",
        "PosTagger.load('en-pos').predict([[(), ()]])",
        "PosTagger.load('en-pos').explain([()])",
        "SequenceTagger(template=parse_template('bias')).fit([[()] * 4000] * 9, [['N'] * 4000] * 9)",
        "SequenceTagger().partial_fit([[()]], [['N']])",
    ],
)
def test_a_token_without_columns_is_refused(call):
    code = f"""
from taggers import PosTagger, SequenceTagger
from taggers.features.template import parse_template
try:
    {call}
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)  # it once crashed
    assert done.returncode == 0, done.stderr
    assert "has no columns; a token needs at least one" in done.stdout


def test_tokens_known_by_hashes_need_columns_too():
    with pytest.raises(ValueError, match="a token needs at least one"):
        Columns.from_keys(np.zeros((2, 0), np.uint64), [0, 2], str)


def test_a_tagger_declared_without_columns_is_refused():
    with pytest.raises(ValueError, match="width"):
        SequenceTagger().declare(["N"], width=0)


def test_features_in_the_format_of_python_crfsuite():
    tagger = SequenceTagger().fit(as_dicts(X), Y)
    assert tagger.score(as_dicts(X_TEST), Y_TEST) > 0.97
    assert tagger.explain(as_dicts(X_TEST)[0])[0]["features"]
    with pytest.raises(ValueError, match="pass tokens"):
        SequenceTagger().fit(X, Y).predict(as_dicts(X))


def test_columns_with_the_place_of_the_labels(tmp_path):
    columns = Columns(as_columns(80), (0, 1, 2))
    tagger = Chunker().fit(columns, 2)
    assert tagger.predict(X_TEST) == Chunker().fit(X, Y).predict(X_TEST)


def test_a_seed_repeats_bit_for_bit(tmp_path):
    once, again, other = (
        saved_bytes(Chunker(random_state=seed).fit(X, Y), tmp_path / "m", training_state=True)
        for seed in (3, 3, 4)
    )
    assert once == again
    assert once != other


def test_save_load_save_gives_the_same_bytes_and_labels(tmp_path):
    tagger = Chunker().fit(X, Y)
    for options in ({}, {"training_state": True}, {"dtype": "int8"}, {"dtype": "float16", "prune": 0.0}):
        first = saved_bytes(tagger, tmp_path / "first", **options)
        loaded = Chunker.load(tmp_path / "first")
        assert loaded.predict(X_TEST) == tagger.predict(X_TEST)
        if not options:
            assert loaded.predict_margins(X_TEST) == tagger.predict_margins(X_TEST)
        options.pop("prune", None)
        assert saved_bytes(loaded, tmp_path / "second", **options) == first


def test_small_files(tmp_path):
    tagger = Chunker().fit(X, Y)
    sizes = [
        len(saved_bytes(tagger, tmp_path / "m", **options))
        for options in ({"training_state": True}, {}, {"prune": 0.05}, {"prune": 0.05, "dtype": "int8"})
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4
    with pytest.raises(ValueError, match="float32"):
        tagger.save(tmp_path / "m", training_state=True, dtype="int8")


@pytest.mark.parametrize(
    ("algorithm", "inference"),
    [*product(["larank", "pa", "perceptron"], ["exact", "greedy"]), ("crf", "exact")],
)
def test_two_passes_are_one_pass_saved_with_its_state_and_one_more(tmp_path, algorithm, inference):
    options = {"algorithm": algorithm, "inference": inference, "cutoff": 2}
    Chunker(epochs=1, **options).fit(X, Y).save(tmp_path / "half", training_state=True)
    resumed = Chunker.load(tmp_path / "half", epochs=1).resume(X, Y)
    whole = Chunker(epochs=2, **options).fit(X, Y)
    assert resumed.model_.weights.cells.tobytes() == whole.model_.weights.cells.tobytes()
    assert resumed.optimizer_.weights_.tobytes() == whole.optimizer_.weights_.tobytes()


def test_a_model_without_its_state_continues_and_says_what_it_gave_up(tmp_path):
    Chunker().fit(X[:40], Y[:40]).save(tmp_path / "m")
    tagger = Chunker.load(tmp_path / "m")
    with pytest.warns(UserWarning, match="without its training state"):
        tagger.partial_fit(X[40:], Y[40:])
    assert tagger.score(X_TEST, Y_TEST) > 0.95


def test_partial_fit_takes_new_features_and_new_labels():
    tagger = SequenceTagger(cutoff=1)
    few = [(x, y) for x, y in zip(X, Y, strict=True) if "B-PP" not in y]
    for x, y in few:
        tagger.partial_fit([x], [y])
    before = tagger.n_features_
    assert "B-PP" not in tagger.classes_
    for _ in range(3):
        tagger.partial_fit(X, Y)
    assert tagger.n_features_ > before
    assert "B-PP" in tagger.classes_
    assert tagger.score(X_TEST, Y_TEST) > 0.97


def test_partial_fit_after_load_with_state_knows_new_labels(tmp_path):
    few = [(x, y) for x, y in zip(X, Y, strict=True) if "B-PP" not in y]
    Chunker().fit(*map(list, zip(*few, strict=True))).save(tmp_path / "m", training_state=True)
    tagger = Chunker.load(tmp_path / "m").partial_fit(X, Y).partial_fit(X, Y)
    assert tagger.score(X_TEST, Y_TEST) > 0.97


def test_classes_may_be_named_before_they_are_seen():
    tagger = Chunker().partial_fit(
        X[:5], Y[:5], classes=["B-NP", "I-NP", "B-VP", "I-VP", "B-PP", "I-PP", "B-XY", "O"]
    )
    assert "B-XY" in tagger.classes_


@pytest.mark.parametrize("make", [SequenceTagger, Chunker])
def test_missing_and_ambiguous_gold_is_learned_from(make):
    rng = np.random.default_rng(0)
    partial = [
        [None if rng.random() < 0.3 else {label, "O"} if rng.random() < 0.2 else label for label in labels]
        for labels in Y
    ]
    tagger = make(epochs=4).fit(X, partial)
    assert tagger.score(X_TEST, Y_TEST) > 0.9
    assert 0 < tagger.score(X, partial) <= 1
    with pytest.raises(ValueError, match="no token has a gold label"):
        make().fit(X, [[None] * len(labels) for labels in Y])


def test_n_best_margins_and_forced_labels():
    tagger = SequenceTagger().fit(X, Y)
    best = tagger.predict_nbest(X_TEST[:5], 3)
    assert [listed[0][1] for listed in best] == tagger.predict(X_TEST[:5])
    assert all(a[0] >= b[0] for listed in best for a, b in pairwise(listed))
    margins = tagger.predict_margins(X_TEST)
    assert [len(m) for m in margins] == [len(y) for y in Y_TEST]
    assert min(m for sentence in margins for m in sentence) >= 0
    assert tagger.tag(X_TEST[0], forced={1: "B-PP"})[1] == "B-PP"
    with pytest.raises(ValueError, match="cannot be forced"):
        tagger.tag(X_TEST[0], forced={1: "B-ZZ"})
    with pytest.raises(ValueError, match="exact"):
        SequenceTagger(inference="greedy").fit(X, Y).predict_nbest(X, 2)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_the_training_curve_is_data(inference):
    seen = []
    tagger = SequenceTagger(inference=inference, epochs=3, callback=seen.append).fit(X, Y)
    curve = tagger.curve_
    assert {point.epoch for point in curve} == {0, 1, 2}
    assert [point.sentences for point in curve if point.epoch == 1][-1] == len(X)
    assert all(a.seconds <= b.seconds and a.dual <= b.dual + 1e-9 for a, b in pairwise(curve))
    last = curve[-1]
    assert last.sentences_per_second == pytest.approx(3 * len(X) / last.seconds)
    assert last.dual == tagger.optimizer_.dual_ == seen[-1].dual
    assert [point for point in seen if point.sentences == len(X)]
    assert (
        len(SequenceTagger(inference=inference, epochs=9, callback=lambda point: True).fit(X, Y).curve_) <= 20
    )
    with pytest.raises(ValueError, match="callback must be"):
        SequenceTagger(callback=3).fit(X, Y)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_a_file_is_learned_from_part_by_part(tmp_path, inference):
    from taggers.formats.files import read_columns

    path = tmp_path / "train.txt"
    path.write_bytes(as_columns(200))
    parts = list(read_columns(path, wanted=(0, 1, 2), chunk_size=2000))
    assert len(parts) > 5
    tagger = Chunker(inference=inference)
    for columns in parts:
        tagger.partial_fit(columns, 2)
    assert tagger.score(X_TEST, Y_TEST) > 0.97
    patterns = 200 if inference == "exact" else sum(columns.n_tokens for columns in parts)
    assert tagger.optimizer_._machine.oracle.n_stored < patterns
    sizes = [len(columns.sentence_ptr) - 1 for columns in parts]
    assert list({point.epoch: point.sentences for point in tagger.curve_}.values()) == sizes
    assert sum(sizes) == 200
    last = tagger.curve_[-1]
    assert last.sentences_per_second == pytest.approx(200 / last.seconds)
    assert tagger.model_.space.knows(["the", "Quito", "unheard"]) == {"the", "Quito"}


def test_explanations_add_up_to_what_the_tagger_knows():
    tagger = SequenceTagger(template="w[0], p[0]").fit(X, Y)
    (first, *_) = tagger.explain([("the", "DT"), ("cat", "NN")])
    assert first["label"] == "B-NP"
    assert {name for name, _ in first["features"]} == {"w[0]=the", "p[0]=DT"}
    assert first["history"][0][0] == "label[-1]=<start>"


@pytest.mark.filterwarnings("ignore:no pattern of the template reads")
def test_label_weights_move_recall():
    noisy = [[label if k % 3 else "O" for k, label in enumerate(labels)] for labels in Y]

    def found(weight):
        tagger = SequenceTagger(template="p[0]", label_weight=weight, C=1.0).fit(X, noisy)
        return sum(label == "B-PP" for labels in tagger.predict(X_TEST) for label in labels)

    assert found({"B-PP": 20.0}) >= found(None) >= found({"B-PP": 0.05})
    assert found({"B-PP": 20.0}) > found({"B-PP": 0.05})
    with pytest.raises(ValueError, match="label_weight names 'B-QQ'"):
        SequenceTagger(label_weight={"B-QQ": 2.0}).fit(X, Y)


def test_development_data_decide_when_to_stop():
    tagger = Chunker(C=1e-4, epochs=8).fit(X, Y, X_dev=X_TEST, y_dev=Y_TEST)
    scores = tagger.dev_scores_
    assert 3 <= len(scores) <= 8
    assert len(scores) == 8 or len(scores) - 1 - scores.index(max(scores)) == 2
    assert len(Chunker().fit(X, Y, X_dev=X_TEST, y_dev=Y_TEST).dev_scores_) == 2


def test_development_data_choose_the_pass():
    tagger = Chunker(epochs=10, patience=1).fit(X, Y, X_dev=X_TEST, y_dev=Y_TEST)
    assert 1 <= len(tagger.dev_scores_) < 10
    assert tagger.model_.report["dev_scores"] == tagger.dev_scores_


@pytest.mark.parametrize("options", [{}, {"inference": "greedy"}, {"template": "w[0], p[-1..1], y[-1]|p[0]"}])
def test_the_score_on_development_data_is_that_of_the_model(options):
    tagger = Chunker(epochs=3, C=1e-3, **options).fit(X, Y, X_dev=X_TEST, y_dev=Y_TEST)
    assert max(tagger.dev_scores_) == span_f1(Y_TEST, tagger.predict(X_TEST))


def test_eight_threads_give_the_serial_result():
    tagger = Chunker().fit(X, Y)
    expected = tagger.predict(X_TEST)
    with ThreadPoolExecutor(8) as pool:
        assert all(result == expected for result in pool.map(lambda _: tagger.predict(X_TEST), range(64)))
    assert tagger.set_params(jobs=8).predict(X_TEST) == expected
    assert tagger.predict(X_TEST[:3]) == expected[:3]


def test_pickles_predict_and_continue():
    tagger = Chunker().fit(X, Y)
    copy = pickle.loads(pickle.dumps(tagger))
    assert copy.predict(X_TEST) == tagger.predict(X_TEST)
    assert copy.partial_fit(X, Y).score(X_TEST, Y_TEST) > 0.97


def test_prediction_is_pure():
    tagger = Chunker().fit(X, Y)
    before = pickle.dumps(tagger.model_.weights), tagger.n_features_
    new = [[("unheard", "XX"), ("of", "YY")]]
    tagger.predict(new)
    tagger.predict_margins(new)
    assert (pickle.dumps(tagger.model_.weights), tagger.n_features_) == before


def test_grid_search_and_cross_validation():
    model_selection = pytest.importorskip("sklearn.model_selection")
    search = model_selection.GridSearchCV(
        SequenceTagger(), {"C": [0.01, 0.1], "inference": ["greedy", "exact"]}, cv=2
    )
    search.fit(X, Y)
    assert search.best_score_ > 0.9
    from sklearn.base import clone

    assert clone(Chunker(C=0.3)).C == 0.3


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([], [], "empty"),
        ([["a"]], [["X", "Y"]], "1 tokens but 2 labels"),
        ([["a"]], [["X"], ["Y"]], "1 sentences but y has 2"),
        ([["a"]], [[3]], "not a label"),
        ([["a"]], [[set()]], "not a label"),
        ([[]], [[]], "empty"),
    ],
)
def test_wrong_data_are_refused_in_one_sentence(x, y, message):
    with pytest.raises(ValueError, match=message):
        SequenceTagger().fit(x, y)


def test_wrong_settings_are_refused_in_one_sentence():
    for options, message in [
        ({"C": -1}, "C must be"), ({"algorithm": "svm"}, "algorithm must be"),
        ({"inference": "x"}, "inference must"), ({"epochs": 0}, "epochs must"),
        ({"labels": "IOB9"}, "labels must"), ({"inference": "exact", "order": 3}, "order 1"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            Chunker(**options).fit(X, Y)
    with pytest.raises(ValueError, match="not fitted"):
        Chunker().predict(X)


def test_files_of_other_kinds_and_hashes_are_refused(tmp_path):
    tagger = Chunker().fit(X, Y)
    tagger.save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    for change, message in [
        ({"kind": "parser"}, "is not a tagger"),
        ({"hashing": "md5"}, "differently"),
        ({"layout": 3}, "has layout 3, but this version reads layout 2; retrain the model"),
        ({"labels": ["O"]}, "consistent tagger"),
        ({"template": "w[0"}, "consistent tagger"),
    ]:
        save_model(tmp_path / "bad", arrays, meta | change)
        with pytest.raises(ModelFileError, match=message):
            TaggerModel.load(tmp_path / "bad")
    save_model(tmp_path / "bad", {k: v for k, v in arrays.items() if k != "counts"}, meta)
    with pytest.raises(ModelFileError, match="consistent tagger"):
        TaggerModel.load(tmp_path / "bad")


def test_a_sentence_without_tokens_has_no_explanation():
    assert SequenceTagger().fit(X, Y).explain([]) == []
    assert SequenceTagger().fit(as_dicts(X), Y).explain([]) == []


def test_a_callback_may_be_changed_between_parts():
    first, second = [], []
    tagger = SequenceTagger(callback=first.append).partial_fit(X[:40], Y[:40])
    seen = len(first)
    tagger.set_params(callback=second.append).partial_fit(X[40:], Y[40:])
    assert len(first) == seen
    assert second


def test_n_best_labellings_differ_in_what_they_mean():
    tagger = SequenceTagger(labels="IOBES", constrained=False, epochs=1).fit(X, Y)
    for listed in tagger.predict_nbest(X_TEST[:10], 10):
        assert len({tuple(labels) for _, labels in listed}) == len(listed) == 10
        assert all(a[0] >= b[0] for a, b in pairwise(listed))
    (one,) = tagger.predict_nbest([[("the", "DT")]], 100)
    assert sorted(labels for _, labels in one) == [[n] for n in tagger.classes_ if not n.startswith("I-")]
    for n in (0, -1):
        with pytest.raises(ValueError, match="n must be an integer of at least 1"):
            tagger.predict_nbest(X_TEST[:1], n)


def interrupted(point):
    raise KeyboardInterrupt


NEW = [[("Zorro", "NNP"), ("hums", "VBZ")]] * 30, [["B-NEW", "O"]] * 30


@pytest.mark.parametrize("inference", ["exact", "greedy"])
@pytest.mark.parametrize("go_on", ["resume", "partial_fit"])
@pytest.mark.parametrize("new", [NEW, ([[("Zorro", "NNP"), ("hums", "VBZ")]] * 30, [["B-NP", "O"]] * 30)])
@pytest.mark.parametrize(
    ("changes", "error"),
    [({"callback": interrupted}, KeyboardInterrupt), ({"C": -1}, ValueError), ({"callback": 3}, ValueError)],
)
def test_a_call_interrupted_or_refused_leaves_a_whole_model(tmp_path, inference, go_on, new, changes, error):
    options = {"inference": inference, "template": "w[0], p[0], y[-1]|p[0]", "keep_names": True}
    tagger = SequenceTagger(**options).fit(X, Y)
    before = tagger.set_params(**changes).predict(X_TEST)
    if "C" in changes:
        new = NEW  # the optimizer at hand has a C of its own, until there are new labels
    with pytest.raises(error, match=None if error is KeyboardInterrupt else "must be"):
        getattr(tagger, go_on)(*new)
    if error is ValueError:
        assert tagger.predict(X_TEST) == before
    tagger.save(tmp_path / "m", training_state=True)
    assert SequenceTagger.load(tmp_path / "m").predict(X_TEST) == tagger.predict(X_TEST)
    tagger.set_params(callback=None, C=0.1)
    tagger.partial_fit(X + new[0], Y + new[1]).partial_fit(X + new[0], Y + new[1])
    assert tagger.score(X_TEST + new[0], Y_TEST + new[1]) > 0.97
    assert tagger.predict(new[0][:1]) == new[1][:1]


@pytest.mark.parametrize("options", [{"C": -1}, {"callback": 3}])
def test_a_first_part_that_is_refused_leaves_no_model(options):
    tagger = SequenceTagger(**options)
    with pytest.raises(ValueError, match="must be"):
        tagger.partial_fit(X, Y)
    with pytest.raises(ValueError, match="not fitted"):
        tagger.predict(X)
    assert tagger.set_params(C=0.1, callback=None).partial_fit(X, Y).score(X_TEST, Y_TEST) > 0.9


@pytest.mark.filterwarnings("ignore::structsvm.ConvergenceWarning")
@pytest.mark.parametrize(
    ("algorithm", "inference"),
    [*product(["larank", "pa", "perceptron", "svmstruct"], ["exact", "greedy"]), ("crf", "exact")],
)
def test_more_passes_in_memory_are_those_of_one_long_training(algorithm, inference):
    options = {"algorithm": algorithm, "inference": inference}
    resumed = Chunker(epochs=1, **options).fit(X, Y).resume(X, Y).resume(X, Y)
    whole = Chunker(epochs=3, **options).fit(X, Y)
    assert resumed.model_.weights.cells.tobytes() == whole.model_.weights.cells.tobytes()
    assert resumed.model_.report == whole.model_.report
    assert [point.epoch for point in resumed.curve_] == [point.epoch for point in whole.curve_]


def test_data_of_a_fit_are_new_again_once_they_were_let_go(tmp_path):
    tagger = SequenceTagger().fit(X[:40], Y[:40])
    assert "data" in tagger.model_.report
    copy = pickle.loads(pickle.dumps(tagger))
    assert copy.resume(X[:40], Y[:40]).optimizer_.n_support_patterns_ > tagger.optimizer_.n_support_patterns_
    tagger.partial_fit(X[40:], Y[40:])
    assert "data" not in tagger.model_.report
    assert tagger.resume(X[:40], Y[:40]).model_.report["sentences"] == 40


def test_words_of_a_call_that_was_refused_have_no_weights_and_do_no_harm():
    X, Y = chunk_data(200)
    tagger = Chunker().partial_fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight"):
        tagger.partial_fit([[("zyx", "QQ"), ("yxw", "QQ")]], [["B-NP", "I-NP"]], sample_weight=[-1.0])
    columns = Columns.from_sentences([[("zyx", "QQ"), ("sees", "VBZ")]])
    ids = tagger.tag_columns(columns)
    assert [tagger.model_.names[k] for k in ids] == tagger.predict([[("zyx", "QQ"), ("sees", "VBZ")]])[0]


@pytest.mark.parametrize("make", [NerTagger, SequenceTagger])
def test_a_model_from_before_the_defaults_changed_keeps_its_settings(make, tmp_path):
    tagger = NerTagger(inference="greedy", labels="IOB2").fit(X, Y)
    for name in ("inference", "labels"):
        del tagger.model_.parameters[name]
    tagger.save(tmp_path / "old.ssvm", training_state=True)
    settings = make.load(tmp_path / "old.ssvm").settings()
    names = ("inference", "order", "reprocess", "labels")
    assert [settings[name] for name in names] == ["greedy", 2, 1, "IOB2"]
    make.load(tmp_path / "old.ssvm", labels="IOB2").resume(X, Y)  # which changes nothing
