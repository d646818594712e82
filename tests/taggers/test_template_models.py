"""Models of CRF++ and Wapiti: the labels of these programs, or one sentence."""

import importlib.util
import itertools
import random
import re
from pathlib import Path

import pytest

from structsvm.files import ModelFileError
from taggers import SequenceTagger
from tests.taggers.command_line import run

WAPITI = Path(__file__).parent / "foreign" / "small.wapiti"  # trained by Wapiti on sentences of our own
LABELLED = WAPITI.with_suffix(".txt")  # other sentences, labelled by it
LABELS = ["X", "Y", "Z"]
PATTERNS = [
    "U00:%x[-2,0]", "U01:%x[0,0]", "U02:%x[-1,0]/%x[1,0]", "U03:%x[0,1]%x[1,1]", "U:%x[1,1]", "U:%x[-1,1]",
    "U9", "B",
]  # fmt: skip


def labelled():
    blocks = LABELLED.read_text().strip("\n").split("\n\n")
    return [[tuple(line.split()) for line in block.split("\n")] for block in blocks]


def expanded(pattern, sentence, t):
    """The string that CRF++ makes of a pattern at a token."""

    def cell(match):
        at, column = t + int(match[1]), int(match[2])
        if 0 <= at < len(sentence):
            return sentence[at][column]
        return f"_B-{-at}" if at < 0 else f"_B+{at - len(sentence) + 1}"

    return re.sub(r"%x\[(-?\d+),(\d+)\]", cell, pattern)


def random_sentence(rng, words):
    return [(rng.choice(words), rng.choice(["N", "V", "NV"])) for _ in range(rng.randint(1, 5))]


def crfpp_model(strings, rng, patterns=PATTERNS):
    """The text of a model, and its weights by string."""
    lines, weights, found = [], [], {}
    for text in strings:
        lines.append(f"{len(weights)} {text}")
        found[text] = [rng.gauss(0, 1) for _ in range(9 if text[0] == "B" else 3)]
        weights += found[text]
    head = [f"version: 100\ncost-factor: 1\nmaxid: {len(weights)}\nxsize: 2"]
    parts = [head, LABELS, patterns, lines, [f"{weight:.16f}" for weight in weights]]
    return "\n\n".join("\n".join(part) for part in parts) + "\n", found


@pytest.fixture(scope="module")
def crfpp(tmp_path_factory):
    rng = random.Random(1)
    words = ["a", "b", "a/b", "/", "ab", "é"]
    sentences = [random_sentence(rng, words) for _ in range(60)]
    strings = {expanded(p, s, t) for s in sentences for t in range(len(s)) for p in PATTERNS}
    text, weights = crfpp_model(sorted(strings), rng)
    path = tmp_path_factory.mktemp("crfpp") / "model.txt"
    path.write_text(text, encoding="utf-8")
    return path, weights


def best_path(sentence, weights):
    """The best labels by enumeration, and their score."""
    scores = {}
    for path in itertools.product(range(3), repeat=len(sentence)):
        score = 0.0
        for t, y in enumerate(path):
            for pattern in PATTERNS:
                own = weights.get(expanded(pattern, sentence, t), [0.0] * 9)
                if pattern[0] == "U":
                    score += own[y]
                elif t:
                    score += own[3 * path[t - 1] + y]
        scores[path] = score
    best = max(scores, key=scores.__getitem__)
    return [LABELS[y] for y in best], scores[best]


def test_a_model_of_crfpp_gives_the_labels_and_scores_of_a_naive_twin(crfpp):
    path, weights = crfpp
    tagger, rng = SequenceTagger.load(path), random.Random(2)
    assert tagger.classes_ == LABELS
    for _ in range(60):
        sentence = random_sentence(rng, ["a", "b", "a/b", "/", "new", "_B-1"])
        labels, score = best_path(sentence, weights)
        assert tagger.tag(sentence) == labels
        assert tagger.predict_nbest([sentence], 1)[0][0][0] == pytest.approx(score, abs=1e-4)


def test_a_model_of_wapiti_gives_its_labels():
    tagger = SequenceTagger.load(WAPITI)
    X = [[token[:2] for token in sentence] for sentence in labelled()]
    assert tagger.predict(X) == [[token[2] for token in sentence] for sentence in labelled()]
    assert tagger.model_.probable
    shown = [name for token in tagger.explain(X[0]) for name, *_ in token["features"]]
    assert any(name.startswith("U00:") for name in shown)


