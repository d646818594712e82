import random
import re
import subprocess
from pathlib import Path

import pytest

from corpora.bags import Event, windows
from corpora.readers.jobs import load_jobs
from corpora.readers.robocup import load_robocup, read_game
from corpora.readers.wasp import load_clang, load_geoquery, read_wasp, with_ambiguity
from semparse.entities.tokens import tokenize
from semparse.io import read_bags, read_tests
from semparse.meaning import parse_mr
from structsvm.files.errors import DataError

EVENTS = "1 | 1 | whistle\n2 | 6 | lob ( red4 , red2 )\n6 | 6 | whistle\n7 | 7 | chip ( red2 )\n"
COMMENTS = " 1 | And off we go!\n 6 | Red4's lob finds Red2\n 9 | red2 has a chip\n 30 | nothing at all\n"
TRAINING = """<trainingData><examples>
<example id="0">
<nl> And off we go </nl>
<semid> 0 </semid>
</example>
<example id="1">
<nl> Red4's lob finds Red2 </nl>
<semid> 0 1 2 </semid>
</example>
</examples><sems>
<sem id="0"> whistle </sem>
<sem id="1"> lob ( red4 , red2 ) </sem>
<sem id="2"> whistle </sem>
</sems></trainingData>
"""
GOLD = """<?xml version="1.0"?>
<examples>
<example id="1">
<nl lang="en"> Red4's lob finds Red2 </nl>
<mrl lang="soccer"> lob ( red4 , red2 ) </mrl>
</example>
<example id="3">
<nl lang="en"> nothing at all </nl>
<mrl lang="soccer"> whistle </mrl>
</example>
</examples>
"""
FILES = {
    "events/2001final-processed-events": EVENTS,
    "nl/2001final-comments": COMMENTS,
    "training/2001final-train": TRAINING,
    "gold/2001final-gold": GOLD,
}


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_a_game_is_read_as_it_is(folder):
    game = read_game(folder, "2001")
    assert game.comments[1] == (6, "Red4's lob finds Red2")
    assert game.events[1] == Event(2, 6, "lob(red4,red2)")
    assert [(bag.id, bag.candidates, bag.gold) for bag in game.bags] == [
        ("2001-0", ("whistle",), ()),
        ("2001-1", ("whistle", "lob(red4,red2)"), ("lob(red4,red2)",)),
    ]
    assert [bag.id for bag in game.gold] == ["2001-1", "2001-3"]
    assert [bag.text for bag in read_bags(folder)] == ["And off we go", "Red4's lob finds Red2"]


def test_possessives_are_split_off():
    assert tokenize("Red4's lob, finds Red-2!") == ["red4", "'s", "lob", "finds", "red-2"]
    assert tokenize("at (-13, 0.5)") == ["at", "-13", "0.5"]


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "what"),
    [
        ("events/2001final-processed-events", "2 | 6 |", "2 | six |", 2, "not an event"),
        ("nl/2001final-comments", " 9 |", " 9 ", 3, "not a comment"),
        ("training/2001final-train", "<semid> 0 </semid>", "", 2, "lacks its <nl> or <semid>"),
        ("training/2001final-train", "<semid> 0 1 2", "<semid> 0 9", 6, "names the event 9"),
        ("training/2001final-train", "</example>\n</examples>", "</examples>", 6, "<example> is incomplete"),
        ("training/2001final-train", "</example>\n<example", "<example", 2, "<example> is incomplete"),
        ("training/2001final-train", 'whistle </sem>\n<sem id="1', 'whistle\n<sem id="1', 11, "<sem> is inc"),
        ("training/2001final-train", "red2 ) </sem>", "red2 </sem>", 12, "not a meaning"),
        ("training/2001final-train", TRAINING, "", None, "holds no <sem>"),
        ("gold/2001final-gold", '<mrl lang="soccer"> lob', '<mrl lang="soccer"> ( lob', 3, "not a meaning"),
        ("gold/2001final-gold", '<mrl lang="soccer"> whistle </mrl>', "", 7, "lacks its <nl> or <mrl>"),
    ],
)
def test_damage_is_reported_with_file_and_line(folder, name, old, new, line, what):
    path = folder / name
    path.write_text(FILES[name].replace(old, new))
    with pytest.raises(DataError, match=what) as caught:
        read_game(folder, "2001")
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_a_missing_file_is_named(folder):
    (folder / "gold/2001final-gold").unlink()
    with pytest.raises(DataError, match="2001final-gold: cannot be read"):
        read_game(folder, "2001")


