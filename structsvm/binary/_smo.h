/* Passes of SMO over a working set: g = y - f is the gradient, and alpha lies between 0 and upper, or -upper and 0,
   by the sign of y. They go through it in parts that fit into the fastest cache. Extremes are computed in lanes,
   several at once, then located: the first of equals is found. */
#ifndef STRUCTSVM_SMO_H
#define STRUCTSVM_SMO_H

#include <math.h>

#include "structsvm/_dual/vector.h"

#define STRUCTSVM_WIDTH 8
#define STRUCTSVM_PART 256

typedef struct {
    double highest, lowest;     /* gradient of those that may rise, or -inf, and of those that may fall, or inf */
    ptrdiff_t i, j;             /* where, or -1 */
} Extremes;

/* Of a part of the working set: the gradients only. */
STRUCTSVM_INLINE void smo_part(const double *restrict alpha, const double *restrict upper, const double *restrict y,
                               const double *restrict f, ptrdiff_t n, double *restrict highest,
                               double *restrict lowest) {
    double high[STRUCTSVM_WIDTH], low[STRUCTSVM_WIDTH];
    for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++) high[lane] = -INFINITY, low[lane] = INFINITY;
    ptrdiff_t k = 0;
    for (; k + STRUCTSVM_WIDTH <= n; k += STRUCTSVM_WIDTH)
        for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++) {
            const double g = y[k + lane] - f[k + lane], a = alpha[k + lane], u = upper[k + lane];
            const double most = y[k + lane] > 0 ? u : 0.0, least = y[k + lane] > 0 ? 0.0 : -u;
            const double up = a < most ? g : -INFINITY, down = a > least ? g : INFINITY;
            high[lane] = up > high[lane] ? up : high[lane];
            low[lane] = down < low[lane] ? down : low[lane];
        }
    for (; k < n; k++) {
        const double g = y[k] - f[k];
        const double up = alpha[k] < (y[k] > 0 ? upper[k] : 0.0) ? g : -INFINITY;
        const double down = alpha[k] > (y[k] > 0 ? 0.0 : -upper[k]) ? g : INFINITY;
        high[0] = up > high[0] ? up : high[0];
        low[0] = down < low[0] ? down : low[0];
    }
    *highest = -INFINITY, *lowest = INFINITY;
    for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++) {
        *highest = high[lane] > *highest ? high[lane] : *highest;
        *lowest = low[lane] < *lowest ? low[lane] : *lowest;
    }
}

/* The last of the first n that is a blatant non-support vector, alpha = 0 and g beyond the extremes, or -1. */
STRUCTSVM_CLONES static ptrdiff_t last_blatant(const double *restrict alpha, const double *restrict y,
                                               const double *restrict f, double g_i, double g_j, ptrdiff_t n) {
    while (n > 0) {
        const ptrdiff_t start = n > STRUCTSVM_PART ? n - STRUCTSVM_PART : 0;
        int found = 0;
        for (ptrdiff_t k = start; k < n; k++) {
            const double g = y[k] - f[k];
            found |= (alpha[k] == 0) & (y[k] < 0 ? g >= g_i : g <= g_j);
        }
        for (ptrdiff_t k = n - 1; found && k >= start; k--)
            if (alpha[k] == 0 && (y[k] < 0 ? y[k] - f[k] >= g_i : y[k] - f[k] <= g_j)) return k;
        n = start;
    }
    return -1;
}

/* EXTREMES: f += step (x - z), unless x is NULL, and then the extremes of g.

   PARTNER: argmax (g_i - g_k)^2 / (k_ii + k_kk - 2 k_ik) of those that may fall and are below g_i, or -1; `row` is
   that of i. Any of them is a legal partner, so the precision of the row is enough. */
