"""Attributes that depend on the document: against a twin, in files and Docs, in two rounds, and refusals."""

import tracemalloc
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files import budget
from structsvm.files.errors import DataError
from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import NerTagger, SequenceTagger, rounds
from taggers.features.documents import document_numbers, other_labels, written_forms
from taggers.features.extract import Extractor
from taggers.features.feature_names import feature_names
from taggers.features.template import parse_template
from taggers.formats._columns import Columns
from taggers.model import TaggerModel
from taggers.rounds import learn_rounds
from taggers.sources.memory import MemorySource
from taggers.trainer import encoded
from tests.taggers.command_line import refused, run

WORDS = ("rome", "Rome", "ROME", "é", "É", ".")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=8)
NAMES = ("O", "B-LOC", "I-LOC", "B-PER")
# "Mark" is a name where the document says so: only the first sentence of a document tells.
X = [["He", "met", word, "."] for word in ("Mark", "Ada")] * 2
X = [*X, ["Mark", "left"], ["Ada", "left"], ["the", "mark", "was", "red"], ["Mark", "it"]]
Y = [["O", "O", "B-PER", "O"]] * 4 + [["B-PER", "O"]] * 2 + [["O"] * 4, ["O", "O"]]
TEMPLATE = "w[-1..1], doc_form[0], doc_label[0]"


def twin(sentences, size, labels):
    """(doc_form, doc_label) of each token, by looking at all tokens of the document."""
    found = []
    for number, words in enumerate(sentences):
        start = number // size * size
        tokens = [
            (word, at == 0, label)
            for number in range(start, min(start + size, len(sentences)))
            for at, (word, label) in enumerate(zip(sentences[number], labels[number], strict=True))
        ]
        for word, own in zip(words, labels[number], strict=True):
            alike = [(form, first) for form, first, _ in tokens if form.lower() == word.lower()]
            lower = any(form == form.lower() for form, _ in alike)
            inside = any(form != form.lower() and not first for form, first in alike)
            form = ("both" if inside else "lower") if lower else "inside" if inside else "initial"
            types = Counter(label.partition("-")[2] or label for form, _, label in tokens if form == word)
            types[own.partition("-")[2] or own] -= 1
            most = max(types.values())
            # the first of the labels, in the order of their names, among those that are equally frequent
            kinds = [kind for kind in ("O", "LOC", "PER") if most and types[kind] == most]
            found.append((form, kinds[0] if kinds else ""))
    return found


@given(TEXTS, st.integers(1, 4), st.data())
def test_values_are_those_of_a_twin(sentences, size, data):
    labels = [[data.draw(st.sampled_from(NAMES)) for _ in words] for words in sentences]
    columns = Columns.from_sentences(sentences)
    document = document_numbers(columns, size)
    ids = np.array([NAMES.index(label) for one in labels for label in one])
    forms = written_forms(columns, document).texts()
    others = other_labels(columns, document, ids, NAMES).texts()
    assert list(zip(forms, others, strict=True)) == twin(sentences, size, labels)


def test_marks_begin_documents():
    plain = "a O\n\nb O\n\n"
    starts = Columns(f"-DOCSTART- O\n\n{plain}-DOCSTART- O\n\n{plain}".encode(), (0,))
    assert document_numbers(starts, 1).tolist() == [1, 1, 2, 2]
    line = "1\ta\t_\tX\t_\t_\t0\t_\t_\t_\n\n"
    marked = f"# newdoc\n# text = a\n{line}{line}# newdoc id = 2\n{line}"
    assert document_numbers(Columns(marked.encode(), (1,), format="conllu"), 1).tolist() == [1, 1, 2]
    words = Columns.from_sentences([["-DOCSTART-"], ["a"], ["b"], ["-DOCSTART-"], ["c"]])
    assert document_numbers(words, 1).tolist() == [1, 1, 1, 2, 2]
    assert document_numbers(Columns(plain.encode(), (0,)), 1).tolist() == [0, 1]


