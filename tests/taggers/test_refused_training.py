"""Data and options that a tagger refuses change nothing; interrupted training keeps what it has learned."""

import copy
import types
import warnings

import numpy as np
import pytest

from structsvm import ConvergenceWarning
from structsvm.files import load_model, save_model
from structsvm.options import option, with_options
from taggers import Chunker, NerTagger, PosTagger, SequenceTagger
from taggers.features.extract import KeyTable
from taggers.formats._columns import Columns
from taggers.online import Online
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, chunk_data

pytestmark = pytest.mark.filterwarnings("ignore:some new labels are not of the scheme")
X, Y = chunk_data(20)
WORDS = [[token[0] for token in sentence] for sentence in X]
DICTS = [[{"a": 1}, {"b": 1}]] * 5
LETTERS = [["A", "B"]] * 5
NAN = float("nan")


class Interrupted(Exception):
    pass


def saved_bytes(tagger, path):
    tagger.save(path, training_state=True)
    return path.read_bytes()


def interrupt(*_, **__):
    raise Interrupted


def test_a_truncated_table_forgets_its_last_keys():
    table = KeyTable()
    table.rows(np.arange(1, 101, dtype=np.uint64) << np.uint64(32), grow=True)
    table.truncate(40)
    assert len(table) == len(table.keys) == 40
    rows = table.rows(np.arange(1, 101, dtype=np.uint64) << np.uint64(32))
    assert rows.tolist() == [*range(40), *[-1] * 60]
    assert table.rows(np.array([99], np.uint64) << np.uint64(32), grow=True).tolist() == [40]


@pytest.mark.parametrize("method", ["partial_fit", "resume"])
def test_features_before_a_bad_value_are_forgotten(method, tmp_path):
    tagger = SequenceTagger(keep_names=True).fit(DICTS, LETTERS)
    before = saved_bytes(tagger, tmp_path / "a")
    with pytest.raises(ValueError, match="'x' must have a finite value"):
        getattr(tagger, method)([[{"new": 1}], [{"x": NAN}]], [["A"], ["B"]])
    tagger.predict([[{"new": 1}, {"b": 1}]])
    assert tagger.n_features_ == 2
    assert saved_bytes(tagger, tmp_path / "b") == before


def test_features_before_a_bad_line_are_forgotten(tmp_path):
    tagger = SequenceTagger().fit(Columns(b"A\ta\nB\tb\n\n", (0,), format="crfsuite"), 0)
    before = saved_bytes(tagger, tmp_path / "a")
    with pytest.raises(ValueError, match=":2: the value of a feature is not a number"):
        tagger.partial_fit(Columns(b"A\tnew\nB\tb:x\n\n", (0,), format="crfsuite"), 0)
    assert tagger.predict(Columns(b"A\tnew\nB\tb\n\n", (0,), format="crfsuite"))
    assert saved_bytes(tagger, tmp_path / "b") == before


@pytest.mark.parametrize("template", ["label", "w[0], y[-1]|w[0]"])
@pytest.mark.parametrize("method", ["partial_fit", "resume"])
def test_refused_weights_leave_words_features_and_labels(method, template, tmp_path):
    tagger = SequenceTagger(template=template).fit(WORDS, Y, X_dev=WORDS[:5], y_dev=Y[:5])
    before, labels = saved_bytes(tagger, tmp_path / "a"), tagger.predict(WORDS)
    with pytest.raises(ValueError, match="sample_weight"):
        getattr(tagger, method)([["unheard", "words"]], [["NEW", "NEW"]], sample_weight=[-1])
    assert tagger.predict(WORDS) == labels
    assert "NEW" not in tagger.classes_
    assert saved_bytes(tagger, tmp_path / "b") == before
    twin = SequenceTagger(template=template).fit(WORDS, Y, X_dev=WORDS[:5], y_dev=Y[:5])
    more = [["other", "new"]], [["B-NP", "NEW"]]
    assert saved_bytes(tagger.partial_fit(*more), tmp_path / "c") == saved_bytes(
        twin.partial_fit(*more), tmp_path / "d"
    )


