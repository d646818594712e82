"""Model files that are whole but hold wrong numbers are refused, or give a model: never a crash or a hang."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from structsvm import AmbiguousBags, LaRank, LaRankClassifier, Multiclass, binary
from structsvm.files import ModelFileError, load_model, save_model

DAMAGE = r"""
import sys, warnings
import numpy as np
from structsvm import LaRankClassifier
from structsvm.files.persist import ModelFileError, load_model, save_model
from tests.structsvm.helpers import spoiled

warnings.simplefilter("ignore")
whole, path = sys.argv[1:]
arrays, meta = load_model(whole)
rng = np.random.default_rng(1)
n_features = meta["n_features_in"]
X, y = rng.normal(size=(30, n_features)), np.resize(arrays["classes"], 30)


def damaged(array):
    yield array[:0]
    yield array[:-1]
    yield array[:, None] if array.ndim == 1 else array[0]
    yield np.repeat(array, 2, axis=0)
    yield array[..., None][..., :0]
    if array.dtype.kind in "fiu":
        yield -array
        yield array * 0
        yield array[::-1]
        yield array.astype(np.float32 if array.dtype == np.float64 else np.float64)
        yield array.astype(array.dtype.newbyteorder(">"))
        yield array.astype(np.int8)
        yield array.astype("U5")
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        for value in {limits.min, limits.max, limits.max // 2 + 1, limits.max - 3, 1000}:
            yield spoiled(array, 0, value)
            yield spoiled(array, -1, value)
            yield np.full_like(array, value)
        yield array.astype(np.uint64) + np.uint64(2**63)
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e100, -1e100, 1e-320):
            yield spoiled(array, 0, value)
            yield spoiled(array, -1, value)
            yield np.full_like(array, value)


outcomes = {"fine": 0, "refused": 0, "later": 0}
for name in arrays:
    for changed in damaged(arrays[name]):
        save_model(path, dict(arrays, **{name: changed}), meta)
        ends = changed.ravel()[[0, -1]] if changed.size else ""
        print(name, changed.dtype, changed.shape, ends, flush=True)
        try:
            model = LaRankClassifier.load(path)
        except ModelFileError:
            outcomes["refused"] += 1
            continue
        try:
            model.predict(X)
            model.partial_fit(X, np.resize(model.classes_, 30))
            model.predict(X)
        except ValueError:
            outcomes["later"] += 1
        else:
            outcomes["fine"] += 1
for name in arrays:
    kept = {k: v for k, v in arrays.items() if k != name}
    save_model(path, kept, meta)
    try:
        LaRankClassifier.load(path)
    except ModelFileError:
        pass
for name, value in [("n_features_in", 2**62), ("n_features_in", -1), ("n_features_in", "5"), ("seed", -1),
                    ("epochs_done", 2**70), ("gamma", None), ("parameters", None),
                    ("parameters", {"C": "x"})]:
    save_model(path, arrays, dict(meta, **{name: value}))
    try:
        LaRankClassifier.load(path)
    except ModelFileError:
        pass
