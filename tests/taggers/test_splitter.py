"""The learned splitter: raw text of a treebank, tokens, sentences, multiword tokens, valid CoNLL-U."""

import contextlib
import os
import random
import subprocess

import conllu
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files import ModelFileError, load_model, save_model
from taggers import commands, splitter
from taggers.formats.conllu_text import joined_text, raw_text
from taggers.formats.files import read_all
from taggers.pipeline import Pipeline
from taggers.splitter import Characters, Splitter, multiword
from tests.taggers.command_line import COMMAND, run
from tests.taggers.treebanks import Language, with_clitics
from tests.taggers.treebanks import treebank as made

NAMES = ["Ann", "Bob", "Cleo", "Dan", "Eve"]
VERBS = ["sees", "likes", "didn't", "wasn't", "asks"]
WORDS = {"didn't": ("did", "n't"), "wasn't": ("was", "n't"), "dul": ("de", "le"), "aul": ("a", "le")}


def sentence(draw):
    """Tokens and what follows them: abbreviations keep their full stop, others lose it."""
    title = draw.choice([["Dr."], ["St."], []])
    tokens = [*title, draw.choice(NAMES), draw.choice(VERBS), draw.choice(["dul", "aul", "the"])]
    tokens += [
        draw.choice(["cat", "dog", "Bob"]),
        draw.choice([",", ""]),
        draw.choice(["too", "12.50", "now"]),
    ]
    tokens = [token for token in tokens if token] + [draw.choice(".!?")]
    return tokens, [i + 1 == len(tokens) or tokens[i + 1] not in ",.!?" for i in range(len(tokens))]


def treebank(n, seed=0):
    draw, lines = random.Random(seed), []
    for number in range(n):
        tokens, spaces = sentence(draw)
        lines += ["# newpar"] * (number % 5 == 0) + [f"# sent_id = {number}"]
        k = 1
        for token, spaced in zip(tokens, spaces, strict=True):
            misc = "_" if spaced else "SpaceAfter=No"
            words = WORDS.get(token, (token,))
            if len(words) > 1:
                lines.append(f"{k}-{k + 1}\t{token}" + "\t_" * 7 + f"\t{misc}")
                misc = "_"
            for word in words:
                lines.append(
                    f"{k}\t{word}\t{word}\t{'X' if word.isalpha() else 'PUNCT'}" + "\t_" * 5 + f"\t{misc}"
                )
                k += 1
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("split")
    (path / "train.conllu").write_text(treebank(150))
    (path / "dev.conllu").write_text(treebank(40, 1))
    with pytest.warns(UserWarning, match="no token has xpos or feats"):
        commands.train_ud(path / "train.conllu", path / "m.ssvm")
    return path


def shown(sentences):
    return [[token.words or token.text for token in tokens] for tokens in sentences]


def gold(text):
    found = []
    for one in conllu.parse(text):
        spans = {k: token for token in one if not isinstance(token["id"], int) for k in token["id"][::2]}
        ranges = {token["id"][0]: token for token in spans.values()}
        words = {token["id"]: token["form"] for token in one if isinstance(token["id"], int)}
        inside = {k for first, token in ranges.items() for k in range(first + 1, token["id"][2] + 1)}
        found.append([
            tuple(words[k] for k in range(first, ranges[first]["id"][2] + 1)) if first in ranges else word
            for first, word in words.items() if first not in inside
        ])  # fmt: skip
    return found


def test_the_raw_text_of_a_treebank():
    rows = [
        "# newdoc id = x", "# text = Go , a b", *["1\tGo", "2\t,", "3\ta b"], "",
        "1-2\tdul\t", "1\tde", "2\tle", "2.1\tempty", "3\tmot", "4\t!", "",
        "# newpar", "1\tDu",
    ]  # fmt: skip
    rows = [row.rstrip("\t") + "\t_" * 8 if "\t" in row else row for row in rows]
    rows = [row[:-1] + "SpaceAfter=No" if row.startswith(("3\tmot", "4\t!")) else row for row in rows]
    raw = raw_text("\n".join(rows).encode())
    assert raw.text == "Go , a b dul mot!\nDu\n"
    assert raw.labels == "SIOTOTIIOsIIOTIITOSIO"
    assert raw.multiword == [("dul", ("de", "le"))]
    assert raw.joined


