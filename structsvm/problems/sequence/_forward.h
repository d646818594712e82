/* The inner loops of the forward-backward algorithm, over labels in rows of `stride` numbers. */
#ifndef STRUCTSVM_FORWARD_H
#define STRUCTSVM_FORWARD_H

#include "structsvm/problems/sequence/_sequence.h"

/* next[y] = weight[y] * sum_p previous[p] * table[p, y]; returns the sum of next. */
STRUCTSVM_CLONES static double forward_step(double *restrict next, const double *restrict previous, const double *restrict table,
                                            const double *restrict weight, ptrdiff_t n_labels, ptrdiff_t stride) {
    double sum = 0;
    ptrdiff_t width = stride & ~(ptrdiff_t)(STRUCTSVM_LANES - 1);
    for (ptrdiff_t y = 0; y < width; y++) next[y] = 0;
    for (ptrdiff_t p = 0; p < n_labels; p++) {
        const double base = previous[p];
        const double *row = table + p * stride;
        for (ptrdiff_t y = 0; y < width; y++) next[y] += base * row[y];
    }
    for (ptrdiff_t y = 0; y < width; y++) next[y] *= weight[y];
    for (ptrdiff_t y = 0; y < n_labels; y++) sum += next[y];
    return sum;
}

/* pairs[p, y] += previous[p] * after[y]. */
STRUCTSVM_CLONES static void add_pairs(double *restrict pairs, const double *restrict previous, const double *restrict after,
                                       ptrdiff_t n_labels, ptrdiff_t stride) {
    ptrdiff_t width = stride & ~(ptrdiff_t)(STRUCTSVM_LANES - 1);
    for (ptrdiff_t p = 0; p < n_labels; p++) {
        const double base = previous[p];
        double *row = pairs + p * stride;
        for (ptrdiff_t y = 0; y < width; y++) row[y] += base * after[y];
    }
}

/* w[row, y] += value * share[y] for the features of a token, and moments[row, y] -= time * value * share[y] unless it is NULL. */
STRUCTSVM_CLONES static void spend_on_rows(double *w, double *moments, const int32_t *restrict rows, const float *restrict values,
                                           ptrdiff_t n, ptrdiff_t stride, const double *restrict share, double time) {
    ptrdiff_t width = stride & ~(ptrdiff_t)(STRUCTSVM_LANES - 1);
    for (ptrdiff_t k = 0; k < n; k++) {
        const double value = values == NULL ? 1 : values[k];
        double *restrict row = w + (ptrdiff_t)rows[k] * stride;
        for (ptrdiff_t y = 0; y < width; y++) row[y] += value * share[y];
        if (moments == NULL) continue;
        double *restrict past = moments + (ptrdiff_t)rows[k] * stride;
        for (ptrdiff_t y = 0; y < width; y++) past[y] -= value * time * share[y];
    }
}

#endif
