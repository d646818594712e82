"""The page of a model is complete, well formed, needs nothing else, and shows text as text."""

from collections import Counter
from html.parser import HTMLParser

import pytest

from taggers import SequenceTagger
from taggers.commands import evaluate
from taggers.report import html_report

VOID = {"meta", "path", "polyline"}
X = [["<b>", "runs"], ["Anna", "&", "Otto"], ["runs", "<b>"]] * 10
Y = [["B-x<y", "O"], ["B-z", "I-z", "I-z"], ["O", "B-x<y"]] * 10


class Page(HTMLParser):
    """What tags are open, which ones there were, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def tagger():
    return SequenceTagger(template="w[0], w[-1]", keep_names=True, epochs=2).fit(X, Y)


@pytest.fixture
def test_file(tmp_path):
    (tmp_path / "test.txt").write_text("Anna O\n& I-z\n\nruns O\n<b> B-x<y\n")
    return tmp_path / "test.txt"


def test_page_is_well_formed_and_needs_nothing_else(tagger, test_file):
    page = Page(html_report(tagger.model_, evaluation=evaluate(tagger.model_, test_file)))
    assert page.open == []
    assert not {"script", "link", "img"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href")]
    for title in ("Training", "Transitions", "Strongest features", "Errors"):
        assert title in page.text


def test_labels_and_features_are_shown_as_text(tagger):
    page = Page(html_report(tagger.model_, title="<i>me</i>"))
    assert "w[0]=<b>" in page.text
    assert "B-x<y" in page.text
    assert "<i>me</i>" in page.text
    plain = SequenceTagger(template="w[0], w[-1]", keep_names=True, epochs=2)
    plain.fit(
        [[word.strip("<>") for word in words] for words in X],
        [[label.replace("<", "") for label in labels] for labels in Y],
    )
    assert Counter(page.tags) == Counter(Page(html_report(plain.model_, title="me")).tags)


def test_curve_has_no_times_and_ends_with_the_dual(tagger):
    curve = tagger.model_.report["curve"]
    assert curve[-1] == (2.0, tagger.optimizer_.dual_, tagger.optimizer_.n_support_patterns_)
    again = SequenceTagger(template="w[0], w[-1]", keep_names=True, epochs=2).fit(X, Y)
    assert again.model_.report["curve"] == curve


def test_a_perceptron_has_no_dual_to_draw():
    tagger = SequenceTagger(template="w[0]", algorithm="perceptron", epochs=2).fit(X, Y)
    page = html_report(tagger.model_)
    assert "dual" not in page
    assert "support patterns" in page


def test_confusions_are_counted(tagger, test_file):
    result = evaluate(tagger.model_, test_file)
    assert result.errors
    page = Page(html_report(tagger.model_, evaluation=result))
    assert f"{100 * result.accuracy:.2f}%" in page.text
