"""Model files of taggers, damaged or forged: refused in one sentence, or of use; never a crash or a hang."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structsvm.files import budget
from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import Chunker, MorphTagger, SequenceTagger
from taggers.commands import inspect
from taggers.formats._columns import Columns
from taggers.model import TaggerModel
from taggers.report import html_report
from tests.structsvm.helpers import resealed
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(12)
TEMPLATE = "w[-1..1], p[0], suffix2[0], y[-1]|p[0]"
MODELS = {
    "exact": lambda: Chunker(template=TEMPLATE, keep_names=True).fit(X, Y),
    "greedy": lambda: SequenceTagger(template=TEMPLATE, inference="greedy").fit(X, Y),
    "perceptron": lambda: SequenceTagger(template="w[0], p[0]", algorithm="perceptron").fit(X, Y),
    "crf": lambda: SequenceTagger(template="w[0], p[0]", algorithm="crf").fit(X, Y),
    "parts": lambda: MorphTagger(template="p[0], w[-1..1]").fit(X * 9, Y * 9),
    "values": lambda: SequenceTagger().fit([[{"w": t[0], "x": len(t[0]) / 3} for t in s] for s in X], Y),
}


def use_or_refuse(path):
    """A model that loads must work: label, list, name, know words, be looked at."""
    model, told = None, ""
    try:
        model = TaggerModel.load(path)
    except ModelFileError as error:
        told = str(error)
    if model is None:
        assert str(path) in told
        assert "\n" not in told
        return False
    columns = Columns(b"the DT\ncat NN\n\nsees VBZ\n", (0, 1))
    try:
        if model.space.template is not None:
            model.tag(columns, margins=np.zeros(3, np.float32))
            if model.labels.inference == "exact":
                model.n_best(model.features(columns), 0, 2)
        model.space.knows(["the"])
        json.dumps(inspect(model, top=2))
        html_report(model)
    except ValueError:
        pass
    return True


@pytest.fixture(scope="module", params=[("exact", "float32"), ("greedy", "int8")])
def whole(request, tmp_path_factory):
    name, dtype = request.param
    path = tmp_path_factory.mktemp("models") / f"{name}.ssvm"
    MODELS[name]().save(path, dtype=dtype)
    return path


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(content)
    assert not use_or_refuse(path)


@settings(max_examples=80)
@given(data=st.data())
def test_cut_and_flipped_files_are_refused(whole, data):
    content, path = whole.read_bytes(), whole.with_name("damaged")
    at = data.draw(st.integers(0, len(content) - 1))
    path.write_bytes(content[:at])
    assert not use_or_refuse(path)
    path.write_bytes(
        content[:at] + bytes([content[at] ^ (1 << data.draw(st.integers(0, 7)))]) + content[at + 1 :]
    )
    assert not use_or_refuse(path)


@settings(max_examples=100)
@given(data=st.data())
def test_changed_bytes_under_a_right_checksum_are_refused_or_harmless(whole, data):
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 33))
        content[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    path = whole.with_name("forged")
    path.write_bytes(resealed(bytes(content)))
    use_or_refuse(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["exact", "greedy", "IOB2", "none", "w[0]", "B-NP", "\ud800", 10**40]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def changed(value, data):
    """The value with something in it replaced."""
    if isinstance(value, (dict, list)) and value and data.draw(st.booleans()):
        copy = value.copy()
        key = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        copy[key] = changed(value[key], data)
        return copy
    return data.draw(JSON)


@settings(max_examples=120)
@given(data=st.data())
def test_any_change_of_the_description_is_refused_or_harmless(whole, data):
    arrays, meta = load_model(whole)
    name = data.draw(st.sampled_from(sorted(meta)))
    path = whole.with_name("edited")
    save_model(path, arrays, meta | {name: changed(meta[name], data)})
    use_or_refuse(path)
    save_model(path, arrays, {key: value for key, value in meta.items() if key != name})
    assert not use_or_refuse(path)


@pytest.mark.parametrize(
    "figures",
    [
        {"curve": [1]}, {"curve": 3}, {"curve": [[1, 2]]}, {"curve": [[1, "x", 2]]},
        {"curve": [[None, 1.0, 2]]}, {"dev_scores": [None]}, {"dev_scores": "x"}, {"dev_scores": [10**400]},
        {"sentences": "x"}, {"tokens": None}, {"epochs": 1.5}, {"dual": []}, {"data": "1"},
    ],
)  # fmt: skip
def test_figures_of_a_training_that_cannot_be_are_refused(whole, figures):
    arrays, meta = load_model(whole)
    path = whole.with_name("figures")
    save_model(path, arrays, meta | {"report": meta["report"] | figures})
    with pytest.raises(ModelFileError, match="consistent tagger"):
        TaggerModel.load(path)
    save_model(path, arrays, meta | {"report": {}})
    assert use_or_refuse(path)


DAMAGE = r"""
import sys, warnings
import numpy as np
from tests.structsvm.helpers import spoiled
from tests.taggers.sentences import chunk_data
from tests.taggers.test_damaged_tagger import MODELS, X, Y, use_or_refuse
from structsvm.files import budget
from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import SequenceTagger

warnings.simplefilter("ignore")
whole, path = sys.argv[1:]
arrays, meta = load_model(whole)
inputs = X if meta["template"] else [[{"w": t[0], "x": len(t[0]) / 3} for t in s] for s in X]


