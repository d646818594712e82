"""The tokenizer: offsets, and sensible pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taggers.formats.tokenizer import split_sentences, to_columns, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I can't; they're Ann's.", "I ca n't ; they 're Ann 's ."),
        ('"Well-known," he said...', '" Well-known , " he said ...'),
        ("See https://example.org/a?b=1.", "See https://example.org/a?b=1 ."),
        ("Mail joe.doe@example.org, now!!", "Mail joe.doe@example.org , now !!"),
        ("$1,000.50 is 5% of 3/4 in the 1990s", "$ 1,000.50 is 5% of 3/4 in the 1990s"),
        ("The U.S. and J. Doe, e.g. #this @you", "The U.S. and J. Doe , e.g. #this @you"),
        ("¿Qué? «Él» 漢字", "¿ Qué ? « Él » 漢字"),
        ("snake_case x=y", "snake_case x = y"),
    ],
)
def test_tokens(text, tokens):
    assert [token.text for token in tokenize(text)] == tokens.split()


@given(st.text())
def test_only_white_space_is_lost(text):
    tokens = [token for sentence in split_sentences(text) for token in sentence]
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert "".join(token.text for token in tokens) == "".join(text.split())


@given(st.lists(st.text(alphabet="ab.!? ", max_size=20)))
def test_each_line_with_a_token_is_at_least_one_sentence(lines):
    sentences = split_sentences("\n".join(lines))
    assert len(sentences) >= sum(bool(line.strip()) for line in lines)
    assert all(sentences)


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("One. Two! Three? Four", 4),
        ("It cost 3.50 at Smith & Co. in May.", 1),
        ('He said "Go." Then he went.', 2),
        ("Wait ... what? (Yes.) No.", 3),
        ("see e.g. this. and that", 1),
    ],
)
def test_sentences(text, n):
    assert len(split_sentences(text)) == n


@pytest.mark.parametrize("unit", ["a", ".", "a.", "a-", "1.", "@", "'", "a'", "www.", "http://", "n't", "a@"])
def test_long_lines_are_not_slow(unit):
    assert to_columns(split_sentences(unit * 100_000)).endswith(b"\n\n")
