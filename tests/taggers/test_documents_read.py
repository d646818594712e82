"""Files of annotation tools: what Doccano, Prodigy, Label Studio, Hugging Face, brat and spaCy write."""

import json

import numpy as np
import pandas as pd
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

from structsvm.files.errors import DataError
from taggers import read_sentences
from taggers.formats.files import open_columns, read_all
from tests.taggers.command_line import refused, run

TEXT = "Mia Lund left Oslo. She didn't wait \U0001f600 for Ben."
SPANS = [(0, 8, "PER"), (14, 18, "LOC"), (42, 45, "PER")]
X = [["Mia", "Lund", "left", "Oslo", "."], ["She", "did", "n't", "wait", "\U0001f600", "for", "Ben", "."]]
Y = [["B-PER", "I-PER", "O", "B-LOC", "O"], ["O", "O", "O", "O", "O", "O", "B-PER", "O"]]
REGIONS = [
    {"value": {"start": a, "end": b, "text": TEXT[a:b], "labels": [label]}, "type": "labels"}
    for a, b, label in SPANS
]


def lines(*objects):
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


def docbin():
    nlp = spacy.blank("en")
    doc = Doc(nlp.vocab, words=X[0] + X[1], sent_starts=[k in (0, 5) for k in range(13)])
    doc.set_ents([Span(doc, 0, 2, "PER"), Span(doc, 3, 4, "LOC"), Span(doc, 11, 12, "PER")])
    return DocBin(docs=[doc]).to_bytes()


FILES = {
    "doccano.jsonl": lines({"id": 4, "text": TEXT, "label": [list(one) for one in SPANS], "Comments": []}),
    "doccano_old.jsonl": lines({"id": 4, "data": TEXT, "labels": [list(one) for one in SPANS]}),
    "relation.jsonl": lines({"id": 4, "text": TEXT, "relations": [], "entities": [
        {"id": k, "label": label, "start_offset": a, "end_offset": b} for k, (a, b, label) in enumerate(SPANS)
    ]}),
    "prodigy.jsonl": lines({"text": TEXT, "answer": "accept", "_input_hash": -3, "spans": [
        {"start": a, "end": b, "label": label, "source": "x"} for a, b, label in SPANS
    ]}),
    "pairs.jsonl": lines([TEXT, {"entities": [list(one) for one in SPANS]}]),
    "tokens.jsonl": lines(*({"tokens": x, "ner_tags": y} for x, y in zip(X, Y, strict=True))),
    "teach.jsonl": lines(
        *({"tokens": x, "labels": y, "by": "", "time": 1.5} for x, y in zip(X, Y, strict=True))
    ),
    "studio.json": json.dumps([{"id": 1, "data": {"text": TEXT}, "annotations": [
        {"id": 1, "was_cancelled": True, "result": []}, {"id": 2, "was_cancelled": False, "result": REGIONS},
    ]}]).encode(),
    "studio_lines.jsonl": lines({"id": 1, "data": {"text": TEXT}, "annotations": [{"result": REGIONS}]}),
    "pretty.json": json.dumps([{"text": TEXT, "spans": [list(one) for one in SPANS]}], indent=2).encode(),
    "docs.spacy": docbin(),
    "table.csv": b"Sentence #,Word,POS,Tag\n" + "".join(
        f"{'' if k else f'Sentence: {n + 1}'},{json.dumps(word) if word == ',' else word},X,{label}\n"
        for n, (x, y) in enumerate(zip(X, Y, strict=True))
        for k, (word, label) in enumerate(zip(x, y, strict=True))
    ).encode(),
    "table.tsv": b"sentence_id\ttoken\tlabel\n" + "".join(
        f"{n}\t{word}\t{label}\n"
        for n, (x, y) in enumerate(zip(X, Y, strict=True)) for word, label in zip(x, y, strict=True)
    ).encode(),
}  # fmt: skip


@pytest.fixture(params=sorted(FILES))
def path(request, tmp_path):
    (tmp_path / request.param).write_bytes(FILES[request.param])
    return tmp_path / request.param


def test_every_format_is_detected_and_gives_the_same_sentences(path):
    assert read_sentences(path) == (X, Y)


