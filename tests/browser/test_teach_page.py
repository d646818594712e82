"""Label sentences in a real browser, by mouse and by keyboard, across reloads and kill -9."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from taggers import NerTagger

TEXT = """Anna sings in Rome tonight .
Otto went to Paris by train .
The cat of Ines sleeps all day .
Rome is bigger than Paris .
Anna and Otto left early .
Ines Lopez lives in Lima now .
Noor likes the bridges of Oslo .
It rains in Paris every day .
The dog of Otto barks .
Lima is far from Oslo .
Noor Lopez wrote to Anna .
The train to Rome is late .
Paris and Lima signed it .
Nobody likes rain .
"""
TYPES = {
    **dict.fromkeys(["Rome", "Paris", "Lima", "Oslo"], "LOC"),
    **dict.fromkeys(["Anna", "Otto", "Ines", "Noor", "Lopez"], "PER"),
}
NAMES = ["PER", "LOC"]

pytestmark = pytest.mark.browser


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("\n\n".join("\n".join(line.split()) for line in TEXT.splitlines()) + "\n")
    return path


def truth(words):
    labels = []
    for k, word in enumerate(words):
        name = TYPES.get(word)
        inside = name and k and TYPES.get(words[k - 1]) == name
        labels.append("O" if not name else f"{'I' if inside else 'B'}-{name}")
    return labels


def phrases(labels):
    """(start, last, type) of the phrases, in IOB2."""
    found = []
    for k, label in enumerate(labels):
        if label.startswith("B"):
            found.append([k, k, label[2:]])
        elif label.startswith("I"):
            found[-1][1] = k
    return [tuple(one) for one in found]


def opened(page, url):
    from playwright.sync_api import expect

    page.goto(url)
    expect(page.locator("#sentence .token").first).to_be_visible()
    return expect


def words(page):
    return page.evaluate("state.question.item.tokens")


def given(page):
    return page.evaluate("value")


def by_keyboard(page):
    wanted = truth(words(page))
    for start, last, _ in phrases(given(page)):
        go(page, start, last)
        page.keyboard.press("0")
    for start, last, name in phrases(wanted):
        go(page, start, last)
        page.keyboard.press(str(NAMES.index(name) + 1))
    assert given(page) == wanted
    page.keyboard.press("Enter")


def go(page, start, last):
    page.keyboard.press("Home")
    for _ in range(start):
        page.keyboard.press("ArrowRight")
    for _ in range(last - start):
        page.keyboard.press("Shift+ArrowRight")


def by_mouse(page):
    wanted = truth(words(page))
    for start, _, _ in phrases(given(page)):
        page.locator(f"#t{start}").click(position={"x": 4, "y": 10})
        page.get_by_role("button", name="No label").click()
    for start, last, name in phrases(wanted):
        first, end = page.locator(f"#t{start}").bounding_box(), page.locator(f"#t{last}").bounding_box()
        page.mouse.move(first["x"] + 4, first["y"] + first["height"] / 2)
        page.mouse.down()
        page.mouse.move(end["x"] + 6, end["y"] + end["height"] / 2, steps=4)
        page.mouse.up()
        page.locator("#labels button", has_text=name).click()
    assert given(page) == wanted
    page.get_by_role("button", name="Accept").click()


def test_label_ten_sentences_kill_the_program_continue_and_export(program, page, raw, tmp_path):
    command = ("teach", "ner", raw, "-o", "people.ssvm", "--labels", "PER,LOC", "--format", "columns")
    served = program(*command)
    expect = opened(page, served.url)
    count = page.locator("#count")
    guessed, asked = [], {}
    for n in range(1, 11):
        asked[tuple(words(page))] = truth(words(page))
        guessed.append(given(page) == truth(words(page)))
        (by_mouse if n % 2 else by_keyboard)(page)
        expect(count).to_contain_text(f"{n} labelled")
        if n == 4:  # a reload keeps the question, and labels that were set but not accepted
            go(page, 0, 0)
            page.keyboard.press("2")
            before = words(page), given(page)
            page.reload()
            expect(page.locator("#sentence .token").first).to_be_visible()
            assert (words(page), given(page)) == before
        if n == 6:  # the answer waits for the program
            served.kill()
            held = words(page)
            by_keyboard(page)
            expect(page.locator("#trouble")).to_contain_text("nothing is lost")
            served.start()
            expect(count).to_contain_text("7 labelled")
            expect(page.locator("#trouble")).to_be_hidden()
            asked[tuple(held)] = truth(held)
            page.keyboard.press("Backspace")
            expect(count).to_contain_text("6 labelled")
            assert words(page) == held
    assert any(guessed), "the model never guessed a sentence right"
    with page.expect_download() as download:
        page.locator("#export summary").click()
        page.get_by_role("link", name="CoNLL columns").click()
    exported = [
        [line.split("\t") for line in sentence.splitlines()]
        for sentence in download.value.path().read_text().strip().split("\n\n")
    ]
    found = {tuple(word for word, _ in one): [label for _, label in one] for one in exported}
    assert found == {tokens: labels for tokens, labels in asked.items() if tokens in found}
    assert len(found) == 10
    code, said = served.stop()
    assert code == 0
    assert "10 answers" in said
    tagger = NerTagger.load(tmp_path / "people.ssvm")
    right = sum(tagger.predict([list(tokens)])[0] == labels for tokens, labels in found.items())
    assert right >= 8


def test_guesses_on_the_screen_change_with_an_answer(program, page, tmp_path):
    lines = [["Anna", "sings"], ["Anna", "sleeps"], ["Anna", "left"], ["Anna", "works"], ["Anna", "eats"]]
    (tmp_path / "raw.txt").write_text("\n\n".join("\n".join(line) for line in lines) + "\n")
    served = program("teach", "ner", "raw.txt", "-o", "m.ssvm", "--format", "columns", "--labels", "PER")
    expect = opened(page, served.url)
    expect(page.locator("#upcoming .mark")).to_have_count(0)
    by_keyboard(page)
    expect(page.locator("#upcoming .mark")).to_have_count(3)
    expect(page.locator("#upcoming .changed").first).to_contain_text("Anna")


def test_new_labels_unknown_tokens_explanations_and_review(program, page, raw):
    served = program("teach", "ner", raw, "-o", "people.ssvm", "--format", "columns")
    expect = opened(page, served.url)
    for name in NAMES:
        page.get_by_label("New label").fill(name)
        page.get_by_role("button", name="Add").click()
        expect(page.locator("#labels")).to_contain_text(name)
    page.get_by_label("New label").fill("O")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#trouble")).to_contain_text("choose another name")
    go(page, 0, 1)
    page.keyboard.press("1")
    go(page, 2, 2)
    page.keyboard.press("d")
    assert given(page)[:3] == ["B-PER", "I-PER", None]
    go(page, 1, 1)
    page.keyboard.press("2")
    assert given(page)[:3] == ["B-PER", "B-LOC", None]
    page.keyboard.press("2")
    assert given(page)[1] == "O"
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("1 labelled")
    for n in range(2, 5):
        by_keyboard(page)
        expect(page.locator("#count")).to_contain_text(f"{n} labelled")
    page.keyboard.press("w")
    expect(page.locator("#detail")).to_contain_text("by a margin of")
    page.keyboard.press("a")
    expect(page.locator("#detail")).to_contain_text("Take another labelling")
    page.locator("#detail li button").nth(1).click()
    assert given(page) != page.evaluate("state.question.guess")
    page.keyboard.press("Space")
    expect(page.locator("#count")).to_contain_text("1 skipped")
    page.keyboard.press("Backspace")
    expect(page.locator("#count")).not_to_contain_text("skipped")
    page.keyboard.press("r")
    expect(page.locator("#detail")).to_contain_text(re.compile("doubtful"))


def test_parts_of_speech_by_keyboard(program, page, tmp_path):
    (tmp_path / "raw.txt").write_text("the\ncat\nsleeps\n\na\ndog\nbarks\n\n")
    served = program(
        "teach", "pos", "raw.txt", "-o", "m.ssvm", "--labels", "DET,NOUN,VERB", "--format", "columns"
    )
    expect = opened(page, served.url)
    page.keyboard.press("Home")
    for key in "123":  # the cursor goes on by itself
        page.keyboard.press(key)
    assert given(page) == ["DET", "NOUN", "VERB"]
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("1 labelled")


def test_markup_in_a_corpus_is_only_text(program, page, tmp_path):
    evil = ["<script>alert(1)</script>", "<img/src=x/onerror=alert(2)>", "\"'><svg/onload=alert(3)>", "&amp;"]
    (tmp_path / "raw.txt").write_text("\n".join(evil) + "\n\n" + "\n".join(reversed(evil)) + "\n")
    served = program(
        "teach", "label", "raw.txt", "-o", "m.ssvm", "--format", "columns", "--labels", "<b>X</b>"
    )
    expect = opened(page, served.url)
    assert sorted(words(page)) == sorted(evil)
    expect(page.locator("#sentence")).to_contain_text("<script>alert(1)</script>")
    page.keyboard.press("Home")
    for _ in evil:
        page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("1 labelled")
    page.keyboard.press("w")
    expect(page.locator("#detail")).to_contain_text("margin")
    page.keyboard.press("r")
    made = page.locator("main img, main script, main svg:not(#curve), main b")
    assert made.count() == 0


def test_the_page_fits_a_phone_and_has_contrast(program, chromium, raw):
    served = program("teach", "ner", raw, "-o", "m.ssvm", "--format", "columns", "--labels", "PER,LOC")
    asked = []
    for scheme in ("light", "dark"):
        context = chromium.new_context(viewport={"width": 400, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        opened(page, served.url)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        text = page.evaluate("getComputedStyle(document.body).color")
        behind = page.evaluate("getComputedStyle(document.querySelector('#card')).backgroundColor")
        assert contrast(text, behind) > 7
        asked.append(words(page))
        context.close()
    assert asked[0] != asked[1]  # two tabs show different sentences


def contrast(one, two):
    """The contrast ratio of WCAG."""
    light = []
    for colour in (one, two):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        light.append(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_a_screen_reader_gets_names_and_news(program, page, raw):
    served = program("teach", "ner", raw, "-o", "m.ssvm", "--format", "columns", "--labels", "PER,LOC")
    expect = opened(page, served.url)
    expect(page.get_by_role("listbox", name="Sentence")).to_be_focused()
    expect(page.get_by_role("option").first).to_have_attribute("aria-label", re.compile(", no label$"))
    go(page, 0, 0)
    page.keyboard.press("1")
    expect(page.get_by_role("status")).to_contain_text(": PER")
    expect(page.get_by_role("option").first).to_have_attribute("aria-label", re.compile(", PER$"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Learned.")
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, svg')].filter(node =>"
        " !(node.textContent.trim() || node.labels?.length || node.getAttribute('aria-labelledby'))).length"
    )
    assert unnamed == 0


def test_the_right_candidate_is_chosen_by_number_and_by_mouse(program, page, tmp_path):
    pairs = [("anna", "bob"), ("bob", "cleo"), ("cleo", "anna"), ("anna", "cleo"), ("bob", "anna")]
    lines = [
        {"text": f"{a} passes to {b}", "candidates": [f"kick({a})", f"pass({a}, {b})"]} for a, b in pairs
    ]
    (tmp_path / "game.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    served = program("parse", "teach", "game.jsonl", "-o", "game.ssvm")
    from playwright.sync_api import expect

    page.goto(served.url)
    expect(page.locator(".choices .token")).to_have_count(3)
    page.keyboard.press("2")
    expect(page.locator(".choices .chosen")).to_contain_text("pass(")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("1 labelled")
    page.locator(".choices .token").nth(2).click()
    assert given(page) == -1
    page.get_by_role("button", name="Accept").click()
    expect(page.locator("#count")).to_contain_text("2 labelled")
    assert served.stop()[0] == 0
    answers = [json.loads(line) for line in (tmp_path / "game.answers.jsonl").read_text().splitlines()]
    assert [answer["value"] for answer in answers[1:]] == [1, -1]


def test_escape_and_a_click_elsewhere_close_the_menu(program, page, raw):
    served = program("teach", "ner", raw, "-o", "m.ssvm", "--format", "columns", "--labels", "PER,LOC")
    expect = opened(page, served.url)
    menu = page.locator("#formats")
    page.locator("#export summary").click()
    expect(menu).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(page.locator("#export summary")).to_be_focused()
    page.locator("#export summary").click()
    page.locator("#why").click()
    expect(menu).to_be_hidden()


def test_buttons_stay_in_place_when_a_shorter_sentence_follows(program, page, tmp_path):
    lines = [["Anna", "sings"] * 20, ["Otto", "left"], ["Ines", "left"], ["Noor", "sings"]]
    (tmp_path / "raw.txt").write_text("\n\n".join("\n".join(line) for line in lines) + "\n")
    served = program("teach", "ner", "raw.txt", "-o", "m.ssvm", "--format", "columns", "--labels", "PER")
    expect = opened(page, served.url)
    places, lengths = [], []
    for n in range(1, 5):
        lengths.append(len(words(page)))
        places.append(page.locator("#accept").bounding_box()["y"])
        page.locator("#accept").click()
        expect(page.locator("#count")).to_contain_text(f"{n} labelled")
    first = lengths.index(40)
    assert first == 3 or len(set(places[first:])) == 1


def test_before_the_first_answer_nothing_is_said_to_be_certain(program, page, raw):
    served = program("teach", "ner", raw, "-o", "m.ssvm", "--format", "columns", "--labels", "PER,LOC")
    expect = opened(page, served.url)
    expect(page.locator("#figures")).to_contain_text("of what is left is certain")
    assert "%" not in page.locator("#figures").inner_text()


def test_reasons_are_said_in_words(program, page, raw):
    served = program("teach", "ner", raw, "-o", "m.ssvm", "--format", "columns", "--labels", "PER,LOC")
    expect = opened(page, served.url)
    for n in range(1, 4):
        by_keyboard(page)
        expect(page.locator("#count")).to_contain_text(f"{n} labelled")
    page.keyboard.press("w")
    expect(page.locator("#detail td").first).to_contain_text(re.compile("word|sentence|label"))
    assert not re.search(r"\[-?\d\]", page.locator("#detail").inner_text())


def test_the_text_is_shown_as_it_is_written(program, page, tmp_path):
    text = 'Tom (80) isn\'t in the "Old Harbour", is he?'
    (tmp_path / "raw.txt").write_text(f"{text}\n")
    page.goto(program("teach", "ner", "raw.txt", "-o", "m.ssvm", "--labels", "PER,LOC").url)
    page.wait_for_selector("#sentence .token")
    assert page.evaluate("document.querySelector('#sentence').textContent") == text
    lines = page.evaluate("getComputedStyle(document.querySelector('#sentence .token')).textDecorationLine")
    assert lines == "underline"


def test_a_phone_labels_a_name_of_two_words_by_taps_on_large_targets(program, chromium, tmp_path):
    (tmp_path / "raw.txt").write_text("Ines\nLopez\nsings\n\nAnna\nleft\n\n")
    served = program("teach", "ner", "raw.txt", "-o", "m.ssvm", "--format", "columns", "--labels", "PER,LOC")
    context = chromium.new_context(
        viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True, device_scale_factor=2
    )
    page = context.new_page()
    expect = opened(page, served.url)
    if len(words(page)) == 2:
        page.locator("#accept").tap()
        expect(page.locator("#t2")).to_be_visible()
    page.locator("#t0").tap()
    page.locator("#extend").tap()
    page.locator("#labels button", has_text="PER").tap()
    assert given(page) == ["B-PER", "I-PER", "O"]
    small = page.evaluate(
        "[...document.querySelectorAll('button, summary, input, #sentence .token')]"
        ".filter(one => one.offsetParent).map(one => [one.textContent, one.getBoundingClientRect()])"
        ".filter(([_, box]) => box.height < 44 || box.width < 40)"
        ".map(([text, box]) => [text, box.width, box.height])"
    )
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    context.close()


def test_the_private_page_that_teach_opens_leads_to_the_service(chromium, raw, tmp_path):
    """The browser opens a file, so that its command line does not contain the token."""
    (tmp_path / "browser").write_text('#!/bin/sh\necho "$1" > opened.part\nmv opened.part opened\n')
    (tmp_path / "browser").chmod(0o700)
    environment = {name: one for name, one in os.environ.items() if name != "STRUCTSVM_TOKEN"}
    program = "import sys; from structsvm.cli.entry import main; sys.argv[0] = 'structsvm'; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "teach", "ner", raw, "-o", "m.ssvm", "--labels", "PER", "--port", "0",
         "--format", "columns"],
        cwd=tmp_path, env={**environment, "BROWSER": f"{tmp_path / 'browser'} %s"}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    context = chromium.new_context()
    try:
        for _ in range(300):
            if (tmp_path / "opened").exists():
                break
            time.sleep(0.1)
        page = context.new_page()
        page.goto((tmp_path / "opened").read_text().strip())
        page.locator("#sentence .token").first.wait_for()
        assert page.url.startswith("http://127.0.0.1:")
        assert page.evaluate("document.referrer") == ""
    finally:
        context.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
