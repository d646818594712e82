"""The reader of intents and slots, on files of our own."""

import pytest

from corpora.readers.slots import load_slots, read_slots
from semparse import as_mr
from structsvm.files import DataError


def files(folder, words, tags, intents):
    for name, lines in (("seq.in", words), ("seq.out", tags), ("label", intents)):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    return folder


def test_intents_and_slots_are_meanings_with_named_arguments(tmp_path):
    bags = read_slots(files(
        tmp_path, ["ring jo o'hara at 5 pm ", "from a to b or c d", "hello"],
        ["O B-who I-who O B-at.time I-at.time", "O B-from O B-to O B-to I-to", "O"], ["call", "go", "greet"],
    ))  # fmt: skip
    assert [as_mr(bag.gold[0]).to_call() for bag in bags[:2]] == [
        {"name": "call", "arguments": {"who": "jo o'hara", "at.time": "5 pm"}},
        {"name": "go", "arguments": {"from": "a", "to": ["b", "c d"]}},
    ]
    assert bags[2].gold == ("greet",)
    assert bags[0].sentence == ["ring", "jo", "o'hara", "at", "5", "pm"]


def test_faults_are_named(tmp_path):
    with pytest.raises(DataError, match="different numbers of lines"):
        read_slots(files(tmp_path, ["a"], ["O", "O"], ["go"]))
    with pytest.raises(DataError, match=r"seq.out:2: the words, tags and intents do not match"):
        read_slots(files(tmp_path, ["a", "a b"], ["O", "O"], ["go", "go"]))
    with pytest.raises(ValueError, match="snips or atis"):
        load_slots("other")


@pytest.mark.corpora
@pytest.mark.parametrize(("name", "n"), [("snips", (13084, 700, 700)), ("atis", (4478, 500, 893))])
def test_the_corpora_have_their_published_sizes(name, n):
    parts = load_slots(name)
    assert tuple(map(len, parts.values())) == n
