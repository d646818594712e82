"""The included model: found by its name, small, free of corpus text, and usable in every format."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from structsvm.files.errors import DataError
from structsvm.files.persist import load_model
from taggers import NerTagger, PosTagger
from taggers.commands import evaluate, inspect, tag, train
from taggers.formats.conllu import COLUMN as CONLLU
from taggers.labels.schemes import spans
from taggers.model import TaggerModel
from taggers.model_file import FOLDER, find_model
from taggers.pipeline import Pipeline

MODEL = FOLDER / "en-pos.ssvm"
WORDS = ["She", "bought", "seven", "old", "books", "for", "my", "cat", "."]
UPOS = ["PRON", "VERB", "NUM", "ADJ", "NOUN", "ADP", "PRON", "NOUN", "PUNCT"]
XPOS = ["PRP", "VBD", "CD", "JJ", "NNS", "IN", "PRP$", "NN", "."]
TEXT = "She bought seven old books for my cat."


def tagged(tmp_path, content, **options):
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text(content, encoding="utf-8")
    tag("en-pos", source, target, **options)
    return target.read_text(encoding="utf-8")


def test_text_becomes_columns_of_token_upos_and_xpos(tmp_path):
    expected = "".join(f"{w}\t{u}\t{x}\n" for w, u, x in zip(WORDS, UPOS, XPOS, strict=True)) + "\n"
    assert tagged(tmp_path, TEXT) == expected
    assert tagged(tmp_path, f"{TEXT}\n" * 2) == expected * 2


def test_one_line_of_few_words_on_standard_input_is_text():
    done = subprocess.run(
        [sys.executable, "-c", "from structsvm.cli.entry import main; main()", "tag", "en-pos"],
        input=b"The dog barks", capture_output=True, check=True,
    )  # fmt: skip
    assert [line.split("\t")[0] for line in done.stdout.decode().splitlines()] == ["The", "dog", "barks", ""]
    assert done.stderr == b""


def conllu(upos, xpos):
    rows = zip(WORDS, upos, xpos, strict=True)
    lines = [f"{k}\t{w}\t_\t{u}\t{x}\t_\t_\t_\t_\t_\n" for k, (w, u, x) in enumerate(rows, 1)]
    return "# a comment\n" + "".join(lines) + "\n"


def test_conllu_takes_both_columns_or_the_one_that_is_asked_for(tmp_path):
    empty = ["_"] * len(WORDS)
    assert tagged(tmp_path, conllu(empty, empty)) == conllu(UPOS, XPOS)
    assert tagged(tmp_path, conllu(empty, empty), label=CONLLU["xpos"]) == conllu(empty, XPOS)


def test_columns_between_tabs_get_two_more(tmp_path):
    found = tagged(tmp_path, "".join(f"{word}\tx\n" for word in WORDS))
    assert found == "".join(f"{w}\tx\t{u}\t{x}\n" for w, u, x in zip(WORDS, UPOS, XPOS, strict=True))


def test_scores_and_n_best_are_appended(tmp_path):
    for line in tagged(tmp_path, "Cats sleep.", scores=True).splitlines()[:-1]:
        assert re.fullmatch(r"\S+\t[A-Z]+\t\S+\t\d+\.\d+", line)
    for line in tagged(tmp_path, "Cats sleep.", nbest=2).splitlines()[:-1]:
        assert re.fullmatch(r"\S+(\t[A-Z]+\t\S+){2}", line)


def test_each_part_is_evaluated_by_its_column(tmp_path):
    (tmp_path / "gold").write_text(conllu(UPOS, ["FW"] * 9), encoding="utf-8")
    assert evaluate("en-pos", tmp_path / "gold").accuracy == 1
    assert evaluate("en-pos", tmp_path / "gold", label=CONLLU["xpos"]).accuracy == 0


@pytest.mark.parametrize("tags", [UPOS, XPOS, [f"{u}|{x}" for u, x in zip(UPOS, XPOS, strict=True)]])
def test_columns_are_compared_with_the_part_that_they_have(tmp_path, tags):
    lines = [f"{word} {tag}\n" for word, tag in zip(WORDS, tags, strict=True)]
    (tmp_path / "gold").write_text("".join(lines), encoding="utf-8")
    assert evaluate("en-pos", tmp_path / "gold").accuracy == 1


def test_other_labels_are_named_with_its_own(tmp_path):
    (tmp_path / "gold").write_text("".join(f"{word} B-{len(word)}\n" for word in WORDS), encoding="utf-8")
    with pytest.raises(DataError, match=r"has the labels B-1, B-2, B-3 .*the model has ADJ.*--column"):
        evaluate("en-pos", tmp_path / "gold")


def test_python_and_a_file_of_the_same_name(tmp_path, monkeypatch):
    assert PosTagger.load("en-pos").tag(WORDS) == [f"{u}|{x}" for u, x in zip(UPOS, XPOS, strict=True)]
    assert inspect("en-pos")["bytes"] == MODEL.stat().st_size
    monkeypatch.chdir(tmp_path)
    Path("en-pos").write_text("mine")
    assert find_model("en-pos") == "en-pos"


def test_spacy_sets_both_attributes():
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("structsvm_tagger", config={"model": "en-pos"})
    doc = nlp(" ".join(WORDS))
    assert [token.pos_ for token in doc] == UPOS
    assert [token.tag_ for token in doc] == XPOS


def test_it_is_small_and_holds_numbers_labels_and_template_only():
    assert MODEL.stat().st_size < 3_000_000
    arrays, meta = load_model(MODEL)
    assert {array.dtype.kind for array in arrays.values()} <= {"u", "f"}
    assert arrays.keys() == {
        "classes.brown.keys", "classes.brown.numbers", "clusters.keys", "clusters.numbers", "counts", "keys",
        "labels", "levels", "rows", "values", "words",
    }  # fmt: skip
    model = TaggerModel.load(MODEL)
    told = {"labels", "template", "kind", "layout", "hashing", "outer", "inner", "constrained", "inference"}
    assert all(set(path) <= {"0", "1"} for path in meta.pop("knowledge")["classes"]["brown"])
    assert meta.keys() == told | {"order", "report", "parameters", "files"}
    strings = set(re.findall(r'"((?:[^"\\]|\\.)*)"', json.dumps({k: meta[k] for k in meta.keys() - told})))
    known = {*model.report, *model.parameters, *model.files, "text", "upos", "xpos", "PosTagger"}
    assert strings <= known | {"order", "report", "parameters", "files"}
    assert all(re.fullmatch(r"[A-Z]+\|[A-Z$:.,`'-]+", label) for label in model.labels)
    assert re.fullmatch(r"[\w.\[\]|\n-]+", model.space.template.text)


def test_saving_it_again_gives_the_same_bytes(tmp_path):
    TaggerModel.load(MODEL).save(tmp_path / "again", dtype="int8")
    (arrays, meta), (saved, again) = load_model(MODEL), load_model(tmp_path / "again")
    assert again == meta
    assert {name: value.tobytes() for name, value in saved.items()} == {
        name: value.tobytes() for name, value in arrays.items()
    }
    if sys.version_info >= (3, 11, 4):  # earlier versions of zipfile write another version number
        assert (tmp_path / "again").read_bytes() == MODEL.read_bytes()


def test_the_card_describes_this_file():
    card = MODEL.with_suffix(".md").read_text(encoding="utf-8")
    model = TaggerModel.load(MODEL)
    assert f"{MODEL.stat().st_size / 1e6:.2f} MB, {len(model.space):,} features" in card
    assert "CC BY-SA 4.0" in card
    assert "UD English EWT" in card
    assert "ExplosionAI GmbH, MIT licence" in card
    assert "python -m benchmarks bundle" in card


@pytest.mark.corpora
def test_accuracy_is_that_of_the_card(capsys):
    from benchmarks.bundle import scores
    from corpora import CorpusMissing, find

    try:
        folder = find("ud_english_ewt")
    except CorpusMissing as missing:
        pytest.skip(str(missing))
    found = scores(TaggerModel.load(MODEL), folder / "dev.conllu")
    card = io.StringIO(MODEL.with_suffix(".md").read_text(encoding="utf-8"))
    (line,) = [line for line in card if line.startswith("| en-pos |")]
    assert line.split("|")[2:4] == [f" {value:.2f} " for value in found]


def test_columns_read_as_text_are_reported(tmp_path):
    with pytest.warns(UserWarning, match="every line has 2 words; use --format columns"):
        tagged(tmp_path, "the DT\nold JJ\ncat NN\nsleeps VBZ\n\n")


def test_it_is_not_resumed(tmp_path):
    (tmp_path / "train").write_text("the DT\ncat NN\n", encoding="utf-8")
    with pytest.raises(ValueError, match="its labels come from several columns"):
        train("pos", tmp_path / "train", tmp_path / "model", resume="en-pos")


NAMES = {
    "Maria Jensen moved from Copenhagen to Toronto .": ["Maria Jensen", "Copenhagen", "Toronto"],
    "The boy fed two ducks .": [],
    "In 1998 Peter Novak left Prague and joined Siemens .": ["Peter Novak", "Prague", "Siemens"],
}


@pytest.mark.parametrize("sentence", NAMES)
def test_en_ner_finds_names(sentence):
    words = sentence.split()
    found = spans(NerTagger.load("en-ner").tag(words), "IOB2")
    assert [" ".join(words[start:end]) for _, start, end in found] == NAMES[sentence]


def test_en_ner_reads_text_and_writes_offsets(tmp_path):
    (tmp_path / "in.txt").write_text("Anna Berg lives in Oslo.\n", encoding="utf-8")
    tag("en-ner", tmp_path / "in.txt", tmp_path / "out", to="jsonl")
    (record,) = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert [(one["start"], one["end"], one["label"]) for one in record["spans"]] == [
        (0, 9, "PER"), (19, 23, "LOC"),
    ]  # fmt: skip


def test_the_card_of_en_ner_describes_the_file():
    path = FOLDER / "en-ner.ssvm"
    assert path.stat().st_size < 3_400_000
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    model = TaggerModel.load(path)
    assert f"{path.stat().st_size / 1e6:.2f} MB, {len(model.space):,} features" in card
    for part in ("CC BY-SA 4.0", "ExplosionAI GmbH, MIT licence", "bundle-ner", "What it cannot do"):
        assert part in card
    assert {array.dtype.kind for array in load_model(path)[0].values()} <= {"u", "f"}


@pytest.mark.parametrize("name", ["en", "af"])
def test_pipelines_are_small_and_have_cards(name):
    path = FOLDER / f"{name}.ssvm"
    size = path.stat().st_size
    assert size < 8e6
    assert size - sum(a.nbytes for key, a in load_model(path)[0].items() if key.startswith("parse-")) < 3.6e6
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert f"{path.stat().st_size / 1e6:.2f} MB" in card
    assert "CC BY-SA 4.0" in card
    arrays, meta = load_model(path)
    assert {array.dtype.kind for array in arrays.values()} <= {"u", "i", "f"}
    assert meta.keys() == {"kind", "layout", "layers", "scripts", "multiword", "parser"}
    assert len(meta["multiword"]["exceptions"]) < 10  # most words follow from endings
    assert Pipeline.load(name).parts == ["upos", "xpos", "feats", "lemma", "head", "deprel"]


@pytest.mark.parametrize("text", [
    "The/DET mice/NOUN slept/VERB ./PUNCT", "The/DET cook/NOUN slept/VERB ./PUNCT",
    "The/DET children/NOUN ran/VERB ./PUNCT", "Birds/NOUN sing/VERB ./PUNCT",
    "Close/VERB the/DET door/NOUN ./PUNCT", "Open/VERB the/DET window/NOUN ./PUNCT",
    "Put/VERB the/DET book/NOUN on/ADP the/DET table/NOUN ./PUNCT", "Call/VERB Ravi/PROPN ./PUNCT",
])  # fmt: skip
def test_the_english_pipeline_tags_short_sentences(text):
    words, tags = zip(*(one.rsplit("/", 1) for one in text.split()), strict=True)
    assert [word["upos"] for word in Pipeline.load("en").predict([list(words)])[0]] == list(tags)


def test_the_english_pipeline_tags_words():
    (words,) = Pipeline.load("en").predict([WORDS])
    assert [word["upos"] for word in words] == UPOS
    assert [word["xpos"] for word in words] == XPOS
    lemmas = ["she", "buy", "seven", "old", "book", "for", "my", "cat", "."]
    assert [word["lemma"] for word in words] == lemmas
    assert words[1]["feats"] == "Mood=Ind|Number=Sing|Person=3|Tense=Past|VerbForm=Fin"
    assert [int(word["head"]) for word in words] == [2, 0, 5, 5, 2, 8, 8, 5, 2]
    labels = ["nsubj", "root", "nummod", "amod", "obj", "case", "nmod:poss", "nmod", "punct"]
    assert [word["deprel"] for word in words] == labels


def test_the_english_pipeline_splits_text_and_multiword_tokens():
    first, second = Pipeline.load("en").split("Dr. Smith didn't buy the books. She read them, in St. Louis.")
    assert [token.text for token in first] == ["Dr.", "Smith", "didn't", "buy", "the", "books", "."]
    assert [token.words for token in first if token.words] == [("did", "n't")]
    assert [token.text for token in second[-3:]] == ["St.", "Louis", "."]


def test_a_pipeline_without_splitter_is_still_read(tmp_path):
    pipeline = Pipeline.load("af")
    pipeline.splitter = pipeline.parser = None
    pipeline.save(tmp_path / "old.ssvm", dtype="int8")
    assert load_model(tmp_path / "old.ssvm")[1].keys() == {"kind", "layout", "layers", "scripts"}
    old = Pipeline.load(tmp_path / "old.ssvm")
    assert old.predict([["Die", "kat", "slaap"]]) == pipeline.predict([["Die", "kat", "slaap"]])
