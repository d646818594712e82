"""The command line as newcomers use it: wrong options, files that do not fit, and what is said of them."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from taggers import Chunker, PosTagger
from taggers.commands import TASKS
from taggers.labels.label_encoding import loss_matrix
from tests.taggers.command_line import COMMAND, refused, run
from tests.taggers.sentences import as_columns, as_conllu

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("use")
    (path / "train.txt").write_bytes(as_columns(60))
    (path / "test.txt").write_bytes(as_columns(10, seed=1))
    (path / "train.conllu").write_bytes(as_conllu(60))
    for task, source in (("chunk", "txt"), ("pos", "conllu")):
        assert run("train", task, f"train.{source}", "-o", f"{task}.ssvm", "-q", cwd=path).returncode == 0
    kept = run("train", "chunk", "train.txt", "-o", "state.ssvm", "-q", "--keep-state", cwd=path)
    assert kept.returncode == 0
    return path


TRAIN = ("train", "chunk", "train.txt", "-o", "x.ssvm")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((*TRAIN, "--template", "absent"), "neither a template file nor a template name"),
        ((*TRAIN, "--template", ""), "'' is neither a template file"),
        ((*TRAIN, "--template", "w[0], q[0]"), "unknown attribute 'q'"),
        ((*TRAIN, "--template", "w["), "'w[' is neither a cell"),
        (("inspect", "chunk.ssvm", "--html", "no/such/page.html"), "there is no folder no/such"),
        ((*TRAIN, "--encoding", "klingon"), "such as latin-1, got 'klingon'"),
        ((*TRAIN, "--encoding", "zip"), "such as latin-1, got 'zip'"),
        ((*TRAIN, "--dtype", "int4"), "dtype must be one of"),
        ((*TRAIN, "--dtype", "int8", "--keep-state"), "--keep-state cannot be combined with --dtype"),
        ((*TRAIN, "--format", "xml"), "format must be one of auto, brat, columns"),
        ((*TRAIN, "--labels", "FOO"), "labels must be one of"),
        ((*TRAIN, "--inference", "greedy", "--order", "100"), "order must be at most 99"),
        ((*TRAIN, "--inference", "exact", "--order", "2"), "exact inference requires order 1"),
        ((*TRAIN, "--jobs", "2", "--algorithm", "pa"), "--jobs has no effect without --dev"),
        ((*TRAIN, "--shards", "2", "--algorithm", "pa"), "--shards has no effect with --algorithm pa"),
        ((*TRAIN, "--resume", "state.ssvm", "--seed", "7"), "--seed has no effect, as state.ssvm contains"),
        (
            (*TRAIN, "--resume", "state.ssvm", "--algorithm", "perceptron"),
            "algorithm cannot change from larank to perceptron",
        ),
        (("tag", "chunk.ssvm", "test.txt", "--column", "1"), "appends labels and without --replace"),
        ((*TRAIN, "--inference", "exact", "--template", "w[0], y[-2]|w[0]"), "one label back"),
        ((*TRAIN, "--algorithm", "svmstruct", "--reprocess", "2"), "no effect with --algorithm svmstruct"),
        ((*TRAIN, "--algorithm", "perceptron", "-C", "2"), "-C has no effect with --algorithm perceptron"),
        ((*TRAIN, "--label-weight", "B-VP"), "LABEL=FACTOR"),
        ((*TRAIN, "--label-weight", "B-QQ=2"), "'B-QQ'"),
        ((*TRAIN, "--resume", "chunk.ssvm", "--template", "pos"), "cannot change with --resume"),
        (("train", "pos", "train.txt", "-o", "x.ssvm", "--resume", "chunk.ssvm"), "the task chunk, not pos"),
        (("train", "chunks", "train.txt", "-o", "x.ssvm"), "task must be one of pos, morph, chunk"),
        (("train", "chunk", "train.txt", "-o", "no/such/x.ssvm"), "there is no folder no/such"),
        (("train", "chunk", "train.txt", "-o", "."), "is a folder"),
        (("train", "chunk", "train.txt", "-o", "-"), "standard output"),
        (("train", "chunk", "train.txt", "-o", "/dev/null"), "not a regular file"),
        ((*TRAIN, "--curve", "no/such/curve"), "there is no folder no/such"),
        (("tag", "chunk.ssvm", "test.txt", "-o", "no/such/out"), "there is no folder no/such"),
        (("tag", "chunk.ssvm", "test.txt", "--nbest", "2", "--replace"), "cannot be combined with --replace"),
        (("tag", "chunk.ssvm", "test.txt", "--nbest", "3000000000"), "at most 1,000, got"),
        (("tag", "chunk.ssvm", "test.txt", "--bias", "O=1e300"), "a finite number from -1e+06 to 1e+06"),
        ((*TRAIN, "-C", "1e308"), "at most 1,000,000, got 1e+308"),
        ((*TRAIN, "--epochs", "100000000000"), "at most 10,000, got"),
        ((*TRAIN, "--reprocess", "1000000000"), "at most 1,000, got"),
        ((*TRAIN, "--documents", "10000000000"), "at most 1,000,000,000, got"),
        ((*TRAIN, "--cutoff", "10000000000"), "at most 1,000,000,000, got"),
        ((*TRAIN, "--jobs", "1000000"), "at most 1,024, got"),
        ((*TRAIN, "--shards", "1000000"), "at most 10,000, got"),
        ((*TRAIN, "--label-weight", "B-VP=1e300"), "numbers above 0 and at most 1,000,000"),
        (("tag", "chunk.ssvm", "test.txt", "--jobs", "1000000"), "at most 1,024, got"),
        (("simulate", "home", "-n", "100000000000000", "-o", "x"), "at most 10,000,000, got"),
        ((*TRAIN, "--n-classes", "5"), "--n-classes has no effect without --text or --classes"),
        ((*TRAIN, "--class-words", "5"), "--class-words has no effect without --classes"),
        ((*TRAIN, "--fold-gazetteers"), "--fold-gazetteers has no effect without --gazetteer"),
        ((*TRAIN, "--columns", ""), "column must be a number"),
        (("train", "chunk", "train.txt", "-o", ""), "the name of the output file is empty"),
        (("convert", "train.txt", "--to", "FOO"), "must be one of"),
        (("convert", "train.txt", "--to", "none"), "IOB1, IOB2, IOBES, BILUO, BMES, BMEWO"),
        (("convert", "train.txt", "--to", "IOBES", "--from", "FOO"), "must be one of"),
        (("convert", "train.txt", "--to", "IOBES", "-o", "no/such/out"), "there is no folder"),
        (("evaluate", "chunk.ssvm"), "is a model; specify a labelled file too"),
        (("evaluate", "chunk.ssvm", "test.txt", "--strict", "FOO"), "must be one of"),
    ],
)  # fmt: skip
def test_wrong_options_are_refused_before_any_work(folder, arguments, part):
    refused(run(*arguments, cwd=folder), 2, part)
    assert not (folder / "x.ssvm").exists()


def test_gold_alone_is_not_compared_with_the_next_column(folder):
    refused(run("evaluate", "test.txt", cwd=folder), 1, "no label in common", "evaluate MODEL FILE")
    refused(run("evaluate", "-", cwd=folder, stdin=b"a\nb\n"), 1, "one column", "evaluate MODEL FILE")


@pytest.mark.parametrize(
    ("model", "text", "part"),
    [
        ("pos.ssvm", b"Anna sees the cat.\n", "for plain text use --format text"),
        ("chunk.ssvm", b"Anna sees the cat.\n", "the model reads 2 columns"),
        ("chunk.ssvm", b"Anna likes trains\n", "the model reads 2 columns"),
        ("chunk.ssvm", b"Anna may like the old train in Turin .\n", "the model reads 2 columns"),
    ],
)
def test_text_is_not_taken_for_columns_unless_the_format_says_so(folder, model, text, part):
    done = run("tag", model, "-o", "text.out", cwd=folder, stdin=text)
    refused(done, 1, "<stdin>: its ", "do not look like those of the training file", part, "--format columns")
    assert not (folder / "text.out").exists()
    done = run("tag", model, "--format", "columns", cwd=folder, stdin=text)
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
    done = run("tag", model, cwd=folder, stdin=text.replace(b" ", b"\t"))
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)
    assert b"warning: <stdin>: its " in done.stderr


def test_files_that_fit_get_no_warning(folder):
    tagged = run("tag", "chunk.ssvm", "test.txt", cwd=folder)
    assert tagged.stderr == b""
    assert run("tag", "chunk.ssvm", cwd=folder, stdin=tagged.stdout).stderr == b""
    assert run("tag", "chunk.ssvm", cwd=folder, stdin=b"the DT\ncat NN\n").stderr == b""
    assert run("tag", "pos.ssvm", cwd=folder, stdin=b"the\ncat\n").stderr == b""


def test_text_with_lines_of_different_lengths_names_the_format(folder):
    done = run("tag", "pos.ssvm", cwd=folder, stdin=b"Anna sees the cat .\nOtto sleeps .\n")
    refused(done, 1, "<stdin>:2: 3 columns where the lines before have 5", "the format text")


@pytest.mark.parametrize(
    "arguments",
    [
        ("tag", "chunk.ssvm", "own.txt", "-o", "own.txt"),
        ("tag", "chunk.ssvm", "own.txt", "-o", "./link.txt"),
        ("convert", "own.txt", "--to", "IOBES", "-o", "own.txt"),
        ("train", "chunk", "own.txt", "-o", "own.txt"),
        ("train", "chunk", "train.txt", "--dev", "own.txt", "-o", "own.txt"),
        ("train", "chunk", "own.txt", "-o", "x.ssvm", "--curve", "own.txt"),
        ("inspect", "chunk.ssvm", "--names", "train.txt", "--test", "own.txt", "--html", "own.txt"),
        ("tag", "own.txt", "test.txt", "-o", "own.txt"),
        ("train", "label", "train.txt", "--template", "own.txt", "-o", "own.txt"),
        ("train", "label", "train.txt", "--template", "own.txt", "-o", "x.ssvm", "--curve", "own.txt"),
    ],
)
def test_no_file_that_is_read_is_written_over(folder, arguments):
    shutil.copy(folder / "test.txt", folder / "own.txt")
    (folder / "link.txt").unlink(missing_ok=True)
    (folder / "link.txt").symlink_to("own.txt")
    refused(run(*arguments, cwd=folder), 2, f"{arguments[-1]} is an input and would be overwritten")
    assert (folder / "own.txt").read_bytes() == (folder / "test.txt").read_bytes()


def test_a_model_is_resumed_in_place(folder):
    shutil.copy(folder / "chunk.ssvm", folder / "own.ssvm")
    more = ("train", "chunk", "test.txt", "--resume", "own.ssvm", "-o", "own.ssvm", "-q")
    assert run(*more, cwd=folder).returncode == 0
    assert (folder / "own.ssvm").read_bytes() != (folder / "chunk.ssvm").read_bytes()


def test_a_model_is_not_resumed_on_fewer_columns(folder):
    (folder / "words.txt").write_text("the B-NP\ncat I-NP\nsleeps B-VP\n\n")
    before = (folder / "chunk.ssvm").read_bytes()
    done = run("train", "chunk", "words.txt", "--resume", "chunk.ssvm", "-o", "chunk.ssvm", cwd=folder)
    refused(done, 1, "words.txt", "the model needs 2 input columns, got 1")
    assert (folder / "chunk.ssvm").read_bytes() == before


def test_a_string_is_not_a_sentence():
    tagger = PosTagger.load("en-pos")
    for wrong in (lambda: tagger.tag("The cat sleeps"), lambda: tagger.predict(["The cat sleeps"])):
        with pytest.raises(TypeError, match="a list of tokens, got the string 'The cat sleeps'"):
            wrong()


def test_a_model_that_does_not_exist_names_those_that_are_included(folder):
    for command in ("tag", "evaluate", "inspect"):
        done = run(command, "en-nor", *["test.txt"] * (command != "inspect"), cwd=folder)
        refused(done, 2, "en-nor does not exist", "included models: en-pos, en-ner")


def test_resuming_without_state_says_how_to_keep_it(folder):
    done = run("train", "chunk", "test.txt", "--resume", "chunk.ssvm", "-o", "more.ssvm", cwd=folder)
    assert b"(--keep-state on the command line, " in done.stderr
    assert b"training_state" not in done.stderr


def test_weights_of_labels_reach_all_their_forms():
    labels = ["O", "B-x", "I-x", "E-x", "S-x"]

    def factors(weight, outer="IOB2"):
        return dict(zip(labels, loss_matrix(labels, weight, outer, "IOBES").max(axis=1), strict=True))

    assert factors({"B-x": 2}) == {"O": 1, "B-x": 2, "I-x": 1, "E-x": 1, "S-x": 2}
    assert factors({"I-x": 3, "O": 5}) == {"O": 5, "B-x": 1, "I-x": 3, "E-x": 3, "S-x": 1}
    assert factors({"x": 4, "B-x": 2}) == {"O": 1, "B-x": 2, "I-x": 4, "E-x": 4, "S-x": 2}
    assert factors({"S-x": 2}, outer="IOBES") == {"O": 1, "B-x": 1, "I-x": 1, "E-x": 1, "S-x": 2}
    with pytest.raises(ValueError, match="'S-x'"):
        factors({"S-x": 2})


def test_weights_of_labels_reach_the_training_on_the_command_line(folder):
    for weight in ("1", "3"):
        run(
            "train",
            "chunk",
            "train.txt",
            "-o",
            f"w{weight}.ssvm",
            "--label-weight",
            f"B-PP={weight}",
            cwd=folder,
        )
    assert (folder / "w1.ssvm").read_bytes() != (folder / "w3.ssvm").read_bytes()


def test_help_shows_whole_summaries_examples_and_defaults(folder):
    summaries = run("--help", cwd=folder).stdout.decode()
    assert "..." not in summaries.split("Commands:")[1]
    for command in summaries.split("Commands:")[1].split("\n")[1:-1]:
        assert b"completion" not in run(command.split()[0], "--help", cwd=folder).stdout
    told = run("train", "--help", cwd=folder).stdout.decode()
    assert "structsvm train chunk train.txt --dev dev.txt -o chunk.ssvm" in told
    lines = {
        line.split()[0]: line.split()[1:] for line in told.split("Defaults by task")[1].splitlines() if line
    }
    for name, option in (("epochs", "--epochs"), ("C", "-C"), ("inference", "--inference")):
        assert lines[option] == [str(TASKS[task]().settings()[name]) for task in TASKS]
    assert TASKS["chunk"] is Chunker
    assert "margin" in run("tag", "--help", cwd=folder).stdout.decode()
    assert "features and weights" in run("inspect", "--help", cwd=folder).stdout.decode()


def test_help_on_a_full_disk_gets_one_sentence(folder):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    for arguments in (["--help"], ["tag", "--help"], ["--version"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*COMMAND, *arguments], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 1
        assert done.stderr == b"error: the output cannot be written: No space left on device\n"


def test_scores_in_conllu_stand_in_misc_and_the_file_stays_conllu(folder):
    data = as_conllu(3).replace(b"\t_\n", b"\tSpaceAfter=No\n", 1)
    data = data.replace(b"1\t", b"1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\t", 1)
    done = run("tag", "pos.ssvm", "--scores", cwd=folder, stdin=data)
    lines, source = done.stdout.decode().splitlines(), data.decode().splitlines()
    for line, was in zip(lines, source, strict=True):
        fields = line.split("\t")
        if fields[0].isdigit():
            *others, misc = fields
            assert others == was.split("\t")[:9]
            assert float(misc.rpartition("Margin=")[2]) > 0
        else:
            assert line == was
    assert "\tSpaceAfter=No|Margin=" in done.stdout.decode()
    assert run("evaluate", "pos.ssvm", "-", cwd=folder, stdin=done.stdout).returncode == 0


def test_numbers_and_nouns_agree(folder):
    done = run("train", "chunk", "train.txt", "-o", "one.ssvm", "--epochs", "1", cwd=folder)
    assert b", 1 pass, " in done.stderr
    done = run("convert", "-", "--to", "IOB2", "--from", "IOB2", cwd=folder, stdin=b"a I-X\n\nb I-X\n")
    assert done.stderr == b"repaired 2 labels out of place\n"


def test_the_training_curve_is_a_table(folder):
    run(*TRAIN[:3], "-o", "c.ssvm", "--curve", "curve.tsv", "-q", cwd=folder)
    header, *rows = [line.split("\t") for line in (folder / "curve.tsv").read_text().splitlines()]
    assert header[:4] == ["seconds", "epoch", "sentences", "sentences_per_second"]
    assert len(rows) == 40
    duals = [float(row[header.index("dual")]) for row in rows]
    assert duals == sorted(duals)


def test_kept_names_need_no_file(folder):
    run(*TRAIN[:3], "-o", "named.ssvm", "--keep-names", "-q", cwd=folder)
    assert b"p[0]=" in run("inspect", "named.ssvm", cwd=folder).stdout
    plain = run("inspect", "chunk.ssvm", cwd=folder).stdout
    assert b"p[0]=" not in plain
    assert b"--keep-names" in plain


def test_a_line_of_plain_text_with_ten_million_characters(folder):
    done = run("tag", "pos.ssvm", "--format", "text", cwd=folder, stdin=b"x" * 10_000_000 + b" sees it.\n")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].startswith(b"sees\t")


def test_a_folder_of_sources_says_that_it_is_not_compiled(tmp_path):
    shutil.copytree(
        ROOT / "structsvm", tmp_path / "structsvm", ignore=shutil.ignore_patterns("*.so", "*.pyd")
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import structsvm"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "structsvm is not compiled here; run `make demo`" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("column", ["upos", "xpos", "feats"])
def test_any_column_of_conllu_is_learned_and_replaced(folder, column):
    data = (folder / "train.conllu").read_bytes().replace(b"NNS\t_\t", b"NNS\tNumber=Plur\t")
    (folder / "some.conllu").write_bytes(data)
    model = f"{column}.ssvm"
    assert (
        run("train", "pos", "some.conllu", "--column", column, "-o", model, "-q", cwd=folder).returncode == 0
    )
    done = run("tag", model, "some.conllu", cwd=folder)
    # An underscore is a missing label: only those tokens may change.
    at = {"upos": 3, "xpos": 4, "feats": 5}[column]
    for old, new in zip(data.splitlines(), done.stdout.splitlines(), strict=True):
        old, new = old.split(b"\t"), new.split(b"\t")
        assert old == new or (old[at] == b"_" and old[:at] + old[at + 1 :] == new[:at] + new[at + 1 :])


def test_iob1_is_read_and_answered(folder):
    iob1 = run("convert", "train.txt", "--to", "IOB1", cwd=folder).stdout
    (folder / "iob1.txt").write_bytes(iob1)
    assert iob1 != (folder / "train.txt").read_bytes()
    run("train", "chunk", "iob1.txt", "-o", "iob1.ssvm", "-q", cwd=folder)
    assert run("tag", "iob1.ssvm", "iob1.txt", "--replace", cwd=folder).stdout == iob1


def test_a_seed_repeats_bit_for_bit_and_another_does_not(folder):
    models = []
    for seed in (5, 5, 6):
        run(*TRAIN[:3], "-o", "s.ssvm", "--seed", seed, "-q", cwd=folder)
        models.append((folder / "s.ssvm").read_bytes())
    assert models[0] == models[1] != models[2]


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_crfpp_bigrams_with_cells_work_from_file_to_file(folder, inference):
    (folder / "template").write_text("U00:%x[0,1]\nB\nB01:%x[0,1]\n")
    options = ("--template", "template", "--inference", inference)
    run("train", "label", "train.txt", "-o", "b.ssvm", "--keep-names", "-q", *options, cwd=folder)
    assert b"B01:" in run("inspect", "b.ssvm", "--top", "200", cwd=folder).stdout
    done = run("tag", "b.ssvm", "test.txt", "--replace", cwd=folder)
    assert done.stdout == (folder / "test.txt").read_bytes()


def test_useless_training_and_comparison_are_reported(folder):
    (folder / "gold.conllu").write_bytes(as_conllu(5))
    refused(
        run("evaluate", "gold.conllu", cwd=folder), 1, "no column of predicted labels", "evaluate MODEL FILE"
    )
    leak = run("train", "label", "train.txt", "--template", "w[0], c2[0]", "-o", "leak.ssvm", cwd=folder)
    refused(leak, 2, "reads column 2", "columns without the labels")
    assert not (folder / "leak.ssvm").exists()
    (folder / "one.txt").write_text("a X\nb X\n\nc X\n")
    assert (
        b"all tokens have the label X"
        in run("train", "label", "one.txt", "-o", "one.ssvm", cwd=folder).stderr
    )
    cut = run("train", "label", "train.txt", "--cutoff", 9999, "-o", "cut.ssvm", cwd=folder)
    assert b"no feature is left" in cut.stderr
    (folder / "items.txt").write_text("X\ta\nY\tb\n\n")
    items = ("train", "label", "items.txt", "--format", "crfsuite", "-o", "items.ssvm")
    refused(run(*items, "--template", "w[0]", cwd=folder), 2, "which contains features")


def test_more_labels_than_a_model_file_may_have_are_refused_before_training(folder):
    (folder / "many.txt").write_text("".join(f"a L{k}\n" for k in range(10_001)))
    done = run("train", "label", "many.txt", "-o", "many.ssvm", cwd=folder)
    refused(done, 1, "10,001 labels, but a model can have at most 10,000; check the label column")
    assert not (folder / "many.ssvm").exists()


def items(n, seed=0):
    """The sentences in CRFsuite's format, some lines with a feature more."""
    lines = [line.split(" ") for line in as_columns(n, seed).decode().split("\n")]
    return "\n".join(
        "\t".join([line[2], f"w={line[0]}", f"p={line[1]}", *["start"] * (k % 4 == 0)])
        if len(line) == 3
        else ""
        for k, line in enumerate(lines)
    )


