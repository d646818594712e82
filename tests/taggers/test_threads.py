"""Taggers that learn in one thread while others predict; models in forked and spawned processes."""

import copy
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading

import pytest

from taggers import Chunker, PosTagger, SequenceTagger
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(80)
X_TEST, Y_TEST = chunk_data(40, seed=1)

EIGHT = textwrap.dedent("""
    import sys, threading, time
    from taggers import SequenceTagger

    def sentences(start):
        return [[f"word{start + 20 * s + k}" for k in range(20)] for s in range(100)]

    labels = [[f"L{k % 3}" for k in range(20)] for _ in range(100)]
    tagger = SequenceTagger(inference=sys.argv[1]).partial_fit(sentences(0), labels)
    known, stop, counts = sentences(0), threading.Event(), {}

    def work(method):
        while not stop.is_set():
            try:
                found = method()
                assert len(found) in (20, 100)
            except RuntimeError as error:
                assert "is being trained" in str(error), error
                found = None
                time.sleep(0.001)
            counts[found is None] = counts.get(found is None, 0) + 1

    methods = [
        lambda: tagger.predict(known), lambda: tagger.tag(known[0]), lambda: tagger.explain(known[0]),
        lambda: tagger.predict_margins(known), lambda: tagger.predict(known), lambda: tagger.predict(known),
        lambda: tagger.tag(known[1]),
        (lambda: tagger.predict_nbest(known[:100], 2)) if sys.argv[1] == "exact" else
        (lambda: tagger.predict(known)),
    ]
    failed = []
    threading.excepthook = lambda info: failed.append(info.exc_value)
    threads = [threading.Thread(target=work, args=(method,)) for method in methods]
    for thread in threads:
        thread.start()
    for n in range(1, 12):
        tagger.partial_fit(sentences(2000 * n), labels)
        tagger.predict(known)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed, failed
    assert counts.get(False), counts
    twin = SequenceTagger(inference=sys.argv[1])
    for n in range(12):
        twin.partial_fit(sentences(2000 * n), labels)
    assert twin.predict(known) == tagger.predict(known)
""")


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_eight_threads_predict_while_another_one_learns(inference):
    """Small blocks of memory come from mmap here, so that what is freed too early is gone at once."""
    result = subprocess.run(
        [sys.executable, "-c", EIGHT, inference], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")


def test_other_threads_are_refused_during_partial_fit_and_served_during_fit():
    tagger = Chunker().fit(X, Y)
    before, found = tagger.predict(X_TEST), []

    def ask(_):
        def work():
            try:
                found.append(tagger.predict(X_TEST) == before)
            except RuntimeError as error:
                found.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)

    tagger.callback = ask
    tagger.fit(X, Y)
    assert set(found) == {True}  # the old model, until the new one is complete
    found.clear()
    tagger.partial_fit(X, Y)
    assert set(found) == {"this Chunker is being trained in another thread; wait until training ends"}


def test_a_callback_predicts_during_partial_fit_with_new_words_and_labels():
    tagger, seen = Chunker().fit(X, Y), []
    twin = copy.deepcopy(tagger)
    new = [[("zyzzyva", "NN"), ("unheard", "XX")]] * 40, [["B-NEW", "I-NEW"]] * 40
    tagger.callback = lambda point: seen.append(tagger.predict(new[0][:1])) and None
    tagger.partial_fit(*new)
    assert {len(labels) for [labels] in seen} == {2}
    assert tagger.predict(X_TEST) == twin.partial_fit(*new).predict(X_TEST)


def test_readers_that_finish_a_model_together_lose_no_words():
    for _ in range(20):
        tagger = Chunker().partial_fit(X, Y)
        start = threading.Barrier(8)

        def work(tagger=tagger, start=start):
            start.wait(60)
            tagger.predict(X_TEST[:1])

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        words = [token[0] for sentence in X for token in sentence]
        assert tagger.model_.space.knows(words) == set(words)


def _predicts(tagger, sentences, pipe):
    pipe.send(tagger.predict(sentences))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize(
    "method", [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()]
)
def test_children_predict_with_the_model_of_the_parent(method):
    """Also those that are forked while other threads predict."""
    tagger = PosTagger.load("en-pos")
    sentences = [["The", "dog", "barks", "."], ["Time", "flies"]] * 20
    expected, stop = tagger.predict(sentences), threading.Event()
    context = multiprocessing.get_context(method)

    def work():
        while not stop.is_set():
            tagger.predict(sentences)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(4 if method == "fork" else 1):
            here, there = context.Pipe()
            child = context.Process(target=_predicts, args=(tagger, sentences, there))
            child.start()
            assert here.poll(120)
            assert here.recv() == expected
            child.join()
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_tagger_that_is_trained_in_two_threads_refuses_the_second():
    tagger, errors = SequenceTagger(), []

    def train(_):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(60)

    def attempt():
        for method in (tagger.fit, tagger.partial_fit):
            try:
                method(X, Y)
            except RuntimeError as error:
                errors.append(str(error))

    tagger.callback = train
    tagger.fit(X, Y)
    assert set(errors) == {
        "this SequenceTagger is being trained; wait until training ends, or use another one"
    }


HELD = textwrap.dedent("""
    import threading
    from taggers import SequenceTagger

    def make(start):
        return [[f"word{start + 20 * s + k}" for k in range(20)] for s in range(100)]

    labels = [[f"L{k % 3}" for k in range(20)] for _ in range(100)]
    tagger = SequenceTagger(epochs=1).fit(make(0), labels)
    model, known, stop, counts = tagger.model_, make(0), threading.Event(), [0, 0]
    expected = model.tag(model.features(known))

    def read():
        while not stop.is_set():
            assert (model.tag(model.features(known)) == expected).all()
            counts[0] += 1

    def pack():  # as training does
        while not stop.is_set():
            model.space.release()
            counts[1] += 1

    failed = []
    threading.excepthook = lambda info: failed.append(info.exc_value)
    threads = [threading.Thread(target=work) for work in (read, read, read, pack)]
    for thread in threads:
        thread.start()
    for n in range(1, 12):
        tagger.partial_fit(make(2000 * n), labels)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed, failed
    assert all(counts), counts
""")


def test_a_model_taken_from_a_tagger_labels_while_the_tagger_learns():
    arguments = [sys.executable, "-c", HELD]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536"}  # reading freed memory then crashes
    result = subprocess.run(
        arguments, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert result.returncode == 0, (result.returncode, result.stderr[-1000:])


PACKED = textwrap.dedent("""
    from taggers.features._table import KeyTable
    from taggers.features.extract import encode_dicts

    table = KeyTable()
    encode_dicts([[{"a": 1}, {"b": 1}]], table, grow=True)

    def tokens(grow):
        yield {"a": 1}
        table.pack()
        table.rows([2 << 40, 3 << 40], grow=grow)
        table.truncate(2)
        yield {"b": 1}

    print(encode_dicts([tokens(True)], table).rows.tolist())
    print(encode_dicts([[{"a": 1}, {"b": 1}]], table).rows.tolist())
    try:
        encode_dicts([tokens(True)], table, grow=True)
    except RuntimeError as error:
        print(error)
    print(encode_dicts([tokens(True)], table).rows.tolist())
""")


def test_lookups_keep_the_table_that_they_began_with():
    arguments = [sys.executable, "-c", PACKED]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)
    said = "another thread is adding features to this table; wait until training ends"
    assert result.stdout.splitlines() == ["[0, 1]", "[0, 1]", said, "[0, 1]"], result.stderr[-1000:]
