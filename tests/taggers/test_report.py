"""The page of a model is complete, well formed, needs nothing else, and shows text as text."""

from collections import Counter
from html.parser import HTMLParser

import pytest

from taggers import SequenceTagger
from taggers.commands import answered, inspect
from taggers.metrics import calibration_error
from taggers.report import html_report
from taggers.report.errors import MOST_SENTENCES, SENTENCES

VOID = {"meta", "path", "polyline"}
X = [["<b>", "runs"], ["Anna", "&", "Otto"], ["runs", "<b>"]] * 10
Y = [["B-x<y", "O"], ["B-z", "I-z", "I-z"], ["O", "B-x<y"]] * 10


class Page(HTMLParser):
    """The tags of a page, its texts, and of each text the tags and classes that it stands in."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text, self.where = [], [], [], [], []
        self.tables = []  # as lists of rows, which are lists of cells
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("class", "")))
        if tag == "table":
            assert ("div", "scroll") in self.open  # a wide table must not make the page wide
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("th", "td"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.text.append(data)
        self.where.append((data, [(tag, name) for tag, name in self.open]))
        if self.open and self.open[-1][0] in ("th", "td"):
            self.tables[-1][-1][-1] += data

    def table(self, *head):
        """The rows of the first table with exactly this head; "..." stands for any further cells."""
        cells = [cell for cell in head if cell != "..."]
        exact = len(cells) == len(head)
        tables = [rows for rows in self.tables if rows[0][: len(cells)] == cells]
        return next(rows for rows in tables if not exact or len(rows[0]) == len(cells))[1:]

    def within(self, tag, name=""):
        """The texts inside of such a tag."""
        return [text for text, parents in self.where if (tag, name) in parents]


@pytest.fixture
def tagger():
    return SequenceTagger(template="w[0], w[-1]", keep_names=True, epochs=2).fit(X, Y)


@pytest.fixture
def test_file(tmp_path):
    (tmp_path / "test.txt").write_text("Anna O\n& I-z\n\nruns O\n<b> B-x<y\n")
    return tmp_path / "test.txt"


@pytest.fixture
def phrase_tagger():
    """Knows NP and VP, and takes `runs` for a VP wherever it stands."""
    X = [["the", "dog", "runs"], ["dogs", "run"], ["so", "the", "old", "dog", "runs"]] * 8
    Y = [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP"], ["O", "B-NP", "I-NP", "I-NP", "B-VP"]] * 8
    return SequenceTagger(template="w[0]", labels="IOBES", keep_names=True, epochs=3).fit(X, Y)


@pytest.fixture
def phrase_page(phrase_tagger, tmp_path):
    sentences = ["so O\nthe B-NP\ndog I-NP\nruns I-NP\n"] + ["the B-NP\ndog I-NP\nruns B-VP\n"] * 3
    (tmp_path / "phrases.txt").write_text("\n".join(sentences))
    model = phrase_tagger.model_
    return Page(html_report(model, answers=answered(model, tmp_path / "phrases.txt")))


def test_page_is_well_formed_and_needs_nothing_else(tagger, test_file):
    page = Page(html_report(tagger.model_, answers=answered(tagger.model_, test_file)))
    assert page.open == []
    assert not {"script", "link", "img"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href")]
    for title in ("Labels", "Confusions", "Errors", "Transitions", "Strongest features", "Training"):
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


def test_words_and_labels_of_a_file_cannot_become_tags(tmp_path):
    word, label = "<script>alert(1)</script>", 'B-"><script>x'
    tagger = SequenceTagger(template="w[0]", keep_names=True).fit([[word, "a"]] * 3, [[label, "O"]] * 3)
    (tmp_path / "t.txt").write_text(f"{word} O\na {label}\n")
    text = html_report(
        tagger.model_, title="</title>" + word, answers=answered(tagger.model_, tmp_path / "t.txt")
    )
    page = Page(text)
    assert "script" not in page.tags
    assert "<script" not in text
    assert any(word in piece for piece in page.within("div", "sentence"))


def test_a_calibrated_model_shows_how_far_to_trust_its_probabilities(tmp_path):
    words = [["a", "b", "c"], ["b", "d"], ["c", "a"]] * 8
    labels = [["A", "B", "A"], ["B", "B"], ["B", "A"]] * 8
    tagger = SequenceTagger(template="w[0], w[-1]", C=0.01, epochs=2).fit(words, labels)
    test_words = [["a", "c", "b"], ["d", "a"], ["c", "b"]]
    gold = [["A", "A", "B"], ["A", "A"], ["B", "A"]]
    pairs = zip(test_words, gold, strict=True)
    lines = ["".join(f"{word} {label}\n" for word, label in zip(*pair, strict=True)) for pair in pairs]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    page = Page(html_report(tagger.model_, answers=answered(tagger.model_, tmp_path / "t.txt")))
    assert "Probabilities" not in page.text  # they are not calibrated yet
    tagger.calibrate(test_words, gold)
    model = tagger.model_
    page = Page(html_report(model, answers=answered(model, tmp_path / "t.txt")))
    marginals = tagger.predict_marginals(test_words)
    error = f"{100 * calibration_error(gold, marginals):.2f}"
    assert f"{error}%" in page.text
    assert any(f" {error} percentage points" in text for text in page.text)
    pairs = [
        (max(token.values()), max(token, key=token.__getitem__) == label)
        for tokens, right in zip(marginals, gold, strict=True)
        for token, label in zip(tokens, right, strict=True)
    ]
    rows = page.table("probability", "tokens", "...")
    for low in range(10):
        inside = [pair for pair in pairs if low / 10 <= pair[0] < (low + 1) / 10]
        shown = [row[1:] for row in rows if row[0].startswith(f"{10 * low} to")]
        means = [f"{100 * sum(part) / len(inside):.1f}%" for part in zip(*inside, strict=True)]
        assert shown == ([[str(len(inside)), *means]] if inside else [])
    assert ("aria-label", "reliability diagram") in page.attributes


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


def test_confusions_are_counted_with_the_words_they_hit(tagger, test_file):
    answers = answered(tagger.model_, test_file)
    assert answers.evaluation.errors
    page = Page(html_report(tagger.model_, answers=answers))
    assert f"{100 * answers.evaluation.accuracy:.2f}%" in page.text
    rows = {
        (gold, found): (count, words)
        for gold, found, count, _, words in page.table("gold", "predicted", "...")
    }
    for gold, found, count in answers.evaluation.confusions():
        assert rows[gold, found][0] == str(count)
    assert any("Anna" in words for _, words in rows.values())


def test_confusion_matrix_leaves_correct_tokens_out(tmp_path):
    X, Y = [["a", "b", "c", "d"]] * 10, [["A", "B", "C", "D"]] * 10
    model = SequenceTagger(template="w[0]").fit(X, Y).model_
    (tmp_path / "t.txt").write_text("a B\nb C\nc A\nd D\n\n" + "a A\nb B\nc C\nd D\n\n" * 50)
    page = Page(html_report(model, answers=answered(model, tmp_path / "t.txt")))
    matrix = {row[0]: row[1:] for row in page.table("", "A", "B", "C")}
    assert matrix == {"A": ["", "", "1"], "B": ["1", "", ""], "C": ["", "1", ""]}


def test_labels_are_sorted_by_frequency(phrase_page):
    assert [row[:3] for row in phrase_page.table("type", "gold", "predicted", "...")] == [
        ["NP", "4", "4"], ["VP", "3", "4"]
    ]  # fmt: skip
    counts = [int(row[1]) for row in phrase_page.table("label", "gold", "predicted", "...")]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 13


def test_transitions_are_by_phrase_type_with_all_labels_folded_away(phrase_tagger, phrase_page):
    small = {row[0]: row[1:] for row in phrase_page.table("", "NP", "VP", "O")}
    assert list(small) == ["NP", "VP", "O", "start"]
    model = phrase_tagger.model_
    at = {label: k for k, label in enumerate(model.labels)}
    ends = [at[label] for label in ("E-NP", "S-NP")]
    begins = [at[label] for label in ("B-VP", "S-VP") if label in at]
    mean = model.weights[ends][:, begins].mean()
    assert float(small["NP"][1]) == pytest.approx(mean, abs=0.005)
    folded = phrase_page.within("details")
    assert "Show the weights of all 6 IOBES labels" in folded
    assert set(model.labels) <= set(folded)


def test_few_labels_are_shown_of_many(tmp_path):
    labels = [f"L{k:02}" for k in range(30)]
    model = SequenceTagger(template="w[0]").fit([[f"w{k}" for k in range(30)]] * 3, [labels] * 3).model_
    lines = [f"w{k} {label}" for k, label in enumerate(labels) for _ in range(30 - k)]
    (tmp_path / "t.txt").write_text("\n\n".join(lines) + "\n")
    page = Page(html_report(model, answers=answered(model, tmp_path / "t.txt")))
    folded = [text for text, parents in page.where if "details" in [tag for tag, _ in parents]]
    shown = Counter(page.text) - Counter(folded)
    assert page.table("label", "gold", "...")[0][:2] == ["L00", "30"]
    assert shown["L14"]
    assert not shown["L15"]
    assert "Show 15 more" in folded
    assert "Show the weights of all 30 labels" in folded


def test_errors_are_shown_in_their_sentence_with_both_phrases(phrase_page):
    (wrong,) = [text for text in phrase_page.text if text.startswith("1 sentence has errors")]
    assert wrong
    assert phrase_page.within("small") == ["line 1, margin " + phrase_page.within("small")[0].split()[-1]]
    assert phrase_page.within("span", "wrong")[0] == "the"
    words = [
        text
        for text, parents in phrase_page.where
        if parents[-2:-1] == [("span", "wrong")] and parents[-1][0] == "b"
    ]
    assert words == ["the", "dog", "runs"]
    assert phrase_page.within("span", "gold first") == ["NP"]
    assert phrase_page.within("span", "found first") == ["NP"]
    assert phrase_page.within("span", "found first last") == ["VP"]
    assert "so" in "".join(phrase_page.within("div", "sentence"))


def test_surest_errors_come_first_and_many_are_folded_away(tmp_path):
    model = SequenceTagger(template="w[0], w[-1]").fit(X, Y).model_
    words = ["Anna", "<b>", "runs", "Otto", "unseen"]
    lines = [f"{words[k % 5]} B-z\n{words[k // 5 % 5]} B-x<y\n" for k in range(70)]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    page = Page(html_report(model, answers=answered(model, tmp_path / "t.txt")))
    heads = [(text, [tag for tag, _ in parents]) for text, parents in page.where if ("small", "") in parents]
    margins = [float(text.split()[-1]) for text, _ in heads]
    assert margins == sorted(margins, reverse=True)
    assert len(margins) == MOST_SENTENCES
    assert ["details" in parents for _, parents in heads] == [k >= SENTENCES for k in range(MOST_SENTENCES)]


def test_long_sentences_are_cut_around_their_errors(tmp_path):
    words = [f"word{k}" for k in range(60)]
    tagger = SequenceTagger(template="w[0]", epochs=3).fit([[*words, "Anna"]] * 5, [["O"] * 60 + ["B-x"]] * 5)
    (tmp_path / "t.txt").write_text("".join(f"{word} O\n" for word in words) + "Anna O\n")
    answers = answered(tagger.model_, tmp_path / "t.txt")
    text = "".join(Page(html_report(tagger.model_, answers=answers)).within("div", "sentence"))
    assert "… word52 word53" in text
    assert "word51" not in text
    assert "word59 AnnaOx" in text


def test_toggles_need_no_script_and_work_from_the_keyboard(phrase_page):
    assert phrase_page.tags.count("details") == phrase_page.tags.count("summary") > 3
    names = {name for name, _ in phrase_page.attributes}
    assert not [name for name in names if name.startswith("on")]
    assert "tabindex" in names  # of the tables that scroll


def test_features_without_names_are_not_listed_by_number(tmp_path):
    model = SequenceTagger(template="w[0]").fit(X, Y).model_
    page = Page(html_report(model))
    assert any("--keep-names" in text for text in page.text)
    assert not [text for text in page.text if text.startswith("#")]


def test_model_of_ready_features_has_no_words_to_show(tmp_path):
    (tmp_path / "train.crfsuite").write_text("A\tw=a\nB\tw=b\n\n" * 5)
    (tmp_path / "test.crfsuite").write_text("B\tw=a\nB\tw=b\n\n")
    from taggers.commands import train

    train("label", tmp_path / "train.crfsuite", tmp_path / "m.ssvm")
    inspect(tmp_path / "m.ssvm", html=tmp_path / "m.html", test=tmp_path / "test.crfsuite")
    page = Page((tmp_path / "m.html").read_text())
    assert "Confusions" in page.text
    assert "Errors" not in page.text
