"""`structsvm parse`: train, apply, match, evaluate; bad input, exit codes, nothing half-written."""

import gzip
import json
import os
import re
import subprocess
import sys

import pytest

from corpora.simulators.by_name import simulate
from semparse import Ospas, commands
from semparse.options import table
from tests.taggers import command_line


def run(*arguments, cwd, stdin=""):
    done = command_line.run(*arguments, cwd=cwd, stdin=stdin.encode())
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a game, another one, and a parser trained on the first."""
    path = tmp_path_factory.mktemp("parse")
    simulate("sportscast", 400, path / "train.jsonl", seed=1)
    simulate("sportscast", 100, path / "test.jsonl", seed=2)
    done = run("parse", "train", "train.jsonl", "-o", "game.ssvm", cwd=path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.startswith("game.ssvm: learned 9 relations, ")
    assert " words from 400 sentences with " in done.stderr
    return path


def refused(done, code, *parts):
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


def test_apply_writes_a_line_for_each_sentence(folder):
    done = run("parse", "apply", "game.ssvm", cwd=folder, stdin="purple3 feeds purple7\npink2 strikes\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "purple3 feeds purple7\tpass(purple3, purple7)\npink2 strikes\tkick(pink2)\n"


@pytest.mark.parametrize("show", ["mr", "json"])
def test_output_lines_are_those_of_the_input(show, folder):
    """Also if a line is blank or has no words."""
    lines = ["purple3 feeds purple7", "", "!!!", "  ", "pink2 strikes", ""]
    done = run("parse", "apply", "game.ssvm", "--show", show, cwd=folder, stdin="\n".join([*lines, ""]))
    assert (done.returncode, done.stderr) == (0, "")
    found = done.stdout.splitlines()
    if show == "json":
        values = [json.loads(line) for line in found]
        found = [f"{v['text']}\t{';'.join(p['mr'] for p in v['parses'])}" for v in values]
    meant = {0: "pass(purple3, purple7)", 4: "kick(pink2)"}
    assert found == [f"{line.strip()}\t{meant.get(k, '')}" for k, line in enumerate(lines)]


def test_matches_are_aligned_with_the_input_too(folder):
    stdin = "pink2 strikes\tkick(pink2)\n\n...\tkick(pink2)\npink3 strikes\tkick(pink3)\n"
    done = run("parse", "match", "game.ssvm", cwd=folder, stdin=stdin)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4), done.stderr
    assert done.stdout.splitlines()[1:3] == ["\t", "...\t"]


def test_apply_shows_pictures(folder):
    done = run(
        "parse", "apply", "game.ssvm", "--show", "picture", cwd=folder, stdin="purple3 feeds purple7\n"
    )
    lines = done.stdout.split("\n")
    assert lines[0] == "purple3  feeds  purple7"
    assert lines[1] == "purple3  pass   purple7"
    assert lines[2] == "A0       REL    A1"
    assert lines[3] == "=> pass(purple3, purple7)"


def test_apply_writes_json_and_html(folder):
    arguments = ["parse", "apply", "game.ssvm", "test.jsonl", "-n", 2]
    done = run(*arguments, "--show", "json", cwd=folder)
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(objects) == 100
    assert all(set(one) == {"text", "parses"} and len(one["parses"]) <= 2 for one in objects)
    done = run(*arguments, "--show", "html", "-o", "page.html", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert (folder / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_match_picks_candidates_only(folder):
    done = run("parse", "match", "game.ssvm", "test.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    bags = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    picks = [line.split("\t") for line in done.stdout.splitlines()]
    assert [text for text, _ in picks] == [bag["text"] for bag in bags]
    assert all(pick in ("", *bag["candidates"]) for (_, pick), bag in zip(picks, bags, strict=True))
    assert sum(bool(pick) for _, pick in picks) > 50


def test_match_in_parts_learns_again(folder):
    done = run("parse", "match", "game.ssvm", "test.jsonl", "--parts", 3, cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = (folder / "test.jsonl").read_text().splitlines()
    bags = [json.loads(line) for line in lines]
    picks = Ospas().match_apart([bag["text"] for bag in bags], [bag["candidates"] for bag in bags], parts=3)
    assert done.stdout.splitlines() == [f"{b['text']}\t{p or ''}" for b, p in zip(bags, picks, strict=True)]
    done = run("parse", "evaluate", "game.ssvm", "test.jsonl", "--parts", 3, "--json", cwd=folder)
    right = sum(str(p) in bag["gold"] for p, bag in zip(picks, bags, strict=True) if p)
    assert json.loads(done.stdout)["matching"]["correct"] == right


def test_evaluate_reports_parsing_and_matching(folder):
    done = run("parse", "evaluate", "game.ssvm", "test.jsonl", "--json", cwd=folder)
    scores = json.loads(done.stdout)
    bags = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    assert scores["parsing"]["gold"] == sum(bool(bag["gold"]) for bag in bags)
    assert scores["parsing"]["f1"] > 0.7
    assert scores["matching"]["f1"] > 0.6
    text = run("parse", "evaluate", "game.ssvm", "test.jsonl", cwd=folder).stdout.splitlines()
    assert [line.split()[0] for line in text[:3]] == ["parsing", "overall", "matching"]
    assert f"F1 {scores['parsing']['f1']:.3f}" in text[0]
    # Answers to sentences that mean nothing are wrong ones.
    nothing = [bag["text"] for bag in bags if not bag["gold"]]
    parser = Ospas.load(folder / "game.ssvm")
    spurious = sum(len(parser.parse(sentence)) for sentence in nothing)
    assert (scores["parsing"]["nothing"], scores["parsing"]["spurious"]) == (len(nothing), spurious)
    assert scores["overall"]["answered"] == scores["parsing"]["answered"] + spurious
    assert scores["overall"]["gold"] == scores["parsing"]["gold"]
    assert (
        text[3] == f"{len(nothing)} sentences mean nothing; {spurious} answers to them count in overall only"
    )


ROBOCUP = {
    "nl/2002final-comments": " 3 | Red1 lobs to Red2\n 8 | red2 lobs to red1\n 40 | red1 lobs to red2\n",
    "events/2002final-processed-events": "1 | 2 | lob ( red1 , red2 )\n7 | 8 | lob ( red2 , red1 )\n",
    "training/2002final-train": """<trainingData><examples>