def test_docs_are_documents():
    spacy = pytest.importorskip("spacy")
    from taggers.spacy.docs import read_docs

    nlp = spacy.blank("en")
    docs = [nlp("Rome is old ."), nlp(""), nlp("so is rome")]
    columns = read_docs(docs, ["ORTH"]).columns
    document = document_numbers(columns, 99)
    assert len(set(document[:4])) == len(set(document[4:])) == 1
    assert document[0] != document[-1]
    assert written_forms(columns, document).texts()[0] == "initial"


def tagger(**options):
    return NerTagger(template=TEMPLATE, documents=8, **options)


def test_the_second_round_uses_the_first_after_save_and_load(tmp_path):
    data = X * 12, Y * 12
    trained = tagger(keep_names=True).fit(*data)
    assert trained.predict(X) == Y
    assert SequenceTagger(template="w[0]", documents=8).fit(*data).predict(X) != Y
    trained.save(tmp_path / "model")
    loaded = NerTagger.load(tmp_path / "model")
    assert loaded.predict(X) == Y
    assert loaded.model_.space.documents == 8
    names = loaded.model_.space.names
    assert {"w.doc_form[0]=inside", "w.doc_label[0]=PER"} <= set(names)
    assert [token["label"] for token in loaded.explain(X[0])] == loaded.predict([X[0]])[0]
    small = tmp_path / "small"
    trained.save(small, dtype="int8")
    assert NerTagger.load(small).predict(X) == Y


def test_each_document_is_labelled_by_a_model_that_has_not_seen_it(monkeypatch):
    seen, labelled = [], []
    train, tag = rounds._trained, TaggerModel.tag
    words = np.array([f"word{k}" for k in range(12)])  # one document each

    def sentences_of(model, features):
        keys = Extractor(parse_template("w[0]")).keys(Columns.from_sentences([[w] for w in words]))[:, 0]
        return {words[k] for k in np.flatnonzero(np.isin(model.space.table.rows(keys), features.rows))}

    def training(model, X, *args):
        seen.append(sentences_of(model, X))
        monkeypatch.setattr(TaggerModel, "tag", tagging)
        return train(model, X, *args)

    def tagging(model, X, **options):
        labelled.append(sentences_of(model, X))
        return tag(model, X, **options)

    monkeypatch.setattr(rounds, "_trained", training)
    X, y = [[word] for word in words], [["A"] if k % 2 else ["B"] for k in range(12)]
    SequenceTagger(template="w[0], doc_label[0]", documents=1).fit(X, y)
    assert len(seen) == rounds.FOLDS
    assert set().union(*labelled) == set(words)
    assert sum(map(len, labelled)) == len(words)
    for known, new in zip(seen, labelled, strict=True):
        assert known == set(words) - new


def keys_by_token(model, features):
    """The keys of each token's features."""
    return np.split(model.space.table.keys[features.rows], features.token_ptr[1:-1])


@pytest.mark.parametrize("cutoff", [1, 3])
def test_the_features_are_those_of_a_single_extraction(cutoff):
    template = "w[-1..1], y[-1]|w[0], doc_form[0], doc_label[0], w[0]|doc_label[0]"
    tagger = SequenceTagger(template=template, documents=8, cutoff=cutoff)
    source, settings = MemorySource(X * 3, Y * 3), tagger.settings()
    facts = source.survey("label")
    model, whole = (tagger._new_model(source.X, facts.width, facts.triples, settings) for _ in range(2))
    labels, model.labels = encoded(source.gold, model)
    features, first = learn_rounds(source.X, labels, model, settings)
    whole.labels, whole.space.first_round = model.labels, model.space.first_round
    other = whole.space.learn(source.X, labels, model.labels, cutoff=cutoff, first=first)
    assert set(model.space.table.keys.tolist()) == set(whole.space.table.keys.tolist())
    for one, two in zip(keys_by_token(model, features), keys_by_token(whole, other), strict=True):
        assert sorted(one) == sorted(two)
    assert features.values is None


