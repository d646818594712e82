"""Dependency trees: training, files, bad treebanks; every output is a tree with one root."""

import json
import re
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest

from structsvm.files import ModelFileError, load_model, save_model
from structsvm.files.errors import DataError
from structsvm.problems.dependency.problem import is_projective, is_tree
from taggers import commands
from taggers.dependencies.parser import DependencyParser, Learner, attributes, train_parser
from taggers.dependencies.templates import GRAPHS, STATE_NUMBERS, STATE_PLACES, parse_templates
from taggers.formats.drawing import as_svg
from taggers.pipeline import Pipeline
from tests.structsvm.helpers import trees
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import with_trees


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("trees")
    (path / "train.conllu").write_bytes(with_trees(120))
    (path / "dev.conllu").write_bytes(with_trees(40, 1))
    run("train", "ud", "train.conllu", "-o", "ud.ssvm", cwd=path)
    run("train", "parse", "train.conllu", "-o", "parse.ssvm", cwd=path)
    return path


def rows(data):
    return [
        [line.split("\t") for line in block.split("\n") if line[:1].isdigit()]
        for block in data.decode().strip().split("\n\n")
    ]


def attachment(gold, found):
    """LAS in percent, counted here once more."""
    pairs = [
        (a[6:8], b[6:8])
        for one, other in zip(gold, found, strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    return 100 * sum(a == b for a, b in pairs) / len(pairs)


@pytest.mark.parametrize("model", ["ud.ssvm", "parse.ssvm"])
def test_a_model_learns_the_trees_of_a_small_grammar(folder, model):
    tagged = run("tag", model, "dev.conllu", cwd=folder)
    found = rows(tagged.stdout)
    assert attachment(rows((folder / "dev.conllu").read_bytes()), found) > 95
    for sentence in found:
        heads = [int(fields[6]) for fields in sentence]
        assert is_tree(heads)
        assert is_projective(heads)
        assert all((fields[6] == "0") == (fields[7] == "root") for fields in sentence)


def test_trees_of_random_words_are_trees_too(folder):
    rng = np.random.default_rng(0)
    pipeline = Pipeline.load(folder / "ud.ssvm")
    sentences = [
        [f"w{k}" for k in rng.integers(0, 50, n)] for n in [1, 2, 3, 10, 300, *rng.integers(1, 9, 60)]
    ]
    for words in pipeline.predict(sentences):
        assert is_tree([int(word["head"]) for word in words])


def test_the_same_seed_gives_the_same_file_and_threads_change_nothing(folder):
    run("train", "ud", "train.conllu", "--jobs", "3", "-o", "again.ssvm", cwd=folder)
    assert (folder / "again.ssvm").read_bytes() == (folder / "ud.ssvm").read_bytes()
    run("train", "ud", "train.conllu", "--seed", "1", "-o", "other.ssvm", cwd=folder)
    assert (folder / "other.ssvm").read_bytes() != (folder / "ud.ssvm").read_bytes()
    (folder / "long.conllu").write_bytes(with_trees(600, 3))
    one, two = (run("tag", "ud.ssvm", "long.conllu", "--jobs", k, cwd=folder).stdout for k in ("1", "3"))
    assert one == two


def test_threads_change_nothing_in_a_search_among_all_trees(folder):
    options = ("train", "parse", "train.conllu", "--search", "exact")
    for name, jobs in (("one", "1"), ("two", "2")):
        run(*options, "--jobs", jobs, "-o", f"{name}.ssvm", cwd=folder)
    assert (folder / "one.ssvm").read_bytes() == (folder / "two.ssvm").read_bytes()


def test_jobs_without_effect_are_refused(folder):
    for words, told in (
        (["ud", "--layers", "upos"], "--jobs needs trees"),
        (["parse"], "--jobs needs --search exact or accurate"),
        (["lemma"], "--jobs is not available for train lemma"),
    ):
        refused(run("train", *words, "train.conllu", "--jobs", "2", "-o", "m", cwd=folder), 2, told)


def test_a_small_file_parses_nearly_as_well(folder):
    run("train", "ud", "train.conllu", "--prune", "0.0005", "--dtype", "int8", "-o", "small.ssvm", cwd=folder)
    assert (folder / "small.ssvm").stat().st_size < 0.5 * (folder / "ud.ssvm").stat().st_size
    found = rows(run("tag", "small.ssvm", "dev.conllu", cwd=folder).stdout)
    assert attachment(rows((folder / "dev.conllu").read_bytes()), found) > 90


def test_layers_can_be_left_out(folder):
    run("train", "ud", "train.conllu", "--layers", "upos,parse", "-o", "two.ssvm", cwd=folder)
    assert Pipeline.load(folder / "two.ssvm").parts == ["upos", "head", "deprel"]
    run("train", "ud", "train.conllu", "--layers", "upos", "-o", "one.ssvm", cwd=folder)
    assert Pipeline.load(folder / "one.ssvm").parts == ["upos"]
    for layers, told in (("upos,tree", "the layer 'tree' is unknown"), ("parse", "name upos too")):
        refused(run("train", "ud", "train.conllu", "--layers", layers, "-o", "m", cwd=folder), 2, told)
    done = run("train", "pos", "train.conllu", "--layers", "upos", "-o", "m", cwd=folder)
    refused(done, 2, "--layers has no effect with task pos; leave it out")


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (6, "99", r"HEAD is 99, but the sentence has"),
        (6, "-1", "HEAD must be the number of a word"),
        (6, "_", "HEAD is missing, but other words have one"),
        (6, "2", "word 2 is its own head"),
        (6, "0", r"words \d and \d both have HEAD 0"),
        (7, "_", "DEPREL is missing"),
    ],
)
def test_a_wrong_tree_is_refused_with_its_line(folder, column, value, told):
    blocks = with_trees(9).decode().split("\n\n")
    lines = blocks[4].split("\n")
    at = next(k for k, line in enumerate(lines) if line.startswith("2\t"))
    fields = lines[at].split("\t")
    fields[column] = value
    lines[at] = "\t".join(fields)
    if value == "0":
        other = lines[at - 1].split("\t")
        lines[at - 1] = "\t".join([*other[:6], "0", *other[7:]])
    blocks[4] = "\n".join(lines)
    (folder / "wrong.conllu").write_text("\n\n".join(blocks))
    for task in ("train_ud", "train_parse"):
        with pytest.raises(DataError, match=rf"wrong\.conllu:\d+: {told}"):
            getattr(commands, task)(folder / "wrong.conllu", folder / "never.ssvm")
    assert not (folder / "never.ssvm").exists()


