import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from structsvm.quantisation import dequantise, quantise

weights_of_any_size = st_numpy.arrays(
    np.float32,
    st_numpy.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6),
    elements=st.floats(-60000, 60000, width=32) | st.sampled_from([1e-45, -1e-38, 1.1e-30]),
)


@given(weights_of_any_size)
def test_float32_gives_back_the_same_weights(weights):
    assert np.array_equal(dequantise(quantise(weights, "float32")), weights)


@given(weights_of_any_size)
def test_float16_error_is_within_its_bound(weights):
    arrays = quantise(weights, "float16")
    assert arrays["weights"].dtype == np.float16
    error = np.abs(dequantise(arrays).astype(float) - weights)
    assert (error <= np.maximum(np.abs(weights.astype(float)) / 2048, 2.0**-25)).all()


@given(weights_of_any_size)
def test_int8_error_is_within_half_a_step_of_its_row(weights):
    arrays = quantise(weights, "int8")
    assert arrays["weights"].dtype == np.int8
    assert arrays["scale"].dtype == np.float32
    scale = arrays["scale"].astype(float)
    largest = np.abs(weights).max(axis=1, initial=0).astype(float)
    error = np.abs(dequantise(arrays).astype(float) - weights).max(axis=1, initial=0)
    assert (error <= np.where(largest < 1e-30, largest, scale * (0.5 + 1e-5))).all()
    assert (scale <= largest / 127 * (1 + 2.0**-15)).all()


@given(weights_of_any_size, st.sampled_from(["float16", "int8"]))
def test_quantising_again_changes_nothing(weights, dtype):
    once = quantise(weights, dtype)
    twice = quantise(dequantise(once), dtype)
    assert once.keys() == twice.keys()
    assert all(np.array_equal(once[name], twice[name]) for name in once)


def test_row_of_zeros_stays_zero_and_other_rows_keep_their_own_scale():
    weights = np.array([[0, 0], [1e-3, -5e-4], [1000, 1]], dtype=np.float32)
    back = dequantise(quantise(weights, "int8"))
    assert back[0].tolist() == [0, 0]
    assert back[1] == pytest.approx([1e-3, -5e-4], rel=0.01)
    assert back[2, 0] == pytest.approx(1000)


@pytest.mark.parametrize(
    ("weights", "dtype", "message"),
    [
        ([[np.nan]], "int8", "must be finite"),
        ([[0, -np.inf]], "float16", "must be finite"),
        ([[70000]], "float16", "do not fit float16"),
        ([1, 2], "int8", "two dimensions"),
        ([[1]], "int4", "dtype must be one of float32, float16, int8, got 'int4'"),
    ],
)
def test_what_cannot_be_held_is_refused(weights, dtype, message):
    with pytest.raises(ValueError, match=message):
        quantise(np.array(weights, dtype=np.float32), dtype)
