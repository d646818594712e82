"""The counter of libsvm's kernel values solves libsvm's problem."""

import numpy as np
import pytest

from benchmarks.papers.smo import smo_kernels
from tests.structsvm.binary_twins import curved


def test_smo_touches_every_support_vector_and_no_more_rows_than_there_are():
    svm = pytest.importorskip("sklearn.svm")
    X, y = curved(200)
    libsvm = svm.SVC(C=2, gamma=1.0, shrinking=False).fit(X, y)
    rows = smo_kernels(X, y > 0, C=2, gamma=1.0) / 200
    assert len(libsvm.support_) <= rows <= 200
    # A free choice of rows, one each for most examples, would be no measure: far apart classes need few.
    apart = np.where(np.arange(200) % 2, 5.0, -5.0)[:, None] + 0.1 * X[:, :1]
    assert smo_kernels(apart, apart[:, 0] > 0, C=2, gamma=0.1) / 200 < 20