def test_a_cycle_is_refused_with_its_words(folder):
    heads = ["2", "3", "1", "0"]
    text = "".join(f"{k}\tw\tw\tX\t_\t_\t{head}\tdep\t_\t_\n" for k, head in enumerate(heads, 1))
    (folder / "cycle.conllu").write_text(text + "\n")
    with pytest.raises(DataError, match=r"cycle\.conllu:1: the heads form a cycle: 1 -> 2 -> 3 -> 1"):
        commands.train_parse(folder / "cycle.conllu", folder / "never.ssvm")


def test_a_file_without_trees_is_left_without_a_parser_or_refused(folder):
    text = with_trees(30).decode()
    lines = [line.split("\t") for line in text.split("\n")]
    bare = "\n".join("\t".join([*f[:6], "_", "_", *f[8:]]) if len(f) == 10 else f[0] for f in lines)
    (folder / "bare.conllu").write_text(bare)
    run("train", "ud", "bare.conllu", "-o", "bare.ssvm", cwd=folder)
    assert "head" not in Pipeline.load(folder / "bare.ssvm").parts
    for words in (["ud", "--layers", "upos,parse"], ["parse"]):
        refused(run("train", *words, "bare.conllu", "-o", "m", cwd=folder), 1, "the column head is empty")


def test_a_treebank_that_teaches_no_trees_is_named(folder):
    blocks = with_trees(30).decode().split("\n\n")
    (folder / "few.conllu").write_text("\n\n".join(blocks[:10]) + "\n\n")
    for task in ("ud", "parse"):
        done = run("train", task, "few.conllu", "-o", "few.ssvm", cwd=folder)
        assert b"few.conllu: trees of only 10 sentences; a parser needs hundreds" in done.stderr
    bare = re.sub(
        r"\t\d+\t[^\t\n]+(\t[^\t\n]*\t[^\t\n]*)$", r"\t_\t_\1", "\n\n".join(blocks), flags=re.MULTILINE
    )
    (folder / "empty.conllu").write_text(bare)
    done = run("train", "ud", "empty.conllu", "-o", "empty.ssvm", cwd=folder)
    assert b"(HEAD is empty: no trees)" in done.stderr