def test_every_format_is_trained_evaluated_and_tagged(path):
    folder, name = path.parent, path.name
    done = run("train", "ner", name, "--dev", name, "-q", "-o", "m", cwd=folder)
    assert done.returncode == 0, done.stderr
    score = run("evaluate", "m", name, cwd=folder)
    assert b"FB1: 100.00" in score.stdout, score.stderr
    tagged = run("tag", "m", name, cwd=folder)
    assert tagged.returncode == 0, tagged.stderr
    (folder / f"again.{path.suffix}").write_bytes(tagged.stdout)
    if name.startswith("studio"):  # where predictions do not replace annotations
        assert b'"predictions"' in tagged.stdout
    else:
        assert read_sentences(folder / f"again.{path.suffix}") == (X, Y)


def test_the_keys_of_a_line_are_kept(tmp_path):
    (tmp_path / "f.jsonl").write_bytes(FILES["doccano.jsonl"])
    run("train", "ner", "f.jsonl", "-q", "-o", "m", cwd=tmp_path)
    found = json.loads(run("tag", "m", "f.jsonl", cwd=tmp_path).stdout)
    assert found == json.loads(FILES["doccano.jsonl"])


def test_spans_that_quote_the_text_are_found_in_it(tmp_path):
    quoted = [
        ("Rome", "LOC"),
        ("Anna", "PER"),
        ("Anna Berg", "PER"),
        ("Oslo", "PER"),
        ("Oslo", "LOC"),
        ("Lima", "LOC"),
    ]
    spans = [{"text": text, "label": label} for text, label in quoted]
    (tmp_path / "f.jsonl").write_bytes(lines(
        {"text": "Annas Anna Berg saw Rome, old Rome, Oslo in Oslo", "entities": spans},
        {"tokens": ["in", "Rome"], "entities": [{"text": "Rome", "type": "LOC"}]},
    ))  # fmt: skip
    with pytest.warns(UserWarning, match=r"f\.jsonl:1: 1 of 7 quoted spans are not .* .the first is 'Lima'"):
        found = read_sentences(tmp_path / "f.jsonl")[1]
    assert found == [
        ["O", "B-PER", "I-PER", "O", "B-LOC", "O", "O", "B-LOC", "O", "B-PER", "O", "B-LOC"], ["O", "B-LOC"],
    ]  # fmt: skip
    (tmp_path / "f.jsonl").write_bytes(lines({"text": "in Rome", "entities": [{"text": "Rome"}]}))
    with pytest.raises(DataError, match=r'f\.jsonl:1: .* needs a text and a label, such as "PER"'):
        read_sentences(tmp_path / "f.jsonl")


def test_a_folder_of_brat_and_a_single_file_are_read(tmp_path):
    folder = tmp_path / "brat"
    folder.mkdir()
    ann = "".join(f"T{k}\t{label} {a} {b}\t{TEXT[a:b]}\n" for k, (a, b, label) in enumerate(SPANS, 1))
    (folder / "one.txt").write_text(TEXT + "\n")
    (folder / "one.ann").write_text(ann)
    (folder / "two.txt").write_text("Not annotated.\n")
    assert read_sentences(folder / "one.ann") == (X, Y)
    with pytest.warns(UserWarning, match="1 of 2 .txt files have no .ann"):
        found = read_sentences(folder)
    assert found == ([*X, ["Not", "annotated", "."]], [*Y, [None, None, None]])
    (folder / "one.ann").write_text(ann + "R1\tKnows Arg1:T1 Arg2:T3\nA1\tSure T1\n")
    with pytest.warns(UserWarning, match=r"relations, events, attributes and notes \(2\) are not read"):
        assert read_sentences(folder / "one.ann") == (X, Y)
    (folder / "one.ann").write_text(ann + "T9\tPER 0 3;14 18\tMia Oslo\n")
    with pytest.warns(UserWarning, match="1 of 4 spans do not fit the tokens"):
        assert read_sentences(folder / "one.ann")[1][0] == ["B-PER", "I-PER", None, "B-LOC", "O"]
    (folder / "one.txt").unlink()
    with pytest.raises(DataError, match=r"brat needs the text in the same folder"):
        read_sentences(folder / "one.ann")


