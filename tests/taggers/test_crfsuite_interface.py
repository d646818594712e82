"""The interfaces of python-crfsuite and sklearn-crfsuite, and models that both programs train alike."""

import pickle
import warnings

import pytest

import taggers.crfsuite as pycrfsuite
from taggers import SequenceTagger
from taggers.crfsuite import CRF, metrics
from taggers.crfsuite.parameters import PARAMETERS
from taggers.crfsuite.trainer import SAID
from tests.taggers.crfsuite_models import SMALL, crfsuite_model

X = [
    [{"w": "rain", "cold": 1.0}, {"w": "sun"}, {"w": "sun", "cold": 0.25}],
    [{"w": "wind", "cold": 1}, {"w": b"rain", "cold": True}],
    [{"w": "sun", "near": ["sea", "hill"]}, {"w": "fog", "deep": {"er": 0.5}}],
]
Y = [["in", "out", "out"], ["in", "in"], ["out", "in"]]
ALGORITHMS = ["lbfgs", "l2sgd", "ap", "pa", "arow"]


@pytest.mark.filterwarnings("ignore:AROW")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_learns_and_keeps_its_names(algorithm):
    crf = CRF(algorithm, max_iterations=20).fit(X, Y)
    assert [list(labels) for labels in crf.predict(X)] == Y
    assert crf.score(X, Y) == 1.0
    assert set(crf.classes_) == {"in", "out"}
    assert {"cold", "near:sea"} <= set(crf.attributes_)
    assert crf.num_attributes_ == len(crf.attributes_)
    assert crf.state_features_["w:sun", "out"] > crf.state_features_.get(("w:sun", "in"), 0)
    assert set(crf.transition_features_) <= {(a, b) for a in crf.classes_ for b in crf.classes_}
    for item in crf.predict_marginals_single(X[0]):
        assert sum(item.values()) == pytest.approx(1, abs=1e-6)


def test_weights_are_those_of_crfsuite_with_the_same_objective(tmp_path):
    theirs = pytest.importorskip("pycrfsuite")
    infos = []
    for module, own in ((theirs, "theirs"), (pycrfsuite, "ours")):
        for c1 in (0.0, 0.05):
            trainer = module.Trainer("lbfgs", {"c1": c1, "c2": 0.1, "delta": 1e-9}, verbose=False)
            for xseq, yseq in zip(X, Y, strict=True):
                trainer.append(xseq, yseq)
            path = str(tmp_path / f"{own}{c1}")
            trainer.train(path)
            tagger = module.Tagger()
            tagger.open(path)
            infos.append(tagger.info())
            tagger.set(X[0])
            infos[-1].probability = tagger.probability(Y[0])
    for one, other in ((0, 2), (1, 3)):
        for kind in ("state_features", "transitions"):
            wanted, found = getattr(infos[one], kind), getattr(infos[other], kind)
            for pair in {*wanted, *found}:
                assert found.get(pair, 0) == pytest.approx(wanted.get(pair, 0), abs=2e-3), pair
        assert infos[other].probability == pytest.approx(infos[one].probability, abs=1e-3)


def test_models_of_crfsuite_and_of_structsvm_open(tmp_path):
    path = tmp_path / "small.crfsuite"
    path.write_bytes(crfsuite_model(*SMALL))
    with pycrfsuite.Tagger().open(str(path)) as tagger:
        assert tagger.labels() == ["N", "V"]
        assert tagger.tag([["w=dog"], ["w=barks"]]) == ["N", "V"]
        sure = [tagger.probability([a, b]) for a in "NV" for b in "NV"]
        assert sum(sure) == pytest.approx(1)
        assert tagger.marginal("N", 0) == pytest.approx(sure[0] + sure[1], abs=1e-6)
    crf = CRF(model_filename=str(path))
    assert crf.predict_single([["w=dog"]]) == ["N"]
    own = tmp_path / "own.ssvm"
    crf = CRF(model_filename=str(own)).fit(X, Y)
    assert SequenceTagger.load(own).predict(X) == Y


def test_random_fields_need_no_calibration_and_classifiers_do(tmp_path):
    (tmp_path / "foreign").write_bytes(crfsuite_model(*SMALL))
    for algorithm in ("lbfgs", "pa"):
        CRF(algorithm, model_filename=tmp_path / algorithm).fit(X, Y)
    probable = {
        name: SequenceTagger.load(tmp_path / name).model_.probable for name in ("foreign", "lbfgs", "pa")
    }
    assert probable == {"foreign": True, "lbfgs": True, "pa": False}
    with pytest.warns(UserWarning, match="without its training state"):
        assert SequenceTagger.load(tmp_path / "lbfgs").partial_fit(X, Y).model_.probable
    with pytest.warns(UserWarning, match="without its training state"):
        learning = SequenceTagger.load(tmp_path / "lbfgs", algorithm="larank").partial_fit(X, Y)
    assert not learning.model_.probable


