"""The recall dial: weights of labels in training, and a bias of labels afterwards."""

import numpy as np
import pytest

from structsvm.files import ModelFileError, load_model, save_model
from taggers import Chunker, MorphTagger, NerTagger, SequenceTagger, commands
from taggers.labels.label_encoding import by_label, loss_matrix
from taggers.metrics import span_f1
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, chunk_data

X, Y = chunk_data(40)
LABELS = ["O", "B-A", "I-A", "B-B"]


def n_outside(labels):
    return sum(label == "O" for sentence in labels for label in sentence)


@pytest.mark.parametrize("options", [{"inference": "exact"}, {"inference": "greedy"}, {"labels": "IOB2"}])
def test_a_bias_changes_how_many_phrases_are_found(options):
    tagger = Chunker(**options).fit(X, Y)
    before = tagger.predict(X)
    counts = [n_outside(tagger.add_bias({"O": step}).predict(X)) for step in (-5, 5, 5)]
    assert counts[0] < counts[1] < counts[2]
    assert tagger.add_bias({"O": -5}).predict(X) == before


def test_a_bias_is_added_to_the_score_of_each_token():
    tagger = Chunker(labels="IOB2").fit(X, Y)
    (score, labels), *_ = tagger.predict_nbest(X[:1], 1)[0]
    tagger.add_bias({"phrases": 0.1})
    (again, same), *_ = tagger.predict_nbest(X[:1], 1)[0]
    assert same == labels
    assert again - score == pytest.approx(0.1 * sum(label != "O" for label in labels), rel=1e-3)


def test_the_bias_is_fitted_for_f1_and_saved(tmp_path):
    noisy = [["O" if k % 2 else label for k, label in enumerate(labels)] for labels in Y]
    tagger = Chunker(C=0.01, epochs=1).fit(X, [noisy[k] if k % 2 else y for k, y in enumerate(Y)])
    before = span_f1(Y, tagger.predict(X))
    assert tagger.fit_bias(X, Y).bias_["O"] < 0
    found = tagger.predict(X)
    assert span_f1(Y, found) > before
    tagger.save(tmp_path / "m")
    assert Chunker.load(tmp_path / "m").predict(X) == found


@pytest.mark.filterwarnings("ignore:this model was saved without its training state")
@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_training_keeps_a_bias(inference, tmp_path):
    def trained():
        return Chunker(inference=inference, epochs=2).fit(X, Y)

    plain, biased = trained(), trained().add_bias({"O": -2}).add_bias({"O": -3})
    biased.save(tmp_path / "state", training_state=True)
    biased.save(tmp_path / "weights")
    loaded, bare = (Chunker.load(tmp_path / name) for name in ("state", "weights"))
    assert loaded.model_.bias == {"O": -5}
    assert n_outside(biased.predict(X)) < n_outside(plain.predict(X))
    for tagger in (biased, loaded, bare, plain):
        tagger.partial_fit(X[:2], Y[:2])
    assert biased.tag(X[0]) == loaded.tag(X[0])  # with the weights of its features only
    wanted = plain.add_bias({"O": -5}).predict(X)
    assert biased.predict(X) == loaded.predict(X) == wanted
    assert bare.model_.bias == {}  # it is in the weights
    again = Chunker.load(tmp_path / "state", epochs=2).resume(X, Y).predict(X)
    assert again == trained().resume(X, Y).add_bias({"O": -5}).predict(X)


def test_a_bias_of_unknown_labels_in_a_file_is_refused(tmp_path):
    Chunker(epochs=1).fit(X, Y).add_bias({"O": -1}).save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    for bad in ({"X": 1.0}, {"O": "1"}, {"O": float("inf")}, [1]):
        save_model(tmp_path / "m", arrays, meta | {"bias": bad})
        with pytest.raises(ModelFileError):
            Chunker.load(tmp_path / "m")


def test_values_by_name_type_and_phrases():
    assert by_label("x", {"phrases": 3, "B": 2, "B-A": 5}, LABELS, "IOB2", "IOB2", 1).tolist() == [1, 5, 3, 2]
    assert by_label("x", {"O": 0.3}, LABELS, "IOB2", "IOB2", 1).tolist() == [0.3, 1, 1, 1]
    assert np.array_equal(loss_matrix(LABELS, {"phrases": 3}, "IOB2", "IOB2")[:, 0], [0, 3, 3, 3])
    with pytest.raises(ValueError, match="bias names 'C', but the labels are"):
        by_label("bias", {"C": 1}, LABELS, "IOB2", "IOB2", 0)


