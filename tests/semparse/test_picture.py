"""Pictures of parsed sentences: aligned columns, and HTML in which nothing of the text is markup."""

from html.parser import HTMLParser

import pytest

from semparse import MR, Parse
from semparse.picture import html_page, html_picture, text_picture


def parse(tokens, symbols, *roles, mr=None):
    return Parse(mr or MR("r"), 1.0, 0.5, tuple(tokens), tuple(symbols), tuple(map(tuple, roles)))


@pytest.fixture
def nested():
    """Figure 6.2 of the thesis."""
    return parse(
        ["mommy", "believes", "that", "the", "dog", "broke", "the", "box"],
        ["mother", "believe", "-", "-", "dog", "break", "-", "box"],
        ["A0", "REL", "-", "-", "-", "A1", "-", "-"],
        ["-", "-", "-", "-", "A0", "REL", "-", "A1"],
        mr=MR("believe", ("mother", MR("break", ("dog", "box")))),
    )


def test_words_symbols_and_roles_stand_in_columns(nested):
    assert text_picture(nested) == (
        "mommy   believes  that  the  dog  broke  the  box\n"
        "mother  believe   ·     ·    dog  break  ·    box\n"
        "A0      REL       ·     ·    ·    A1     ·    ·\n"
        "·       ·         ·     ·    A0   REL    ·    A1\n"
    )


def test_wide_pictures_are_folded_and_keep_their_columns(nested):
    assert text_picture(nested, width=24) == (
        "mommy   believes  that\n"
        "mother  believe   ·\n"
        "A0      REL       ·\n"
        "\n"
        "the  dog  broke  the\n"
        "·    dog  break  ·\n"
        "·    ·    A1     ·\n"
        "·    A0   REL    ·\n"
        "\n"
        "box\n"
        "box\n"
        "A1\n"
    )
    narrow = text_picture(nested, width=1).split("\n\n")
    assert [block.split("\n")[0] for block in narrow] == list(nested.tokens)


def test_wide_and_combining_characters_keep_the_columns():
    lines = text_picture(parse(["日本", "cafe\u0301", "x"], ["japan", "-", "-"], ["REL", "-", "-"])).split(
        "\n"
    )
    assert lines[0] == "日本   cafe\u0301  x"
    assert lines[1] == "japan  ·     ·"


def test_a_word_that_is_a_dash_is_shown_as_it_is():
    assert text_picture(parse(["-", "a"], ["-", "-"])).startswith("-  a\n·  ·")


def test_nothing_in_a_word_moves_the_cursor():
    picture = text_picture(parse(["\x1b[2Jhi", "a\tb"], ["-", "s\nt"]))
    assert picture.count("\n") == 2
    assert "\x1b" not in picture
    assert "\t" not in picture


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_html_escapes_words_symbols_and_meanings():
    evil = "<script>alert('x')</script>"
    page = html_page([(evil, [parse([evil, "&amp;"], [evil, "-"], ["REL", "-"], mr=MR(evil))]), (evil, [])])
    cells = Cells()
    cells.feed(page)
    assert "script" not in cells.tags
    assert cells.text.count(evil) == 3  # the word, its symbol, and the sentence without a meaning
    assert "&amp;" in cells.text


def test_html_has_a_cell_for_each_word_of_each_row(nested):
    cells = Cells()
    cells.feed(html_picture(nested))
    assert cells.tags.count("tr") == 4
    assert cells.tags.count("td") == 32
