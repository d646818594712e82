"""Column files as people have them: comments, columns that count, -DOCSTART-; from training to evaluation."""

import tracemalloc

import pytest

from taggers.commands import tag
from taggers.formats.files import open_columns
from taggers.labels.checks import warn_of_labels_as_inputs
from taggers.labels.files import read_files
from tests.taggers.command_line import run
from tests.taggers.sentences import sentences


def numbered(n, seed=0, comments=True):
    """Sentences as in Universal NER: comments, number, word, label and two columns about the annotation."""
    lines = []
    for number, sentence in enumerate(sentences(n, seed), 1):
        if comments:
            lines += [f"# sent_id = {number}", f"# text = {' '.join(word for word, *_ in sentence)}"]
        for at, (word, _, chunk) in enumerate(sentence, 1):
            lines.append(f"{at}\t{word}\t{chunk}\tO#O\ts")
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain")
    (path / "train.iob2").write_text(numbered(60))
    (path / "test.iob2").write_text(numbered(10, 1))
    (path / "bare.iob2").write_text(numbered(60, comments=False))
    for name in ("train", "bare"):
        done = run(
            *(
                "train",
                "chunk",
                f"{name}.iob2",
                "-o",
                f"{name}.ssvm",
                "--columns",
                "1",
                "--column",
                "2",
                "-q",
            ),
            cwd=path,
        )
        assert (done.returncode, done.stderr) == (0, b"")
    return path


def test_comments_do_not_change_the_model_and_stay_in_the_output(folder):
    assert (folder / "train.ssvm").read_bytes() == (folder / "bare.ssvm").read_bytes()
    done = run("tag", "train.ssvm", "test.iob2", "-o", "tagged", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    before = (folder / "test.iob2").read_text().splitlines()
    after = (folder / "tagged").read_text().splitlines()
    for old, new in zip(before, after, strict=True):
        assert new == old if not old or old.startswith("# ") else new.rpartition("\t")[0] == old
    done = run("evaluate", "train.ssvm", "test.iob2", cwd=folder)
    assert done.returncode == 0
    assert b"FB1" in done.stdout


def test_a_column_that_counts_the_tokens_is_not_a_word(folder):
    rows = [line.split("\t")[:3] for line in numbered(60, comments=False).splitlines()]
    (folder / "three.txt").write_text("\n".join("\t".join(row) for row in rows) + "\n")
    (folder / "two.txt").write_text("\n".join("\t".join(row[1:]) for row in rows) + "\n")
    done = run("train", "chunk", "three.txt", "-o", "three.ssvm", "-q", cwd=folder)
    assert done.returncode == 0
    told = done.stderr.decode()
    assert told.count("\n") == 1
    assert "three.txt: column 0 (counted from 0) numbers the tokens of each sentence" in told
    assert "the words are in column 1" in told
    assert run("train", "chunk", "two.txt", "-o", "two.ssvm", "-q", cwd=folder).stderr == b""
    labels = []
    for name in ("three", "two"):
        done = run("tag", f"{name}.ssvm", f"{name}.txt", cwd=folder)
        assert done.stderr == b""
        labels.append([line.rpartition("\t")[2] for line in done.stdout.decode().splitlines()])
    assert labels[0] == labels[1]


def test_a_model_of_words_reads_the_words_behind_the_numbers(folder, tmp_path):
    (tmp_path / "words.txt").write_text("1\tthe\n2\tdog\n3\tsleeps\n\n1\tthe\n2\tcat\n")
    with pytest.warns(UserWarning, match="the words are in column 1"):
        tag("en-pos", tmp_path / "words.txt", tmp_path / "out.txt", format="columns")
    rows = [line.split("\t") for line in (tmp_path / "out.txt").read_text().splitlines() if line]
    assert [row[2] for row in rows] == ["DET", "NOUN", "VERB", "DET", "NOUN"]


def test_labels_where_the_model_reads_words_are_refused(folder):
    lines = ["\n".join(f"{word}\t{chunk}" for word, _, chunk in sentence) for sentence in sentences(3)]
    (folder / "two.txt").write_text("\n\n".join(lines) + "\n")
    done = run("tag", "train.ssvm", "two.txt", cwd=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "column 1 (counted from 0), which the model reads, has labels such as" in done.stderr.decode()


@pytest.mark.parametrize(
    "lines",
    [
        ["1 CD", "2 CD"],  # too few
        ["1 CD", "1 CD", "1 CD"],
        ["2 CD", "3 CD", "4 CD"],
        ["1 CD", "2 CD", "4 CD"],
        ["1 CD", "2 CD", "x NN"],
        ["1", "2", "3"],  # the only column
    ],
)
def test_numbers_that_do_not_count_tokens_are_words(tmp_path, lines, recwarn):
    (tmp_path / "f").write_text("\n".join(lines) + "\n")
    with open_columns(tmp_path / "f", "columns") as opened:
        assert opened.inputs()[0] == 0
    assert not recwarn


def test_lines_with_docstart_get_as_many_columns_as_tokens(folder):
    text = "-DOCSTART- -X- O\n\n" + "".join(
        "".join(f"{word} {tag} {chunk}\n" for word, tag, chunk in sentence) + "\n"
        for sentence in sentences(60)
    )
    (folder / "docs.txt").write_text(text)
    assert run("train", "chunk", "docs.txt", "-o", "docs.ssvm", "-q", cwd=folder).returncode == 0
    done = run("tag", "docs.ssvm", "docs.txt", cwd=folder)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "-DOCSTART- -X- O O"
    assert {len(line.split()) for line in lines if line} == {4}
    scored = run("tag", "docs.ssvm", "docs.txt", "--scores", cwd=folder).stdout.decode().splitlines()
    assert scored[0] == "-DOCSTART- -X- O O _"
    replaced = run("tag", "docs.ssvm", "docs.txt", "--replace", cwd=folder).stdout.decode().splitlines()
    assert replaced[0] == "-DOCSTART- -X- O"


def test_labels_of_another_layer_are_not_silently_an_input(tmp_path):
    rows = ["1\tAda\tB-PER\tO", "2\tof\tI-PER\tO", "3\tLund\tI-PER\tB-LOC", "4\tBern\tB-LOC\tO"]
    (tmp_path / "nested").write_text("\n".join([*rows, "", *rows[:2], ""]))
    message = b"column 2 (counted from 0) has labels like those that are learned"
    assert message in run("train", "ner", "nested", "-o", "m", cwd=tmp_path).stderr
    chosen = ["--columns", "1", "--column", "2"]
    assert message not in run("train", "ner", "nested", *chosen, "-o", "m", cwd=tmp_path).stderr
    (tmp_path / "chunks").write_text("Ada B-NP B-PER\nsleeps B-VP O\n\n")
    assert b"has labels like" not in run("train", "ner", "chunks", "-o", "m", cwd=tmp_path).stderr


def test_the_search_for_labels_among_inputs_needs_no_memory_for_parts_of_speech(tmp_path):
    (tmp_path / "chunks").write_text("the DT O\nold JJ B-NP\nman NN I-NP\n\n" * 3000)
    data = read_files([tmp_path / "chunks"])[0]
    tracemalloc.start()
    warn_of_labels_as_inputs(data.columns, data.gold, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < data.columns.n_tokens