def test_refused_development_data_leave_the_tagger(tmp_path):
    tagger = SequenceTagger().fit(WORDS, Y)
    before = saved_bytes(tagger, tmp_path / "a")
    for more in ((WORDS, Y), ([["unheard"]], [["NEW"]])):
        with pytest.raises(ValueError, match="sentence 0 has"):
            tagger.resume(*more, X_dev=WORDS[:1], y_dev=[["B-NP"]])
        assert saved_bytes(tagger, tmp_path / "b") == before


def test_an_interruption_before_training_leaves_the_tagger(monkeypatch, tmp_path):
    tagger = SequenceTagger().fit(WORDS, Y)
    before = saved_bytes(tagger, tmp_path / "a")
    with monkeypatch.context() as patch:
        patch.setattr(Online, "note", interrupt)
        for train in (tagger.partial_fit, tagger.resume):
            with pytest.raises(Interrupted):
                train([[f"new{k}" for k in range(2000)]], [["NEW"] * 2000])
    assert tagger.predict([["new1", "new1999"]])
    assert saved_bytes(tagger, tmp_path / "b") == before


def test_a_refused_first_partial_fit_leaves_the_tagger_unfitted():
    tagger = SequenceTagger()
    with pytest.raises(ValueError, match="sample_weight"):
        tagger.partial_fit(WORDS, Y, sample_weight=[-1] * len(Y))
    with pytest.raises(ValueError, match="fit"):
        tagger.predict(WORDS)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_an_interrupted_first_training_can_predict_and_continue(method, tmp_path):
    tagger = SequenceTagger(callback=interrupt)
    with pytest.raises(Interrupted):
        getattr(tagger, method)(WORDS, Y)
    assert tagger.optimizer_.n_argmax_ > 0
    assert len(tagger.predict(WORDS)) == len(WORDS)
    tagger.set_params(callback=None).resume(WORDS, Y)
    assert tagger.score(WORDS, Y) > 0.9
    assert saved_bytes(tagger, tmp_path / "a")