#define STRUCTSVM_SMO(EXTREMES, GAINS, PARTNER, TYPE)                                                           \
    STRUCTSVM_CLONES static void EXTREMES(                                                                      \
            Extremes *found, const double *restrict alpha, const double *restrict upper, const double *restrict y, \
            double *restrict f, double step, const char *restrict x, const char *restrict z, ptrdiff_t n) {     \
        ptrdiff_t high_part = n, low_part = n;                                                                  \
        double highest = -INFINITY, lowest = INFINITY, high, low;                                               \
        for (ptrdiff_t k = 0; k < n; k += STRUCTSVM_PART) {                                                     \
            const ptrdiff_t end = n - k < STRUCTSVM_PART ? n : k + STRUCTSVM_PART;                              \
            for (ptrdiff_t q = k; q < (x ? end : k); q++)                                                       \
                f[q] += step * ((double)((const TYPE *)x)[q] - (double)((const TYPE *)z)[q]);                   \
            smo_part(alpha + k, upper + k, y + k, f + k, end - k, &high, &low);                                 \
            if (high > highest) highest = high, high_part = k;                                                  \
            if (low < lowest) lowest = low, low_part = k;                                                       \
        }                                                                                                       \
        found->highest = highest, found->lowest = lowest, found->i = found->j = -1;                             \
        for (ptrdiff_t k = high_part; k < n && found->i < 0; k++)                                               \
            if (y[k] - f[k] == highest && alpha[k] < (y[k] > 0 ? upper[k] : 0.0)) found->i = k;                 \
        for (ptrdiff_t k = low_part; k < n && found->j < 0; k++)                                                \
            if (y[k] - f[k] == lowest && alpha[k] > (y[k] > 0 ? 0.0 : -upper[k])) found->j = k;                 \
    }                                                                                                           \
    STRUCTSVM_INLINE void GAINS(TYPE *restrict gain, const TYPE *restrict row, const double *restrict diagonal, \
                                const double *restrict alpha, const double *restrict upper,                     \
                                const double *restrict y, const double *restrict f, double g_i, double k_ii,    \
                                ptrdiff_t n) {                                                                  \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                     \
            const double gap = g_i - (y[k] - f[k]), least = y[k] > 0 ? 0.0 : -upper[k];                         \
            const double falls = alpha[k] > least ? gap : 0.0;                                                  \
            const TYPE c = (TYPE)(k_ii + diagonal[k]) - 2 * row[k], up = (TYPE)(falls > 0 ? falls : 0.0);       \
            gain[k] = up * up / (c > (TYPE)1e-12 ? c : (TYPE)1e-12);                                            \
        }                                                                                                       \
    }                                                                                                           \
    STRUCTSVM_CLONES static ptrdiff_t PARTNER(                                                                  \
            const char *restrict row, const double *restrict diagonal, const double *restrict alpha,            \
            const double *restrict upper, const double *restrict y, const double *restrict f, double g_i,       \
            double k_ii, ptrdiff_t n) {                                                                         \
        TYPE gain[STRUCTSVM_PART], most = 0;                                                                    \
        ptrdiff_t found = -1;                                                                                   \
        for (ptrdiff_t k = 0; k < n; k += STRUCTSVM_PART) {                                                     \
            const ptrdiff_t size = n - k < STRUCTSVM_PART ? n - k : STRUCTSVM_PART;                             \
            TYPE best[STRUCTSVM_WIDTH] = {0}, highest = 0;                                                      \
            ptrdiff_t q = 0;                                                                                    \
            GAINS(gain, (const TYPE *)row + k, diagonal + k, alpha + k, upper + k, y + k, f + k, g_i, k_ii, size); \
            for (; q + STRUCTSVM_WIDTH <= size; q += STRUCTSVM_WIDTH)                                           \
                for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++)                                              \
                    best[lane] = gain[q + lane] > best[lane] ? gain[q + lane] : best[lane];                     \
            for (; q < size; q++) best[0] = gain[q] > best[0] ? gain[q] : best[0];                              \
            for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++) highest = best[lane] > highest ? best[lane] : highest; \
            if (highest > most)                                                                                 \
                for (most = highest, q = 0; q < size; q++)                                                      \
                    if (gain[q] == most) {                                                                      \
                        found = k + q;                                                                          \
                        break;                                                                                  \
                    }                                                                                           \
        }                                                                                                       \
        return found;                                                                                           \
    }

STRUCTSVM_SMO(extremes_single, gains_single, partner_single, float)
STRUCTSVM_SMO(extremes_double, gains_double, partner_double, double)

#endif