def test_windows_hold_what_touches_the_last_steps():
    events = [Event(0, 4, "a"), Event(5, 5, "b"), Event(5, 5, "b"), Event(9, 12, "c"), Event(11, 11, "d")]
    found = windows([(10, "later"), (4, "first"), (16, "last")], events, before=5, after=0)
    assert [bag.candidates for bag in found] == [("b", "c"), ("a",), ("c", "d")]
    assert [bag.time for bag in found] == [10, 4, 16]


def test_windows_are_those_of_brute_force():
    rng = random.Random(0)
    events = [Event(s, s + rng.randint(0, 9), str(rng.randint(0, 9))) for s in rng.choices(range(50), k=40)]
    texts = [(rng.randint(0, 60), "x") for _ in range(30)]
    for after in (0, 4):
        for (time, _), bag in zip(texts, windows(texts, events, before=3, after=after), strict=True):
            near = {e.meaning for e in events if e.start <= time + after and e.end >= time - 3}
            assert set(bag.candidates) == near


def test_windows_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="before must be a number from 0"):
        windows([], [], before=-1)
    with pytest.raises(ValueError, match="after must be a number from 0"):
        windows([], [], after=float("nan"))
    with pytest.raises(ValueError, match="before it starts"):
        windows([(1, "x")], [Event(3, 2, "a")])


WASP = """<?xml version="1.0"?>
<examples>
<example id="4">
<nl lang="en">
Which lake is in Utopia ?
</nl>
<mrl lang="geo-funql">
answer(lake(loc(land( 'utopia' ))))
</mrl>
<mrl lang="robocup-clang">
((true) (do our {2 3} (pos (half opp))))
</mrl>
</example>
</examples>
"""


def test_wasp_files_are_read_in_both_languages(tmp_path):
    path = tmp_path / "corpus.xml"
    path.write_text(WASP)
    (bag,) = read_wasp(path, "geo-funql")
    assert (bag.id, bag.text) == ("4", "Which lake is in Utopia ?")
    assert str(parse_mr(bag.gold[0])) == "answer(lake(loc(land(utopia))))"
    (bag,) = read_wasp(path, "robocup-clang")
    assert str(parse_mr(bag.gold[0])) == "rule(true(), do(our, set(2, 3), pos(half(opp))))"
    path.write_text(WASP.replace("</mrl>", "", 1))
    with pytest.raises(DataError, match=r"corpus\.xml:\d+: malformed XML"):
        read_wasp(path, "geo-funql")
    path.write_text(WASP.replace("half opp)", "half opp"))
    with pytest.raises(DataError, match="missing brackets"):
        read_wasp(path, "robocup-clang")


@pytest.mark.parametrize("level", [0, 1, 3])
def test_artificial_ambiguity_keeps_the_right_one_and_has_the_asked_mean(level, tmp_path):
    from corpora.bags import Bag

    plain = [Bag(f"s{k}", (f"f(c{k})",), (f"f(c{k})",)) for k in range(2000)]
    found = with_ambiguity(plain, level, seed=1)
    assert all(bag.gold[0] in bag.candidates for bag in found)
    assert sum(len(bag.candidates) for bag in found) / 2000 == pytest.approx(1 + level, abs=0.1)
    assert with_ambiguity(plain, level, seed=1) == found


@pytest.mark.corpora
def test_the_real_corpus_has_the_published_counts():
    games = load_robocup()
    assert [len(game.events) for game in games] == [3992, 2125, 2112, 2223]
    assert [len(game.comments) for game in games] == [722, 514, 410, 390]
    assert [len(game.bags) for game in games] == [672, 459, 398, 343]
    assert [len(game.gold) for game in games] == [520, 376, 320, 323]
    assert [sum(bool(bag.gold) for bag in game.bags) for game in games] == [513, 353, 311, 315]
    held = [sum(bool(bag.gold) and bag.gold[0] in bag.candidates for bag in game.bags) for game in games]
    assert held == [507, 342, 205, 306]
    distinct = [sum(len(bag.candidates) for bag in game.bags) / len(game.bags) for game in games]
    assert distinct == pytest.approx([1.893, 2.227, 2.387, 2.545], abs=5e-4)