def test_a_pickled_estimator_predicts_without_its_file():
    crf = pickle.loads(pickle.dumps(CRF(c2=0.1).fit(X, Y)))
    assert [list(labels) for labels in crf.predict(X)] == Y
    assert crf.c2 == 0.1


def test_a_pickle_holds_the_model_of_a_file(tmp_path):
    path = tmp_path / "model.ssvm"
    data = [pickle.dumps(CRF(model_filename=path).fit(X, Y)), pickle.dumps(CRF(model_filename=path))]
    CRF(model_filename=path).fit(X, [[label + "!" for label in labels] for labels in Y])
    path.rename(tmp_path / "elsewhere")
    for one in data:
        assert [list(labels) for labels in pickle.loads(one).predict(X)] == Y
    opened = CRF(model_filename=tmp_path / "elsewhere")
    assert opened.classes_
    (tmp_path / "elsewhere").unlink()
    with pytest.raises(FileNotFoundError):
        pickle.dumps(opened)


def test_an_estimator_without_its_file_is_not_fitted(tmp_path):
    validation = pytest.importorskip("sklearn.utils.validation")
    exceptions = pytest.importorskip("sklearn.exceptions")
    crf = CRF(model_filename=tmp_path / "missing")
    with pytest.raises(exceptions.NotFittedError):
        validation.check_is_fitted(crf)
    with pytest.raises(exceptions.NotFittedError):
        crf.predict(X)
    assert crf.tagger_ is crf.classes_ is None
    validation.check_is_fitted(crf.fit(X, Y))


@pytest.mark.parametrize("in_file", [False, True])
def test_a_training_that_fails_leaves_no_model(tmp_path, in_file):
    crf = CRF(model_filename=tmp_path / "model.ssvm" if in_file else None).fit(X, Y)
    for wrong, labels, said in [
        (X, [Y[0], ["in"], Y[2]], "2 items"),
        ([], [], "no sequences"),
        ([[]], [[]], "no"),
    ]:
        with pytest.raises(ValueError, match=said):
            crf.fit(wrong, labels)
        assert crf.tagger_ is crf.classes_ is None
        assert pickle.loads(pickle.dumps(crf)).tagger_ is None
    crf.set_params(c2=-1.0)
    with pytest.raises(ValueError, match="c2 must be"):
        crf.fit(X, Y)
    assert crf.tagger_ is None
    assert crf.set_params(c2=1.0).fit(X, Y).tagger_ is not None


def test_sequences_of_equal_length_give_arrays_with_two_dimensions_as_in_sklearn_crfsuite():
    crf = CRF().fit(X, Y)
    for predict in (crf.predict, crf.predict_marginals):
        assert predict(X).shape == (3,)
        assert predict(X[1:]).shape == (2, 2)


def test_held_out_sequences_are_scored_in_each_iteration(capsys):
    crf = CRF(max_iterations=4, verbose=True).fit(X[:2], Y[:2], X[2:], Y[2:])
    log = crf.training_log_
    assert len(log.iterations) == 4
    assert log.last_iteration["item_accuracy_float"] == 0.5 or log.last_iteration["scores"]["out"].ref == 1
    assert log.last_iteration["scores"]["in"].ref == 1
    assert [event for event, _, _ in log.events][:3] == ["start", "featgen_end", "prepared"]
    assert log.events[-1][0] == "end"
    assert "Item accuracy" in capsys.readouterr().out


def test_a_dump_lists_labels_attributes_and_weights(tmp_path, capsys):
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(crfsuite_model(*SMALL))
    tagger.dump(tmp_path / "dump.txt")
    tagger.dump()
    text = (tmp_path / "dump.txt").read_text()
    assert capsys.readouterr().out == text
    assert "  (0) w=dog --> N: 1.500000\n" in text
    assert "  (1) V --> V: -2.000000\n" in text
    tagger.close()
    with pytest.raises(RuntimeError, match="not opened"):
        tagger.info()


