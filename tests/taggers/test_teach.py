"""Sessions of teaching: questions, answers, undo, restarts, exports and colleagues."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from structsvm.files.journal import read_journal
from structsvm.teach.answers import Answer, Answers, agreement, item_id, merged
from structsvm.teach.session import Answered, Session
from taggers import NerTagger, PosTagger
from taggers.formats.files import read_all
from taggers.labels import schemes
from taggers.teach.files import export, read_answers, read_pool
from taggers.teach.learner import TagLearner

PLACES = {"Rome", "Paris", "Lima", "Oslo"}
PEOPLE = {"Anna", "Otto", "Ines", "Noor"}
POOL = [
    {"tokens": text.split()}
    for text in (
        "Anna sings in Rome", "Otto went to Paris", "the cat sleeps", "Rome is big", "Anna and Otto left",
        "Ines lives in Lima", "Noor likes Oslo", "it rains in Paris", "the dog of Otto barks", "Lima is far",
    )
]  # fmt: skip


def truth(question):
    words = question["item"]["tokens"]
    return ["B-LOC" if word in PLACES else "B-PER" if word in PEOPLE else "O" for word in words]


def started(folder, *, pool=POOL, task="ner", names=("PER", "LOC"), **options):
    model = options.pop("model", None)
    return Session(
        TagLearner(task, pool=pool, model=model), pool, folder / "answers.jsonl", names=names, **options
    )


def teach(session, n, tab="a", begin=0):
    for k in range(begin, begin + n):
        question = session.question(tab)
        session.answer(tab, question["id"], truth(question), f"{tab}{k}")


def guesses(session):
    return [value for value, _ in session.learner.guess(POOL)]


def test_what_is_answered_is_learned_at_once(tmp_path):
    with started(tmp_path) as session:
        question = session.question("a")
        assert set(question["guess"]) == {"O"}
        session.answer("a", question["id"], truth(question), "k")
        assert session.learner.guess([question["item"]])[0][0] == truth(question)


def test_every_sentence_is_asked_once_and_then_none_is_left(tmp_path):
    with started(tmp_path) as session:
        teach(session, len(POOL))
        assert session.question("a") is None
        assert {answer.id for answer in session.answers.given()} == set(session.questions.ids)
        assert [answer.value for answer in session.answers.given()] == [
            truth({"item": answer.item}) for answer in session.answers.given()
        ]


def test_equal_sentences_are_asked_once(tmp_path):
    with started(tmp_path, pool=POOL + POOL) as session:
        teach(session, len(POOL))
        assert session.question("a") is None


def test_after_a_restart_the_session_continues_with_the_same_model(tmp_path):
    with started(tmp_path) as session:
        teach(session, 6)
        session.rebuild()
        before, answers = guesses(session), session.answers.current
    with started(tmp_path, names=()) as session:
        assert session.answers.current == answers
        assert session.learner.names() == ["PER", "LOC"]
        assert guesses(session) == before
        assert session.stats()["answered"] == 6


def test_a_reload_shows_the_same_question_and_two_tabs_show_different_ones(tmp_path):
    with started(tmp_path) as session:
        one, two = session.question("a"), session.question("b")
        assert one["id"] != two["id"]
        assert session.question("a") == one
        assert session.question("b") == two


def test_a_question_that_another_tab_has_answered_is_refused_and_replaced(tmp_path):
    with started(tmp_path) as session:
        question = session.question("a")
        session.question("b", question["id"])
        session.answer("a", question["id"], truth(question), "1")
        with pytest.raises(Answered, match="another tab"):
            session.answer("b", question["id"], ["O"] * len(question["item"]["tokens"]), "2")
        assert session.answers.current[question["id"]].value == truth(question)
        assert session.question("b")["id"] != question["id"]


def test_a_request_that_is_repeated_counts_once_even_after_a_restart(tmp_path):
    with started(tmp_path) as session:
        question = session.question("a")
        session.answer("a", question["id"], truth(question), "same")
        session.answer("a", question["id"], truth(question), "same")
        assert len(session.answers.history) == 1
    with started(tmp_path) as session:
        session.answer("a", question["id"], truth(question), "same")
        assert len(session.answers.history) == 1


def test_undo_takes_back_answers_one_by_one_across_restarts(tmp_path):
    with started(tmp_path) as session:
        teach(session, 3)
        order = [answer.id for answer, _ in session.answers.history]
    with started(tmp_path) as session:
        shown = session.undo("a", "u1")
        assert shown["id"] == order[2]
        assert shown["draft"] == truth(shown)
        assert shown["answered"] is False
    with started(tmp_path) as session:
        assert session.undo("a", "u2")["id"] == order[1]
        assert session.undo("a", "u2")["id"] == order[1]  # the same request again
        assert session.undo("a", "u3")["id"] == order[0]
        assert session.undo("a", "u4") is None
        assert not session.answers.current


def test_undo_of_a_correction_restores_the_answer_before(tmp_path):
    with started(tmp_path) as session:
        question = session.question("a")
        wrong = ["O"] * len(question["item"]["tokens"])
        session.answer("a", question["id"], wrong, "1")
        session.question("a", question["id"])
        session.answer("a", question["id"], truth(question), "2", again=True)
        session.undo("a", "3")
        assert session.answers.current[question["id"]].value == wrong


def test_what_was_taken_back_is_forgotten(tmp_path):
    with started(tmp_path) as session:
        teach(session, 5)
        question = session.question("a")
        session.answer("a", question["id"], ["B-LOC"] * len(question["item"]["tokens"]), "wrong")
        session.undo("a", "undo")
        while session.tidy():
            pass
        after = guesses(session)
    with started(tmp_path) as session:
        assert guesses(session) == after


def test_skipped_sentences_are_not_asked_again_and_not_exported(tmp_path):
    with started(tmp_path) as session:
        question = session.question("a")
        session.answer("a", question["id"], None, "k")
        assert session.stats()["skipped"] == 1
        teach(session, len(POOL) - 1)
        assert session.question("a") is None
        assert len(export(session.answers.given(), "ner", "jsonl")[0].splitlines()) == len(POOL) - 1


def test_unknown_tokens_are_possible(tmp_path):
    with started(tmp_path) as session:
        question = session.question("a")
        value = truth(question)
        value[1] = None
        session.answer("a", question["id"], value, "k")
        (answer,) = session.answers.given()
        assert answer.value == value
        assert export([answer], "ner", "columns") == (b"", 1)
        assert json.loads(export([answer], "ner", "jsonl")[0])["labels"] == value


def test_new_labels_can_be_added_at_any_time(tmp_path):
    with started(tmp_path, names=()) as session:
        assert "guess" not in session.question("a")
        session.add_name("PER")
        session.add_name("LOC")
        teach(session, 4)
        session.add_name("ANIMAL")
        question = session.question("a")
        labels = ["B-ANIMAL", *["O"] * (len(question["item"]["tokens"]) - 1)]
        session.answer("a", question["id"], labels, "new")
        assert session.learner.guess([question["item"]])[0][0] == labels
    with started(tmp_path, names=()) as session:
        assert session.learner.names() == ["PER", "LOC", "ANIMAL"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["O"], "a list of 4 labels"),
        ("OOOO", "a list of 4 labels"),
        (["O", "O", "O", "B-DOG"], "'B-DOG' is not a label"),
        (["O", "O", "O", 7], "7 is not a label"),
        (["O", "O", "O", "S-PER"], "'S-PER' is not a label"),
        ([None] * 4, "no token has a label"),
    ],
)
def test_bad_answers_are_refused_and_change_nothing(tmp_path, value, message):
    with started(tmp_path, pool=POOL[:1]) as session:
        question = session.question("a")
        before = (tmp_path / "answers.jsonl").read_bytes()
        with pytest.raises(DataError, match=message):
            session.answer("a", question["id"], value, "k")
        assert (tmp_path / "answers.jsonl").read_bytes() == before
        assert session.question("a") == question


def test_labels_out_of_place_are_repaired(tmp_path):
    with started(tmp_path, pool=POOL[:1]) as session:
        session.answer("a", session.question("a")["id"], ["I-PER", "O", None, "I-LOC"], "k")
        assert session.answers.given()[0].value == ["B-PER", "O", None, "B-LOC"]


@pytest.mark.parametrize("name", ["", "a b", "O", "_", "x" * 61, "a\x00", 7])
def test_bad_labels_are_refused(tmp_path, name):
    with started(tmp_path) as session, pytest.raises(DataError):
        session.add_name(name)


ACTIONS = st.lists(st.sampled_from(["answer", "skip", "undo", "name", "wrong"]), max_size=12)


@given(actions=ACTIONS, data=st.data())
def test_a_journal_that_is_cut_anywhere_loads(tmp_path_factory, actions, data):
    """The state is that of the complete records; the session then continues."""
    folder = tmp_path_factory.mktemp("teach")
    with started(folder) as session:
        for k, action in enumerate(actions):
            question = session.question("a")
            if action == "undo":
                session.undo("a", str(k))
            elif action == "name":
                session.add_name(f"N{k}")
            elif question is not None:
                value = truth(question) if action == "answer" else ["B-PER"] * len(question["item"]["tokens"])
                session.answer("a", question["id"], None if action == "skip" else value, str(k))
    path = folder / "answers.jsonl"
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    expected = Answers("ner")
    expected.load(read_journal(path), "", TagLearner("ner").valid)
    with started(folder) as session:
        assert session.answers.current == expected.current
        assert session.stats()["answered"] == len(expected.given())
        if session.question("b"):
            teach(session, 1, "b")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"do": "answer", "id": "x"}, ":3: not a record"),
        ({"do": "undo"}, ":3: not a record"),
        ({"do": "dance"}, ":3: not a record"),
        ({"x": 1}, ":3: not a record"),
    ],
)
def test_a_changed_journal_is_reported_with_its_line(tmp_path, line, message):
    path = tmp_path / "answers.jsonl"
    records = [{"teach": "ner", "version": 1}, {"do": "name", "name": "PER"}, line]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(DataError, match=message):
        started(tmp_path)
    path.write_text('{"teach": "pos", "version": 1}\n')
    with pytest.raises(DataError, match="journal of pos, not of ner"):
        started(tmp_path)


def test_a_share_of_the_questions_is_random_and_estimates_the_score(tmp_path):
    with started(tmp_path, random=1.0) as session:
        teach(session, len(POOL))
        assert session.stats()["estimate"]["questions"] == len(POOL)
    other = tmp_path / "other"
    other.mkdir()
    with started(other, random=0.0) as session:
        teach(session, len(POOL))
        assert session.stats()["estimate"] is None
        assert len(session.stats()["curve"]) > 0


def test_the_model_asks_about_what_it_does_not_know(tmp_path):
    """Thirty sentences are alike, one is not: it is asked next."""
    pool = [{"tokens": ["the", "cat", "sleeps", str(k)]} for k in range(30)]
    odd = {"tokens": ["Wombats", "dig", "very", "deep", "holes"]}
    learner = TagLearner("pos", pool=pool, C=1)
    with Session(learner, [*pool, odd], tmp_path / "j", names=["D", "N", "V", "X"], random=0) as session:
        for k in range(12):
            question = session.question("a")
            if question["item"] == odd:
                return
            session.answer("a", question["id"], ["D", "N", "V", "X"], str(k))
            while session.tidy():
                pass
    pytest.fail("the odd sentence was not asked")


def test_the_session_says_when_nothing_is_left_within_the_margin(tmp_path):
    pool = [{"tokens": ["the", "cat", "sleeps", "."] + ["."] * k} for k in range(8)]
    with Session(TagLearner("pos", pool=pool, C=10), pool, tmp_path / "j", names=["D", "N", "V"]) as session:
        assert not session.stats()["enough"]
        for k in range(7):
            question = session.question("a")
            tokens = question["item"]["tokens"]
            session.answer("a", question["id"], ["D", "N", "V", *["D"] * (len(tokens) - 3)], str(k))
            while session.tidy():
                pass
        assert session.stats()["enough"]
        assert session.stats()["certain"] == 1


def test_own_mistakes_are_doubted_until_they_are_reviewed(tmp_path):
    pool = [{"tokens": [name, "sings", "in", place]} for name in PEOPLE for place in PLACES]
    with started(tmp_path, pool=pool) as session:
        for k in range(len(pool)):
            question = session.question("a")
            value = truth(question)
            if k == 6:
                value, wrong = ["O", "O", "O", "B-PER"], question["id"]
            session.answer("a", question["id"], value, str(k))
        doubts = session.doubts()
        assert doubts[0]["id"] == wrong
        assert set(doubts[0]["at"]) <= {0, 3}
        question = session.question("a", wrong)
        assert (question["why"], question["value"]) == ("review", ["O", "O", "O", "B-PER"])
        session.answer("a", wrong, truth(question), "fix", again=True)
        assert wrong not in {doubt["id"] for doubt in session.doubts()}
        session.tidy()
        assert session.learner.guess([question["item"]])[0][0] == truth(question)


def test_explanations_and_alternatives(tmp_path):
    with started(tmp_path) as session:
        teach(session, 6)
        found = session.explain(session.questions.ids[0], 0)
        assert found["label"] == "B-PER"
        assert found["reasons"]
        alternatives = session.alternatives(session.questions.ids[0])
        assert alternatives[0][1] == session.learner.guess(POOL[:1])[0][0]
        assert len({tuple(labels) for _, labels in alternatives}) == len(alternatives) > 1
        with pytest.raises(DataError, match="outside"):
            session.explain(session.questions.ids[0], 4)
        with pytest.raises(DataError, match="integer"):
            session.explain(session.questions.ids[0], "0")
        with pytest.raises(DataError, match="no such question"):
            session.explain("x", 0)


def test_exact_models_give_scored_alternatives(tmp_path):
    learner = TagLearner("pos", pool=POOL)
    with Session(learner, POOL, tmp_path / "j", names=["N", "X"]) as session:
        question = session.question("a")
        session.answer("a", question["id"], ["N", *["X"] * (len(question["item"]["tokens"]) - 1)], "k")
        scores = [score for score, _ in session.alternatives(session.questions.ids[0], 3)]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == 3


@pytest.mark.parametrize("format", ["columns", "conllu", "jsonl", "spacy"])
def test_exports_can_be_read_again(tmp_path, format):
    with started(tmp_path) as session:
        teach(session, 4)
        given = session.answers.given()
        data, left_out = export(given, "ner", format)
    path = tmp_path / f"labelled.{format}"
    path.write_bytes(data)
    words, labels = [a.item["tokens"] for a in given], [a.value for a in given]
    assert not left_out
    if format == "columns":
        found = read_all(path, wanted=(0, 1))
        assert (found.sentences(0), found.sentences(1)) == (words, labels)
        assert [answer.value for answer in read_answers(path, "ner")] == labels
    elif format == "conllu":
        found = read_all(path, wanted=(1, 9))
        assert (found.sentences(0), found.sentences(1)) == (words, labels)
        assert [answer.value for answer in read_answers(path, "ner")] == labels
    elif format == "jsonl":
        found = [json.loads(line) for line in data.splitlines()]
        assert [(one["tokens"], one["labels"]) for one in found] == list(zip(words, labels, strict=True))
    else:
        spacy = pytest.importorskip("spacy")
        docs = list(spacy.tokens.DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))
        assert [[token.text for token in doc] for doc in docs] == words
        found = [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs]
        pairs = [zip(*pair, strict=True) for pair in zip(words, labels, strict=True)]
        assert found == [[(word, label[2:]) for word, label in one if label != "O"] for one in pairs]


def test_parts_of_speech_fill_upos_and_tags(tmp_path):
    with started(tmp_path, task="pos", names=("N", "X")) as session:
        question = session.question("a")
        labels = [None, *["X"] * (len(question["item"]["tokens"]) - 1)]
        session.answer("a", question["id"], labels, "k")
        data, _ = export(session.answers.given(), "pos", "conllu")
        assert [line.split(b"\t")[3] for line in data.splitlines()[2:4]] == [b"_", b"X"]
        path = tmp_path / "x.conllu"
        path.write_bytes(data)
        assert read_answers(path, "pos")[0].value == labels


def test_labelled_files_begin_a_session_in_any_scheme(tmp_path):
    path = tmp_path / "begin.txt"
    path.write_text("Anna S-PER\nsings O\n\nNew B-LOC\nYork E-LOC\nis O\nbig O\n\n")
    with started(tmp_path, names=()) as session:
        assert session.take(read_answers(path, "ner")) == 2
        assert session.learner.names() == ["PER", "LOC"]
        assert [a.value for a in session.answers.given()] == [["B-PER", "O"], ["B-LOC", "I-LOC", "O", "O"]]
        assert session.learner.guess([{"tokens": ["Anna", "sings"]}])[0][0] == ["B-PER", "O"]
    with started(tmp_path, names=()) as session:
        assert session.stats()["answered"] == 2
    path.write_text("Anna NOUN\nsings VERB\n\n")
    with pytest.raises(DataError, match="mark no phrases"):
        read_answers(path, "ner")


def test_a_session_can_start_from_a_model_and_its_model_can_be_used(tmp_path):
    X = [["Anna", "sings"], ["Otto", "went", "to", "New", "York"]]
    y = [["I-PER", "O"], ["I-PER", "O", "O", "I-LOC", "I-LOC"]]  # IOB1
    NerTagger().fit(X, y).save(tmp_path / "old.ssvm", training_state=True)
    with started(tmp_path, names=(), model=tmp_path / "old.ssvm") as session:
        assert session.learner.names() == ["PER", "LOC"]
        assert session.learner.guess([{"tokens": X[1]}])[0][0] == ["B-PER", "O", "O", "B-LOC", "I-LOC"]
        teach(session, 5)
        session.save(tmp_path / "new.ssvm")
        expected = guesses(session)
    tagger = NerTagger.load(tmp_path / "new.ssvm")
    found = tagger.predict([question["tokens"] for question in POOL])
    assert [schemes.convert(labels, "IOB1", "IOB2") for labels in found] == expected
    tagger.partial_fit(X, y)
    PosTagger().fit([["a"]], [["X"]]).save(tmp_path / "pos.ssvm")
    with pytest.raises(ValueError, match="mark no phrases"):
        TagLearner("ner", model=tmp_path / "pos.ssvm")
    with pytest.raises(ValueError, match="mark phrases"):
        TagLearner("pos", model=tmp_path / "old.ssvm")


def test_two_annotators_are_compared_and_merged(tmp_path):
    journals = []
    for name in ("ann", "bob"):
        folder = tmp_path / name
        folder.mkdir()
        with started(folder, by=name) as session:
            for k in range(6 if name == "ann" else len(POOL)):
                question = session.question("a")
                value = truth(question)
                if name == "bob" and question["item"]["tokens"][0] == "Anna":
                    value[0] = "B-LOC"
                session.answer("a", question["id"], value, str(k))
            journals.append(session.answers)
    learner = TagLearner("ner", pool=POOL)
    found = agreement(*journals, learner.units)
    pairs = [
        pair
        for answer in journals[0].given()
        for pair in zip(answer.value, journals[1].current[answer.id].value, strict=True)
    ]
    assert (found.items, found.units) == (6, len(pairs))
    assert found.observed == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    metrics = pytest.importorskip("sklearn.metrics")
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(*zip(*pairs, strict=True)))
    assert 0 < found.kappa < 1
    assert all(one.item["tokens"][0] == "Anna" for one, _ in found.conflicts)
    new = merged(*journals)
    assert len(new) == len(POOL) - 6
    with started(tmp_path / "ann") as session:
        session.take(new)
        assert session.stats()["answered"] == len(POOL)
        assert {answer.by for answer in session.answers.given()} == {"ann", "bob"}


def test_pools_are_read_from_text_columns_and_conllu(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("Dr. Who sings. He left!\nIt was a very nice day in the old town, as Otto said.\n")
    assert [item["tokens"] for item in read_pool(path)][:2] == [
        ["Dr.", "Who", "sings", "."], ["He", "left", "!"],
    ]  # fmt: skip
    path.write_text("the\tDT\ncat\tNN\n\nit\tPRP\n\n")
    assert read_pool(path) == [
        {"tokens": ["the", "cat"], "columns": [["DT", "NN"]]}, {"tokens": ["it"], "columns": [["PRP"]]},
    ]  # fmt: skip
    assert read_pool(path, inputs=[0])[1] == {"tokens": ["it"]}
    path.write_text("1\tCats\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    assert read_pool(path) == [{"tokens": ["Cats"]}]
    path.write_text("word\n" * 501)
    with pytest.warns(UserWarning, match="left out"), pytest.raises(DataError, match="no sentence"):
        read_pool(path, format="columns")


def test_texts_keep_their_spaces_and_their_questions(tmp_path):
    item = {
        "tokens": ["Otto", "(", "80", ")", "left", "."],
        "spaces": [True, False, False, True, False, True],
    }
    (tmp_path / "raw.txt").write_text("Otto (80) left.\n")
    text = '{"text": "Otto (80) left.", "spans": []}\n'
    (tmp_path / "raw.jsonl").write_text(text)
    assert read_pool(tmp_path / "raw.txt") == read_pool(tmp_path / "raw.jsonl") == [item]
    assert item_id(item) == item_id({"tokens": item["tokens"]})  # as in journals without spaces
    labels = ["B-PER", "O", "O", "O", "O", "O"]
    answer = Answer(item_id(item), item, labels, None, "margin", "", 1.0)
    for format in ("conllu", "jsonl", "spacy"):
        path = tmp_path / f"out.{format}"
        path.write_bytes(export([answer], "ner", format)[0])
        assert [(one.item, one.value) for one in read_answers(path, "ner")] == [(item, labels)]


def test_chunks_use_the_columns_of_the_pool(tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("the DT\ncat NN\nsleeps VBZ\n\na DT\ndog NN\nbarks VBZ\n\n")
    pool = read_pool(path, format="columns")
    with started(tmp_path, task="chunk", pool=pool, names=("NP",)) as session:
        question = session.question("a")
        session.answer("a", question["id"], ["B-NP", "I-NP", "O"], "k")
        assert session.learner.guess(pool)[1][0] == ["B-NP", "I-NP", "O"]
        data, _ = export(session.answers.given(), "chunk", "columns")
        assert data.splitlines()[0].count(b"\t") == 2


def test_questions_in_tabs_that_were_closed_are_asked_again(tmp_path):
    with started(tmp_path) as session:
        for tab in range(4):
            session.question(f"closed{tab}")
        assert session.stats()["open"] == len(POOL)
        teach(session, len(POOL))
        assert session.question("a") is None
        assert session.stats()["open"] == 0


def test_all_tabs_together_hold_a_bounded_number_of_questions(tmp_path):
    pool = [{"tokens": [f"w{k}"]} for k in range(200)]
    with started(tmp_path, pool=pool) as session:
        for tab in range(150):
            session.question(str(tab))
        assert session.questions.n_open >= 200 - 64


def test_the_journal_is_plain_json_lines(tmp_path: Path):
    with started(tmp_path, by="ann") as session:
        teach(session, 1)
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert lines[0] == {"teach": "ner", "version": 1}
    assert [line["do"] for line in lines[1:]] == ["name", "name", "answer"]
    assert set(lines[-1]) == {"do", "key", "id", "item", "value", "guess", "why", "by", "time"}


def test_an_answer_that_arrives_after_a_restart_is_not_asked_again(tmp_path):
    with started(tmp_path) as session:
        question = session.question("a")
    with started(tmp_path) as session:  # the tab still shows the question of the program that was killed
        session.answer("a", question["id"], truth(question), "k")
        asked = []
        for k in range(len(POOL) - 1):
            asked.append(session.question("a"))
            session.answer("a", asked[-1]["id"], truth(asked[-1]), str(k))
        assert question["id"] not in [one["id"] for one in asked]
        assert session.question("a") is None


def test_a_session_forgets_features_and_support_but_not_those_of_its_model(tmp_path, monkeypatch):
    monkeypatch.setattr("taggers.teach.learner.MOST_FEATURES", 100)
    monkeypatch.setattr("taggers.teach.learner.MOST_SUPPORT", 8)
    monkeypatch.setattr("taggers.teach.learner.AT_ONCE", 2)
    X, y = [["Anna", "sings"]], [["B-PER", "O"]]
    first = NerTagger().fit(X, y)
    first.save(tmp_path / "old.ssvm", training_state=True)
    for model, features in ((None, 0), (tmp_path / "old.ssvm", first.n_features_)):
        folder = tmp_path / str(features)
        folder.mkdir()
        with started(folder, model=model) as session:
            for k in range(len(POOL)):
                teach(session, 1, begin=k)
                session.tidy()
                tagger = session.learner.tagger
                assert tagger.n_features_ <= features + 100
                assert tagger.optimizer_.n_support_patterns_ <= first.optimizer_.n_support_patterns_ + 8
        with started(folder, model=model) as session:
            assert session.learner.tagger.n_features_ <= features + 100
