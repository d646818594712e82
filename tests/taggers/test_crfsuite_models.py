"""Models of CRFsuite: read as they are, used like models of ours, refused in one sentence if damaged."""

import random
import struct
import tracemalloc

import numpy as np
import pytest

from structsvm.files import ModelFileError
from taggers import SequenceTagger
from taggers.foreign import crfsuite
from tests.taggers.command_line import refused, run
from tests.taggers.crfsuite_models import SMALL, crfsuite_model

NAMES = [f"w{k}" for k in range(12)] + ["bias", "é:x", "a:b", "deep:er:x"]


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.crfsuite"
    path.write_bytes(crfsuite_model(*SMALL))
    return path


def random_item(rng):
    names = [*NAMES, "unseen", "other"]
    return {rng.choice(names): rng.choice([1.0, 1.0, 0.5, -2.0, 0.1, 0.0]) for _ in range(rng.randrange(5))}


def random_sentences(seed, n=60, longest=9):
    rng = random.Random(seed)
    return [[random_item(rng) for _ in range(rng.randint(1, longest))] for _ in range(n)]


@pytest.fixture(scope="module", params=["lbfgs", "l2sgd", "ap", "pa", "arow", "l1", "possible"])
def trained(request, tmp_path_factory):
    """A model of python-crfsuite, and its tagger."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    path = str(tmp_path_factory.mktemp("crfsuite") / "model.crfsuite")
    algorithm = request.param if request.param not in ("l1", "possible") else "lbfgs"
    trainer = pycrfsuite.Trainer(algorithm, verbose=False)
    if request.param == "l1":
        trainer.set_params({"c1": 0.3, "c2": 0.01})
    if request.param == "possible":
        trainer.set_params({"feature.possible_states": True, "feature.possible_transitions": True})
    rng = random.Random(3)
    for sentence in random_sentences(1):
        trainer.append(sentence, [rng.choice(["B-x", "I-x", "O", "ü"]) for _ in sentence])
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return path, tagger


def test_a_model_gives_the_labels_and_probabilities_of_python_crfsuite(trained):
    path, theirs = trained
    X = [*random_sentences(2, n=300), *random_sentences(3, n=2, longest=4000), [{}], [{"unseen": 1.0}] * 3]
    ours = SequenceTagger.load(path)
    for sentence, labels in zip(X, ours.predict(X), strict=True):
        theirs.set(sentence)
        if (wanted := theirs.tag()) != labels:  # with so few features, labellings can tie exactly
            assert theirs.probability(labels) == pytest.approx(theirs.probability(wanted), rel=1e-12)
    for sentence, found in zip(X, ours.predict_marginals(X), strict=True):
        theirs.set(sentence)
        for t in {0, len(sentence) // 2, len(sentence) - 1}:
            wanted = {label: theirs.marginal(label, t) for label in theirs.labels()}
            assert found[t] == pytest.approx(wanted, abs=1e-5)


def test_every_kind_of_item_is_read_as_by_python_crfsuite(trained):
    path, theirs = trained
    X = [
        [["w1", "bias"], {"a": "b", "w1": True}, {"deep": {"er": "x", "no": 0.5}}, {"deep": ["er:x"]}],
        [[b"w1", "bias"], {b"a": b"b", "w2": 2}, {"\u00e9": b"x"}, {"\u00e9".encode(): "x"}, {"w1": False}],
    ]
    assert SequenceTagger.load(path).predict(X) == [theirs.tag(sentence) for sentence in X]


def test_weights_and_names_are_those_of_the_file(small):
    model = SequenceTagger.load(small).model_
    labels, names, states, transitions = SMALL
    assert list(model.labels) == labels
    assert model.space.names == names
    table = model.weights[:]
    wanted = np.zeros((len(labels) + 1 + len(names), len(labels)))
    for (source, label), weight in transitions.items():
        wanted[source, label] = weight
    for (source, label), weight in states.items():
        wanted[len(labels) + 1 + source, label] = weight
    assert np.array_equal(table, wanted)


def test_a_feature_with_an_empty_name_counts(small):
    tagger = SequenceTagger.load(small)
    assert tagger.predict([[[""]], [["unseen"]]]) == [["V"], ["N"]]


def test_a_converted_model_is_like_the_model(small):
    done = run("convert", "small.crfsuite", "-o", "small.ssvm", cwd=small.parent)
    assert done.returncode == 0, done.stderr
    X = [[{"w=dog": 1.0}, ["w=barks", "cap"]], [["cap"], [""], ["w=dog"]]]
    ours, theirs = SequenceTagger.load(small.with_suffix(".ssvm")), SequenceTagger.load(small)
    assert ours.predict(X) == theirs.predict(X)
    assert ours.predict_marginals(X) == theirs.predict_marginals(X)
    assert ours.model_.space.names is None
    kept = run(
        "convert", "small.crfsuite", "-o", "kept.ssvm", "--keep-names", "--dtype", "int8", cwd=small.parent
    )
    assert kept.returncode == 0, kept.stderr
    assert SequenceTagger.load(small.with_name("kept.ssvm")).model_.space.names == SMALL[1]


def test_the_command_line_uses_a_model_directly(small):
    small.with_name("test.txt").write_text("?\tw=dog\n?\tw=barks\tcap\n\n?\tw=barks\n")
    done = run("tag", "small.crfsuite", "test.txt", cwd=small.parent)
    assert done.stdout == b"N\tw=dog\nV\tw=barks\tcap\n\nV\tw=barks\n"
    shown = run("inspect", "small.crfsuite", cwd=small.parent)
    assert b"w=barks" in shown.stdout


def test_a_model_learns_on_from_its_weights(small):
    X, y = [[["w=cat"], ["w=barks"]]] * 3, [["N", "V"]] * 3
    tagger = SequenceTagger.load(small)
    before = tagger.predict([[["w=cat"]], [["w=dog"]]])
    with pytest.warns(UserWarning, match="continues from its weights alone"):
        tagger.resume(X, y)
    assert tagger.predict([[["w=cat"], ["w=barks"]]]) == [["N", "V"]]
    assert tagger.predict([[["w=dog"]]])[0] == before[1]


def test_conversion_refuses_what_has_no_effect(small):
    here = small.parent
    done = run("convert", "small.crfsuite", "--to", "IOBES", "-o", "x.ssvm", cwd=here)
    refused(done, 2, "--to has no effect with a file of CRFsuite; leave it out")
    refused(run("convert", "small.crfsuite", cwd=here), 2, "-o MODEL")
    small.with_name("test.txt").write_text("a O\n")
    refused(run("convert", "test.txt", cwd=here), 2, "--to")
    refused(run("convert", "test.txt", "--to", "IOBES", "--dtype", "int8", cwd=here), 2, "--dtype")


def test_a_model_is_never_written_over_itself(small):
    refused(
        run("convert", "small.crfsuite", "-o", "small.crfsuite", cwd=small.parent), 2, "would be overwritten"
    )


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({4: 7}, "bytes instead of 7"),
        ({8: 5}, "its kind is"),
        ({12: 101}, "its version is 101"),
        ({20: 9}, "2 labels instead of 9"),
        ({24: 3}, "4 attributes instead of 3"),
        ({28: 10**6}, "a part lies outside the file"),
        ({32: 48}, "its labels are damaged"),
        ({56: 10**9}, "its list of 1000000000 features is damaged"),
        ({60: 2}, "a feature is of an unknown type"),
        ({64: 4}, "a feature has a source that does not exist"),
        ({68: 2}, "a feature has a label that does not exist"),
        ({76: 0x7FF00000}, "a weight is zero or not a number"),
    ],
)
def test_forged_numbers_are_refused_in_one_sentence(small, changes, part):
    data = bytearray(small.read_bytes())
    for at, value in changes.items():
        struct.pack_into("<I", data, at, value)
    small.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        SequenceTagger.load(small)
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_overlapping_names_are_refused_before_they_fill_the_memory():
    n = 5000  # together, the names have 100 MB
    data = crfsuite_model(["N", "V"], [""] * n, {(0, 0): 1.0}, {}, nested=True)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="attribute 1 overlaps another one"):
            crfsuite.read(data)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(data)
    finally:
        tracemalloc.stop()


def test_attributes_that_are_not_one_feature_each_are_refused(monkeypatch):
    encode = crfsuite.encode_dicts
    monkeypatch.setattr(
        crfsuite, "encode_dicts", lambda X, table, grow: encode([[X[0][0][:-1]]], table, grow=grow)
    )
    with pytest.raises(ValueError, match="its 4 attributes are read as 3 features"):
        crfsuite.read(crfsuite_model(*SMALL))


def test_a_file_cut_anywhere_is_refused(small):
    data = small.read_bytes()
    for end in range(4, len(data), 7):
        small.write_bytes(data[:end])
        with pytest.raises(ModelFileError, match=r"small\.crfsuite"):
            SequenceTagger.load(small)


@pytest.mark.parametrize(
    ("labels", "attributes", "part"),
    [([b"\xff", "V"], ["a"], "not UTF-8"), (["N", "N"], ["a"], "labels"), (["", "V"], ["a"], "labels")],
)
def test_wrong_and_repeated_labels_are_refused(tmp_path, labels, attributes, part):
    path = tmp_path / "model"
    path.write_bytes(crfsuite_model(labels, attributes, {(0, 0): 1.0}, {}))
    with pytest.raises(ModelFileError, match=part):
        SequenceTagger.load(path)


def test_attributes_need_not_be_utf8(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(crfsuite_model(["N", "V"], [b"\xff\xfe", "a"], {(0, 1): 1.0}, {}))
    assert SequenceTagger.load(path).predict([[[b"\xff\xfe"], ["a"]]]) == [["V", "N"]]