assert outcomes["refused"] > outcomes["fine"], outcomes
print(outcomes)
"""


def data(n=120):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    return np.eye(3)[y] + rng.normal(size=(n, 3)), y


MODELS = {
    "linear": {"class_weight": {0: 2.0}},
    "linear, fixed": {"schedule": "fixed", "loss": 1 - np.eye(3), "output_features": np.ones((3, 2))},
    "rbf": {"kernel": "rbf"},
    "rbf, sparse": {"kernel": "rbf"},
    "poly": {"kernel": "poly"},
}


@pytest.mark.parametrize("name", MODELS)
def test_no_number_in_a_model_file_crashes_or_hangs(name, tmp_path):
    X, y = data()
    X = sparse.csr_array(X) if "sparse" in name else X
    options = MODELS[name]
    LaRankClassifier(epochs=1, **options).fit(X, y).save(tmp_path / "whole.ssvm")
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, tmp_path / "whole.ssvm", tmp_path / "damaged.ssvm"],
        capture_output=True, text=True, timeout=60 * (10 if "STRUCTSVM_BUILD" in os.environ else 1),
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-2000:])


def rows(**changes):
    whole = {
        "indptr": [0, 1, 2],
        "indices": [0, 1],
        "data": [1.0, 1.0],
        "pointers": [0, 1, 2],
        "targets": [0, 1],
    }
    return whole | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": [1, 1, 2]}, {"indptr": [0, 3, 2]}, {"indptr": [0, 1, 3]}, {"indptr": []},
        {"indptr": [0.0, 1.0, 2.0]}, {"indices": [0, 3]}, {"indices": [-1, 0]}, {"indices": [0, 2**32]},
        {"data": [1.0]}, {"data": np.empty((2, 0))}, {"targets": [0, 2]}, {"targets": [0, -1]},
        {"pointers": [0, 2, 2]}, {"pointers": [0, 2]},
    ],
    ids=str,
)  # fmt: skip
def test_rows_that_do_not_fit_are_refused_before_any_is_stored(changes):
    oracle = LaRank(Multiclass()).fit(np.eye(3), [0, 1, 0])._machine.oracle
    stored = oracle.n_stored
    with pytest.raises(ValueError, match="stored"):
        oracle.add_rows(**rows(**changes))
    assert oracle.n_stored == stored
    oracle.add_rows(**rows())


def test_a_bag_with_a_label_twice_is_refused():
    oracle = LaRank(AmbiguousBags()).fit(np.eye(3), [[0], [1], [0]])._machine.oracle
    with pytest.raises(ValueError, match="twice"):
        oracle.add_rows(**rows(pointers=[0, 2, 2], targets=[1, 1]))


FORGED = r"""
import resource, sys
import numpy as np
from structsvm import LaRankClassifier, binary
from structsvm.files import ModelFileError, load_model, save_model

whole, forged, kind, name = sys.argv[1:]
arrays, meta = load_model(whole)
wide = 500_000_000
if kind == "no rows":     # a dense matrix without rows has any width, and no bytes
    for key in list(arrays):
        if key.startswith(("dual.", "state.")) and arrays[key].ndim and key.split(".")[1] not in (
            "counters", "objective", "rng", "scalars"
        ):
            arrays[key] = arrays[key][:0]
    arrays["support"] = np.zeros((0, wide))
meta["n_features_in"] = wide
save_model(forged, arrays, meta)
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, hard))
cls = LaRankClassifier if name == "LaRankClassifier" else getattr(binary, name)
try:
    model = cls.load(forged)
except ModelFileError as error:
    print("refused", "allocate" in str(error))
else:
    print("loaded", model.n_features_in_)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or os.environ.get("STRUCTSVM_BUILD") == "sanitize",
    reason="limits its addresses, of which AddressSanitizer reserves 20 TB",
)
@pytest.mark.parametrize("kind", ["wide", "no rows", "sparse"])
@pytest.mark.parametrize("name", ["LaRankClassifier", "LaSVMClassifier", "TrackingClassifier"])
def test_a_forged_number_of_features_allocates_nothing(tmp_path, kind, name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    make = LaRankClassifier(kernel="rbf") if name == "LaRankClassifier" else getattr(binary, name)()
    make.fit(sparse.csr_array(X) if kind == "sparse" else X, y).save(tmp_path / "whole")
    done = subprocess.run(
        [sys.executable, "-c", FORGED, tmp_path / "whole", tmp_path / "forged", kind, name],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    # The columns of a sparse matrix cost nothing, so such a file is as good as any.
    assert done.stdout == ("loaded 500000000\n" if kind == "sparse" else "refused False\n")


def test_a_tracker_refuses_steps_that_would_never_end():
    with pytest.raises(ValueError, match="K must be at most 1,000,000, got 10000000000"):
        binary.TrackingClassifier(K=10**10).fit(np.eye(2), [0, 1])


def test_many_classes_in_a_small_file_are_refused_before_their_tables_are_allocated(tmp_path):
    path = tmp_path / "model"
    LaRankClassifier(output_features=np.ones((3, 1))).fit(np.eye(3), [0, 1, 2]).save(path)
    arrays, meta = load_model(path)
    arrays["classes"] = np.arange(9_999)
    arrays["parameter.output_features"] = np.ones((9_999, 1))
    save_model(path, arrays, meta)
    with pytest.raises(ModelFileError, match="over 100 times the size of the file"):
        LaRankClassifier.load(path)