def test_brat_and_jsonl_are_converted_into_each_other(tmp_path):
    (tmp_path / "f.jsonl").write_bytes(FILES["doccano.jsonl"])
    done = run("convert", "f.jsonl", "--to", "brat", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_sentences(tmp_path / "out") == (X, Y)
    assert "T1\tPER 0 8\tMia Lund\n" in (tmp_path / "out" / "00001.ann").read_text()
    refused(run("convert", "f.jsonl", "--to", "brat", "-o", "out", cwd=tmp_path), 2, "out exists already")
    refused(run("convert", "f.jsonl", "--to", "brat", cwd=tmp_path), 2, "name it with -o FOLDER")


def test_the_xml_of_parserator_is_read_and_written(tmp_path):
    xml = (
        '<?xml version="1.0"?>\n<AddressCollection>\n'
        "  <AddressString><Number>12</Number> <Street>Elm &amp; Ash</Street> <Null>,</Null></AddressString>\n"
        "  <AddressString><Number>7</Number> <Street>Oak</Street></AddressString>\n</AddressCollection>\n"
    )
    (tmp_path / "a.xml").write_text(xml)
    words = [["12", "Elm", "&", "Ash", ","], ["7", "Oak"]]
    labels = [["Number", "Street", "Street", "Street", None], ["Number", "Street"]]
    assert read_sentences(tmp_path / "a.xml") == (words, labels)
    columns = read_all(tmp_path / "a.xml", wanted=(1, -1))
    assert [columns.line(token) for token in columns.sentence_ptr[:-1]] == [3, 4]
    assert run("train", "label", "a.xml", "-q", "-o", "m", cwd=tmp_path).returncode == 0
    tagged = run("tag", "m", "a.xml", cwd=tmp_path).stdout.decode()
    assert "<AddressString><Number>7</Number> <Street>Oak</Street></AddressString>" in tagged
    for bad, what in (
        (xml.replace("</AddressCollection>", ""), "is not XML"),
        (xml.replace("  <AddressString>", "12 <AddressString>", 1), "'12' is outside of all sequences"),
        (xml.replace("?>\n", "?>\n<!DOCTYPE x>\n", 1), "DOCTYPE"),
        (xml.replace("12", "<b>12</b>"), "inside a token"),
    ):
        (tmp_path / "b.xml").write_text(bad)
        with pytest.raises(DataError, match=what):
            read_all(tmp_path / "b.xml", "parserator")


def test_words_outside_of_the_elements_of_parserator_are_unlabelled(tmp_path):
    path = tmp_path / "a.xml"
    row = "<A><Number>7</Number># <Street>Oak</Street>, unit <Street>Elm</Street>\n; </A>"
    path.write_text(f"<As>\n{row}\n</As>\n")
    with pytest.warns(UserWarning, match=r"unlabelled: 3 \(the first is '#' in line 2\)"):
        found = read_sentences(path, format="parserator")
    words = ["7", "#", "Oak,", "unit", "Elm", ";"]
    assert found == ([words], [["Number", None, "Street", None, "Street", None]])


def test_conllu_plus_names_its_columns(tmp_path):
    rows = "# global.columns = ID FORM UPOS NE:TYPE\n# sent_id = 1\n1\tMia\tPROPN\tB-PER\n2\tsat\tVERB\tO\n\n"
    (tmp_path / "f.conllup").write_text(rows)
    assert read_sentences(tmp_path / "f.conllup") == ([["Mia", "sat"]], [["B-PER", "O"]])
    assert run("train", "ner", "f.conllup", "-q", "-o", "m", cwd=tmp_path).returncode == 0
    assert run("tag", "m", "f.conllup", cwd=tmp_path).stdout.decode() == rows
    assert read_sentences(tmp_path / "f.conllup", inputs=[1, 2])[0] == [[("Mia", "PROPN"), ("sat", "VERB")]]
    (tmp_path / "bad").write_text(rows.replace("\tO\n", "\n"))
    with pytest.raises(DataError, match="bad:4: 3 columns instead of 4"):
        read_sentences(tmp_path / "bad")


def test_a_first_line_that_names_the_columns_of_conllu_leaves_a_treebank_one(tmp_path):
    names = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"
    (tmp_path / "f.conllu").write_text(names + "1\tMia\tMia\tPROPN\t_\t_\t0\troot\t_\t_\n\n")
    with open_columns(tmp_path / "f.conllu") as opened:
        assert opened.format.name == "conllu"
    assert run("train", "ud", "f.conllu", "-q", "-o", "m", cwd=tmp_path).returncode == 0


# -- what does not fit --------------------------------------------------------------------------


def test_spans_that_fit_no_tokens_are_counted_with_their_lines(tmp_path):
    good = {"text": "Ann met Bo.", "label": [[0, 3, "PER"], [8, 10, "PER"]]}
    cut = {"text": "Annabel met Bo.", "label": [[0, 3, "PER"], [12, 14, "PER"]]}
    twice = {"text": "Ann met Bo.", "label": [[0, 7, "X"], [4, 10, "Y"]]}
    (tmp_path / "f.jsonl").write_bytes(lines(good, cut, good, twice))
    with pytest.warns(UserWarning, match="count as unlabelled") as told:
        _, y = read_sentences(tmp_path / "f.jsonl")
    assert "1 of 8 spans do not fit the tokens (line 2; the first is 'Ann')" in str(told[0].message)
    assert "1 of 8 spans overlap an earlier one (line 4; the first is 'met Bo')" in str(told[0].message)
    assert y[1] == [None, "O", "B-PER", "O"]
    assert y[3] == ["B-X", None, None, "O"]


def test_documents_without_a_span_that_fits_are_refused(tmp_path):
    text = "Ann met Bo in Rome."
    good = [{"text": text, "label": [[0, 3, "PER"], [8, 10, "PER"]]}] * 3
    shifted = [{"text": text, "label": [[1, 4, "PER"], [9, 11, "PER"]]}] * 3
    (tmp_path / "good.jsonl").write_bytes(lines(*good))
    (tmp_path / "bad.jsonl").write_bytes(lines({"text": "Yes.", "label": []}, *shifted))
    assert run("train", "ner", "good.jsonl", "-q", "-o", "good.ssvm", cwd=tmp_path).returncode == 0
    for command in (
        ("train", "ner", "bad.jsonl", "-o", "m.ssvm"),
        ("train", "ner", "good.jsonl", "--dev", "bad.jsonl", "-o", "m.ssvm"),
        ("tune", "ner", "good.jsonl", "--dev", "bad.jsonl", "--trials", "1", "-o", "m.ssvm"),
        ("evaluate", "good.ssvm", "bad.jsonl"),
    ):
        done = run(*command, cwd=tmp_path)
        refused(done, 1, "bad.jsonl:2: no phrase is left, as the spans do not fit the tokens")
    assert not (tmp_path / "m.ssvm").exists()
    assert run("train", "ner", "good.jsonl", "bad.jsonl", "-q", "-o", "m.ssvm", cwd=tmp_path).returncode == 0
    (tmp_path / "none.jsonl").write_bytes(lines({"text": text, "label": []}))
    assert run("train", "ner", "none.jsonl", "-q", "-o", "none.ssvm", cwd=tmp_path).returncode == 0
    done = run("evaluate", "none.ssvm", "good.jsonl", cwd=tmp_path)
    refused(done, 1, "column label has the labels B-PER, but the model has only O; choose")


def test_a_span_over_two_sentences_joins_them(tmp_path):
    (tmp_path / "f.jsonl").write_bytes(lines({"text": "See Dr. No? Yes. Go.", "spans": [[4, 15, "FILM"]]}))
    assert read_sentences(tmp_path / "f.jsonl") == (
        [["See", "Dr.", "No", "?", "Yes", "."], ["Go", "."]],
        [["O", "B-FILM", "I-FILM", "I-FILM", "I-FILM", "O"], ["O", "O"]],
    )


def test_rejected_answers_are_left_out_and_counted(tmp_path):
    (tmp_path / "f.jsonl").write_bytes(
        lines({"text": "One.", "spans": [], "answer": "reject"}, {"text": "Two.", "spans": []})
    )
    with pytest.warns(UserWarning, match=r"1 document that an annotator rejected.*line 1"):
        assert read_sentences(tmp_path / "f.jsonl") == ([["Two", "."]], [["O", "O"]])


def test_regions_of_label_studio_quote_their_text():
    def labels(text, start, end, quoted=None):
        value = {"start": start, "end": end, "text": quoted, "labels": ["X"]}
        region = {"type": "labels", "value": value}
        return read_sentences([{"data": {"text": text}, "annotations": [{"result": [region]}]}])[1][0]

    face = "\U0001f600 Bo left"
    assert labels(face, 2, 4) == labels(face, 2, 4, "Bo") == ["O", "B-X", "O"]
    assert labels(face, 3, 5, "Bo") == ["O", "B-X", "O"]  # old versions count UTF-16 units
    assert labels("Bo\n Lund left", 0, 8, "Bo\\nLund") == ["B-X", "I-X", "O"]
    with pytest.raises(DataError, match="has the text 'Al', but the task has 'Bo' there"):
        labels(face, 2, 4, "Al")
    with pytest.raises(DataError, match="leaves the text"):
        labels(face, 2, 40)


def test_integer_tags_get_the_names_of_the_data_set(tmp_path):
    (tmp_path / "f.jsonl").write_bytes(lines({"tokens": ["Bo", "ran", "."], "ner_tags": [1, 0, -100]}))
    with pytest.warns(UserWarning, match="ner_tags has numbers"):
        assert read_sentences(tmp_path / "f.jsonl")[1] == [["1", "0", "-100"]]
    feature = {"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"features": {"ner_tags": feature}}))
    assert read_sentences(tmp_path / "f.jsonl")[1] == [["B-PER", "O", None]]


def test_several_kinds_of_tags_are_columns(tmp_path):
    one = {"tokens": ["Bo", "ran"], "pos_tags": ["PROPN", "VERB"], "ner_tags": ["B-PER", "O"]}
    (tmp_path / "f.jsonl").write_bytes(lines(one))
    assert read_sentences(tmp_path / "f.jsonl")[1] == [["B-PER", "O"]]
    assert read_sentences(tmp_path / "f.jsonl", label="upos")[1] == [["PROPN", "VERB"]]
    assert run("train", "pos", "f.jsonl", "--column", "upos", "-q", "-o", "m", cwd=tmp_path).returncode == 0


def test_a_text_of_blanks_may_have_no_tokens(tmp_path):
    rows = '{"text": " \\n", "tokens": [], "spans": []}\n{"tokens": ["Mia"], "labels": ["B-PER"]}\n'
    (tmp_path / "f.jsonl").write_text(rows)
    assert read_sentences(tmp_path / "f.jsonl") == ([["Mia"]], [["B-PER"]])


@pytest.mark.parametrize(("line", "what"), [
    ('{"text": "Bo", "label": ["PER"]}', "label of the whole text"),
    ('{"text": "Bo", "label": "PER"}', "label of the whole text"),
    ('{"text": "Bo", "label": [[0, 9, "PER"]]}', "leaves the text, which has 2 characters"),
    ('{"text": "Bo", "label": [[0, 1]]}', "is not a span"),
    ('{"text": "Bo", "label": [[0, "1", "X"]]}', "is not a span"),
    ('{"text": "Bo", "spans": [{"start": 0, "label": "X"}]}', "is not a span"),
    ('{"text": "Bo"', "is not JSON"),
    ('{"tokens": [], "text": "x"}', "the list of tokens is empty, but the text is not"),
    ('{"tokens": "a b"}', "tokens must be a list"),
    ('{"tokens": ["a", ""]}', "tokens must be strings that are not empty"),
    ('{"tokens": ["a"], "tags": ["O", "O"]}', "tags has 2 labels for 1 tokens"),
    ('{"tokens": [{"text": "a"}]}', "needs text, start and end"),
    ('{"tokens": [{"text": "a", "start": 5, "end": 6}], "text": "a"}', "is not at characters 5-6"),
    ('{"id": 3, "meta": {}}', "has no text and no tokens"),
    ("[1, 2, 3]", "must be a JSON object"),
])  # fmt: skip
def test_a_wrong_line_is_named(line, what, tmp_path):
    (tmp_path / "f.jsonl").write_text('{"text": "Fine.", "label": []}\n' + line + "\n")
    refused(run("train", "ner", "f.jsonl", "-o", "m", cwd=tmp_path), 1, "f.jsonl:2: ", what)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(("table", "what"), [
    ("sentence,word,tag\n1,a\n", "t.csv:2: 2 cells where the header has 3"),
    ("sentence,word,tag\n1,,O\n", "t.csv:2: the word is empty"),
    ("sentence,word,start,end,tag\n1,a,x,1,O\n", "t.csv:2: start and end"),
])  # fmt: skip
def test_a_wrong_row_is_named(table, what, tmp_path):
    (tmp_path / "t.csv").write_text(table)
    refused(run("train", "ner", "t.csv", "-o", "m", cwd=tmp_path), 1, what)


def test_empty_rows_separate_sentences_without_a_warning(tmp_path):
    (tmp_path / "t.csv").write_text("word,tag\nMia,PER\n.,O\n\nWait,O\n.,O\nOslo,LOC\n")
    _, y = read_sentences(tmp_path / "t.csv")
    assert [len(sentence) for sentence in y] == [2, 3]


def test_a_damaged_docbin_is_one_sentence(tmp_path):
    (tmp_path / "f.spacy").write_bytes(docbin()[:60])
    refused(run("train", "ner", "f.spacy", "-o", "m", cwd=tmp_path), 1, "cannot be read as spaCy's DocBin")


def test_tables_with_other_separators_are_tables_and_columns_are_not(tmp_path):
    (tmp_path / "a").write_text("Word;Tag\nBo;O\n;\nAn;O\n")
    assert read_sentences(tmp_path / "a")[0] == [["Bo"], ["An"]]
    (tmp_path / "b").write_text("Word\tTag\nBo\tO\n")
    with open_columns(tmp_path / "b") as opened:
        assert opened.format.name == "columns"


# -- Python -------------------------------------------------------------------------------------


def test_tables_of_pandas_and_lists_of_records_are_sentences():
    rows = [
        (n, word, label)
        for n, (x, y) in enumerate(zip(X, Y, strict=True))
        for word, label in zip(x, y, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["sentence", "word", "label"])
    assert read_sentences(frame) == (X, Y)
    frame.loc[0, "label"] = float("nan")
    frame.loc[1, "label"] = None
    frame.loc[2, "label"] = pd.NA
    assert read_sentences(frame)[1][0] == [None, None, None, "B-LOC", "O"]
    assert read_sentences([{"text": TEXT, "spans": SPANS}]) == (X, Y)
    with pytest.raises(TypeError, match="list of records or a DataFrame"):
        read_sentences(5)


def test_rows_of_pandas_may_be_documents():
    texts = pd.DataFrame({"id": [7, 8], "text": [TEXT, "Hm."], "label": [[list(one) for one in SPANS], None]})
    assert read_sentences(texts) == ([*X, ["Hm", "."]], [*Y, [None, None]])
    tokens = pd.DataFrame({"tokens": [np.array(words) for words in X], "ner_tags": Y})
    assert read_sentences(tokens) == (X, Y)
    empty = pd.DataFrame({"tokens": [[], X[0]], "ner_tags": [[], Y[0]]})
    assert read_sentences(empty) == (X[:1], Y[:1])


def test_pairs_of_spacy_may_have_tuples_and_integers_of_numpy():
    spans = [(np.int64(a), np.int64(b), label) for a, b, label in SPANS]
    assert read_sentences([(TEXT, {"entities": spans})]) == (X, Y)
    with pytest.warns(UserWarning, match="ner_tags has numbers"):
        assert read_sentences([{"tokens": X[0], "ner_tags": list(np.array([1, 2, 0, 3, 0]))}])[1] == [
            list("12030")
        ]


def test_a_text_is_split_as_the_user_wants():
    from taggers.formats.tokenizer import Token

    def split(text):
        return [[Token(letter, at, at + 1) for at, letter in enumerate(text)]]

    assert read_sentences([{"text": "abc", "spans": [[1, 3, "X"]]}], split=split) == (
        [["a", "b", "c"]], [["O", "B-X", "I-X"]],
    )  # fmt: skip