def test_a_sentence_of_5000_words_becomes_a_tree(folder):
    (found,) = Pipeline.load(folder / "ud.ssvm").predict([["Anna", "sees"] * 2500])
    assert is_tree([int(word["head"]) for word in found])


@pytest.mark.parametrize(
    "change", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data]
)
def test_line_ends_of_windows_and_a_byte_order_mark_do_not_change_the_model(folder, change):
    (folder / "same.conllu").write_bytes(change((folder / "train.conllu").read_bytes()))
    run("train", "parse", "same.conllu", "-o", "same.ssvm", cwd=folder)
    assert (folder / "same.ssvm").read_bytes() == (folder / "parse.ssvm").read_bytes()


def test_empty_nodes_ranges_and_enhanced_dependencies_are_not_learned(folder):
    lines = []
    for line in (folder / "train.conllu").read_text().split("\n"):
        fields = line.split("\t")
        if fields[0] == "2":
            lines.append("\t".join([f"2-{2}", *fields[1:2], *"________"]))
        lines.append(
            "\t".join([*fields[:8], f"{fields[6]}:{fields[7]}", *fields[9:]]) if fields[2:] else line
        )
        if fields[0] == "1":
            lines.append("\t".join(["1.1", "gap", "gap", "VERB", *"____", "0:root", "_"]))
    (folder / "enhanced.conllu").write_text("\n".join(lines))
    run("train", "parse", "enhanced.conllu", "-o", "enhanced.ssvm", cwd=folder)
    assert (folder / "enhanced.ssvm").read_bytes() == (folder / "parse.ssvm").read_bytes()


def test_a_sentence_of_5000_words_and_crossing_arcs_can_be_learned(folder):
    rows = [f"{k}\tw\tw\tX\t_\t_\t{k - 1}\t{'dep' if k > 1 else 'root'}\t_\t_\n" for k in range(1, 5001)]
    heads = enumerate([3, 0, 2, 1, 2], 1)
    crossing = "".join(
        f"{k}\tv\tv\tX\t_\t_\t{head}\t{'dep' if head else 'root'}\t_\t_\n" for k, head in heads
    )
    (folder / "odd.conllu").write_text("".join([*rows, "\n", f"{crossing}\n" * 20]))
    for search in ("greedy", "accurate"):
        run("train", "parse", "odd.conllu", "--search", search, "-o", "odd.ssvm", cwd=folder)
        data = run("tag", "odd.ssvm", "odd.conllu", cwd=folder).stdout.decode()
        for block in data.strip().split("\n\n"):
            assert is_tree([int(line.split("\t")[6]) for line in block.split("\n")])


def test_inspect_shows_the_parser(folder):
    shown = json.loads(run("inspect", "ud.ssvm", "--json", cwd=folder).stdout)["layers"]["parse"]
    assert shown["root"] == ["root"]
    assert "root" in shown["labels"]
    assert shown["training"]["sentences"] == 120
    assert b"== layer parse" in run("inspect", "ud.ssvm", cwd=folder).stdout


def test_trees_are_drawn_as_text_and_as_pictures(tmp_path):
    (tmp_path / "raw.txt").write_text("Mia met the old man. He slept.\n")
    drawn = run("tag", "en", "raw.txt", "--to", "trees", cwd=tmp_path).stdout.decode()
    first, second = drawn.strip().split("\n\n")
    assert first.split("\n") == [
        "met VERB root",
        "├─ Mia PROPN nsubj",
        "├─ man NOUN obj",
        "│  ├─ the DET det",
        "│  └─ old ADJ amod",
        "└─ . PUNCT punct",
    ]
    assert second.split("\n")[0] == "slept VERB root"
    pictures = run("tag", "en", "raw.txt", "--to", "svg", cwd=tmp_path).stdout.decode()
    first, second = (ElementTree.fromstring(part + "</svg>") for part in pictures.split("</svg>")[:2])
    texts = [one.text for one in first.iter() if one.tag.endswith("text")]
    assert {"Mia", "man", "PROPN", "root", "obj"} <= {*texts}
    assert len([one for one in second.iter() if one.tag.endswith("path")]) == 4  # an arrow and three arcs
    refused(run("tag", "en-pos", "raw.txt", "--to", "trees", cwd=tmp_path), 1, "error: no trees to draw")