def test_crfsuite_files_are_known_and_others_are_not_taken_for_them(folder):
    (folder / "items.txt").write_text(items(40))
    assert run("train", "label", "items.txt", "-o", "items.ssvm", "-q", cwd=folder).returncode == 0
    done = run("evaluate", "items.ssvm", "items.txt", "--json", cwd=folder)
    assert json.loads(done.stdout)["tokens"]["accuracy"] > 0.95
    refused(run("tag", "items.ssvm", "items.txt", "--scores", cwd=folder), 1, "has no room for scores")
    for command in ("tag", "evaluate"):
        refused(run(command, "items.ssvm", "test.txt", cwd=folder), 1, "none of the model's features")
    assert run("tag", "items.ssvm", "test.txt", "--format", "crfsuite", cwd=folder).returncode == 0
    refused(run("tag", "chunk.ssvm", "items.txt", cwd=folder), 1, "this file is in CRFsuite's format")


def test_labels_that_are_not_all_of_one_scheme_are_reported(folder):
    for scheme in ("IOB1", "IOBES"):
        done = run("convert", "train.txt", "--to", scheme, cwd=folder)
        (folder / f"{scheme}.txt").write_bytes(done.stdout)
        (folder / "mixed.txt").write_bytes((folder / "train.txt").read_bytes() + done.stdout)
        told = run("train", "chunk", "mixed.txt", "-o", "mixed.ssvm", cwd=folder).stderr.decode()
        assert "out of place in" in told
        assert "at line " in told
    (folder / "odd.txt").write_bytes((folder / "train.txt").read_bytes().replace(b" O\n", b" NN\n"))
    odd = run("train", "chunk", "odd.txt", "-o", "odd.ssvm", cwd=folder)
    assert b": NN), so all labels are used unchanged" in odd.stderr
    tags = run("train", "chunk", "train.txt", "--columns", 0, "--column", 1, "-o", "odd.ssvm", cwd=folder)
    assert b"do not mark phrases" in tags.stderr
    refused(
        run("train", "chunk", "IOBES.txt", "--resume", "chunk.ssvm", "-o", "x.ssvm", cwd=folder),
        1, "IOBES.txt:2: Label 'E-NP' is not of scheme IOB2", "convert --to IOB2",
    )  # fmt: skip
    dev = run("train", "chunk", "train.txt", "--dev", "IOB1.txt", "-o", "odd.ssvm", cwd=folder)
    assert b"warning: IOB1.txt: the labels are in IOB1, the model's in IOB2" in dev.stderr