def test_spaces_come_from_the_text_of_a_sentence_if_it_fits():
    rows = "1\tGo\t_\t_\t_\t_\t_\t_\t_\t_\n2\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert raw_text(f"# text = Go.\n{rows}".encode()).text == "Go.\n"
    assert raw_text(f"# text = Went.\n{rows}".encode()).text == "Go .\n"
    assert not raw_text(rows.encode()).joined


def test_a_text_that_does_not_match_its_tokens_is_reported(folder):
    broken = treebank(20).replace("# sent_id = 3\n", "# sent_id = 3\n# text = nothing of the kind\n")
    (folder / "broken.conllu").write_text(broken)
    line = broken.split("\n").index("# text = nothing of the kind") + 1
    done = run("train", "ud", "broken.conllu", "-o", "broken.ssvm", cwd=folder)
    assert done.returncode == 0
    assert f"broken.conllu:{line}: # text does not match the tokens of its sentence" in done.stderr.decode()
    row = "1\tI\t_\tX" + "\t_" * 6 + "\n\n"
    for text, strange in (("I", []), ("I am", [1]), ("You", [1])):
        assert raw_text(f"# text = {text}\n{row}".encode()).strange == strange


def test_sentences_tokens_and_words_of_unseen_text(folder):
    text = raw_text(treebank(40, 1).encode()).text
    found = Pipeline.load(folder / "m.ssvm").split(text)
    assert shown(found) == gold(treebank(40, 1))
    assert all(text[token.start : token.end] == token.text for tokens in found for token in tokens)


def test_words_of_multiword_tokens_keep_their_case():
    rules = Splitter(None, endings={"n't": ("", "n't"), "ul": ("e", "le")}, exceptions={"aul": ("à", "le")})
    assert rules.words("Couldn't") == ("Could", "n't")
    assert rules.words("DIDN'T") == ("DID", "N'T")
    assert rules.words("dul") == ("de", "le")
    assert rules.words("Dul") == ("De", "le")
    assert rules.words("DUL") == ("DE", "LE")
    assert rules.words("Aul") == ("À", "le")
    assert rules.words("other") == ()
    assert rules.words("\u0130sn't") == ("\u0130s".lower().capitalize(), "n't")  # one letter more