def test_an_interrupted_fit_replaces_the_model_before_it():
    tagger = SequenceTagger().fit(DICTS, LETTERS)
    with pytest.raises(Interrupted):
        tagger.set_params(callback=interrupt).fit(WORDS, Y)
    assert set(tagger.classes_) == {label for labels in Y for label in labels}
    with pytest.raises(ValueError, match="callback must be a function"):
        tagger.set_params(callback=5).fit(WORDS, LETTERS)
    assert tagger.predict(WORDS)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("keep_names", 1, "keep_names must be True or False, got 1"),
        ("constrained", 1, "constrained must be True or False, got 1"),
        ("C", "0.1", "C must be a number above 0, got '0.1'"),
        ("label_weight", [1], r"label_weight must be a dict, got \[1\]"),
        ("jobs", -1, "jobs must be an integer of at least 0, got -1"),
        ("shards", 0, "shards must be an integer of at least 1, got 0"),
    ],
)
def test_options_of_the_wrong_type_are_refused(name, value, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        SequenceTagger(**{name: value}).fit(WORDS, Y)


def test_numbers_of_numpy_are_options(tmp_path):
    options = {"epochs": np.int64(1), "C": np.float32(0.5), "keep_names": np.bool_(True)}
    SequenceTagger(**options).fit(WORDS, Y).save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    assert {name: getattr(loaded, name) for name in options} == options


def test_labelling_needs_a_number_of_jobs():
    tagger = SequenceTagger().fit(WORDS, Y).set_params(jobs=-1)
    for label in (tagger.predict, tagger.predict_margins):
        with pytest.raises(ValueError, match="jobs must be"):
            label(WORDS)


@pytest.mark.parametrize(
    "change", [{"template": "pos"}, {"inference": "greedy"}, {"cutoff": 3}, {"labels": "IOB2"}], ids=str
)
def test_options_of_a_model_cannot_change(change, tmp_path):
    tagger = SequenceTagger().fit(WORDS, Y)
    tagger.save(tmp_path / "m", training_state=True)
    loaded = SequenceTagger.load(tmp_path / "m", **change)
    tagger.set_params(**change)
    for train in (tagger.partial_fit, tagger.resume, loaded.partial_fit, loaded.resume):
        with pytest.raises(ValueError, match=f"^{next(iter(change))} cannot change after training has begun"):
            train(WORDS, Y)
    with pytest.raises(ValueError, match="cannot change"):
        tagger.declare(["NEW"])


def test_the_template_of_a_loaded_model_may_be_given_again(tmp_path):
    given = {"template": "w[-1..1]"}
    SequenceTagger(**given).fit(WORDS, Y).save(tmp_path / "m", training_state=True)
    SequenceTagger.load(tmp_path / "m", **given).partial_fit(WORDS, Y)


@pytest.mark.parametrize("method", ["partial_fit", "resume"])
@pytest.mark.parametrize("change", [{"C": 5.0}, {"reprocess": 0}, {"label_weight": {"B-NP": 3.0}}], ids=str)
def test_changed_options_of_training_have_an_effect(method, change, tmp_path):
    taggers = [SequenceTagger().fit(WORDS, Y) for _ in range(2)]
    taggers[0].save(tmp_path / "m", training_state=True)
    taggers.append(SequenceTagger.load(tmp_path / "m", **change))
    taggers[1].set_params(**change)
    weights = []
    for tagger in taggers:
        getattr(tagger, method)(WORDS[:10], [["O"] * len(s) for s in WORDS[:10]])
        weights.append(tagger.optimizer_.weights_)
    assert not np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[1], weights[2])  # as if it had been saved and loaded with the change


def test_a_training_state_keeps_its_algorithm(tmp_path):
    tagger = SequenceTagger().fit(WORDS, Y)
    tagger.save(tmp_path / "m", training_state=True)
    loaded = SequenceTagger.load(tmp_path / "m", algorithm="perceptron")
    for one in (loaded, tagger.set_params(algorithm="perceptron")):
        for train in (one.resume, one.partial_fit):
            with pytest.raises(ValueError, match=r"^algorithm cannot change from larank to perceptron"):
                train(WORDS, Y)