def test_phrases_of_one_word_are_compared_in_any_scheme(folder):
    text = "Ada B-PER\nsleeps O\n\nBo B-PER\nsees O\nCy B-PER\n\n"
    (folder / "short.txt").write_text(3 * text)
    assert run("train", "ner", "short.txt", "-o", "short.ssvm", "-q", cwd=folder).returncode == 0
    for mark in ("U-PER", "I-PER"):
        (folder / "other.txt").write_text(text.replace("B-PER", mark))
        done = run("evaluate", "short.ssvm", "other.txt", "--json", cwd=folder)
        assert (done.returncode, json.loads(done.stdout)["phrases"]["f1"]) == (0, 1.0)
        assert run("tag", "short.ssvm", "other.txt", cwd=folder).returncode == 0


def test_evaluation_names_other_labels_and_schemes(folder):
    assert run("evaluate", "chunk.ssvm", "test.txt", cwd=folder).stderr == b""
    iob1 = run("convert", "test.txt", "--to", "IOB1", cwd=folder).stdout
    (folder / "iob1.test").write_bytes(iob1)
    told = run("evaluate", "chunk.ssvm", "iob1.test", cwd=folder).stderr
    assert b"the labels are in IOB1, the model's in IOB2" in told
    (folder / "both.test").write_bytes(run("tag", "chunk.ssvm", "iob1.test", cwd=folder).stdout)
    assert b"the predicted ones in IOB2" in run("evaluate", "both.test", cwd=folder).stderr
    refused(
        run("evaluate", "pos.ssvm", "test.txt", "--column", 2, cwd=folder),
        1, "test.txt: column 2 (counted from 0) has the labels B-", "but the model has",
        "., DT, IN ...", "--column",
    )  # fmt: skip
    refused(run("evaluate", "chunk.ssvm", "train.conllu", "--column", "xpos", cwd=folder), 1)
    refused(run("evaluate", "test.txt", "--column", 1, cwd=folder), 2, "--column has no effect without MODEL")


