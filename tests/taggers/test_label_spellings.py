"""Labels as people have them: other schemes, other spellings, and gaps."""

import random

import pytest

from taggers import NerTagger, PosTagger, SequenceTagger
from taggers.commands import convert, evaluate, tag, train
from taggers.labels import schemes

SPELLINGS = {
    "IOB2": "{0}-{1}", "BMES": "{0}-{1}", "BMEWO": "{0}-{1}", "PER-B": "{1}-{0}", "PER_B": "{1}_{0}",
    "B_PER": "{0}_{1}", "b-per": "{0}-{1}", "IO": "{1}",
}  # fmt: skip


def sentences(n, seed=0):
    """Words and phrases: names of persons begin with An, those of places with Ur."""
    rng = random.Random(seed)
    for _ in range(n):
        words, found = [], []
        for _ in range(rng.randint(1, 3)):
            kind, length = rng.choice(("PER", "LOC")), rng.randint(1, 3)
            words.append(rng.choice(("the", "of", "near", "saw")))
            found.append((kind, len(words), len(words) + length))
            words += [("An" if kind == "PER" else "Ur") + rng.choice("abcdef") for _ in range(length)]
            words.append("and")
        yield words, found


def spelled(words, found, how):
    labels = schemes.encode(found, len(words), how if how in ("BMES", "BMEWO") else "IOB2")
    written = [x if x == "O" else SPELLINGS[how].format(*x.split("-")) for x in labels]
    return [x.lower() if how == "b-per" and x != "O" else x for x in written]


def write(path, rows):
    text = "\n".join("".join(f"{a}\t{b}\n" for a, b in zip(*row, strict=True)) for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.filterwarnings("ignore:.*are read as")
@pytest.mark.parametrize("how", SPELLINGS)
def test_every_spelling_is_learned_and_scored_as_phrases(tmp_path, how):
    rows = [(words, spelled(words, found, how)) for words, found in sentences(60)]
    file, model, out = write(tmp_path / "file", rows), tmp_path / "model", tmp_path / "out"
    tagger = train("ner", file, model)
    usual = {"BMES": "BMES", "BMEWO": "BMEWO", "IO": "IOB1"}.get(how, "IOB2")
    assert tagger.model_.labels.outer == usual
    assert {schemes.split(name)[1].upper() for name in tagger.classes_} == {"PER", "LOC", ""}
    result = evaluate(model, file)
    assert result.f1 == 1
    assert result.phrases.gold == sum(len(found) for _, found in sentences(60))
    tag(model, file, out)
    assert evaluate(None, out).f1 == 1
    X, y = map(list, zip(*rows, strict=True))
    assert NerTagger().fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("how", ["PER-B", "PER_B", "B_PER", "BMES", "BMEWO"])
def test_convert_writes_the_usual_labels(tmp_path, how):
    rows = [(words, spelled(words, found, how)) for words, found in sentences(5)]
    convert(write(tmp_path / "in", rows), tmp_path / "out", to="IOB2")
    usual = [(words, spelled(words, found, "IOB2")) for words, found in sentences(5)]
    assert (tmp_path / "out").read_text() == write(tmp_path / "usual", usual).read_text()


def test_another_spelling_is_said_with_its_line(tmp_path):
    file = write(tmp_path / "file", [(["a", "Ana"], ["O", "PER-B"])] * 9)
    with pytest.warns(UserWarning, match=r"file:2: labels such as PER-B are read as B-PER"):
        train("ner", file, tmp_path / "model")


@pytest.mark.parametrize("gap", ["_", "-", ""])
def test_gaps_are_not_learned_and_said_in_a_line(tmp_path, gap):
    rows = [(words, spelled(words, found, "IOB2")) for words, found in sentences(40)]
    holed = [(words, [*labels[:-1], gap]) for words, labels in rows]
    with pytest.warns(UserWarning, match=r"means that a token has no label; .*\(40 of \d+\)"):
        tagger = train("ner", write(tmp_path / "file", holed), tmp_path / "model")
    assert set(tagger.classes_) == {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
    result = evaluate(tmp_path / "model", tmp_path / "file")
    assert result.tokens.total == sum(len(words) - 1 for words, _ in rows)


def test_a_hyphen_among_parts_of_speech_is_a_label(tmp_path):
    file = write(tmp_path / "file", [(["a", "-", "dog"], ["DT", "-", "NN"])] * 5)
    assert set(train("pos", file, tmp_path / "model").classes_) == {"DT", "-", "NN"}


@pytest.mark.parametrize("labels", [["N-S", "V-S", "O"], ["N_B", "V"], ["x_B", "B-x", "O"]])
def test_labels_that_may_mean_something_else_stay(labels):
    assert set(PosTagger().fit([["a", "b", "c"][: len(labels)]], [labels]).classes_) == set(labels)


def test_gaps_and_nan_in_python_are_missing_labels():
    X = [["Rome", "is", "old"], ["Anna", "sees", "Rome"]] * 5
    gaps = [["B-LOC", "_", "O"], ["B-PER", "O", "B-LOC"]] * 5
    nan = [[float("nan") if label == "_" else label for label in labels] for labels in gaps]
    none = [[None if label == "_" else label for label in labels] for labels in gaps]
    models = [NerTagger().fit(X, y) for y in (gaps, nan, none)]
    assert [model.classes_ for model in models] == [models[2].classes_] * 3
    assert "_" not in models[0].classes_
    assert len({model.score(X, y) for model, y in zip(models, (gaps, nan, none), strict=True)}) == 1
    assert "_" in SequenceTagger().fit([["a", "b"]], [["_", "X"]]).classes_  # not among phrases
    with pytest.raises(ValueError, match=r"1\.5 is not a label"):
        SequenceTagger().fit([["a", "b"]], [["X", 1.5]])
    with pytest.raises(ValueError, match="Numbers need their names"):
        NerTagger().fit([["a", "b"]], [[0, 3]])


def test_the_repr_of_a_loaded_tagger_is_short(tmp_path):
    NerTagger().fit([["a", "b"]], [["B-X", "O"]]).save(tmp_path / "m.ssvm")
    assert len(repr(NerTagger.load(tmp_path / "m.ssvm"))) < 100
