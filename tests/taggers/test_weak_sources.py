"""Sources of labels: what they answer, and what bad ones get."""

from __future__ import annotations

import json

import pytest

from structsvm.files.errors import DataError
from taggers.tagger import NerTagger
from taggers.weak import sources
from taggers.weak.sources import Source, collect, function, gazetteer, regex

X = [["She", "met", "Bob", "Dole", "in", "new", "york", "."], ["THE", "US", "and", "us", "."]]


def test_the_longest_name_wins_in_any_case_but_abbreviations_are_exact():
    source = gazetteer({"LOC": ["York", "New York", "US"], "PER": ["Bob Dole"]})
    first, second = source.answer(X)
    assert first == [None, None, "B-PER", "I-PER", None, "B-LOC", "I-LOC", None]
    assert second == [None, "B-LOC", None, None, None]


def test_names_match_however_a_text_is_split():
    source = gazetteer({"CHEM": ["3-bromo acid"]})
    assert source.answer([["3-bromo", "acid"], ["3", "-", "bromo", "acid"], ["3-bromo", "acids"]]) == [
        ["B-CHEM", "I-CHEM"], ["B-CHEM", "I-CHEM", "I-CHEM", "I-CHEM"], [None, None],
    ]  # fmt: skip


def test_a_name_of_two_types_and_a_phrase_of_unknown_type_are_sets():
    source = gazetteer({"LOC": ["Paris"], "PER": ["Paris"]}, phrases=["Big Ben"])
    assert source.answer([["Paris", "Big", "Ben"]]) == [
        [{"B-LOC", "B-PER"}, {"B-LOC", "B-PER", "O"}, {"I-LOC", "I-PER", "O"}]
    ]


def test_matches_of_regular_expressions_end_at_tokens():
    source = regex({"YEAR": r"\d{4}", "LOC": "(?i)new york"})
    assert source.answer([["in", "1984", "x1984"], X[0]]) == [
        [None, "B-YEAR", None], [*[None] * 5, "B-LOC", "I-LOC", None],
    ]  # fmt: skip


def test_patterns_of_spacy_are_read(tmp_path):
    pytest.importorskip("spacy")
    file = tmp_path / "rules.jsonl"
    rules = [{"label": "PER", "pattern": "Bob Dole"}, {"label": "LOC", "pattern": [{"LOWER": "york"}]}]
    file.write_text("\n".join(map(json.dumps, rules)))
    assert sources.patterns(file).answer(X[:1]) == [[None, None, "B-PER", "I-PER", None, None, "B-LOC", None]]
    file.write_text('{"label": "PER"}\n')
    with pytest.raises(DataError, match=r"rules\.jsonl:1: is not a pattern"):
        sources.patterns(file)


def test_several_answers_to_a_text_are_several_sources(tmp_path):
    file = tmp_path / "answers.jsonl"
    labels = [["O", "B-PER"], ["O", "O"], ["O", "B-LOC"]]
    file.write_text("".join(json.dumps({"tokens": ["in", "Rome"], "ner_tags": one}) + "\n" for one in labels))
    found = sources.annotators(file, [["in", "Rome"], ["other"]])
    assert [one.name for one in found] == [f"{file} ({k})" for k in (1, 2, 3)]
    assert [one.answer([["in", "Rome"], ["other"]]) for one in found] == [[one, [None]] for one in labels]