def test_plain_text_becomes_valid_conllu(folder):
    text = "Dr. Ann didn't like the cat, too. Bob asks dul dog now!\n\nEve sees aul cat\t12.50  ?\r\nDan\n"
    done = run("tag", "m.ssvm", "-", "--format", "text", "--to", "conllu", cwd=folder, stdin=text.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    check_level_1(done.stdout.decode())
    sentences = conllu.parse(done.stdout.decode())
    assert [one.metadata["text"] for one in sentences] == [
        "Dr. Ann didn't like the cat, too.", "Bob asks dul dog now!", "Eve sees aul cat 12.50 ?", "Dan",
    ]  # fmt: skip
    assert [token["form"] for token in sentences[1]] == ["Bob", "asks", "dul", "de", "le", "dog", "now", "!"]
    columns = run("tag", "m.ssvm", "-", "--format", "text", cwd=folder, stdin=text.encode()).stdout.decode()
    words = [line.split("\t")[0] for line in columns.split("\n") if line]
    assert words == [t["form"] for one in sentences for t in one if isinstance(t["id"], int)]


def check_level_1(text):
    """The rules of level 1 of UD's validation that concern what we write."""
    assert text.endswith("\n\n")
    ids = set()
    for block in text[:-2].split("\n\n"):
        lines = block.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        meta = dict(line[2:].split(" = ", 1) for line in comments)
        assert lines[: len(comments)] == comments
        assert meta["sent_id"] not in ids
        assert not set(meta["sent_id"]) & set(" \t/")
        ids.add(meta["sent_id"])
        rebuilt, next_id, covered = "", 1, 0
        for line in lines[len(comments) :]:
            fields = line.split("\t")
            assert len(fields) == 10
            assert all(field and field == field.strip() and "  " not in field for field in fields)
            assert not any(" " in field for field in (fields[0], *fields[3:9]))
            first, _, last = fields[0].partition("-")
            assert int(first) == next_id
            if last:
                assert int(last) > int(first) > covered
                assert fields[2:9] == ["_"] * 7
                covered = int(last)
            else:
                next_id += 1
            if last or int(first) > covered:
                rebuilt += fields[1] + " " * ("SpaceAfter=No" not in fields[9].split("|"))
            else:
                assert fields[9] == "_"
        assert covered < next_id
        assert rebuilt.strip() == meta["text"] == " ".join(meta["text"].split())


def test_blocks_do_not_change_the_result(folder, monkeypatch):
    pipeline = Pipeline.load(folder / "m.ssvm")
    text = raw_text(treebank(30, 2).encode()).text.replace("\n", " ")
    whole = pipeline.split(text)
    monkeypatch.setattr(splitter, "BLOCK", 100)
    monkeypatch.setattr(splitter, "CONTEXT", 60)
    assert pipeline.split(text) == whole


@given(st.text(alphabet="aB.,'1 \t\n\r\u2028\u00a0\u0130\u4e2d\ud800-", max_size=40))
def test_every_character_but_spaces_lies_in_one_token(folder_free, text):
    sentences = folder_free.split(text)
    covered = [k for tokens in sentences for token in tokens for k in range(token.start, token.end)]
    assert covered == sorted(set(covered))
    assert {k for k, char in enumerate(text) if not char.isspace()} <= set(covered)
    for tokens in sentences:
        assert tokens
        assert all(token.text and token.text == " ".join(token.text.split()) for token in tokens)
        assert len(text[tokens[0].start : tokens[-1].end].splitlines()) == 1


@pytest.fixture(scope="module")
def folder_free(folder):
    return Pipeline.load(folder / "m.ssvm")


def test_keys_are_equal_where_the_texts_are():
    text = "don't do.\nI don't, DON'T go"
    block = Characters(text)
    keys = np.stack(block.columns(*block.chunks()), 1)
    start = [at for at in range(len(text)) if text[at:].lower().startswith("don't")]
    assert len({*keys[start[:2], 2].tolist()}) == 1  # nothing before them
    assert keys[start[0], 3] != keys[start[1], 3]  # a comma follows
    quotes = [at + 3 for at in start]
    assert len({*keys[quotes, 2].tolist()}) == 1  # don in any case
    assert len({*keys[quotes, 4].tolist()}) == 2  # of two shapes
    naive = [text[: at + 1].split()[-2:-1] for at in (start[1], start[2])]
    assert naive == [["I"], ["don't,"]]
    assert keys[start[0], 6] == keys[text.index("I"), 6]  # both begin a line
    assert keys[start[1], 6] != keys[start[2], 6]


def test_the_splitter_is_saved_and_old_files_have_none(folder):
    pipeline = Pipeline.load(folder / "m.ssvm")
    pipeline.save(folder / "small.ssvm", dtype="int8", prune=0.01)
    text = raw_text(treebank(20, 3).encode()).text
    assert Pipeline.load(folder / "small.ssvm").split(text) == pipeline.split(text)
    pipeline.splitter = None
    pipeline.save(folder / "none.ssvm")
    assert load_model(folder / "none.ssvm")[1]["layout"] == 1
    assert Pipeline.load(folder / "none.ssvm").splitter is None


@pytest.mark.parametrize(
    "rules", [{}, {"endings": {"u": []}, "exceptions": {}}, {"endings": 3, "exceptions": {}}]
)
def test_malformed_rules_are_refused(folder, rules):
    arrays, meta = load_model(folder / "m.ssvm")
    save_model(folder / "bad.ssvm", arrays, meta | {"multiword": rules})
    with pytest.raises(ModelFileError):
        Pipeline.load(folder / "bad.ssvm")


def test_a_treebank_without_joined_tokens_gets_a_note_and_rules(folder):
    rows = [row for row in treebank(20).split("\n") if "-" not in row.partition("\t")[0]]
    text = "\n".join(["# text = nothing of the kind", *rows]).replace("SpaceAfter=No", "_")
    (folder / "apart.conllu").write_text(text)
    done = run("train", "ud", "apart.conllu", "-o", "apart.ssvm", cwd=folder)
    assert done.returncode == 0
    assert b"every token is followed by a space" in done.stderr
    assert b"apart.conllu:1: # text does not match the tokens of its sentence" in done.stderr
    assert Pipeline.load(folder / "apart.ssvm").splitter is None
    assert read_all(folder / "apart.conllu", "conllu").n_sentences == 20


def test_a_terminal_shows_the_progress_of_each_layer(folder):
    pty = pytest.importorskip("pty")
    text = treebank(20).replace("\tX\t_\t_", "\tX\t_\tCase=Nom")
    (folder / "few.conllu").write_text(text)
    for task, layers in (("ud", ["split", "upos", "morph", "lemma"]), ("lemma", ["lemma"])):
        terminal, theirs = pty.openpty()  # its size is unknown, as in some containers
        command = [*COMMAND, "train", task, "few.conllu", "-o", "few.ssvm"]
        with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # the other end is closed
                while data := os.read(terminal, 1 << 16):
                    shown += data
        os.close(terminal)
        assert process.returncode == 0
        places = [shown.index(f"\r{layer}: 0 sentences".encode()) for layer in layers]
        assert places == sorted(places)
        assert shown.count(b"pass 2, dual") >= len(layers)


KANA = "".join(map(chr, range(0x3042, 0x3072, 3)))
HEBREW = "".join(map(chr, range(0x5D0, 0x5E8, 2)))


def right(train, test):
    """The share of the gold tokens that a splitter finds with all their words, and the splitter."""
    trained = splitter.train_splitter(raw_text(train.encode()))
    raw = raw_text(test.encode())
    places = [at for at, label in enumerate(raw.labels) if label in "STst"]
    wanted = {(at, token.form, tuple(token.words)) for at, token in zip(places, raw.tokens, strict=True)}
    found = {(token.start, token.text, token.words) for tokens in trained.split(raw.text) for token in tokens}
    return len(wanted & found) / len(wanted), trained


@pytest.mark.parametrize(("alphabet", "syllables"), [(KANA, (1, 3)), ("ptkmnlaeiouy", (2, 3))])
def test_words_without_spaces_are_found(alphabet, syllables):
    language, options = Language.of(1, alphabet, syllables), {"mark": "\u3002", "documents": 5}
    share, _ = right(made(language, 300, 1, **options), made(language, 50, 2, **options))
    assert share > 0.8


@pytest.mark.parametrize("alphabet", ["bdghtaeiou", HEBREW])
def test_tokens_keep_the_spaces_that_they_contain(alphabet):
    language = Language.of(2, alphabet, (1, 3), " ")
    options = {"between": " ", "after": " ", "mark": "."}
    share, _ = right(made(language, 400, 1, **options), made(language, 50, 2, **options))
    assert share > 0.8


@pytest.mark.parametrize(
    ("alphabet", "before", "after", "hidden"),
    [
        ("bdghtaeiou", ["ka", "mo", "s"], ["ni", "no"], "ha"),
        (HEBREW, [*"\u05d4\u05d5\u05e9"], ["\u05e0\u05d9"], ""),
    ],
)
def test_clitics_become_words(alphabet, before, after, hidden):
    language, make = Language.of(3, alphabet, (2, 3)), with_clitics(before, after, hidden)
    options = {"between": " ", "after": " ", "mark": ".", "make": make}
    share, _ = right(made(language, 400, 1, **options), made(language, 60, 2, **options))
    assert share > 0.9


def sentence_starts(train, test, join):
    """Where a splitter begins sentences in sentences that are joined, and where they begin."""
    trained = splitter.train_splitter(raw_text(train.encode()))
    gold = raw_text(test.encode())
    raw = joined_text(gold.sentences, [join] * (len(gold.sentences) - 1))
    wanted = {at for at, label in enumerate(raw.labels) if label in "Ss"}
    return {tokens[0].start for tokens in trained.split(raw.text)}, wanted


@pytest.mark.parametrize("join", ["", " ", "\n"])
@pytest.mark.parametrize("documents", [0, 1])
def test_sentences_without_spaces_are_found_however_they_are_joined(join, documents):
    language, options = Language.of(1, KANA, (1, 3)), {"mark": "\u3002", "documents": documents}
    found, wanted = sentence_starts(made(language, 200, 1, **options), made(language, 30, 2, **options), join)
    assert len(found & wanted) > 0.9 * max(len(found), len(wanted))


def test_sentences_are_found_within_lines_although_each_is_a_document():
    language, options = Language.of(4, HEBREW, (1, 3), " "), {"between": " ", "after": " ", "mark": "."}
    found, wanted = sentence_starts(
        made(language, 200, 1, documents=1, **options), made(language, 30, 2, **options), " "
    )
    assert len(found & wanted) > 0.9 * max(len(found), len(wanted))


def test_sentences_that_cannot_be_learned_end_at_newlines_with_a_note(tmp_path):
    text = made(Language.of(1, KANA, (1, 3)), 100, 1)
    (tmp_path / "train.conllu").write_text(text)
    done = run("train", "ud", "train.conllu", "-o", "m.ssvm", cwd=tmp_path)
    assert done.returncode == 0
    assert b"splits plain text into sentences only at newlines" in done.stderr
    raw = raw_text(text.encode())
    lines = joined_text(raw.sentences, ["", "\n"] * 50).text
    assert len(Pipeline.load(tmp_path / "m.ssvm").split(lines)) == len(lines.splitlines())


WRITTEN = st.text(alphabet="abcd=|\\-'", min_size=1, max_size=6)


@given(WRITTEN, st.lists(WRITTEN, min_size=2, max_size=4))
def test_edits_turn_a_token_into_its_words(surface, words):
    changes = multiword.edits(surface, tuple(words))
    assert len(changes) == len(surface)
    assert multiword.edited(surface, changes) == tuple(words)


def test_a_splitter_with_a_lexicon_is_saved(tmp_path):
    language, make = Language.of(1, KANA, (1, 2)), with_clitics(["\u3093"], ["\u3092"])
    text = made(language, 60, 1, mark="\u3002", make=make)
    (tmp_path / "train.conllu").write_text(text)
    with pytest.warns(UserWarning, match="no token has"):
        pipeline = commands.train_ud(tmp_path / "train.conllu", tmp_path / "m.ssvm")
    again, joined = Pipeline.load(tmp_path / "m.ssvm"), raw_text(text.encode()).text
    assert shown(again.split(joined)) == shown(pipeline.split(joined))
    assert load_model(tmp_path / "m.ssvm")[1]["layout"] == 3
    arrays, meta = load_model(tmp_path / "m.ssvm")
    for name in ("split.lexicon", "split.words", "split.places"):
        save_model(tmp_path / "bad.ssvm", {key: one for key, one in arrays.items() if key != name}, meta)
        with pytest.raises(ModelFileError):
            Pipeline.load(tmp_path / "bad.ssvm")
