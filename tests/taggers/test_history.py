"""Features joined with a label before: what only they can learn, in files, online and explained."""

import random

import pytest

from taggers import SequenceTagger
from taggers.features.template import parse_template

CRFPP = "U00:%x[0,0]\nB01:%x[0,0]\n"
OURS = "w[0], y[-1]|w[0]"


def switches(n, seed=0):
    """`on` and `off` say the label, `stay` takes that of the token before, `flip` the other one."""
    rng = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        words = [rng.choice(["on", "off"]), *rng.choices(["stay", "flip", "on"], k=rng.randint(2, 6))]
        labels = []
        for word in words:
            state = word if word in ("on", "off") else labels[-1]
            labels.append({"on": "off", "off": "on"}[state] if word == "flip" else state)
        X.append(words)
        y.append(labels)
    return X, y


X, Y = switches(150)
X_TEST, Y_TEST = switches(60, seed=1)


@pytest.mark.filterwarnings("ignore::structsvm.ConvergenceWarning")
@pytest.mark.parametrize("inference", ["exact", "greedy"])
@pytest.mark.parametrize("template", [OURS, CRFPP])
@pytest.mark.parametrize("algorithm", ["larank", "perceptron", "pa", "svmstruct"])
def test_what_depends_on_word_and_label_together_is_learned(inference, template, algorithm):
    options = {"inference": inference, "algorithm": algorithm, "epochs": 5}
    if algorithm != "perceptron":
        options["C"] = 1.0
    assert SequenceTagger(template=template, **options).fit(X, Y).score(X_TEST, Y_TEST) == 1
    assert SequenceTagger(template="w[0]", **options).fit(X, Y).score(X_TEST, Y_TEST) < 0.9


def test_greedy_inference_looks_further_back():
    rng = random.Random(2)
    words, labels = [], []
    for _ in range(150):
        words.append(rng.choices(["on", "off"], k=2) + rng.choices(["stay", "flip"], k=4))
        labels.append(words[-1][:2])
        for word in words[-1][2:]:
            labels[-1].append(
                {"on": "off", "off": "on"}[labels[-1][-2]] if word == "flip" else labels[-1][-2]
            )
    options = {"inference": "greedy", "epochs": 5, "C": 1.0}
    far, near = (
        SequenceTagger(template=template, **options)
        .fit(words[:100], labels[:100])
        .score(words[100:], labels[100:])
        for template in ("w[0], y[-2]|w[0]", "w[0], y[-1]|w[0]")
    )
    assert far == 1 > 0.9 > near
    with pytest.raises(ValueError, match="one label back"):
        SequenceTagger(template="w[0], y[-2]|w[0]", inference="exact").fit(X, Y)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_models_with_history_are_saved_pruned_and_resumed(tmp_path, inference):
    options = {"template": OURS, "inference": inference, "cutoff": 2}
    whole = SequenceTagger(epochs=2, **options).fit(X, Y)
    whole.save(tmp_path / "m", training_state=True)
    first = (tmp_path / "m").read_bytes()
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.predict(X_TEST) == whole.predict(X_TEST)
    loaded.save(tmp_path / "m", training_state=True)
    assert (tmp_path / "m").read_bytes() == first
    SequenceTagger(epochs=1, **options).fit(X, Y).save(tmp_path / "half", training_state=True)
    resumed = SequenceTagger.load(tmp_path / "half", epochs=1).resume(X, Y)
    assert resumed.model_.weights.cells.tobytes() == whole.model_.weights.cells.tobytes()
    whole.save(tmp_path / "small", prune=0.0, dtype="int8")
    assert SequenceTagger.load(tmp_path / "small").predict(X_TEST) == whole.predict(X_TEST)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_new_words_and_labels_come_later(inference):
    tagger = SequenceTagger(template=OURS, inference=inference, C=1.0)
    for start in range(0, 60, 20):
        tagger.partial_fit(X[start : start + 20], Y[start : start + 20])
    new = [["on", "stay", "dim", "stay"]] * 5, [["on", "on", "low", "low"]] * 5
    for _ in range(8):
        tagger.partial_fit(*new).partial_fit(X, Y)
    assert tagger.predict(new[0][:1]) == new[1][:1]
    assert tagger.score(X_TEST, Y_TEST) == 1


def test_explanations_name_the_label_before():
    tagger = SequenceTagger(template=OURS).fit(X, Y)
    told = tagger.explain(["off", "flip"])
    assert "y[-1]|w[0]=<start>|off" in dict(told[0]["history"])
    assert "y[-1]|w[0]=off|flip" in dict(told[1]["history"])
    told = SequenceTagger(template=CRFPP).fit(X, Y).explain(["off", "flip"])
    assert "B01:flip after off" in dict(told[1]["history"])


@pytest.mark.parametrize("text", ["y[-1]", "y[0]|w[0]", "y[1]|w[0]", "y[-1]|y[-2]|w[0]", "y[-100]|w[0]"])
def test_patterns_of_labels_that_make_no_sense_are_refused(text):
    with pytest.raises(ValueError, match=r"y\[-1\]\|w\[0\]"):
        parse_template(text)


def test_the_text_of_a_template_with_labels_reads_back():
    for text in ("w[0]\ny[-2]|w[0]|p.shape[1]", CRFPP):
        template = parse_template(text)
        assert parse_template(template.text) == template
        assert template.bigrams[0].back == (2 if "y" in text else 1)
    assert parse_template("w[0], y[-1]|p[0]").within(1).bigrams == ()