@pytest.mark.parametrize(
    ("chosen", "part"),
    [
        (("--columns", "0,0"), "column 0 of 3 is used twice"),
        (("--columns", "0,2", "--column", 2), "column 2 of 3 is used twice"),
        (("--column", -5), "so there is no column -5 (the first is 0, the last -1)"),
        (("--column", 7), "so there is no column 7 "),
        (("--columns", "0,9"), "so there is no column 9 "),
    ],
)
def test_columns_that_do_not_exist_are_named_as_they_were_asked_for(folder, chosen, part):
    refused(run(*TRAIN, *chosen, cwd=folder), 1, "train.txt:1: ", part)


def test_files_called_gz_are_packed_always_to_the_same_bytes(folder):
    plain = run("tag", "chunk.ssvm", "test.txt", cwd=folder).stdout
    packed = []
    for name in ("a.gz", "b.gz"):
        assert run("tag", "chunk.ssvm", "test.txt", "-o", name, cwd=folder).returncode == 0
        packed.append((folder / name).read_bytes())
    assert gzip.decompress(packed[0]) == plain
    assert packed[0] == packed[1]
    assert run("tag", "chunk.ssvm", "a.gz", cwd=folder).returncode == 0
    run("convert", "a.gz", "--column", 2, "--to", "IOBES", "-o", "b.gz", cwd=folder)
    assert b" E-NP " in gzip.decompress((folder / "b.gz").read_bytes())


