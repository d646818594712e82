"""Numbers in columns, word vectors and features of the user beside a template."""

import numpy as np
import pytest

from structsvm.files.errors import DataError
from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import SequenceTagger, commands
from taggers.features.extract import KeyTable
from taggers.features.knowledge import read_knowledge
from taggers.features.real_values import read_vectors, real_features
from taggers.features.template import parse_template
from taggers.formats._columns import Columns
from tests.taggers.command_line import refused, run

WORDS = ["hot", "cold", "mild"]
X = [[(word, number) for word, number in zip(WORDS, numbers, strict=True)] for numbers in
     (("3.5", "-2", "_"), ("t:1.5", "t:-1", "0"), ("2", "-7.5", "x:1"))] * 8  # fmt: skip
Y = [["A", "B", "C"], ["A", "B", "C"], ["A", "B", "C"]] * 8
VECTORS = {"hot": [3.0, 0, 4], "cold": [0, -1.0, 0], "Mild": [0, 0, 2.0]}
PLAIN = [[word for word, _ in sentence] for sentence in X]


def parts(template, X, **options):
    table = KeyTable()
    columns = Columns.from_sentences(X)
    names = options.pop("knowledge", None)
    patterns = parse_template(template, knowledge=names).patterns
    return real_features(columns, patterns, names, None, table, grow=True), table


def test_numbers_become_values_at_their_offset():
    (here, before), table = parts("p.value[0], p.value[-1]", X[:2])
    assert here.values.tolist() == [3.5, -2, 1.5, -1]
    assert np.diff(here.token_ptr).tolist() == [1, 1, 0, 1, 1, 0]
    assert before.values.tolist() == [3.5, -2, 1.5, -1]
    assert np.diff(before.token_ptr).tolist() == [0, 1, 1, 0, 1, 1]
    assert len(table) == 4  # with and without a name, here and before


def test_a_column_of_numbers_is_learned_and_explained(tmp_path):
    tagger = SequenceTagger(template="w[0], p.value[0]", epochs=9).fit(X, Y)
    assert tagger.predict([[("new", "5"), ("new", "-5")]]) == [["A", "B"]]
    tagger.save(tmp_path / "model")
    loaded = SequenceTagger.load(tmp_path / "model")
    told = loaded.explain([("new", "5"), ("new", "t:-5")])
    assert [token["label"] for token in told] == ["A", "B"]
    assert "p.value[0]:t" in dict(told[1]["features"])


def test_a_cell_that_is_not_a_number_is_named_with_its_line(tmp_path):
    (tmp_path / "train").write_text("hot 3.5 A\ncold warm B\n")
    train = ["train", "label", "train", "--template", "w[0], p.value[0]", "-o", "model"]
    done = run(*train, cwd=tmp_path)
    refused(done, 1, "train:2: 'warm' is not a number", "write 0.37 or name:0.37, and _ for no value")
    assert not (tmp_path / "model").exists()
    with pytest.raises(DataError, match="cannot be joined with other cells"):
        parse_template("w[0]|p.value[0]")


def test_vectors_are_features_that_the_model_file_contains(tmp_path):
    tagger = SequenceTagger(template="vectors[0]", vectors=VECTORS, epochs=9).fit(PLAIN, Y)
    assert tagger.predict([["COLD"], ["Hot"]]) == [["B"], ["A"]]  # looked up in lower case
    for dtype in ("float32", "float16"):
        tagger.save(tmp_path / dtype, dtype=dtype)
        assert SequenceTagger.load(tmp_path / dtype).predict([["cold"], ["hot"]]) == [["B"], ["A"]]
    assert "w.vectors[0][1]" in dict(tagger.explain(["cold"])[0]["features"])
    assert np.allclose(np.linalg.norm(read_vectors(VECTORS).table, axis=1), 1)


def test_named_templates_use_vectors_from_files(tmp_path):
    lines = "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in VECTORS.items())
    (tmp_path / "v.txt").write_text(f"3 3\n{lines}")
    text = "".join("".join(f"{w} {y}\n" for w, y in zip(*pair, strict=True)) + "\n"
                   for pair in zip(PLAIN, Y, strict=True))  # fmt: skip
    (tmp_path / "train").write_text(text)
    files = tmp_path / "train", tmp_path / "model"
    tagger = commands.train("label", *files, vectors=[str(tmp_path / "v.txt")])
    assert {"w.vectors[-1]", "w.vectors[0]"} <= {
        pattern.text for pattern in tagger.model_.space.template.real
    }
    (tmp_path / "v.txt").write_text("hot 1 2\ncold 1\n")
    train = ["train", "label", "train", "--vectors", "v.txt", "-o", "other"]
    refused(run(*train, cwd=tmp_path), 1, "v.txt:2: 1 numbers, but the first vector has 2")
    (tmp_path / "v.txt").write_text("hot 1 nan\n")
    refused(run(*train, cwd=tmp_path), 1, "v.txt:1: the numbers of a vector must be finite")
    (tmp_path / "v.txt").write_text("hot\n")
    refused(run(*train, cwd=tmp_path), 1, "v.txt:1: expected a word and the numbers of its vector")
    (tmp_path / "v.txt").write_text("")
    refused(run(*train, cwd=tmp_path), 1, "v.txt: the file of word vectors is empty")


def test_vectors_of_a_pipeline():
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    for word, vector in VECTORS.items():
        nlp.vocab.set_vector(word, np.array(vector, np.float32))
    ours, theirs = read_vectors(VECTORS), read_vectors(nlp)
    columns = Columns.from_sentences([["hot", "Mild", "cold"]])
    assert np.allclose(ours.table[ours.rows(columns)], theirs.table[theirs.rows(columns)])