@pytest.mark.skipif(importlib.util.find_spec("wapiti") is None, reason="needs libwapiti")
def test_new_models_of_wapiti_give_its_labels(tmp_path):
    import wapiti

    rng = random.Random(5)
    model = wapiti.Model(patterns="u0:%x[0,0]\nu1:%x[-1,0]/%x[1,1]\n*\nu2:%x[-7,0]%x[7,0]\n", nthread=1)
    for _ in range(40):
        sentence = random_sentence(rng, ["a", "b", "c/d"])
        model.add_training_sequence("\n".join(f"{w} {p} {rng.choice(LABELS)}" for w, p in sentence))
    model.train()
    model.save(str(tmp_path / "m"))
    theirs, ours = wapiti.Model(model=str(tmp_path / "m"), nthread=1), SequenceTagger.load(tmp_path / "m")
    for _ in range(200):
        sentence = random_sentence(rng, ["a", "b", "c/d", "new"]) * rng.randint(1, 3)
        lines = "\n".join(" ".join(token) for token in sentence)
        assert ours.tag(sentence) == theirs.label_sequence(lines).decode().split()


def test_the_command_line_tags_and_converts_them(crfpp, tmp_path):
    for source in (crfpp[0], WAPITI):
        (tmp_path / "model").write_bytes(source.read_bytes())
        done = run("convert", "model", "-o", "m.ssvm", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (tmp_path / "test.txt").write_bytes(LABELLED.read_bytes())
        direct, converted = (run("tag", name, "test.txt", cwd=tmp_path) for name in ("model", "m.ssvm"))
        assert direct.returncode == 0, direct.stderr
        assert direct.stdout == converted.stdout
        if source == WAPITI:
            lines = [line.split() for line in direct.stdout.decode().split("\n") if line]
            assert all(line[-1] == line[2] for line in lines)


def test_a_model_of_crfpp_learns_more(crfpp):
    X, y = [[("new", "N"), ("b", "V")]] * 20, [["X", "Z"]] * 20
    tagger = SequenceTagger.load(crfpp[0])
    with pytest.warns(UserWarning, match="training state"):
        tagger.partial_fit(X, y)
    assert tagger.predict(X[:1]) == y[:1]


def refusal(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        SequenceTagger.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: 100", "version: 99", "its version is 99"),
        ("maxid: ", "maxid: 1", "weights instead of"),
        ("maxid", "id", "its header has the fields"),
        ("cost-factor: 1", "cost-factor: half", "its cost-factor is half"),
        ("X\nY", "X\nX", "its header|labels, which must differ"),
        ("\nB\n", "\nB:%x[0,0]\n", "joins labels with words"),
        ("U9\n", "", "is of no pattern"),
        ("\n0 ", "\n-1 ", "is not a number"),
        ("\n0 ", "\n99999999 ", "the weights of its features do not exist"),
        ("U00:%x[-2,0]", "U00:%t[-2,0]", "a macro other than"),
    ],
)
def test_damaged_models_of_crfpp_are_refused(crfpp, tmp_path, old, new, message):
    text = crfpp[0].read_text(encoding="utf-8")
    assert old in text
    refusal(tmp_path / "m", text.replace(old, new, 1).encode(), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"#mdl#2", b"#mdl#1", "its type is not crf"),
        (b"11:u00:%x[0,0]", b"11:u00:%X[0,0]", "a command other than"),
        (b"11:u00:%x[0,0]", b"11:b00:%x[0,0]", "joins labels with words"),
        (b"5:u00:a", b"9:u00:a", "is damaged at byte"),
        (b"#qrk#3", b"#qrk#2", "is damaged at byte"),
        (b"=-0x1", b"=nan", "is damaged at byte"),
        (b"=-0x1.8f44fad89185fp+0", b"=-0x1p+9999", "m cannot be read .* too large"),
    ],
)
def test_damaged_models_of_wapiti_are_refused(tmp_path, old, new, message):
    content = WAPITI.read_bytes()
    assert old in content
    refusal(tmp_path / "m", content.replace(old, new, 1), message)


def test_files_cut_anywhere_are_refused_or_read(crfpp, tmp_path):
    for source in (crfpp[0], WAPITI):
        content = source.read_bytes()
        for end in range(9, len(content) - 2, 211):
            refusal(tmp_path / "m", content[:end], "cannot be read as a model of")


def test_a_string_of_too_many_readings_is_refused(tmp_path):
    patterns = ["U:" + "%x[0,0]/" * 12 + "%x[0,0]", "B"]
    text, _ = crfpp_model(["U:" + "a/" * 40 + "a"], random.Random(0), patterns)
    refusal(tmp_path / "m", text.encode(), "too many ways")


def test_a_pattern_of_too_many_macros_is_refused(tmp_path):
    patterns = ["U:" + "%x[0,0]/" * 3000, "B"]
    text, _ = crfpp_model(["U:" + "a/" * 3000], random.Random(0), patterns)
    refusal(tmp_path / "m", text.encode(), "m cannot be read .* a pattern has 3,000 macros")
