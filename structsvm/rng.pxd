# cython: language_level=3
"""A seeded 64-bit generator that gives the same numbers on every machine (splitmix64)."""
from libc.stdint cimport uint64_t


cdef inline uint64_t rng_next(uint64_t* state) noexcept nogil:
    cdef uint64_t z
    state[0] += <uint64_t>0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline Py_ssize_t rng_below(uint64_t* state, Py_ssize_t n) noexcept nogil:
    """A number in 0..n-1; the bias of the multiply-free remainder is under n / 2**64."""
    return <Py_ssize_t>(rng_next(state) % <uint64_t>n)


cdef inline double rng_uniform(uint64_t* state) noexcept nogil:
    """A number in [0, 1) with 53 random bits."""
    return <double>(rng_next(state) >> 11) * (1.0 / 9007199254740992.0)
