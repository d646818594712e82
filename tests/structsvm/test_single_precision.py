"""float32 data: trained and predicted without a copy of the whole matrix in another form."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from structsvm import LaRankClassifier
from structsvm.binary import LaSVMClassifier, SGDQNClassifier
from structsvm.kernels.functions import gamma_value

MODELS = {
    "larank": lambda: LaRankClassifier(C=0.1, epochs=1),
    "lasvm": lambda: LaSVMClassifier(max_labels=50),
    "sgdqn": lambda: SGDQNClassifier(epochs=1),
}


@cache
def matrix(form):
    rng = np.random.default_rng(0)
    if form == "dense":
        return rng.normal(size=(16_000, 64)).astype(np.float32)
    X = sparse.random_array((16_000, 500), density=0.1, rng=rng, dtype=np.float32, format="csr")
    X.data -= np.float32(0.5)
    return X


def n_bytes(X):
    return X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes


def peak(work):
    """The bytes that Python and NumPy hold at most while it works."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_neither_fit_nor_predict_copies_the_matrix(name, form):
    X = matrix(form)
    y = np.asarray(X[:, [0]].sum(axis=1)).ravel() > 0
    model = MODELS[name]()
    assert peak(lambda: model.fit(X, y)) < n_bytes(X)
    assert peak(lambda: model.predict(X)) < 0.6 * n_bytes(X)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_gamma_scale_is_that_of_the_variance_of_all_values(form):
    X = matrix(form)[:3000] + matrix(form)[3000:6000]
    whole = X.toarray() if sparse.issparse(X) else X
    assert gamma_value("scale", X) == pytest.approx(1 / (X.shape[1] * whole.astype(np.float64).var()))


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("algorithm", ["rescaled", "svmsgd2", "sgdqn"])
def test_the_intercept_is_the_weight_of_a_constant_feature(algorithm, as_sparse):
    X = matrix("sparse")[:2000, :40].toarray().astype(np.float64)
    y = X[:, 0] + 0.1 > 0
    form = sparse.csr_array if as_sparse else np.asarray
    with_ones = np.hstack([X, np.ones((2000, 1))])
    model = SGDQNClassifier(algorithm=algorithm).fit(form(X), y)
    other = SGDQNClassifier(algorithm=algorithm, fit_intercept=False).fit(form(with_ones), y)
    assert np.append(model.coef_, model.intercept_) == pytest.approx(other.coef_[0], rel=1e-6, abs=1e-9)
