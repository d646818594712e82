"""Taggers learned without gold labels: incomplete lists, phrases of unknown type, crowds, the command."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest

from taggers.features import extract
from taggers.sources.memory import MemorySource
from taggers.tagger import NerTagger
from taggers.weak import Source, crossing, distil, gazetteer
from taggers.weak.crossing import cross_words
from taggers.weak.distil import Units
from taggers.weak.report import coverages, html_report
from tests.taggers.command_line import refused, run

PLACES = [a + b for a in ("Ros", "Lim", "Osl", "Kie", "Par", "Ber") for b in ("o", "ia", "burg")]
PEOPLE = [a + b for a in ("An", "Id", "Ev", "Car", "Bo", "Jan") for b in ("na", "ine", "olf")]
WORDS = [
    a + b + c for a in ("ba", "de", "fi", "go", "lu", "ma") for b in "lrst" for c in ("e", "ing", "ed", "y")
]
THINGS = ["tables", "windows", "gardens", "rivers"]


def corpus(n=300, seed=1):
    """Sentences with places after "in" and people after "met"."""
    rng, X, y = random.Random(seed), [], []
    for _ in range(n):
        place, thing = rng.random() < 0.5, rng.choice(THINGS)
        name = rng.choice(PLACES if place else PEOPLE)
        before = [rng.choice(WORDS), rng.choice(WORDS), "in" if place else "met"]
        X.append([*before, name, rng.choice(WORDS), thing, rng.choice(WORDS)])
        y.append(["O", "O", "O", "B-LOC" if place else "B-PER", "O", "O", "O"])
    return X, y


def share(found, y):
    return np.mean([a == b for a, b in zip(chain(*found), chain(*y), strict=True)])


def half():
    return gazetteer({"LOC": PLACES[::2], "PER": PEOPLE[::2]})


def test_names_that_the_lists_lack_are_found():
    X, y = corpus()
    done = distil(X, [half()])
    plain = [["O" if one is None else one for one in row] for row in done.votes["gazetteer"]]
    lacking = [k for k, (row, gold) in enumerate(zip(plain, y, strict=True)) if row != gold]
    assert 100 < len(lacking) < 200
    found = done.tagger.predict([X[k] for k in lacking])
    without = NerTagger().fit(X, plain).predict([X[k] for k in lacking])
    gold = [y[k] for k in lacking]
    assert share(found, gold) > share(without, gold) + 0.03
    assert 0 < done.missing[-1] < 0.5


def test_complete_lists_leave_little_open():
    X, y = corpus()
    done = distil(X, [gazetteer({"LOC": PLACES, "PER": PEOPLE})])
    assert done.missing[-1] < 0.01
    assert done.tagger.predict(X) == y


def test_names_of_the_wrong_list_are_left_open():
    X, y = corpus()
    lists = {"LOC": [*PLACES[2:], *PEOPLE[:2]], "PER": [*PEOPLE[2:], *PLACES[:2]]}
    done = distil(X, [gazetteer(lists)])
    named = [(k, row[3]) for k, row in enumerate(X)]
    opened = {name for k, name in named if done.labels[k][3] is None}
    assert {*PLACES[:2]} <= opened <= {*PLACES[:2], *PEOPLE[:2]}
    assert done.contradicted == pytest.approx(np.mean([name in opened for _, name in named]))
    places = [k for k, name in named if name in PLACES[:2]]
    assert share(done.tagger.predict([X[k] for k in places]), [y[k] for k in places]) == 1


def test_names_that_most_other_places_contradict_are_left_open():
    X, y = corpus()
    X = [[*words, "the", "The", word, "the"] for words, word in zip(X, reversed(WORDS * 9), strict=False)]
    right = dict(zip(chain(*X), chain(*([*row, *"OOOO"] for row in y)), strict=False))

    def careless(words):
        return ["B-PER" if word == "The" else None if right[word] == "O" else right[word] for word in words]

    done = distil(X, [careless], tagger=NerTagger(epochs=1))
    for words, row in zip(X, done.labels, strict=True):
        assert row[8] is None or row[8] == "O"
        assert row[3] == right[words[3]]  # names that are always labelled stay
    assert done.contradicted > 0.4


def test_parts_of_longer_names_do_not_contradict_a_name():
    X = [["in", "Washington"], *[["the", "Washington", "Post", "said"]] * 4, ["the", "Post", "post"]]
    y = [[None, "B-LOC"], *[[None, "B-ORG", "I-ORG", None]] * 4, [None, "B-ORG", None]]
    units = Units(X, y)
    names = units.kind == units.NAME
    assert not units.stray(X)[names].any()
    alone = [*X, *[["washington"]] * 2]
    units = Units(alone, [*y, [None], [None]])
    assert units.stray(alone)[units.kind == units.NAME].tolist() == [True, *[False] * 5]


def test_phrases_of_unknown_type_get_types_or_o():
    X, y = corpus()
    lists = {"LOC": PLACES[::2], "PER": PEOPLE[::2]}
    done = distil(X, [gazetteer(lists, phrases=[*PLACES, *PEOPLE, *THINGS])])
    phrases = sum(one is not None and "O" in one for row in done.votes["gazetteer"] for one in row)
    names = sum(len(set(row) & {*PLACES[1::2], *PEOPLE[1::2]}) for row in X)
    assert done.names == pytest.approx(names / phrases, abs=0.1)
    assert share(done.tagger.predict(X), y) > 0.98


def test_each_word_is_judged_without_its_labels():
    X, y = corpus(80)
    crossed = cross_words(NerTagger(), MemorySource(X, y), folds=3)
    other = [[label if word != PLACES[0] else "B-PER" for word, label in zip(*row, strict=True)]
             for row in zip(X, y, strict=True)]  # fmt: skip
    assert other != y
    again = cross_words(NerTagger(), MemorySource(X, other), folds=3)
    at = np.array([word == PLACES[0] for row in X for word in row])
    assert np.array_equal(crossed.probabilities[at], again.probabilities[at])
    assert not np.array_equal(crossed.probabilities, again.probabilities)


def crowd(y, skill, seed):
    rng = random.Random(seed)
    swap = {"B-LOC": "B-PER", "B-PER": "O", "O": "O"}
    return [[one if rng.random() < skill else swap[one] for one in row] for row in y]


def fixed(name, rows):
    return Source(name, lambda X: rows[: len(X)], whole=True)


def test_a_crowd_is_weighed():
    X, y = corpus()
    skills = {"a": 0.95, "b": 0.6, "c": 0.6}
    done = distil(X, [fixed(name, crowd(y, skill, k)) for k, (name, skill) in enumerate(skills.items())])
    assert share(done.tagger.predict(X), y) > 0.98
    recalls = {name: done.consensus.overall(name)[1] for name in skills}
    assert recalls["a"] > 0.85 > recalls["b"]


def test_doubts_of_a_crowd_stay_open_with_a_list():
    rng, X = random.Random(0), [[word] for word in PLACES + WORDS] * 3
    right = ["B-LOC" if words[0] in PLACES or rng.random() < 0.3 else "O" for words in X]
    votes = [fixed(name, [[one if rng.random() < 0.7 else "O"] for one in right]) for name in "abc"]
    done = distil(X, [gazetteer({"LOC": PLACES[:2]}), *votes])
    sets = done.consensus.sets(0.1)
    assert any(isinstance(one, frozenset) and "O" in one for row in sets for one in row)
    assert done.labels == sets
    assert done.names is None


def test_a_few_gold_sentences_are_learned():
    X, _ = corpus(60)
    done = distil(X, [half()], gold=([["Quux", "sings"]], [["B-ART", "O"]]))
    assert done.labels[-1] == ["B-ART", "O"]
    assert "B-ART" in done.tagger.model_.names


def test_gold_labels_of_types_that_no_source_uses_are_learned():
    X, y = corpus(60)
    votes = [fixed(name, [*crowd(y, 0.8, k), ["O", "O", "O"]]) for k, name in enumerate("ab")]
    done = distil(X, votes, gold=([["Quux", "sings", "well"]], [["B-ART", "O", None]]))
    assert done.labels[-1] == ["B-ART", "O", "O"]
    assert done.labels[:-1] == distil(X, votes).labels


@pytest.mark.parametrize(
    ("gold", "usual"),
    [
        (["I-LOC", "O", "I-PER"], ["B-LOC", "O", "B-PER"]),
        (["B-LOC", "E-LOC", "S-PER"], ["B-LOC", "I-LOC", "B-PER"]),
        ([{"B-LOC", "O"}, "I-LOC", "O"], [frozenset({"B-LOC", "O"}), "I-LOC", "O"]),
    ],
)
def test_gold_labels_in_other_schemes_become_iob2(gold, usual):
    X, y = corpus(40)
    words = ["York", "was", "Ida"]
    votes = [fixed(name, [*crowd(y, 0.8, k), [None] * 3]) for k, name in enumerate("ab")]
    done = distil(X, votes, gold=([words], [gold]))
    assert done.gold == [usual]
    assert np.isfinite(done.consensus.posterior).all()
    assert done.labels[-1][1:] == usual[1:]


@pytest.mark.parametrize(("X", "y"), [([["in"]], [["O", "O"]]), ([["in"], ["by"]], [["O"]])])
def test_gold_labels_of_another_length_are_refused(X, y):
    with pytest.raises(ValueError, match="the source gold"):
        distil(corpus(10)[0], [half()], gold=(X, y))


def test_parts_of_speech_are_distilled():
    X, y = corpus(100)
    tags = [["N" if one != "O" else "X" for one in row] for row in y]
    done = distil(X, [fixed("a", tags), fixed("b", tags)], task="pos")
    assert done.tagger.predict(X) == tags


def test_a_seed_gives_the_same_tagger():
    X, _ = corpus(60)
    first, second = (distil(X, [half()]).tagger.model_ for _ in range(2))
    assert np.array_equal(first.weights.cells, second.weights.cells)


def test_features_on_disk_give_the_same_tagger(monkeypatch):
    X, _ = corpus(120)
    X += [[name] for name in PLACES]  # some stay open: the tagger learns fewer sentences than the models
    monkeypatch.setattr(extract, "WRITTEN", 100)
    monkeypatch.setattr(crossing, "PART", 100)
    first = distil(X, [half()])
    assert len(first.missing) > 1
    assert [None] in first.labels
    monkeypatch.setattr(MemorySource, "reuse", property(lambda self: False, lambda self, value: None))
    second = distil(X, [half()])
    assert first.labels == second.labels
    assert first.missing == second.missing
    models = first.tagger.model_, second.tagger.model_
    assert np.array_equal(models[0].weights.cells, models[1].weights.cells)
    assert np.array_equal(models[0].space.table.keys, models[1].space.table.keys)


def test_sources_that_never_name_a_type_are_refused():
    with pytest.raises(ValueError, match="the sources give no phrase a definite type"):
        distil(corpus(10)[0], [gazetteer({"LOC": ["nowhere"], "PER": ["nobody"]}, phrases=THINGS)])


def test_the_report_counts_what_sources_say():
    X, y = corpus(100)
    rows = crowd(y, 0.8, 1)
    done = distil(X, [half(), fixed("crowd", rows)], gold=None)
    predicted = done.tagger.predict(X)
    listed, labelled = coverages(done, predicted)
    names = {*PLACES[::2], *PEOPLE[::2]}
    assert listed.phrases == sum(word in names for row in X for word in row)
    assert listed.tokens == pytest.approx(listed.phrases / sum(map(len, X)))
    assert labelled.tokens == 1
    both = sum(
        word in names and label != "O"
        for words, labels in zip(X, rows, strict=True) for word, label in zip(words, labels, strict=True)
    )  # fmt: skip
    assert listed.overlap == pytest.approx(both / listed.phrases)
    page = html_report(done, title="a <model>")
    assert "a &lt;model&gt;" in page
    at = next(k for k, pair in enumerate(zip(done.votes["gazetteer"], rows, strict=True))
              if any(one not in (None, other) for one, other in zip(*pair, strict=True)))  # fmt: skip
    first = page[page.index("Contradictions") :]
    assert f'<th scope="col" class=text>sentence {at}</th>' in first[: first.index("<td")]
    assert "<script" not in page


@pytest.fixture
def folder(tmp_path):
    X, y = corpus()
    (tmp_path / "raw.txt").write_text("".join(" ".join(row) + "\n" for row in X))
    (tmp_path / "places.txt").write_text("\n".join(PLACES))
    (tmp_path / "people.txt").write_text("\n".join(PEOPLE))
    lines = [json.dumps({"tokens": words, "ner_tags": labels}) for words, labels in zip(X, y, strict=True)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    return tmp_path


LISTS = ["--gazetteer", "LOC=places.txt", "--gazetteer", "PER=people.txt"]


def test_the_command_trains_a_model_and_writes_a_report(folder):
    done = run("distil", "ner", "raw.txt", *LISTS, "--report", "r.html", "-o", "m.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"gazetteer: answers for 14.3% of the tokens" in done.stderr
    assert "Sources" in (folder / "r.html").read_text()
    tagged = run(
        "tag", "m.ssvm", "-", "--format", "text", cwd=folder, stdin=" ".join(corpus(1)[0][0]).encode()
    ).stdout
    assert [line.split()[-1].decode() for line in tagged.splitlines() if line] == corpus(1)[1][0]


def test_a_teacher_is_asked_once(folder):
    run("distil", "ner", "raw.txt", *LISTS, "-o", "m.ssvm", cwd=folder)
    args = ["distil", "ner", "raw.txt", "--teacher", "m.ssvm", "--annotators", "a.jsonl", "--cache", "c"]
    first = run(*args, "-o", "s.ssvm", cwd=folder)
    assert first.returncode == 0, first.stderr
    kept = (folder / "c").read_bytes()
    run(*args, "-o", "t.ssvm", cwd=folder)
    assert (folder / "c").read_bytes() == kept
    assert (folder / "s.ssvm").read_bytes() == (folder / "t.ssvm").read_bytes()


# The command, with a teacher that gets Ctrl-C before its second batch.
INTERRUPTED = """
import os, signal
from dataclasses import replace
from taggers.weak import sources
signal.signal(signal.SIGINT, signal.default_int_handler)
sources.BATCH, teacher = 50, sources.teacher
def slow(*args, **options):
    made = teacher(*args, **options)
    def answer(X):
        if os.path.exists("c"):
            os.kill(os.getpid(), signal.SIGINT)
        return made.answer(X)
    return replace(made, answer=answer)