def test_pictures_of_trees_are_xml_for_any_word():
    picture = ElementTree.fromstring(as_svg(["<&", "\ufffe\x07"], ["X", None], ["0", "1"], ["root", '"']))
    assert "<&" in [one.text for one in picture.iter()]


def test_ranges_and_empty_nodes_do_not_shift_heads(folder):
    text = "1-2\tcannot\t_\t_\t_\t_\t_\t_\t_\t_\n1\tAnna\t_\tX\t_\t_\t_\t_\t_\t_\n"
    text += "2\tsees\t_\tX\t_\t_\t_\t_\t_\t_\n2.1\tno\t_\tX\t_\t_\t_\t_\t_\t_\n"
    text += "3\tQuito\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
    (folder / "nodes.conllu").write_text(text)
    (sentence,) = rows(run("tag", "ud.ssvm", "nodes.conllu", cwd=folder).stdout)
    heads = {fields[0]: fields[6] for fields in sentence}
    assert heads["1-2"] == heads["2.1"] == "_"
    assert is_tree([int(heads[k]) for k in "123"])


@pytest.mark.parametrize("damage", ["tags", "roots", "states", "labels"])
def test_a_forged_parser_is_refused(folder, damage):
    arrays, meta = load_model(folder / "parse.ssvm")
    if damage == "tags":
        arrays["parse-arc_tags"][:] = 7
    elif damage == "roots":
        arrays["parse-roots"][:] = 1
    elif damage == "states":
        meta["parser"]["states"] = "s0.w+moon.p"
    else:
        meta["parser"]["labels"] = meta["parser"]["labels"][:2]
    save_model(folder / "forged.ssvm", arrays, meta)
    with pytest.raises(ModelFileError, match=r"forged\.ssvm does not contain a consistent"):
        Pipeline.load(folder / "forged.ssvm")


def test_long_sentences_and_one_word_treebanks_can_be_learned():
    n = 5000
    parser = train_parser(
        ["a"] * n, {}, np.array([0, n]), np.arange(n), ["root"] + ["dep"] * (n - 1), epochs=1
    )
    heads, _ = parser.parse(["a"] * n, {}, np.array([0, n]))
    assert is_tree(heads[:50].tolist()) or (heads == 0).sum() == 1
    parser = train_parser(["a", "b"], {}, np.array([0, 1, 2]), np.array([0, 0]), ["root", "root"])
    heads, labels = parser.parse(["b", "a", "c"], {}, np.array([0, 3]))
    assert is_tree(heads.tolist())
    assert [parser.labels[k] for k in labels] == ["root"] * 3


@pytest.mark.parametrize("text", ["s9.w", "s0.q", "s0.w/3", "s0.wpmlx", "", "s0"])
def test_unknown_templates_are_refused(text):
    with pytest.raises(ValueError, match="template"):
        parse_templates(text, STATE_PLACES, STATE_NUMBERS)


def improved(rng, n, search):
    """A sentence, a random greedy tree, and the tree that a search with random weights finds."""
    parser = DependencyParser.empty(["dep", "root"], [2, 1])
    parser = replace(parser, graph=GRAPHS[search])
    graph = parser.graph_machine()
    forms, tags = [f"w{k}" for k in rng.integers(0, 4, n)], ["VERB", "NOUN", "PUNCT"]
    values = {"upos": (rng.integers(0, 3, n), tags), "lemma": (np.arange(n), forms)}
    table = attributes(forms, values, guessed=True)
    parser.guess(table, rng.integers(0, 2, n), 0, n)
    ptr, all_trees = np.array([0, n], np.int64), [*trees(min(n, 5), True)]
    for _ in range(5):  # towards random trees, so that many weights are far from 0
        heads = np.array(all_trees[rng.integers(len(all_trees))], np.int32)
        graph.epoch(table, ptr, heads, np.array(all_trees[rng.integers(len(all_trees))], np.int32))
    guess = np.array(all_trees[rng.integers(len(all_trees))], np.int32)
    found = guess.copy()
    graph.parse(table, ptr, found, 0, 1)
    return graph, table, guess, found.tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_exact_search_finds_the_best_projective_tree(n):
    rng = np.random.default_rng(n)
    for _ in range(15):
        graph, table, guess, found = improved(rng, n, "exact")
        best = max(graph.total(table, guess, heads) for heads in trees(n, True))
        assert graph.total(table, guess, found) == pytest.approx(best, abs=1e-4)