def marked(mark):
    """Documents in which "Ada" at the beginning is a name, or not, if it is one elsewhere too."""
    names = [["He", "met", "WORD"], ["O", "O", "B-PER"], ["WORD", "left"], ["B-PER", "O"]]
    others = [["the", "WORD", "grew"], ["O", "O", "O"], ["WORD", "left"], ["O", "O"]]
    text = ""
    for number in range(40):
        word = f"Ab{'cdfgh'[number % 5]}"
        text += mark
        for words, labels in zip(*[iter(names if number % 2 else others)] * 2, strict=True):
            for token, label in zip(words, labels, strict=True):
                used = word if "left" in words or number % 2 else word.lower()
                text += f"{token.replace('WORD', used)} {label}\n"
            text += "\n"
    return text


def test_dev_adds_the_document_where_files_mark_documents_and_it_helps(tmp_path):
    for name, mark in (("marked", "-DOCSTART- O\n\n"), ("plain", "")):
        (tmp_path / name).write_text(marked(mark))
        train = ["train", "ner", name, "--dev", name, "-o", f"{name}.ssvm"]
        shown = run(*train, cwd=tmp_path).stderr.decode()
        used = NerTagger.load(tmp_path / f"{name}.ssvm").model_.space.needs_first_round
        assert used == ("ner + doc_form[-1..1], doc_label[0]" in shown) == (name == "marked")
    train = ["train", "ner", "marked", "--dev", "marked", "--keep-state", "-o", "kept"]
    assert "doc_form" not in run(*train, cwd=tmp_path).stderr.decode()  # it could not be resumed


def test_a_document_does_not_depend_on_the_number_of_jobs():
    trained = tagger().fit(X * 12, Y * 12)
    several = tagger(jobs=3).fit(X * 12, Y * 12)
    assert several.predict(X * 3) == trained.predict(X * 3)


# "Mark" at the beginning of a sentence is a name if the document has it elsewhere too
PAIRS = [["met", "Mark"], ["Mark", "left"], ["off", "we"], ["Mark", "it"]]
PAIR_LABELS = [["O", "PER"], ["PER", "O"], ["O", "O"], ["O", "O"]]


def test_written_forms_can_be_learned_online():
    online = SequenceTagger(template="w[0], doc_form[0]", documents=2)
    without = SequenceTagger(template="w[0]", documents=2)
    for _ in range(9):
        online.partial_fit(PAIRS, PAIR_LABELS)
        without.partial_fit(PAIRS, PAIR_LABELS)
    assert online.predict(PAIRS) == PAIR_LABELS != without.predict(PAIRS)


def test_the_size_of_documents_can_change_after_training(tmp_path):
    trained = SequenceTagger(template="w[0], doc_form[0]", documents=2).fit(PAIRS * 9, PAIR_LABELS * 9)
    trained.save(tmp_path / "model")
    assert trained.predict(PAIRS) == PAIR_LABELS
    single = SequenceTagger.load(tmp_path / "model", documents=1)
    assert single.predict(PAIRS)[1] == ["O", "O"]
    assert single.set_params(documents=2).predict(PAIRS) == PAIR_LABELS
    assert trained.set_params(documents=1).predict(PAIRS)[1] == ["O", "O"]


def test_two_rounds_cannot_continue():
    with pytest.raises(ValueError, match="two rounds and cannot learn more; train it"):
        tagger().partial_fit(X, Y)
    with pytest.raises(ValueError, match="two rounds and cannot learn more; train it"):
        tagger().fit(X * 12, Y * 12).resume(X, Y)


def test_templates_refuse_documents_of_other_columns_and_with_labels():
    with pytest.raises(DataError, match="only words, the first column, have"):
        parse_template("p.doc_form[0]")
    with pytest.raises(DataError, match="cannot be joined with a previous label"):
        parse_template("y[-1]|doc_label[0]")