def damaged(array):
    yield array[:0]
    yield array[:-1]
    yield array[:, None] if array.ndim == 1 else array.ravel()
    yield np.repeat(array, 2, axis=0)
    if array.dtype.kind in "fiub":
        yield array * 0
        yield array[::-1]
        yield array.astype(np.float64)
        yield array.astype(np.int64)
        yield array.astype(np.int8)
        yield array.astype("U5")
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        for value in {limits.min, limits.max, limits.max // 2 + 1, limits.max - 3, limits.max & 1000}:
            yield spoiled(array, 0, value)
            yield spoiled(array, -1, value)
            yield np.full_like(array, value)
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -1e308, 1e-320):
            with np.errstate(over="ignore"):
                yield spoiled(array, 0, value)
                yield np.full_like(array, value)


counts = [0, 0]
for name in arrays:
    for array in [*damaged(arrays[name]), None]:
        kept = {k: v for k, v in arrays.items() if k != name} | ({} if array is None else {name: array})
        save_model(path, kept, meta)
        print(name, None if array is None else (array.dtype, array.shape, array.ravel()[:1]), flush=True)
        loads = use_or_refuse(path)
        counts[loads] += 1
        if not loads:
            continue
        for go_on in ("resume", "partial_fit"):
            try:
                tagger = SequenceTagger.load(path, epochs=1)
                getattr(tagger, go_on)(inputs, Y)
                tagger.predict(inputs)
            except ValueError:
                pass
assert min(counts) > 5, counts
"""


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, {"training_state": True}) for name in MODELS), ("exact", {"dtype": "int8", "prune": 0.01})],
)
def test_no_number_in_a_model_file_crashes_or_hangs(name, options, tmp_path):
    MODELS[name]().save(tmp_path / "whole.ssvm", **options)
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, tmp_path / "whole.ssvm", tmp_path / "damaged.ssvm"],
        capture_output=True, text=True, check=False,
        timeout=300 * (10 if "STRUCTSVM_BUILD" in os.environ else 1), cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-2000:])


@pytest.mark.parametrize("kind", [Chunker, SequenceTagger])
def test_many_labels_in_a_small_file_are_refused_before_their_tables_are_allocated(kind, tmp_path):
    """9,999 labels took 1.5 GB, and those of phrases minutes."""
    path = tmp_path / "model"
    kind(template="w[0], p[0]").fit(X, Y).save(path)
    arrays, meta = load_model(path)
    more = 9_999 - len(meta["labels"])
    meta["labels"] += [f"{'BI'[number % 2]}-{number // 2}" for number in range(more)]
    arrays["counts"] = np.concatenate([np.zeros(more, np.uint16), arrays["counts"]])
    arrays["labels"] = arrays["labels"].astype(np.uint16)
    save_model(path, arrays, meta)
    assert path.stat().st_size < 200_000
    with pytest.raises(ModelFileError, match="over 100 times the size of the file"):
        SequenceTagger.load(path)


def test_shared_rows_of_two_rounds_in_a_small_file_are_refused_before_they_are_copied(tmp_path):
    """Each round had a bound of its own, so a file of 0.4 MB took 240 MB."""
    path, n_labels, n_rows = tmp_path / "model", 500, 31_000
    plain = [[f"L{k}" for k in range(len(s))] for s in X]
    SequenceTagger(template="w[0], p[0], doc_label[0]").fit(X, plain).save(path, dtype="int8")
    arrays, meta = load_model(path)
    for prefix, one in (("", meta), ("first.", meta["first_round"])):
        one["labels"] = [f"L{number}" for number in range(n_labels)]
        arrays |= {
            f"{prefix}counts": np.array([n_labels], np.uint16),
            f"{prefix}labels": np.arange(n_labels, dtype=np.uint16),
            f"{prefix}values": np.zeros(n_labels, np.uint8),
            f"{prefix}levels": np.ones(1, np.float32),
            f"{prefix}rows": np.zeros(n_rows, np.uint16),
            f"{prefix}keys": np.arange(n_rows - n_labels - 1, dtype=np.uint32),
        }
    save_model(path, arrays, meta)
    assert path.stat().st_size < 400_000
    with pytest.raises(ModelFileError, match="over 100 times the size of the file"):
        SequenceTagger.load(path)


def test_a_model_that_needs_more_than_its_file_may_ask_for_is_saved_with_padding(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "ALLOWANCE", 0)
    monkeypatch.setattr(budget, "MULTIPLE", 1)
    tagger = SequenceTagger(template="w[0], p[0]").fit(X, [[f"L{k}" for k in range(len(s))] for s in X])
    monkeypatch.setattr("taggers.model_file.PAIR", 1_000)
    tagger.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size > 1_000 * len(tagger.classes_) ** 2
    assert SequenceTagger.load(tmp_path / "model").predict(X) == tagger.predict(X)
    arrays, meta = load_model(tmp_path / "model")
    save_model(tmp_path / "model", {k: v for k, v in arrays.items() if k != "padding"}, meta)
    with pytest.raises(ModelFileError, match="times the size of the file"):
        SequenceTagger.load(tmp_path / "model")


@pytest.mark.parametrize("missing", ["rows", "sizes", "labels"])
def test_a_model_that_lacks_an_array_of_its_candidates_is_refused(missing, tmp_path):
    MODELS["parts"]().save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    del arrays[f"candidates.{missing}"]
    save_model(tmp_path / "m", arrays, meta)
    with pytest.raises(ModelFileError, match="candidate labels need three arrays: rows, sizes and labels"):
        MorphTagger.load(tmp_path / "m")
