"""Whatever bytes a file holds, it is read or refused as wrong data; and so for every command."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from taggers import SequenceTagger, commands
from taggers.features.extract import Extractor, KeyTable, encode_items
from taggers.features.label_bigrams import LabelBigrams
from taggers.features.template import parse_template
from taggers.formats._columns import Columns
from taggers.formats.files import read_columns
from tests.taggers.tagger_twins import CONLLU, PETS, tricky

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # random files look odd

LABELS = ["O", "B-X", "I-X", "I-Y", "E-X", "-", "B-", "_"]
tokens = st.tuples(st.sampled_from(["a", "bé", "-DOCSTART-", "#", "1", "\ufeff"]), st.sampled_from(LABELS))
columns = st.lists(st.none() | tokens, max_size=12).map(
    lambda rows: "".join("\n" if row is None else f"{row[0]} {row[1]}\n" for row in rows).encode()
)
conllu = st.lists(
    st.sampled_from([line + b"\n" for line in CONLLU.split(b"\n")] + [b"1\t2\n", b"x\ty\n", b"#\n"]),
    max_size=12,
).map(b"".join)
crfsuite = st.lists(
    st.sampled_from([b"O", b"B-X", b"\t", b"w=a", b":", b":2", b":nan", b"\\", b"\n", b"\n\n", b" "]),
    max_size=30,
).map(b"".join)
anything = st.binary(max_size=60) | tricky | columns | conllu | crfsuite
formats = st.sampled_from(["auto", "columns", "conllu", "crfsuite", "text"])


def refusal(run, kind=DataError):
    """What is said where the data are refused, one sentence; None where they are taken."""
    try:
        run()
    except kind as error:
        told = str(error)
    else:
        return None
    assert told
    assert "\n" not in told
    return told


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz")
    (path / "pets").write_bytes(PETS)
    commands.train("chunk", path / "pets", path / "chunk.ssvm")
    commands.train("label", path / "pets", path / "label.ssvm", inputs=[0])
    return path


@settings(max_examples=300)
@given(
    anything, formats, st.sampled_from(["utf-8", "latin-1", "utf-16", "ascii"]), st.sampled_from([None, 1, 7])
)
def test_any_file_is_read_or_refused(tmp_path_factory, content, format, encoding, chunk_size):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    options = {"encoding": encoding, "chunk_size": chunk_size}
    told = refusal(lambda: list(read_columns(path, format, **options)))
    if told is None:
        assert sum(part.n_tokens for part in read_columns(path, format, **options))
    else:
        assert str(path) in told


@settings(max_examples=200)
@given(content=anything, format=formats)
@example(content=b"a E", format="auto")  # read as a phrase of one word, S
def test_any_training_file_gives_a_model_or_is_refused(folder, content, format):
    path, model = folder / "any", folder / "any.ssvm"
    path.write_bytes(content)
    model.unlink(missing_ok=True)
    options = {"format": format, "epochs": 1}
    if format not in ("auto", "crfsuite"):  # CRFsuite's features come ready, and `auto` may find its format
        options["template"] = "w[-1..1], shape[0]"
    told = refusal(lambda: commands.train("chunk", path, model, **options))
    assert model.exists() == (told is None)
    if told is None:
        commands.tag(model, path, folder / "out", format=format)


@settings(max_examples=150)
@given(content=anything, format=formats, model=st.sampled_from(["chunk.ssvm", "label.ssvm"]))
def test_any_file_is_labelled_compared_and_converted_or_refused(folder, content, format, model):
    path, out = folder / "any", folder / "out"
    path.write_bytes(content)
    for run in (
        lambda: commands.tag(folder / model, path, out, format=format),
        lambda: commands.evaluate(folder / model, path, format=format),
        lambda: commands.evaluate(None, path, format=format),
        lambda: commands.convert(path, out, to="IOBES", format=format),
    ):
        out.unlink(missing_ok=True)
        assert refusal(run) is None or not out.exists()


@settings(max_examples=200)
@given(crfsuite)
def test_any_crfsuite_file_gives_features_or_is_refused(content):
    table = KeyTable()
    told = refusal(lambda: encode_items(Columns(content, format="crfsuite", name="f"), table, grow=True))
    if told is None:
        features = encode_items(Columns(content, format="crfsuite"), table)
        assert set(features.rows.tolist()) == set(range(len(table)))
    else:
        assert told.startswith("f:")


pieces = st.lists(
    st.sampled_from(
        ["w", "p", "c2", "y", "[", "]", "-1", "0", "..", "2", "|", ",", "\n", "#", "U0:", "B", "%x[0,0]",
         "%x[-1,1]", "/", ".", "suffix2", "lower", "bias", "+", "99", "w[0]", "y[-1]|", "\ufeff",
         "é", "99999999999"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@settings(max_examples=500)
@given(pieces | st.text(max_size=20))
def test_any_text_is_a_template_or_is_refused(text):
    told = refusal(lambda: parse_template(text, file="t"))
    if told is not None:
        assert told.startswith("t:")
        return
    template = parse_template(text)
    assert parse_template(template.text) == template
    table = KeyTable()
    rows, _ = Extractor(template).rows(
        Columns.from_sentences([[("a",) * max(template.width, 1)] * 2]), table, grow=True
    )
    assert len(rows) <= 2 * len(template.patterns)
    assert all(pattern.back for pattern in LabelBigrams(template, KeyTable()).patterns)


@settings(max_examples=100)
@given(st.lists(st.lists(st.text(max_size=3), max_size=4), max_size=4), st.data())
def test_any_sentences_of_python_are_learned_or_refused(X, data):
    y = [
        data.draw(st.lists(st.sampled_from([*LABELS, "", None]), min_size=len(s), max_size=len(s))) for s in X
    ]
    tagger = SequenceTagger(template="w[0]", epochs=1)
    if refusal(lambda: tagger.fit(X, y), ValueError) is None:
        assert [len(labels) for labels in tagger.predict(X)] == [len(s) for s in X]