def write(folder):
    (folder / "v.txt").write_text("hot 1 2\n")
    return folder / "v.txt"


def test_vectors_that_match_nothing_are_reported(tmp_path):
    with pytest.warns(UserWarning, match="the word vectors vectors matches nothing in the training data"):
        SequenceTagger(template="w[0], vectors[0]", vectors={"snow": [1.0]}).fit(PLAIN, Y)
    with pytest.raises(ValueError, match="vectors of 1 and 2 numbers; all need the same width"):
        read_vectors({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="two vectors are called vectors; name them"):
        read_knowledge(vectors=[write(tmp_path), write(tmp_path)])
    with pytest.raises(ValueError, match="vectors must be a file, a dict or a spaCy pipeline, got 3"):
        read_vectors(3)


def last_letter(tokens, at):
    return {"last": tokens[at][-1], "place": at / 10}


def test_a_function_adds_features_to_a_template(tmp_path):
    tagger = SequenceTagger(template="w[0]", features=last_letter, epochs=9, keep_names=True).fit(PLAIN, Y)
    assert tagger.predict(PLAIN[:1]) == Y[:1]
    assert {"last:t", "place"} <= set(tagger.model_.space.names)
    tagger.save(tmp_path / "model")
    assert SequenceTagger.load(tmp_path / "model", features=last_letter).predict(PLAIN[:1]) == Y[:1]
    with pytest.raises(ValueError, match="load it with features=FUNCTION"):
        SequenceTagger.load(tmp_path / "model").predict(PLAIN[:1])
    with pytest.raises(ValueError, match="features must be a function, got 3"):
        SequenceTagger(features=3).fit(PLAIN, Y)


def test_dicts_with_words_are_the_same_as_a_function():
    pairs = [[(w, last_letter(words, at)) for at, w in enumerate(words)] for words in PLAIN]
    by_dict = SequenceTagger(template="w[0]").fit(pairs, Y)
    by_function = SequenceTagger(template="w[0]", features=last_letter).fit(PLAIN, Y)
    assert by_dict.optimizer_.weights_.tolist() == by_function.optimizer_.weights_.tolist()
    assert by_dict.tag(pairs[0]) == Y[0]
    assert "last:t" in dict(by_dict.explain(pairs[0])[0]["features"])
    with pytest.raises(ValueError, match="must be a dict, as in the first one"):
        by_dict.fit([[("a", {}), ("b", "c")]], [["A", "B"]])


def test_a_function_is_never_ignored():
    ready = [[{"w": word} for word in words] for words in PLAIN]
    pairs = [[(word, {"w": word}) for word in words] for words in PLAIN]
    with pytest.raises(ValueError, match="these tokens are features already"):
        SequenceTagger(features=last_letter).fit(ready, Y)
    with pytest.raises(ValueError, match="the tokens have a dict of features"):
        SequenceTagger(template="w[0]", features=last_letter).fit(pairs, Y)
    tagger = SequenceTagger(template="w[0]", keep_names=True).fit(PLAIN, Y)
    tagger.set_params(features=last_letter).partial_fit(PLAIN, Y)
    assert "last:t" in tagger.model_.space.names
    with pytest.raises(ValueError, match="load it with features=FUNCTION"):
        tagger.set_params(features=None).predict(PLAIN)


def test_forged_vectors_are_refused(tmp_path):
    path = tmp_path / "model"
    SequenceTagger(template="vectors[0]", vectors=VECTORS).fit(PLAIN, Y).save(path)
    arrays, meta = load_model(path)
    name = "vectors.vectors.table"
    for bad in (arrays[name][:2], arrays[name][:, 0], arrays[name] * np.nan, arrays[name].astype(np.int32)):
        save_model(path, {**arrays, name: bad}, meta)
        with pytest.raises(ModelFileError):
            SequenceTagger.load(path)


def test_too_few_columns_for_numbers_are_refused(tmp_path):
    wide = [[(word, "x", number) for word, number in sentence] for sentence in X]
    tagger = SequenceTagger(template="w[0], p[0], c2.value[0]").fit(wide, Y)
    for use in (tagger.predict, lambda narrow: tagger.partial_fit(narrow, Y)):
        with pytest.raises(ValueError, match="needs 3 columns, but the input has 1"):
            use(PLAIN)
    columns = Columns.from_sentences(PLAIN)
    with pytest.raises(ValueError, match=r"c2.value.0. needs 3 columns"):
        real_features(columns, parse_template("c2.value[0]").patterns, None, None, KeyTable())
    tagger.model_.files = {"format": "columns", "inputs": [0, 1, 2], "label": 3, "n_columns": 4}
    tagger.save(tmp_path / "model")
    arrays, meta = load_model(tmp_path / "model")
    meta["files"]["inputs"] = [0, 1]
    save_model(tmp_path / "model", arrays, meta)
    with pytest.raises(ModelFileError, match="needs 3 columns"):
        SequenceTagger.load(tmp_path / "model")


def test_large_vectors_are_scaled_to_length_one():
    assert read_vectors({"a": [3e30, 4e30], "b": [0, 0]}).table.tolist() == [
        pytest.approx([0.6, 0.8]), [0, 0]
    ]  # fmt: skip


def test_a_dict_names_files_of_vectors(tmp_path):
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0 1\n")
    assert [*read_knowledge(vectors={"mine": str(tmp_path / "v.txt")}).vectors] == ["mine"]
    with pytest.raises(ValueError, match="names to files, or words to numbers"):
        read_knowledge(vectors={"mine": str(tmp_path / "v.txt"), "cat": [1.0, 0.0]})