def test_each_column_of_labels_is_an_annotator(tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("in O O\nRome B-LOC O\n")
    found = sources.annotators(file, [["in", "Rome"]], label=[1, 2])
    assert [one.name for one in found] == [f"{file}, column 1", f"{file}, column 2"]
    assert [one.answer([["in", "Rome"]]) for one in found] == [[["O", "B-LOC"]], [["O", "O"]]]


def test_a_sentence_that_is_gold_too_does_not_shift_the_answers(tmp_path):
    file = tmp_path / "answers.jsonl"
    labels = [["O"], ["B-PER"], ["B-LOC"], ["B-ORG"]]
    file.write_text("".join(json.dumps({"tokens": ["Rome"], "ner_tags": one}) + "\n" for one in labels))
    found = sources.annotators(file, [["Rome"], ["Rome"]])
    assert [one.answer([["Rome"]] * 3 + [["Oslo"]]) for one in found] == [
        [["O"], ["B-PER"], ["O"], [None]], [["B-LOC"], ["B-ORG"], ["B-LOC"], [None]],
    ]  # fmt: skip


def test_repeated_short_sentences_add_no_sources(tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("- O\n\n- O\n\nin O\nOslo B-LOC\n\nin O\nRome B-LOC\n")
    assert len(sources.annotators(file, [["-"], ["in", "Oslo"], ["in", "Rome"]])) == 1


def test_a_teacher_of_another_task_is_refused(tmp_path):
    model = tmp_path / "m.ssvm"
    NerTagger().fit([["in", "Rome"]] * 9, [["O", "B-LOC"]] * 9).save(model)
    with pytest.raises(ValueError, match=r"has labels such as .-LOC, which are none of task pos"):
        sources.teacher(model, task="pos")


def test_annotators_of_another_text_are_refused(tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("in O\nOslo B-LOC\n")
    with pytest.raises(DataError, match="none of the sentences to label; its first one is 'in Oslo'"):
        sources.annotators(file, X)


def test_a_model_of_ours_is_a_teacher_and_its_answers_are_kept(tmp_path):
    model, cache = tmp_path / "m.ssvm", tmp_path / "cache.jsonl"
    NerTagger().fit([["in", "Rome"], ["met", "Ida"]] * 9, [["O", "B-LOC"], ["O", "B-PER"]] * 9).save(model)
    texts = [["in", "Rome"], ["met", "Ida"], ["in", "Rome"]]
    source = sources.teacher(model)
    wanted = collect(texts, [source], cache=cache)
    assert wanted == {str(model): [["O", "B-LOC"], ["O", "B-PER"], ["O", "B-LOC"]]}
    assert len(cache.read_text().splitlines()) == 2

    def asked(sentences):
        raise AssertionError("the teacher was asked again")

    silent = Source(source.name, asked, True, source.version)
    assert collect(texts, [silent], cache=cache) == wanted


def test_an_interruption_keeps_the_answers_of_finished_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BATCH", 1)
    cache, calls = tmp_path / "cache.jsonl", []

    def answer(batch):
        calls.append(batch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [["O", "B-LOC"]] * len(batch)

    source = Source("dear", answer, cached=True)
    with pytest.raises(KeyboardInterrupt):
        collect([["a", "a"], ["b", "b"]], [source], cache=cache)
    cache.write_bytes(cache.read_bytes() + b'\n{"key": "ab')  # killed while writing
    collect([["a", "a"], ["b", "b"]], [source], cache=cache)
    assert calls == [[["a", "a"]], [["b", "b"]], [["b", "b"]]]


def test_a_file_that_is_not_a_cache_is_refused(tmp_path):
    (tmp_path / "x").write_text("word\nword\n")
    with pytest.raises(DataError, match="x:1: is not an answer of a teacher"):
        collect(X, [gazetteer({"LOC": ["York"]})], cache=tmp_path / "x")


def test_labels_in_other_schemes_become_iob2():
    found = collect([["Bob", "Dole", "met", "Ida"]], [function(lambda x: ["B-P", "E-P", "O", "S-P"], "f")])
    assert found == {"f": [["B-P", "I-P", "O", "B-P"]]}


def test_a_source_that_finds_nothing_is_left_out():
    with pytest.warns(UserWarning, match="the source names finds nothing in 2 sentences"):
        found = collect(X, [gazetteer({"LOC": ["Oslo"]}, name="names"), gazetteer({"LOC": ["York"]})])
    assert list(found) == ["gazetteer"]
    with pytest.warns(match="finds nothing"), pytest.raises(ValueError, match="no source says anything"):
        collect(X, [gazetteer({"LOC": ["Oslo"]})])


def test_a_source_that_always_says_the_same_is_left_out():
    same = function(lambda words: ["B-LOC"] * len(words), "same")
    with pytest.warns(UserWarning, match="the source same gives every token the same answer, B-LOC"):
        assert list(collect(X, [same, gazetteer({"LOC": ["York"]})])) == ["gazetteer"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (function(lambda words: ["O"], "short"), "the source short gives 1 labels to sentence 0, which has"),
        (function(lambda words: [7] * len(words), "odd"), "the source odd: 7 is not a label"),
        (function(lambda words: ["B-P", *["IN"] * (len(words) - 1)], "x"), "labels such as B-P, which mark"),
        (Source("lazy", lambda X: []), "the source lazy answered 0 of 2 sentences"),
    ],
)
def test_wrong_answers_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        collect(X, [source])


def test_bad_lists_and_expressions_are_refused(tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(DataError, match=r"empty\.txt has no entries"):
        gazetteer({"LOC": tmp_path / "empty.txt"})
    (tmp_path / "latin.txt").write_bytes(b"Oslo\nK\xf6ln\n")
    with pytest.raises(DataError, match=r"latin\.txt:2: is not in UTF-8"):
        gazetteer({"LOC": tmp_path / "latin.txt"})
    with pytest.raises(ValueError, match=r"the regular expression '\(' of LOC is wrong"):
        regex({"LOC": "("})


def test_a_pipeline_of_spacy_is_asked_again_for_each_task(tmp_path):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler", name="ner").add_patterns([{"label": "LOC", "pattern": "Rome"}])
    nlp.add_pipe("attribute_ruler", name="tagger").add([[{"ORTH": "Rome"}]], {"POS": "PROPN"})
    nlp.to_disk(tmp_path / "pipeline")
    found = []
    for task in ("ner", "pos"):
        teacher = sources.teacher(f"spacy:{tmp_path / 'pipeline'}", task=task)
        votes = collect([["in", "Rome"]], [teacher], phrases=task == "ner", cache=tmp_path / "cache")
        found += votes.values()
    assert found == [[["O", "B-LOC"]], [[None, "PROPN"]]]


def test_an_unknown_pipeline_of_spacy_is_refused():
    pytest.importorskip("spacy")
    with pytest.raises(ValueError, match="spaCy cannot load no_such_pipeline"):
        sources.teacher("spacy:no_such_pipeline")
