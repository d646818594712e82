# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""SVMSGD2 and SGD-QN (Algorithms 7 and 8 of the thesis) on sparse or dense rows.

    min_w  lam ||w||^2 / 2 + sum_i loss(y_i <w, x_i>) / n

Each step descends along one example's loss, scaled by a diagonal B; only every `skip` steps w is shrunk by
the regularizer, which touches all of it. SVMSGD2 leaves B as it is, 1 / lam; SGD-QN estimates it, after a
shrinking, from how the gradient of an example changes along its own step.
"""
from libc.stdint cimport int32_t, int64_t

ctypedef fused real:
    float
    double

HINGE = 0
SQUARED_HINGE = 1

cdef double SMALLEST = 1e-2     # of B, in units of 1 / lam


cdef inline double derivative(int loss, double margin) noexcept nogil:
    """loss'(margin) of max(0, 1 - m), or of max(0, 1 - m)^2 / 2."""
    if margin >= 1:
        return 0
    return -1 if loss == HINGE_ else margin - 1


cdef int HINGE_ = HINGE


cdef inline double dot(
    const double* w, const real* x, const int32_t* index, Py_ssize_t n
) noexcept nogil:
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t k = 0
    if index == NULL:
        while k + 4 <= n:
            a += w[k] * x[k]
            b += w[k + 1] * x[k + 1]
            c += w[k + 2] * x[k + 2]
            d += w[k + 3] * x[k + 3]
            k += 4
    while k < n:
        a += w[index[k] if index != NULL else k] * x[k]
        k += 1
    return (a + b) + (c + d)


cdef inline void descend(
    double* w, double step, const double* B, const real* x, const int32_t* index, Py_ssize_t n
) noexcept nogil:
    """w -= step B x."""
    cdef Py_ssize_t k
    if index == NULL:
        for k in range(n):
            w[k] -= step * B[k] * x[k]
    else:
        for k in range(n):
            w[index[k]] -= step * B[index[k]] * x[k]


cdef void estimate(
    double* B, double rate, double lam, double step, double bend, double* seen,
    const real* x, const int32_t* index, Py_ssize_t n, Py_ssize_t d, bint constant
) noexcept nogil:
    """B += rate ([w' - w] / [g(w') - g(w)] - B): w moves by -step B x, g by lam times that plus bend x.

    Where x is zero neither moves, and by continuity the ratio is 1 / lam. Elsewhere x cancels: where no x is
    zero and B is the same for all features, it stays the same for all.
    """
    cdef Py_ssize_t i, k
    cdef double moved, ratio
    for k in range(n):
        i = index[k] if index != NULL else k
        moved = -step * B[i] * x[k]
        if moved != 0:
            ratio = moved / (lam * moved + bend * x[k])
            seen[i] = ratio - 1 / lam
    if constant and step != 0:
        moved = -step * B[d - 1]
        seen[d - 1] = moved / (lam * moved + bend) - 1 / lam
    for i in range(d):
        B[i] = max(B[i] + rate * (seen[i] + 1 / lam - B[i]), SMALLEST / lam)
        seen[i] = 0


def run(
    const real[::1] data, const int32_t[::1] indices, const int64_t[::1] indptr, const double[::1] y,
    const double[::1] weight, const Py_ssize_t[::1] order, double[::1] w, double[::1] B, double[::1] scratch,
    int64_t[::1] state, *, int loss, double lam, double t0, Py_ssize_t skip, bint second_order,
    bint constant
):
    """Take the steps of Algorithm 8 over the rows in `order`; indices is empty for dense rows.

    constant: the last weight is that of a feature that is 1 in all rows, and that the rows do not have.

    state: t, count, updateB and the number of estimates of B so far, which carry over from call to call.
    """
    cdef Py_ssize_t k, i, row, n, d = w.shape[0]
    cdef int64_t t = state[0], count = state[1], update = state[2], estimates = state[3]
    cdef double gain, sign, slope, bend, shrink, rate, bias = 0
    cdef const real* x
    cdef const int32_t* index
    if B.shape[0] != d or scratch.shape[0] != d:
        raise ValueError(f"{d} weights, but {B.shape[0]} scales of them and room for {scratch.shape[0]}")
    with nogil:
        for k in range(order.shape[0]):
            row = order[k]
            x = &data[0] + indptr[row]
            index = &indices[0] + indptr[row] if indices.shape[0] else NULL
            n = indptr[row + 1] - indptr[row]
            gain, sign = 1 / (t + t0), y[row]
            bias = w[d - 1] if constant else 0
            slope = weight[row] * sign * derivative(loss, sign * (dot(&w[0], x, index, n) + bias))
            if slope != 0:
                descend(&w[0], gain * slope, &B[0], x, index, n)
                if constant:
                    w[d - 1] -= gain * slope * B[d - 1]
            if update and slope != 0:
                bias = w[d - 1] if constant else 0
                bend = weight[row] * sign * derivative(loss, sign * (dot(&w[0], x, index, n) + bias)) - slope
                rate = min(1.0, 2 / (t0 / skip + estimates))    # above 1 it would exceed the bounds
                estimate(&B[0], rate, lam, gain * slope, bend, &scratch[0], x, index, n, d,
                         constant)
                estimates, update = estimates + 1, 0
            count -= 1
            if count <= 0:
                shrink = skip * gain * lam
                for i in range(d):
                    w[i] -= shrink * B[i] * w[i]
                count, update = skip, second_order
            t += 1
    state[0], state[1], state[2], state[3] = t, count, update, estimates