def test_a_seed_given_with_resume_has_an_effect_or_is_refused(folder):
    resume = ("train", "chunk", "train.txt", "--resume", "chunk.ssvm", "-q", "-o")
    for seed in (1, 2):
        assert run(*resume, f"seed{seed}.ssvm", "--seed", seed, cwd=folder).returncode == 0
    assert (folder / "seed1.ssvm").read_bytes() != (folder / "seed2.ssvm").read_bytes()


def test_inspect_writes_a_page_and_prints_json(folder):
    done = run("inspect", "chunk.ssvm", "--html", "page.html", "--json", cwd=folder)
    assert json.loads(done.stdout)["scheme"] == "IOB2"
    assert (folder / "page.html").read_text().startswith("<!")


def test_the_n_best_labels_have_a_column_for_each_part(folder):
    arguments = ("--nbest", "2", "--scores", "--format", "columns")
    done = run("tag", "en-pos", *arguments, cwd=folder, stdin=b"The\n\n")
    word, *first = done.stdout.decode().split("\n")[0].split()
    assert word == "The"
    assert first[:2] == ["DET", "DT"]
    assert len(first) == 6
    assert float(first[2]) >= float(first[5])


def test_parts_of_speech_that_the_model_does_not_know_are_reported(folder):
    rows = [line.split() for line in (folder / "test.txt").read_text().splitlines() if line]
    (folder / "swapped.txt").write_text("".join(f"{word} x{word} {label}\n" for word, _, label in rows))
    done = run("tag", "chunk.ssvm", "swapped.txt", cwd=folder)
    assert done.returncode == 0
    assert b"the model knows none of the values in column 1 (counted from 0), such as 'x" in done.stderr
    assert b"warning" not in run("tag", "chunk.ssvm", "test.txt", cwd=folder).stderr
    template = "chunk + doc_form[0]"  # features of documents are not looked at
    done = run("train", "chunk", "train.txt", "--template", template, "-o", "d", "-q", cwd=folder)
    assert done.returncode == 0
    assert run("tag", "d", "test.txt", cwd=folder).stderr == b""