def test_svmstruct_warns_if_it_has_not_converged():
    with pytest.warns(ConvergenceWarning, match="SVMstruct has not converged after 1 epochs") as found:
        tagger = SequenceTagger(algorithm="svmstruct", epochs=1).fit(WORDS, Y)
    assert found[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as found:
        tagger.resume(WORDS, Y)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SequenceTagger(algorithm="svmstruct", epochs=200).fit(WORDS, Y)


def test_every_mapping_holds_values_like_a_dict():
    nested = [[{"w": {"a": 2.0}}, {"w": {"b": 3.0}}]] * 3
    proxies = [[types.MappingProxyType({"w": types.MappingProxyType(t["w"])}) for t in s] for s in nested]
    one, two = (SequenceTagger().fit(data, [["A", "B"]] * 3) for data in (nested, proxies))
    assert np.array_equal(one.optimizer_.weights_, two.optimizer_.weights_)
    assert two.n_features_ == 2


@pytest.mark.parametrize("value", [1e300, -1e39, float("inf")])
def test_values_that_do_not_fit_32_bits_are_refused(value):
    tagger = SequenceTagger().fit(DICTS, LETTERS)
    with pytest.raises(ValueError, match="'a' must have a finite value that fits 32 bits"):
        tagger.predict_margins([[{"a": value}]])
    with pytest.raises(ValueError, match=":1: the value of a feature is not a number that fits 32 bits"):
        tagger.predict(Columns(f"A\ta:{value}\n\n".encode(), (0,), format="crfsuite"))


def test_the_label_column_must_be_the_last():
    data = (b"A x\nB y\nC z\n\n") * 9
    for train in (SequenceTagger().fit, SequenceTagger().partial_fit):
        with pytest.raises(ValueError, match="label column must be the last of the 2 columns"):
            train(Columns(data, (0, 1)), 0)
    tagger = SequenceTagger().fit(Columns(data, (1, 0)), 1)
    assert tagger.score(Columns(data, (1, 0)), 1) == 1
    for train in (tagger.partial_fit, tagger.resume):
        with pytest.raises(ValueError, match="label column must be the last of the 2 columns"):
            train(Columns(data, (0, 1)), 0)


def test_forced_labels_are_in_the_scheme_of_the_model():
    tagger = Chunker(template="label").fit([["a", "b", "c"]] * 3, [["B-NP", "I-NP", "O"]] * 3)
    assert tagger.tag(["a", "b", "c"], forced={0: "O", 1: "O"})[:2] == ["O", "O"]
    with pytest.raises(ValueError, match=r"^label 'I-NP' cannot be forced; the labels"):
        tagger.tag(["a", "b", "c"], forced={1: "I-NP"})
    for at in (-1, 3):
        with pytest.raises(ValueError, match=f"^position {at} cannot be forced; the sentence has 3 tokens"):
            tagger.tag(["a", "b", "c"], forced={at: "O"})


@pytest.mark.filterwarnings("ignore:no pattern of the template reads")
@pytest.mark.parametrize("make", [PosTagger, Chunker, NerTagger, SequenceTagger])
def test_a_model_keeps_the_defaults_of_its_own_tagger(make, tmp_path):
    tagger = make().fit(X, Y)
    tagger.save(tmp_path / "m")
    for reader in (PosTagger, Chunker, NerTagger, SequenceTagger):
        settings = reader.load(tmp_path / "m").settings()
        assert {**settings, "template": None} == {**tagger.settings(), "template": None}
    assert PosTagger.load(tmp_path / "m", C=3.0).settings()["C"] == 3.0


def test_options_of_a_subclass_are_checked_and_read_again(tmp_path):
    @with_options
    class Warm(SequenceTagger):
        """A tagger."""

        warmth: int = option(default=3, help="How warm to begin.", low=1)

    with pytest.raises(ValueError, match="warmth must be an integer of at least 1, got 0"):
        Warm(warmth=0).fit(WORDS, Y)
    Warm(warmth=5).fit(WORDS, Y).save(tmp_path / "m")
    assert Warm.load(tmp_path / "m").warmth == 5


def test_a_copy_of_a_tagger_remembers_its_settings():
    tagger = copy.deepcopy(SequenceTagger().fit(WORDS, Y))
    with pytest.raises(ValueError, match="cutoff cannot change"):
        tagger.set_params(cutoff=2).partial_fit(WORDS, Y)


def test_a_model_older_than_a_bound_predicts_and_says_how_to_train_it(tmp_path):
    path = tmp_path / "old.ssvm"
    SequenceTagger(C=0.5).fit(WORDS, Y).save(path, training_state=True)
    arrays, meta = load_model(path)
    meta["parameters"]["C"] = 1e7
    save_model(path, arrays, meta)
    old = SequenceTagger.load(path)
    assert len(old.predict(WORDS)) == len(WORDS)
    with pytest.raises(ValueError, match=r"at most 1,000,000, got 1.*with this value.*another C \(-C on"):
        old.partial_fit(WORDS, Y)
    SequenceTagger.load(path, C=0.5).partial_fit(WORDS, Y)
    (tmp_path / "t.txt").write_bytes(as_columns(5))
    train = ("train", "label", "t.txt", "--resume", "old.ssvm", "-o", "new.ssvm")
    refused(run(*train, cwd=tmp_path), 2, "old.ssvm: C must be at most", "-C on the command line")
