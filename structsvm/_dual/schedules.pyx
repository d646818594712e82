# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The algorithms of the papers as schedules over one dual: which step to take next.

Each function takes the patterns to visit, in order, and runs without the GIL. Callers pass an epoch in
slices, so that Ctrl-C and progress reports come between two slices; the result does not depend on them.
"""
from libc.float cimport DBL_MAX, DBL_MIN
from libc.stdint cimport uint64_t

from structsvm.signals cimport check_signals
from structsvm._dual.dual cimport Dual, OPTIMIZE_BURST
from structsvm.rng cimport rng_below, rng_next, rng_uniform

import numpy as np

cdef long long STEPS_PER_POLL = 4096    # steps of a long optimization between two checks for Ctrl-C

cdef extern from "time.h" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int CLOCK_MONOTONIC
    int clock_gettime(int clock, timespec* now)


cdef double seconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec + 1e-9 * now.tv_nsec


def fixed(Dual dual, const Py_ssize_t[::1] slots, int n_reprocess):
    """LaRank with a fixed schedule (Algorithm 21)."""
    cdef Py_ssize_t k
    cdef int _
    dual.prepare(slots)
    with nogil:
        for k in range(slots.shape[0]):
            dual.process_new(slots[k])
            dual.poll()
            for _ in range(n_reprocess):
                if dual.n_patterns:
                    dual.process_old(dual.pick())
                    dual.poll()
                dual.optimize_burst()


def sweep(Dual dual, const Py_ssize_t[::1] slots):
    """A later epoch: each pattern gets PROCESSNEW or, as a support pattern, PROCESSOLD; then ten OPTIMIZE."""
    cdef Py_ssize_t k
    dual.prepare(slots)
    with nogil:
        for k in range(slots.shape[0]):
            dual.cut(slots[k], -1)
            dual.poll()
            dual.optimize_burst()


def adaptive(Dual dual, const Py_ssize_t[::1] slots, double[::1] rates, double mu, bint wall_clock):
    """LaRank with an adaptive schedule (Algorithm 22): steps are drawn by their dual gain over their cost.

    `rates` holds the running ratios of PROCESSNEW, PROCESSOLD and a burst of OPTIMIZE, from slice to slice.
    With the wall clock, mu is the paper's absolute floor; with the deterministic cost, whose unit is
    arbitrary, it is a floor relative to the best ratio.
    """
    cdef Py_ssize_t k = 0
    cdef int operation
    cdef long long done = 0
    cdef double gain, spent, floor
    dual.prepare(slots)
    with nogil:
        while k < slots.shape[0]:
            done += 1
            if done % STEPS_PER_POLL == 0:      # PROCESSNEW may be drawn seldom
                with gil:
                    check_signals()
            dual.poll()
            operation = draw(dual, rates)
            gain = dual.dual
            spent = seconds() if wall_clock else dual.cost
            if operation == 0:
                dual.process_new(slots[k])
                k += 1
            elif operation == 1:
                dual.process_old(dual.pick())
            else:
                dual.optimize_burst()
            gain = dual.dual - gain
            if wall_clock:
                spent = max(seconds() - spent, 1e-6)
                floor = mu
            else:
                spent = max(dual.cost - spent, 1.0)
                floor = mu * max(rates[0], max(rates[1], rates[2]))
            # Where nothing is gained any more, all ratios shrink together; at zero nothing could be drawn.
            if gain / spent < DBL_MAX:
                rates[operation] = max(0.05 * gain / spent + 0.95 * rates[operation], max(floor, DBL_MIN))


cdef int draw(Dual dual, double[::1] rates) noexcept nogil:
    """An operation with odds proportional to its ratio; without support patterns there is only PROCESSNEW."""
    cdef double at
    if dual.n_patterns == 0:
        return 0
    at = rng_uniform(&dual.rng) * (rates[0] + rates[1] + rates[2])
    return 0 if at < rates[0] else 1 if at < rates[0] + rates[1] else 2


def cutting_plane(Dual dual, const Py_ssize_t[::1] slots, double epsilon, Py_ssize_t every, long long added):
    """One slice of SVMstruct: violated constraints enter; every `every` of them the working set is optimized.

    Returns how many have entered, `added` included.
    """
    cdef Py_ssize_t k
    dual.prepare(slots)
    with nogil:
        for k in range(slots.shape[0]):
            if dual.cut(slots[k], epsilon):
                added += 1
                if added % every == 0:
                    settle(dual, epsilon)
            dual.poll()
    return added


def converge(Dual dual):
    """Optimize the working set until no step gains more than tau."""
    with nogil:
        settle(dual, dual.tau)


cdef int settle(Dual dual, double tolerance) except -1 nogil:
    """OPTIMIZE all support patterns, over and over, until none meets a gradient above the tolerance."""
    cdef Py_ssize_t position
    cdef int burst
    cdef long long polled = dual.n_steps
    cdef double largest = 2 * tolerance
    while largest > tolerance:
        largest = 0
        if dual.n_steps - polled > STEPS_PER_POLL:
            polled = dual.n_steps
            with gil:
                check_signals()
        # Downwards: a pattern that is removed is replaced by one already seen.
        for position in range(dual.n_patterns - 1, -1, -1):
            burst = 0
            while position < dual.n_patterns and burst < OPTIMIZE_BURST and dual.optimize(position):
                largest = max(largest, dual.last_gap)
                burst += 1
                dual.poll()
    return 0


def shuffled(uint64_t seed, Py_ssize_t epoch, const Py_ssize_t[::1] slots) -> np.ndarray:
    """The slots in the random order of an epoch: the same for a seed on every machine."""
    order = np.array(slots)
    cdef Py_ssize_t[::1] view = order
    cdef Py_ssize_t k, other
    # Hashed, so that the order shares no numbers with the draws of the dual, which starts from the same seed.
    cdef uint64_t state = seed ^ (<uint64_t>(epoch + 1) * <uint64_t>0xD1342543DE82EF95)
    state = rng_next(&state)
    for k in range(view.shape[0] - 1, 0, -1):
        other = rng_below(&state, k + 1)
        view[k], view[other] = view[other], view[k]
    return order