@pytest.mark.corpora
def test_windows_rebuild_the_real_candidate_sets():
    same = 0
    for game in load_robocup():
        bags = {bag.id: set(bag.candidates) for bag in game.bags}
        for number, bag in enumerate(windows(game.comments, game.events, after=0)):
            same += set(bag.candidates) == bags.get(f"{game.year}-{number}", set())
    assert same >= 2024


def test_rules_of_clang_lose_their_names_and_numbers_have_one_form(tmp_path):
    path = tmp_path / "corpus.xml"
    named = WASP.replace(
        "((true) (do our {2 3} (pos (half opp))))",
        "(definerule r7 direc ((true) (do our {2} (pos (pt -13.0 0.50)))))",
    )
    path.write_text(named)
    (bag,) = read_wasp(path, "robocup-clang")
    assert str(parse_mr(bag.gold[0])) == "rule(true(), do(our, set(2), pos(pt(-13, 0.50))))"


def test_a_corpus_of_several_languages_is_read_in_each(tmp_path):
    path = tmp_path / "corpus.xml"
    path.write_text(WASP.replace("</nl>", '</nl>\n<nl lang="es">¿ Qué lago hay en Utopia ?</nl>'))
    assert read_wasp(path, "geo-funql", text="es")[0].text == "¿ Qué lago hay en Utopia ?"
    assert read_wasp(path, "geo-funql", text="tr", partial=True) == []
    with pytest.raises(DataError, match=r"lacks its text \(tr\)"):
        read_wasp(path, "geo-funql", text="tr")


@pytest.mark.corpora
def test_the_250_questions_are_read_in_four_languages():
    with pytest.raises(ValueError, match="set n=250"):
        load_geoquery(language="ja")
    for language in ("en", "es", "ja", "tr"):
        assert len(load_geoquery(n=250, language=language)) == 250


@pytest.mark.corpora
def test_all_questions_about_jobs_are_read():
    train, test = load_jobs()
    assert (len(train), len(test)) == (500, 140)
    assert not any("const(" in str(parse_mr(bag.candidates[0])) for bag in (*train, *test))


def test_questions_about_jobs_are_read_with_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr("corpora.readers.jobs.find", lambda name, directory: tmp_path)
    (tmp_path / "train.tsv").write_text("who ?\tanswer(job(area_1(const('ad sales')))\n")
    (tmp_path / "test.tsv").write_text("all\tanswer(job(all))\nnone\n")
    with pytest.raises(DataError, match=r"test\.tsv:2: has no meaning"):
        load_jobs()
    (tmp_path / "test.tsv").write_text("all\tanswer(job(all))\n")
    (bag,), _ = load_jobs()
    assert bag.candidates == ("answer(job(area_1('ad sales')))",)


@pytest.mark.corpora
def test_geoquery_and_clang_are_read_whole():
    for bags, n in ((load_geoquery(), 880), (load_geoquery(n=250), 250), (load_clang(), 300)):
        assert len(bags) == n
        assert all(parse_mr(bag.gold[0]).args for bag in bags)


@pytest.mark.corpora
def test_no_sentence_of_the_corpus_is_in_the_repository():
    root = Path(__file__).parents[2]
    texts = {" ".join(tokenize(text)) for game in load_robocup() for _, text in game.comments}
    texts = {text for text in texts if len(text.split()) > 3}
    files = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True).stdout.split("\n")
    written = (root / name for name in files if re.search(r"\.(py|pyx|md|json|toml|txt|html|jsonl)$", name))
    for path in written:
        content = " " + " ".join(tokenize(path.read_text())) + " "
        assert not [text for text in texts if f" {text} " in content], path


def test_all_gold_sentences_are_parsed_and_those_without_a_bag_count_as_not_matched(folder):
    parsed, matched, n_gold = read_tests(folder)
    assert [bag.text for bag in parsed] == ["Red4's lob finds Red2", "nothing at all", "And off we go"]
    assert [bool(bag.gold) for bag in parsed] == [True, True, False]
    assert [len(bag.candidates) for bag in matched] == [1, 2]
    assert n_gold == 2