def test_a_score_needs_a_sentence_that_fits():
    graph, table, *_ = improved(np.random.default_rng(0), 2, "exact")
    for n in (0, 251):
        with pytest.raises(ValueError, match=f"{n} words"):
            graph.total(table, np.zeros(n, np.int32), [0] * n)


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_accurate_search_ends_where_no_other_head_is_better(n):
    rng = np.random.default_rng(n)
    optimal = 0
    for _ in range(15):
        graph, table, guess, found = improved(rng, n, "accurate")
        score = graph.total(table, guess, found)
        assert is_tree(found)
        assert score >= graph.total(table, guess, guess.tolist()) - 1e-4
        for word, head in product(range(n), range(n + 1)):
            other = [*found[:word], head, *found[word + 1 :]]
            if is_tree(other):
                assert score >= graph.total(table, guess, other) - 1e-4
        best = max(graph.total(table, guess, heads) for heads in trees(n, False))
        optimal += score >= best - 1e-4
    assert optimal >= 10


@pytest.mark.parametrize("search", ["exact", "accurate"])
def test_other_searches_are_chosen_in_training(folder, search):
    run("train", "ud", "train.conllu", "--search", search, "-o", "best.ssvm", cwd=folder)
    run("train", "parse", "train.conllu", "--search", search, "-o", "only.ssvm", cwd=folder)
    for model in ("best.ssvm", "only.ssvm"):
        assert Pipeline.load(folder / model).parser.search == search
        found = rows(run("tag", model, "dev.conllu", cwd=folder).stdout)
        assert attachment(rows((folder / "dev.conllu").read_bytes()), found) > 95
        assert all(is_tree([int(fields[6]) for fields in sentence]) for sentence in found)
    (folder / "long.conllu").write_bytes(with_trees(600, 3))
    one, two = (run("tag", "best.ssvm", "long.conllu", "--jobs", k, cwd=folder).stdout for k in ("1", "3"))
    assert one == two
    pipeline = Pipeline.load(folder / "best.ssvm")
    assert pipeline.predict([[], ["Anna"]])[0] == []
    (words,) = pipeline.predict([["Anna", "sees"] * 300])
    assert is_tree([int(word["head"]) for word in words])
    assert (
        json.loads(run("inspect", "best.ssvm", "--json", cwd=folder).stdout)["layers"]["parse"]["search"]
        == search
    )
    with pytest.raises(ValueError, match=f"trained with --search {search} cannot learn more"):
        Learner(pipeline.parser)


def test_an_unknown_search_or_one_without_trees_is_refused(folder):
    for words, told in (
        (["ud", "--search", "best"], "the search 'best' is unknown; choose from greedy, exact, accurate"),
        (["ud", "--layers", "upos", "--search", "exact"], "--search needs trees"),
        (["pos", "--search", "exact"], "--search has no effect with task pos; leave it out"),
    ):
        refused(run("train", *words, "train.conllu", "-o", "m", cwd=folder), 2, told)


def test_a_forged_graph_is_refused(folder):
    run("train", "parse", "train.conllu", "--search", "exact", "-o", "graph.ssvm", cwd=folder)
    arrays, meta = load_model(folder / "graph.ssvm")
    for damage in ({"graph": ""}, {"graph": "h.q"}, {"graph": "s0.w"}):
        forged = {**meta, "parser": meta["parser"] | damage}
        save_model(folder / "forged.ssvm", arrays, forged)
        with pytest.raises(ModelFileError, match=r"forged\.ssvm does not contain a consistent"):
            Pipeline.load(folder / "forged.ssvm")


def test_epochs_return_the_share_of_right_decisions():
    table, ptr = attributes(["x", "y", "z"] * 4, {}), np.arange(0, 13, 3)
    heads = np.array([2, 0, 2, 0, 1, 1] * 2, np.int32)
    parser = DependencyParser.empty(["a", "r"], [2, 1])
    right = parser.arcs_machine().epoch(table, ptr, heads, 0.0)
    assert 0 < right < 1
    gold = np.array([0, 1, 0, 1, 0, 0] * 2, np.int32)
    assert 0 < parser.labels_machine(learning=True).epoch(table, ptr, heads, gold) <= 1