def test_a_forged_first_round_is_refused(tmp_path):
    path = tmp_path / "model"
    tagger().fit(X * 12, Y * 12).save(path)
    arrays, meta = load_model(path)
    nested = {**meta["first_round"], "first_round": meta["first_round"]}
    without = {key: value for key, value in meta.items() if key != "first_round"}
    for forged in (*({**meta, "first_round": bad} for bad in (3, nested)), {**meta, "documents": 0}, without):
        save_model(path, arrays, forged)
        with pytest.raises(ModelFileError):
            NerTagger.load(path)


def test_both_rounds_share_one_bound_of_memory(tmp_path, monkeypatch):
    path = tmp_path / "model"
    trained = tagger().fit(X * 12, Y * 12)
    trained.save(path)
    monkeypatch.setattr("taggers.model_file.PAIR", 100_000)
    monkeypatch.setattr(budget, "ALLOWANCE", 100_000 * len(trained.model_.labels) ** 2)
    monkeypatch.setattr(budget, "MULTIPLE", 1)
    with pytest.raises(ModelFileError, match="times the size of the file"):
        NerTagger.load(path)
    trained.save(path)
    assert NerTagger.load(path).predict(X) == Y


def test_the_command_line_trains_and_tags(tmp_path):
    pairs = [zip(words, labels, strict=True) for words, labels in zip(X, Y, strict=True)]
    text = "\n".join("".join(f"{word} N {label}\n" for word, label in pair) for pair in pairs) + "\n"
    (tmp_path / "train").write_text(text * 12)
    train = ["train", "ner", "train", "--template", f"{TEMPLATE}, p[0]", "-o", "model", "--documents"]
    done = run(*train, "8", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = run("tag", "model", "train", cwd=tmp_path).stdout.decode().split("\n")
    assert [line.split()[-2:] for line in out if line][: len(Y[0])] == [[label, label] for label in Y[0]]
    refused(run(*train, "0", cwd=tmp_path), 2, "--documents", "greater than or equal to 1")


def test_the_labels_of_many_tokens_need_little_memory():
    n, kinds = 20_000, 500
    columns = Columns.from_sentences([["a", "b", "c", "d"]] * (n // 4))
    document, ids = np.arange(n) // 40, np.arange(n) % kinds
    names = [f"L{k}" for k in range(kinds)]
    other_labels(columns, document, ids, names)  # whatever is allocated once
    tracemalloc.start()
    other_labels(columns, document, ids, names)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * kinds / 4


def own(tokens, at):
    return {"long": len(tokens[at]) > 3}


def test_a_function_reaches_the_first_round_of_a_loaded_model(tmp_path):
    tagger = SequenceTagger(template=TEMPLATE, features=own).fit(X, Y)
    tagger.save(tmp_path / "model")
    assert SequenceTagger.load(tmp_path / "model", features=own).predict(X) == tagger.predict(X)
    (tmp_path / "text").write_bytes(b"He\nleft\n")
    refused(run("tag", "model", "text", cwd=tmp_path), 2, "works only from Python")


def test_a_model_without_its_first_round_is_refused(tmp_path):
    with pytest.raises(ValueError, match="trained in two rounds"):
        SequenceTagger(template=TEMPLATE).declare(["A"])
    model = SequenceTagger(template=TEMPLATE).fit(X, Y).model_
    model = replace(model, space=replace(model.space, first_round=None))
    for use in (lambda: model.features(X), lambda: model.save(tmp_path / "model")):
        with pytest.raises(ValueError, match="needs a first round; train it with fit"):
            use()
    assert not (tmp_path / "model").exists()


def test_features_have_the_names_that_they_were_made_with():
    tagger = SequenceTagger(template="w[0], doc_label[0]", keep_names=True, documents=8)
    model = tagger.fit(X * 3, Y * 3).model_
    assert None not in model.space.names
    first = np.zeros(sum(map(len, X)), np.int64)  # all tokens have the first label
    names = feature_names(model, X, first=first)
    assert [name for name in names if name and "doc_label" in name] == [f"w.doc_label[0]={model.names[0]}"]