<example id="0"> <nl> Red1 lobs to Red2 </nl> <semid> 0 </semid> </example>
<example id="1"> <nl> red2 lobs to red1 </nl> <semid> 0 1 </semid> </example>
</examples><sems>
<sem id="0"> lob ( red1 , red2 ) </sem>
<sem id="1"> lob ( red2 , red1 ) </sem>
</sems></trainingData>
""",
    "gold/2002final-gold": """<examples>
<example id="0"> <nl> Red1 lobs to Red2 </nl> <mrl> lob ( red1 , red2 ) </mrl> </example>
<example id="1"> <nl> red2 lobs to red1 </nl> <mrl> lob ( red2 , red1 ) </mrl> </example>
<example id="2"> <nl> red1 lobs to red2 </nl> <mrl> lob ( red1 , red2 ) </mrl> </example>
</examples>
""",
}


def test_a_robocup_folder_is_trained_on_and_scored_as_in_the_literature(tmp_path):
    for name, content in ROBOCUP.items():
        (tmp_path / "games" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "games" / name).write_text(content)
    done = run("parse", "train", "games", "-o", "game.ssvm", cwd=tmp_path)
    assert "from 2 sentences with 3 candidates" in done.stderr
    done = run("parse", "evaluate", "game.ssvm", "games", "--json", cwd=tmp_path)
    scores = json.loads(done.stdout)
    assert scores["parsing"]["gold"] == 3, "the sentence without a window is parsed, too"
    assert scores["matching"]["gold"] == 3, "and counts as not matched"
    assert scores["matching"]["answered"] <= 2
    path = tmp_path / "games" / "training" / "2002final-train"
    path.write_text(path.read_text().replace("</semid> </example>\n</ex", "</semid>\n</ex"))
    done = run("parse", "evaluate", "game.ssvm", "games", cwd=tmp_path)
    refused(done, 1, "2002final-train:3: this <example> is incomplete")


def test_a_seed_repeats_byte_for_byte_and_the_paper_s_algorithm_has_its_options(folder):
    options = ["--algorithm", "paper", "--empties", "max", "--strategy", "random", "--last", "-C", 1, "-q"]
    for name in ("a.ssvm", "b.ssvm"):
        done = run("parse", "train", "train.jsonl", "-o", name, *options, "--seed", 5, cwd=folder)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "a.ssvm").read_bytes() == (folder / "b.ssvm").read_bytes()
    parser = Ospas.load(folder / "a.ssvm")
    assert (parser.algorithm, parser.empties, parser.strategy, parser.average) == (
        "paper",
        "max",
        "random",
        False,
    )


def test_options_of_python_are_options_of_the_command_line(folder):
    options = ["--features", "pairs, order", "--iterations", 4, "--prior", 0.5, "--reprocess", 1]
    options += ["--on-topic", "--salience", 0.2, "--solver", "pa", "--last", "-q"]
    done = run("parse", "train", "train.jsonl", "-o", "options.ssvm", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    parser = Ospas.load(folder / "options.ssvm")
    given = {
        "features": ("pairs", "order"), "iterations": 4, "prior": 0.5, "reprocess": 1, "on_topic": True,
        "salience": 0.2, "solver": "pa", "average": False,
    }  # fmt: skip
    assert {name: value for name, value in parser.get_params().items() if name in given} == given
    refused(run("parse", "train", "train.jsonl", "-o", "no.ssvm", "--features", "hue", cwd=folder), 2, "hue")


def test_every_option_of_the_parser_has_one_on_the_command_line(folder):
    shown = run("parse", "train", "--help", cwd=folder).stdout
    for name in Ospas().get_params():
        assert Ospas.OPTIONS[name].flag.split("/")[0] in shown, name
        assert f"\n| `{name}` | " in table()


@pytest.mark.parametrize("option", ["--average", "--last"])
def test_averaging_is_refused_where_it_has_no_effect(option, folder):
    refused(
        run("parse", "train", "train.jsonl", "-o", "no.ssvm", option, cwd=folder),
        2,
        "--average/--last has no effect",
    )
    assert not (folder / "no.ssvm").exists()


def test_answers_can_be_selected_after_training(folder):
    for command, option, value in (("apply", "--threshold", 1e9), ("match", "--salience", 1)):
        done = run("parse", command, "game.ssvm", "test.jsonl", option, value, cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        assert all(line.endswith("\t") for line in done.stdout.splitlines())
    done = run("parse", "evaluate", "game.ssvm", "test.jsonl", "--threshold", 1e9, "--json", cwd=folder)
    assert json.loads(done.stdout)["parsing"]["answered"] == 0
    done = run("parse", "match", "game.ssvm", "test.jsonl", "--salience", 5, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Invalid value for '--salience': must be at most 1, got 5" in done.stderr


def test_lines_with_tabs_are_evaluated_if_the_format_says_that_they_are_right(folder):
    bags = [json.loads(line) for line in (folder / "test.jsonl").read_text().splitlines()]
    (folder / "gold.tsv").write_text("".join(f"{bag['text']}\t{';'.join(bag['gold'])}\n" for bag in bags))
    told = run("parse", "evaluate", "game.ssvm", "gold.tsv", "--json", "--format", "tab", cwd=folder)
    want = run("parse", "evaluate", "game.ssvm", "test.jsonl", "--json", cwd=folder)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["parsing"] == json.loads(want.stdout)["parsing"]


def test_resume_continues_with_new_sentences(folder):
    (folder / "more.tsv").write_text("purple3 telegraphs purple7\tpass(purple3, purple7)\n" * 3)
    done = run("parse", "train", "more.tsv", "--resume", "game.ssvm", "-o", "newer.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "telegraphs" in Ospas.load(folder / "newer.ssvm").lexicon()
    assert "telegraphs" not in Ospas.load(folder / "game.ssvm").lexicon()
    for option in ("-C", "--seed"):
        resume = ("parse", "train", "more.tsv", "--resume", "game.ssvm", "-o", "no.ssvm")
        refused(run(*resume, option, 1, cwd=folder), 2, f"{option} cannot change with --resume")
    with pytest.raises(ValueError, match="cannot change with --resume; leave it out"):
        commands.train([folder / "more.tsv"], folder / "no.ssvm", resume=folder / "game.ssvm", passes=2)


def test_sentences_without_candidates_are_skipped_and_counted(tmp_path):
    lines = ["ann runs\trun(ann)", "bob runs\trun(bob)", "what a day", "hm\t", "...\trun(ann)"]
    (tmp_path / "data.tsv").write_text("\n".join(lines) + "\n")
    done = run("parse", "train", "data.tsv", "-o", "out.ssvm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = "from 5 sentences with 3 candidates; skipped 3 sentences without candidates or words"
    assert told in done.stderr
    done = run("parse", "train", "data.tsv", "-o", "out.ssvm", "--resume", "out.ssvm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        (['{"text": "a b"}'], ["bad.jsonl:1:", "candidates"]),
        (["", '{"text": "a b", "candidates": ["r(x"]}'], ["bad.jsonl:2:", "r(x"]),
        (['{"text": "a b", "candidates": ["r(x)"]'], ["bad.jsonl:1:"]),
        (['{"text": "...", "candidates": ["r(x)"]}'], ["bad.jsonl:", "has words"]),
        ([f'{{"text": "{"a " * 2001}", "candidates": ["r(x)"]}}'], ["bad.jsonl:1:", "2001 words"]),
        (['{"text": "", "candidates": ["r(x)"]}'], ["bad.jsonl:1:"]),
        (["[1, 2]"], ["bad.jsonl:1:"]),
        ([""], ["bad.jsonl", "no sentence"]),
    ],
)  # fmt: skip
def test_bad_training_data_are_reported_by_file_and_line(lines, parts, tmp_path):
    (tmp_path / "bad.jsonl").write_text("\n".join(lines) + "\n")
    refused(run("parse", "train", "bad.jsonl", "-o", "out.ssvm", cwd=tmp_path), 1, *parts)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Ann NN B-NP\nruns VBZ B-VP\n. . O\n\nBob NN B-NP\n", ["columns:1:", "sentences with candidate"]),
        ("Ann\tNN\nruns\tVBZ\n.\t.\n\nBob\tNN\n", ["columns:1:", "sentences with candidate", "text TAB mr"]),
        ("# text = Ann runs\n1\tAnn\tann\tPROPN\n", ["columns:2:", "text TAB mr"]),
    ],
)
def test_a_file_of_columns_is_distinguished_from_one_of_sentences(text, parts, tmp_path):
    (tmp_path / "columns").write_text(text)
    refused(run("parse", "train", "columns", "-o", "out.ssvm", cwd=tmp_path), 1, *parts)


def test_commands_of_one_word_can_be_learned(tmp_path):
    words = {"stop": "halt", "go": "move", "left": "turn", "wait": "pause"}
    (tmp_path / "robot.tsv").write_text("".join(f"{word}\t{mr}\n" for word, mr in words.items()))
    lines = [json.dumps({"text": word, "candidates": [mr]}) for word, mr in words.items()]
    (tmp_path / "robot.jsonl").write_text("\n".join(lines))
    refused(run("parse", "train", "robot.tsv", "-o", "out.ssvm", cwd=tmp_path), 1, "--format")
    for arguments in (["robot.tsv", "--format", "tab"], ["robot.jsonl"]):
        done = run("parse", "train", *arguments, "-o", "out.ssvm", "-q", cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_a_schema_that_contradicts_the_data_is_reported(tmp_path):
    (tmp_path / "data.tsv").write_text("ann runs\trun(ann)\nbob runs\trun(bob)\n")
    (tmp_path / "schema.json").write_text(
        '{"relations": {"run": {"slots": ["who"]}}, "types": {"who": ["ann"]}}'
    )
    arguments = ["parse", "train", "data.tsv", "-o", "out.ssvm", "--schema"]
    refused(run(*arguments, "schema.json", cwd=tmp_path), 1, "data.tsv:2:", "'bob' is not a who")
    (tmp_path / "schema.json").write_text('{"relations":\n [}')
    refused(run(*arguments, "schema.json", cwd=tmp_path), 1, "schema.json:2:")
    refused(run(*arguments, "none.json", cwd=tmp_path), 1, "none.json")
    assert not (tmp_path / "out.ssvm").exists()


def test_a_symbol_unknown_to_the_model_is_reported_and_not_matched(folder):
    (folder / "new.tsv").write_text(
        "zed feeds pink3\tpass(zed, pink3)\npink2 feeds pink3\tpass(pink2, pink3)\n"
    )
    done = run("parse", "match", "game.ssvm", "new.tsv", cwd=folder)
    assert (done.returncode, done.stdout) == (
        0,
        "zed feeds pink3\t\npink2 feeds pink3\tpass(pink2, pink3)\n",
    )
    assert "'zed' was in no candidate" in done.stderr


def test_files_that_are_not_models_or_do_not_exist_are_reported(folder):
    refused(run("parse", "apply", "train.jsonl", "test.jsonl", cwd=folder), 2, "train.jsonl")
    refused(run("parse", "apply", "missing.ssvm", "test.jsonl", cwd=folder), 2, "missing.ssvm")
    refused(run("parse", "apply", "game.ssvm", "missing.jsonl", cwd=folder), 1, "missing.jsonl")
    refused(run("parse", "train", "missing.jsonl", "-o", "out.ssvm", cwd=folder), 1, "missing.jsonl")


def test_wrong_use_is_reported(folder):
    refused(run("parse", "apply", "game.ssvm", "test.jsonl", "--show", "poem", cwd=folder), 2, "'poem'")
    refused(
        run("parse", "train", "train.jsonl", "-o", "no.ssvm", "--algorithm", "magic", cwd=folder), 2, "magic"
    )
    refused(run("parse", "apply", "game.ssvm", "test.jsonl", "--format", "xml", cwd=folder), 2, "xml")
    assert not (folder / "no.ssvm").exists()


def test_no_file_that_is_read_is_written_over(folder):
    game = (folder / "test.jsonl").read_bytes()
    for command in ("train", "apply game.ssvm", "match game.ssvm"):
        done = run("parse", *command.split(), "test.jsonl", "-o", "test.jsonl", cwd=folder)
        refused(done, 2, "test.jsonl is an input and would be overwritten")
    assert (folder / "test.jsonl").read_bytes() == game
    model = (folder / "game.ssvm").read_bytes()
    for command in ("apply", "match"):
        done = run("parse", command, "game.ssvm", "test.jsonl", "-o", "game.ssvm", cwd=folder)
        refused(done, 2, "game.ssvm is an input and would be overwritten")
    assert (folder / "game.ssvm").read_bytes() == model


def test_evaluation_needs_right_meanings(folder):
    (folder / "nogold.tsv").write_text("purple3 feeds purple7\tpass(purple3, purple7)\n")
    refused(run("parse", "evaluate", "game.ssvm", "nogold.tsv", cwd=folder), 1, "nogold.tsv", "gold")


def test_output_that_fails_leaves_nothing(folder, monkeypatch):
    def burst(*_):
        raise OSError("disk full")

    monkeypatch.setattr(commands, "text_picture", burst)
    with pytest.raises(OSError, match="disk full"):
        commands.apply(folder / "game.ssvm", folder / "test.jsonl", folder / "out.txt", show="picture")
    assert not list(folder.glob("out.txt*"))


def test_a_schema_of_the_data_can_be_edited_and_given_to_train(folder):
    done = run("parse", "schema", "train.jsonl", "-o", "schema.json", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    schema = json.loads((folder / "schema.json").read_text())
    assert len(schema["relations"]["pass"]["slots"]) == 2
    assert Ospas.load(folder / "game.ssvm").schema_.named().to_json() == schema
    done = run("parse", "train", "train.jsonl", "--schema", "schema.json", "-o", "given.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    del schema["relations"]["kick"]
    (folder / "schema.json").write_text(json.dumps(schema))
    done = run("parse", "train", "train.jsonl", "--schema", "schema.json", "-o", "given.ssvm", cwd=folder)
    refused(done, 1, "train.jsonl:", "no relation 'kick'")


def test_the_lexicon_lists_words_with_their_shares(folder):
    done = run("parse", "lexicon", "game.ssvm", "--least", 0.5, cwd=folder)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert ["feeds", "pass"] in [line[:2] for line in lines]
    assert all(float(share) >= 0.5 for *_, share in lines)
    every = run("parse", "lexicon", "game.ssvm", "--least", 0, cwd=folder).stdout.splitlines()
    assert len(every) > len(lines)


def test_inspection_of_a_parser_lists_its_relations_and_words(folder):
    found = json.loads(run("inspect", "game.ssvm", "--json", "--top", 5, cwd=folder).stdout)
    parser = Ospas.load(folder / "game.ssvm")
    assert {name.split("/")[0] for name in found["relations"]} == {*parser.schema_.relations}
    assert found["words"] == len(parser.lexicon())
    weights = [weight for _, _, weight in found["strongest"]]
    assert len(weights) == 5
    assert max(max(shares.values()) for shares in parser.lexicon().values()) == weights[0] == max(weights)
    assert "relations" in run("inspect", "game.ssvm", cwd=folder).stdout
    for option in ("--html", "--test"):
        refused(run("inspect", "game.ssvm", option, "page.html", cwd=folder), 2, "has no effect with")


def test_a_score_is_explained_by_its_weights(folder):
    done = run("parse", "explain", "game.ssvm", "purple3 feeds purple7", "--top", 5, cwd=folder)
    first, *rest = done.stdout.splitlines()
    assert first == "=> pass(purple3, purple7)"
    assert len(rest) == 5
    sizes = [abs(float(line.split()[0])) for line in rest]
    assert sizes == sorted(sizes, reverse=True)
    given = ["purple3 feeds purple7", "--meaning", "pass(purple7, purple3)"]
    assert run("parse", "explain", "game.ssvm", *given, cwd=folder).stdout.startswith("=> pass(purple7,")
    assert run("parse", "explain", "game.ssvm", "!!!", cwd=folder).stdout == "=> no meaning found\n"
    refused(run("parse", "explain", "game.ssvm", "a", "--meaning", "f(", cwd=folder), 2, "not a meaning")
    unsaid = ("purple3 feeds purple7", "--meaning", "pass(nobody, purple7)")
    refused(run("parse", "explain", "game.ssvm", *unsaid, cwd=folder), 2, "cannot mean pass(nobody")


def test_help_names_every_command(folder):
    text = run("parse", "--help", cwd=folder).stdout
    assert all(name in text for name in ("train", "apply", "match", "evaluate", "windows", "schema"))
    assert "parse" in run("--help", cwd=folder).stdout


def test_tagging_does_not_import_the_parser():
    code = (
        "import sys; from typer.testing import CliRunner; from structsvm.cli.app import app;"
        "CliRunner().invoke(app, ['tag', '--help']); assert 'semparse' not in sys.modules;"
        "assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_demo_parses_sentences(tmp_path):
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "lights  the  lamp" in done.stdout
    assert "[PER Marie Curie] was born in [LOC Warsaw]" in done.stdout
    assert re.search(r"\[NP .*\] \[VP .*\] \[NP .*\]\.", done.stdout)
    assert "accuracy:" in done.stdout
    assert "=> pass(" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stderr == ""


PACKED = gzip.compress(b"purple3 feeds purple7\npink2 strikes\n", mtime=0)


@pytest.mark.parametrize("command", ["apply", "match"])
@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param(b"purple3 feeds purple7\r\npink2 strikes\n", 0, id="CRLF"),
        pytest.param(b"\xef\xbb\xbfpurple3 feeds purple7\tpass(purple3, purple7)\n", 0, id="BOM"),
        pytest.param(b'\xef\xbb\xbf{"text": "purple3 feeds purple7"}\n', 0, id="BOM of JSONL"),
        pytest.param(PACKED, 0, id="gzip"),
        pytest.param(PACKED[:-9], 1, id="cut gzip"),
        pytest.param(b"pink2 strikes\npurple3 f\xe9eds purple7\n", 1, id="Latin-1"),
        pytest.param("p\u00fcrple3 feeds purple7\n".encode(), 0, id="UTF-8"),
    ],
)
def test_standard_input_is_read_like_a_file(command, content, code, folder, tmp_path):
    """Whatever the locale says: the encoding is UTF-8."""
    (tmp_path / "text").write_bytes(content)
    found, options = [], {}
    if b"f\xe9" in content or b"p\xc3" in content:  # the locale matters to letters only
        options["env"] = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name in ("text", "-"):
        arguments = ("parse", command, folder / "game.ssvm", name)
        done = command_line.run(*arguments, cwd=tmp_path, stdin=content, **options)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
        found.append((done.stdout, done.stderr.replace(b" text:", b" <stdin>:")))
    assert found[0] == found[1]