def test_a_bias_without_effect_is_refused():
    tags = [[token[1] for token in s] for s in X]
    words = [[token[0] for token in s] for s in X]
    with pytest.raises(ValueError, match="fit_bias needs labels of phrases"):
        SequenceTagger().fit(words, tags).fit_bias(words, tags)
    with pytest.raises(ValueError, match="labels without parts"):
        MorphTagger().fit(words, tags).add_bias({"NN": 1})
    with pytest.raises(ValueError, match="order of at least 1"):
        NerTagger(inference="greedy", order=0).fit(X, Y).add_bias({"O": 1})
    with pytest.raises(ValueError, match="finite"):
        NerTagger().fit(X, Y).add_bias({"O": float("nan")})


def test_the_command_line_turns_the_dial(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(40))
    run("train", "chunk", "train.txt", "--dev", "train.txt", "--fit-bias", "-q", "-o", "m", cwd=tmp_path)
    more, less = (run("tag", "m", "train.txt", "--bias", f"O={bias}", cwd=tmp_path) for bias in (-9, 9))
    assert more.stdout.count(b" O\n") < less.stdout.count(b" O\n")
    for tagged, bias in ((more, -9), (less, 9)):
        (tmp_path / "tagged.txt").write_bytes(tagged.stdout)
        turned = run("evaluate", "m", "train.txt", "--bias", f"O={bias}", "--json", cwd=tmp_path)
        assert turned.stdout == run("evaluate", "tagged.txt", "--json", cwd=tmp_path).stdout
    refused(run("evaluate", "m", "train.txt", "--bias", "X=1", cwd=tmp_path), 2, "bias names 'X'")
    refused(
        run("evaluate", "tagged.txt", "--bias", "O=1", cwd=tmp_path), 2, "--bias has no effect without MODEL"
    )
    refused(run("tag", "m", "train.txt", "--bias", "O", cwd=tmp_path), 2, "--bias must be LABEL=NUMBER")
    refused(
        run("train", "chunk", "train.txt", "--fit-bias", "-o", "n", cwd=tmp_path),
        2,
        "no effect without --dev",
    )
    pos = ("train", "pos", "train.txt", "--dev", "train.txt", "--fit-bias", "--curve", "c", "-o", "n")
    refused(run(*pos, cwd=tmp_path), 2, "--fit-bias cannot be combined with task pos; leave it out")
    assert not (tmp_path / "c").exists()  # refused before training


def test_evaluation_with_a_bias_is_that_of_the_biased_tagger(tmp_path):
    (tmp_path / "test.txt").write_bytes(as_columns(20, seed=2))
    tagger = Chunker(epochs=1).fit(X, Y)
    tagger.save(tmp_path / "m")
    plain = commands.evaluate(tmp_path / "m", tmp_path / "test.txt")
    turned = commands.evaluate(tmp_path / "m", tmp_path / "test.txt", bias={"O": -2, "NP": 0.5})
    tagger.add_bias({"O": -2, "NP": 0.5}).save(tmp_path / "biased")
    assert turned == commands.evaluate(tmp_path / "biased", tmp_path / "test.txt") != plain


def test_a_bias_moves_probabilities_towards_its_label(tmp_path):
    for name in ("train", "dev"):
        (tmp_path / name).write_bytes(as_columns(40, seed=len(name)))
    commands.train(
        "chunk", tmp_path / "train", tmp_path / "m", dev=tmp_path / "dev", calibrate=True, fit_bias=True
    )
    tagger = Chunker.load(tmp_path / "m")
    assert tagger.model_.temperature != 1

    def outside():
        return np.array([token["O"] for tokens in tagger.predict_marginals(X) for token in tokens])

    before = outside()
    outputs = []
    for bias in (None, {"O": 0.5}):
        commands.tag(tmp_path / "m", tmp_path / "dev", tmp_path / "out", probabilities=True, bias=bias)
        outputs.append((tmp_path / "out").read_text().splitlines())
    after = [line.split() for line in outputs[1] if line]
    assert outputs[0] != outputs[1]
    tagger.add_bias({"O": 0.5})
    assert (outside() >= before - 1e-6).all()
    assert outside().mean() > before.mean()
    parts = (tmp_path / "dev").read_text().strip().split("\n\n")
    columns = [[tuple(line.split()[:2]) for line in part.split("\n")] for part in parts]
    found = [max(token.values()) for tokens in tagger.predict_marginals(columns) for token in tokens]
    np.testing.assert_allclose([float(row[-1]) for row in after], found, atol=1e-4)
