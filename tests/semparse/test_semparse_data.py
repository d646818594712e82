import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.bags import Bag
from semparse.evaluation import Score, score_matches, score_parses
from semparse.io import read_bags, read_jsonl, read_tab, tab_line
from semparse.meaning import parse_mr
from structsvm.files.errors import DataError

words = st.lists(st.from_regex(r"[a-zé]{1,5}", fullmatch=True), min_size=1, max_size=4)
meanings = st.lists(
    st.sampled_from(["kick(ann)", "pass(ann, bob)", "halt", "say(ann, run('old dog'))"]), max_size=3
)
bags = st.builds(
    lambda text, candidates, gold, time, name, tokens: Bag(
        " ".join(text), tuple(candidates), gold if gold is None else tuple(gold), time, name,
        tokens and tuple(tokens),
    ),
    words, meanings, st.none() | meanings, st.none() | st.integers(0, 9), st.sampled_from(["", "2001-7"]),
    st.none() | words,
)  # fmt: skip


@given(st.lists(bags, max_size=4))
def test_jsonl_comes_back_as_it_was(found):
    assert list(read_jsonl([bag.to_jsonl() for bag in found])) == found


@given(st.lists(bags, max_size=4))
def test_text_and_candidates_come_back_from_tabs(found):
    plain = [Bag(bag.text, bag.candidates) for bag in found]
    assert list(read_tab([tab_line(bag) for bag in found])) == plain


def test_candidates_may_be_objects_and_tokens_stand_for_a_text():
    line = json.dumps({"tokens": ["Ann", "runs"], "candidates": [{"rel": "run", "args": ["ann"]}], "id": 7})
    (bag,) = read_jsonl([line])
    assert (bag.text, bag.candidates, bag.id, bag.sentence) == (
        "Ann runs",
        ("run(ann)",),
        "7",
        ["Ann", "runs"],
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "no JSON"),
        ("[1]", "not an object"),
        ("{}", "at least one word"),
        ('{"text": " "}', "at least one word"),
        ('{"text": "a", "candidate": []}', "unknown key 'candidate'"),
        ('{"text": "a", "candidates": 3}', "list of meanings"),
        ('{"text": "a", "candidates": ["f("]}', "not a meaning representation"),
        ('{"text": "a", "candidates": [{"args": []}]}', "not a meaning representation"),
        ('{"text": "a", "time": "noon"}', "time must be a number"),
        ('{"tokens": "a b"}', "tokens must be a list"),
        ("[" * 100_000, "no JSON"),
    ],
)
def test_bad_jsonl_is_reported_with_file_and_line(line, what, tmp_path):
    path = tmp_path / "bags.jsonl"
    path.write_text('{"text": "fine"}\n' + line + "\n")
    with pytest.raises(DataError, match=what) as caught:
        read_bags(path)
    assert str(caught.value).startswith(f"{path}:2: ")


@pytest.mark.parametrize(
    ("line", "what"),
    [("a\tf(b))", "comes after"), ("\tf(b)", "before the tab is empty"), ("a\tb\tc", "tabs")],
)
def test_bad_tab_lines_are_reported_with_file_and_line(line, what, tmp_path):
    path = tmp_path / "bags.txt"
    path.write_text(f"fine\tf(a);g\n\n{line}\n")
    with pytest.raises(DataError, match=what) as caught:
        read_bags(path)
    assert str(caught.value).startswith(f"{path}:3: ")


def test_the_format_is_detected_by_name_and_content(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(
        gzip.compress(b'{"text": "ann runs", "candidates": ["run(ann)"]}\n')
    )
    (tmp_path / "b").write_text('{"text": "ann runs", "candidates": ["run(ann)"]}\n')
    (tmp_path / "c").write_text("ann runs\trun(ann)\n")
    for name in ("a.jsonl.gz", "b", "c"):
        assert [(bag.text, bag.candidates) for bag in read_bags(tmp_path / name)] == [
            ("ann runs", ("run(ann)",))
        ]


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_files_that_cannot_be_read_are_named(content, tmp_path):
    path = tmp_path / "bags.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"bags\.jsonl:(1:)? "):
        read_bags(path)


class Answers:
    """A parser whose answers are set beforehand."""

    def __init__(self, answers):
        self.answers = answers

    def parse(self, sentence):
        class Found:
            mr = self.answers.get(sentence)

        return [Found()] if self.answers.get(sentence) else []

    def match(self, sentence, candidates):
        return self.answers.get(sentence)


def test_scores_count_whole_meanings_only():
    found = [
        Bag("right", ("kick(ann)",), ("kick(ann)",)),
        Bag("wrong", ("kick(bob)", "kick(ann)"), ("kick(bob)",)),
        Bag("silent", ("halt",), ("halt",)),
        Bag("no gold", ("halt",), ()),
    ]
    parser = Answers(
        {"right": parse_mr("kick(ann)"), "wrong": parse_mr("kick(ann)"), "no gold": parse_mr("halt")}
    )
    found.append(Bag("unknown", ("halt",)))
    assert score_parses(parser, found) == Score(1, 2, 3, nothing=1, spurious=1)
    assert score_parses(parser, found).overall == Score(1, 3, 3)
    assert score_matches(parser, found) == Score(1, 3, 3)
    assert score_matches(parser, found, n_gold=5).recall == 0.2
    assert Score(1, 2, 3).f1 == pytest.approx(0.4)
    assert Score(0, 0, 0).f1 == 0