def test_item_sequences_hold_flat_features():
    items = pycrfsuite.ItemSequence([{"a": {"b": ["c", "d"], "e": 0.5}, "f": True}, ["g", b"h"]])
    assert items.items() == [{"a:b:c": 1.0, "a:b:d": 1.0, "a:e": 0.5, "f": 1.0}, {"g": 1.0, "h": 1.0}]
    assert len(items) == 2
    assert pycrfsuite.ItemSequence(items).items() == items.items()
    for wrong in ("abc", ["abc"], [[{"a": 1.0}]], [5]):
        with pytest.raises(ValueError, match="must be"):
            pycrfsuite.ItemSequence(wrong)


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "averaged-perceptron", "passive-aggressive"])
def test_parameters_have_types_defaults_and_help(algorithm):
    trainer = pycrfsuite.Trainer(algorithm)
    for name in trainer.params():
        trainer.set(name, str(int(v)) if isinstance(v := trainer.get(name), bool) else str(v))
        assert trainer.help(name)
    assert trainer.get_params() == pycrfsuite.Trainer(algorithm).get_params()
    with pytest.raises(ValueError, match="has no parameter 'c3'"):
        trainer.set("c3", 1)


def test_parameters_are_those_of_crfsuite():
    theirs = pytest.importorskip("pycrfsuite")
    for algorithm in PARAMETERS:
        wanted = theirs.Trainer(algorithm, verbose=False).get_params()
        assert pycrfsuite.Trainer(algorithm).get_params() == pytest.approx(wanted)


def test_a_parameter_without_effect_is_named_once():
    SAID.clear()
    trainer = pycrfsuite.Trainer("lbfgs", {"linesearch": "Backtracking", "max_iterations": 2}, verbose=False)
    trainer.append(X[0], Y[0])
    with pytest.warns(UserWarning, match="linesearch has no effect with lbfgs"):
        trainer.train("")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer.train("")


@pytest.mark.filterwarnings("ignore:AROW")
@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_possible_features_have_no_effect_on_classifiers_of_sequences(algorithm):
    SAID.clear()
    crf = CRF(algorithm, all_possible_states=True, all_possible_transitions=True)
    with pytest.warns(UserWarning, match="feature.possible_") as caught:
        crf.fit(X, Y)
    said = [str(one.message) for one in caught if "possible" in str(one.message)]
    assert said == [
        f"feature.possible_{what} has no effect with {algorithm}" for what in ("states", "transitions")
    ]
    assert crf.predict_single(X[0]) == CRF(algorithm).fit(X, Y).predict_single(X[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [("period", 0), ("num_memories", 0), ("max_iterations", -1), ("delta", -1.0), ("epsilon", float("nan"))],
)
def test_numbers_outside_their_bounds_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name.removeprefix('num_')} must be"):
        CRF(**{name: value}).fit(X, Y)


def test_wrong_data_is_refused(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    with pytest.raises(ValueError, match="sequence 0 has 3 items, but 1 labels"):
        trainer.append(X[0], ["in"])
    with pytest.raises(TypeError, match="a label must be a str"):
        trainer.append(X[2], ["in", 5])
    with pytest.warns(UserWarning, match="no sequences"):
        trainer.train(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match="algorithm must be one of"):
        trainer.select("sgd")
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        CRF().fit(X, Y, X)
    with pytest.raises(ValueError, match=rf"^X has {len(X)} sequences, but y has 1$"):
        CRF().fit(iter(X), Y[:1])
    with pytest.raises(ValueError, match=r"^X_dev has 1 sequences, but y_dev has 2$"):
        CRF().fit(X, Y, X[:1], Y[:2])
    tagger = pycrfsuite.Tagger()
    for use in (tagger.labels, tagger.tag):
        with pytest.raises(ValueError, match="not opened"):
            use()
    tagger.open_inmemory(crfsuite_model(*SMALL))
    with pytest.raises(ValueError, match="there is no sequence"):
        tagger.tag()
    tagger.set([["w=dog"]])
    for wrong in (
        lambda: tagger.marginal("X", 0),
        lambda: tagger.marginal("N", 1),
        lambda: tagger.probability([]),
    ):
        with pytest.raises(ValueError, match=r"unknown label|position 1|0 labels for 1"):
            wrong()


def test_scores_join_the_labels_of_all_sequences():
    true, found = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
    assert metrics.flat_accuracy_score(true, found) == pytest.approx(3 / 5)
    assert metrics.flat_f1_score(true, found, average="macro") == pytest.approx(2 / 3)
    assert "precision" in metrics.flat_classification_report(true, found)
    assert metrics.sequence_accuracy_score([[1, 2], [3], [4]], [[1, 2], [4], [4]]) == pytest.approx(2 / 3)
    assert metrics.sequence_accuracy_score([], []) == 0