sources.teacher = slow
from structsvm.cli.entry import main
main()
"""


def test_ctrl_c_keeps_the_answers_of_a_teacher_and_nothing_else(folder):
    run("distil", "ner", "raw.txt", *LISTS, "-o", "m.ssvm", cwd=folder)
    args = ["distil", "ner", "raw.txt", "--teacher", "m.ssvm", "--cache", "c", "--report", "r.html"]
    before = {path.name for path in folder.iterdir()}
    stopped = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *args, "-o", "s.ssvm"],
        cwd=folder, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert (stopped.returncode, stopped.stdout) == (130, b""), stopped.stderr
    assert b"Traceback" not in stopped.stderr
    assert {path.name for path in folder.iterdir()} == before | {"c"}
    kept = (folder / "c").read_text().splitlines()
    assert 0 < len(kept) <= 50
    done = run(*args, "-o", "s.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "c").read_text().splitlines()[: len(kept)] == kept
    args[args.index("c")] = "d"
    run(*args, "-o", "t.ssvm", cwd=folder)
    assert (folder / "s.ssvm").read_bytes() == (folder / "t.ssvm").read_bytes()


def test_annotators_are_merged_with_confidences(folder):
    X, y = corpus()
    names = ["a.jsonl"]
    for seed, name in enumerate(["b.jsonl", "c.jsonl"]):
        rows = zip(X, crowd(y, 0.7, seed), strict=True)
        lines = [json.dumps({"tokens": words, "ner_tags": labels}) for words, labels in rows]
        (folder / name).write_text("\n".join(lines))
        names.append(name)
    args = [one for name in names for one in ("--annotators", name)]
    done = run("distil", "ner", "raw.txt", *args, "--merged", "gold.jsonl", "-o", "m.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (folder / "gold.jsonl").read_text().splitlines()]
    assert [line["tokens"] for line in lines] == X
    assert share([line["labels"] for line in lines], y) > 0.99
    sure = list(chain(*(line["confidence"] for line in lines)))
    assert 0 < min(sure) < max(sure) <= 1
    trained = run("train", "ner", "gold.jsonl", "-o", "n.ssvm", cwd=folder)
    assert trained.returncode == 0, trained.stderr


def test_lists_of_phrases_are_not_merged_in_silence(folder):
    X, y = corpus()
    rows = [[None if label == "O" else label for label in row] for row in y]
    lines = [json.dumps({"tokens": words, "ner_tags": row}) for words, row in zip(X, rows, strict=True)]
    for name in ("b.jsonl", "c.jsonl"):
        (folder / name).write_text("\n".join(lines))
    args = ["--annotators", "b.jsonl", "--annotators", "c.jsonl", "--merged", "none.jsonl"]
    done = run("distil", "ner", "raw.txt", *args, "-o", "none.ssvm", cwd=folder)
    refused(done, 2, "--merged needs a source that labels words O")
    assert not (folder / "none.ssvm").exists()


def test_labels_of_the_raw_file_are_never_read(folder):
    X, y = corpus()
    rng = random.Random(0)
    for name in ("one", "two"):
        rows = [[rng.choice(["O", "B-LOC", "B-PER"]) for _ in row] for row in y]
        text = "\n\n".join(
            "\n".join(f"{w}\t{one}" for w, one in zip(words, row, strict=True))
            for words, row in zip(X, rows, strict=True)
        )
        (folder / name).write_text(text + "\n")
        run("distil", "ner", name, *LISTS, "-o", f"{name}.ssvm", cwd=folder)
    assert (folder / "one").read_bytes() != (folder / "two").read_bytes()
    assert (folder / "one.ssvm").read_bytes() == (folder / "two.ssvm").read_bytes()


def columns(X, y):
    rows = (
        "\n".join(f"{w} NN {one}" for w, one in zip(*pair, strict=True)) for pair in zip(X, y, strict=True)
    )
    return "\n\n".join(rows) + "\n"


def test_gold_labels_and_annotators_have_the_columns_and_the_encoding_of_the_text(folder):
    X, y = corpus(40)
    X[0][3] = "Zürich"
    for name in ("raw", "one", "two"):
        (folder / name).write_text(columns(X, y), encoding="latin-1")
    (folder / "gold").write_text(columns([["Köln", "rests"]], [["B-LOC", "O"]]), encoding="latin-1")
    args = ["--annotators", "one", "--annotators", "two", "--gold", "gold"]
    args += ["--format", "columns", "--encoding", "latin-1"]
    done = run("distil", "ner", "raw", *args, "--report", "r.html", "-o", "m.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert b"two: answers for 99.3% of the tokens" in done.stderr


@pytest.mark.parametrize("format", ["auto", "text"])
def test_gold_labels_of_plain_text_may_have_several_columns(folder, format):
    (folder / "gold").write_text(columns([["Quux", "sings"]], [["B-PER", "O"]]))
    args = [*LISTS, "--gold", "gold", "--format", format, "-o", "m.ssvm"]
    done = run("distil", "ner", "raw.txt", *args, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ([], 2, "there are no sources"),
        (["--phrases", "places.txt"], 2, "--phrases has no effect without --gazetteer"),
        (["--gazetteer", "places.txt"], 2, "--gazetteer must be TYPE=FILE"),
        (["--gazetteer", "LOC=empty.txt"], 1, "empty.txt has no entries"),
        (["--regex", "LOC=("], 2, "the regular expression '(' of LOC is wrong"),
        (["--annotators", "other.jsonl"], 1, "has none of the sentences to label"),
        ([*LISTS, "--cache", "raw.txt"], 2, "would be overwritten"),
        ([*LISTS, "--report", "raw.txt"], 2, "would be overwritten"),
    ],
)
def test_bad_sources_are_one_sentence(folder, args, code, message):
    (folder / "empty.txt").write_text("\n")
    (folder / "other.jsonl").write_text('{"tokens": ["x"], "ner_tags": ["B-LOC"]}\n')
    refused(run("distil", "ner", "raw.txt", *args, "-o", "m.ssvm", cwd=folder), code, message)
    assert not (folder / "m.ssvm").exists()
