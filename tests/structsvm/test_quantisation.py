import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from structsvm.files.quantise import dequantise, quantise

weights_of_any_size = st_numpy.arrays(
    np.float32,
    st.integers(0, 20) | st.just(400),
    elements=st.floats(-60000, 60000, width=32) | st.sampled_from([1e-45, -1e-38, 1.1e-30]),
)


def many(seed, scale):
    return np.random.default_rng(seed).standard_t(2, 2000).astype(np.float32) * np.float32(scale)


@given(weights_of_any_size)
def test_float32_gives_back_the_same_weights(weights):
    assert np.array_equal(dequantise(quantise(weights, "float32")), weights)


@given(weights_of_any_size)
def test_float16_error_is_within_its_bound(weights):
    arrays = quantise(weights, "float16")
    assert arrays["values"].dtype == np.float16
    error = np.abs(dequantise(arrays).astype(float) - weights)
    assert (error <= np.maximum(np.abs(weights.astype(float)) / 2048, 2.0**-25)).all()


@given(weights_of_any_size | st.builds(many, st.integers(0, 99), st.floats(1e-6, 1e3)))
def test_int8_error_is_within_its_bound(weights):
    arrays = quantise(weights, "int8")
    assert (arrays["values"].dtype, arrays["levels"].dtype) == (np.uint8, np.float32)
    wide = weights.astype(float)
    largest = np.abs(wide).max(initial=0)
    bound = np.sqrt(np.abs(wide) * largest) / 127 + largest / 64516
    assert (np.abs(dequantise(arrays).astype(float) - wide) <= bound * (1 + 1e-5) + 1e-45).all()


def test_few_values_stay_as_they_are():
    weights = many(0, 1)[np.random.default_rng(1).integers(256, size=5000)]
    assert np.array_equal(dequantise(quantise(weights, "int8")), weights)


@given(
    weights_of_any_size | st.builds(many, st.integers(0, 99), st.floats(1e-6, 10)),
    st.sampled_from(["float16", "int8"]),
)
def test_quantising_again_changes_nothing(weights, dtype):
    once = quantise(weights, dtype)
    twice = quantise(dequantise(once), dtype)
    assert once.keys() == twice.keys()
    assert all(np.array_equal(once[name], twice[name]) for name in once)


@pytest.mark.parametrize(
    ("weights", "dtype", "message"),
    [
        ([np.nan], "int8", "must be finite"),
        ([0, -np.inf], "float16", "must be finite"),
        ([70000], "float16", "do not fit into float16"),
        ([1], "int4", "dtype must be one of float32, float16, int8, got 'int4'"),
    ],
)
def test_what_cannot_be_held_is_refused(weights, dtype, message):
    with pytest.raises(ValueError, match=message):
        quantise(np.array(weights, dtype=np.float32), dtype)


@pytest.mark.parametrize(
    "arrays",
    [
        {"values": np.zeros(3, np.int8)},
        {"values": np.zeros((3, 1), np.float32)},
        {"values": np.zeros(3, np.uint8)},
        {"values": np.zeros(3, np.float32), "levels": np.zeros(1, np.float32)},
        {"values": np.full(3, 7, np.uint8), "levels": np.zeros(7, np.float32)},
        {"values": np.zeros(3, np.uint8), "levels": np.zeros(7)},
    ],
)
def test_forged_weights_are_refused(arrays):
    with pytest.raises(ValueError, match=r"weights|levels"):
        dequantise(arrays)
