/* Passes of SMO over a working set. g = y - f is the gradient; rise = y where alpha may rise, else -inf, and fall = y
   where it may fall, else inf, so that rise - f and fall - f need neither alpha nor its bounds. Extremes are kept per
   lane (k modulo WIDTH), so that compilers can vectorize; then the first of several equal extremes is located. */
#ifndef STRUCTSVM_SMO_H
#define STRUCTSVM_SMO_H

#include <math.h>

#include "structsvm/_dual/vector.h"

#define STRUCTSVM_WIDTH 16
#define STRUCTSVM_PART 256

typedef struct {
    double highest, lowest;     /* gradient of those that may rise, or -inf, and of those that may fall, or inf */
    ptrdiff_t i, j;             /* where, or -1 */
} Extremes;

/* The first k with bound[k] - f[k] == value, or -1 if value is infinite; only lanes with this extreme are searched. */
static ptrdiff_t first_equal(const float *bound, const double *f, const double *lanes, double value, ptrdiff_t n) {
    ptrdiff_t found = n;
    for (ptrdiff_t lane = 0; lane < STRUCTSVM_WIDTH; lane++)
        for (ptrdiff_t k = lane; lanes[lane] == value && k < found; k += STRUCTSVM_WIDTH)
            if ((double)bound[k] - f[k] == value) found = k;
    return isinf(value) ? -1 : found;
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
#define STRUCTSVM_SMO(EXTREMES, SOME, GAIN, GAINS, PARTNER, TYPE)                                               \
    STRUCTSVM_INLINE void SOME(double *restrict high, double *restrict low, const float *restrict rise,         \
                               const float *restrict fall, double *restrict f, double step,                     \
                               const TYPE *restrict x, const TYPE *restrict z, ptrdiff_t n) {                   \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                     \
            const double now = x ? f[k] + step * ((double)x[k] - (double)z[k]) : f[k];                          \
            const double up = (double)rise[k] - now, down = (double)fall[k] - now;                              \
            high[k] = up > high[k] ? up : high[k];                                                              \
            low[k] = down < low[k] ? down : low[k];                                                             \
            f[k] = now;                                                                                         \
        }                                                                                                       \
    }                                                                                                           \
    STRUCTSVM_CLONES static void EXTREMES(                                                                      \
            Extremes *found, const float *restrict rise, const float *restrict fall, double *restrict f,        \
            double step, const char *restrict x, const char *restrict z, ptrdiff_t n) {                         \
        const TYPE *a = (const TYPE *)x, *b = (const TYPE *)z;                                                  \
        double high[STRUCTSVM_WIDTH], low[STRUCTSVM_WIDTH];                                                     \
        ptrdiff_t k = 0;                                                                                        \
        for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++) high[lane] = -INFINITY, low[lane] = INFINITY;        \
        if (a)                                                                                                  \
            for (; k + STRUCTSVM_WIDTH <= n; k += STRUCTSVM_WIDTH)                                              \
                SOME(high, low, rise + k, fall + k, f + k, step, a + k, b + k, STRUCTSVM_WIDTH);                \
        else                                                                                                    \
            for (; k + STRUCTSVM_WIDTH <= n; k += STRUCTSVM_WIDTH)                                              \
                SOME(high, low, rise + k, fall + k, f + k, step, NULL, NULL, STRUCTSVM_WIDTH);                  \
        SOME(high, low, rise + k, fall + k, f + k, step, a ? a + k : a, b ? b + k : b, n - k);                  \
        found->highest = -INFINITY, found->lowest = INFINITY;                                                   \
        for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++) {                                                    \
            found->highest = high[lane] > found->highest ? high[lane] : found->highest;                         \
            found->lowest = low[lane] < found->lowest ? low[lane] : found->lowest;                              \
        }                                                                                                       \
        found->i = first_equal(rise, f, high, found->highest, n);                                               \
        found->j = first_equal(fall, f, low, found->lowest, n);                                                 \
    }                                                                                                           \
    STRUCTSVM_INLINE TYPE GAIN(TYPE k_ij, double k_jj, float fall, double f, double g_i, double k_ii) {         \
        const double gap = g_i - ((double)fall - f);                                                            \
        const TYPE c = (TYPE)(k_ii + k_jj) - 2 * k_ij, up = (TYPE)(gap > 0 ? gap : 0.0);                        \
        return up * up / (c > (TYPE)1e-12 ? c : (TYPE)1e-12);                                                   \
    }                                                                                                           \
    STRUCTSVM_INLINE void GAINS(TYPE *restrict best, const TYPE *restrict row, const double *restrict diagonal, \
                                const float *restrict fall, const double *restrict f, double g_i, double k_ii,  \
                                ptrdiff_t n) {                                                                  \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                     \
            const TYPE gain = GAIN(row[k], diagonal[k], fall[k], f[k], g_i, k_ii);                              \
            best[k] = gain > best[k] ? gain : best[k];                                                          \
        }                                                                                                       \
    }                                                                                                           \
    STRUCTSVM_CLONES static ptrdiff_t PARTNER(                                                                  \
            const char *restrict row, const double *restrict diagonal, const float *restrict fall,              \
            const double *restrict f, double g_i, double k_ii, ptrdiff_t n) {                                   \
        const TYPE *k_i = (const TYPE *)row;                                                                    \
        TYPE best[STRUCTSVM_WIDTH] = {0}, most = 0;                                                             \
        ptrdiff_t found = n, k = 0;                                                                             \
        for (; k + STRUCTSVM_WIDTH <= n; k += STRUCTSVM_WIDTH)                                                  \
            GAINS(best, k_i + k, diagonal + k, fall + k, f + k, g_i, k_ii, STRUCTSVM_WIDTH);                    \
        GAINS(best, k_i + k, diagonal + k, fall + k, f + k, g_i, k_ii, n - k);                                  \
        for (int lane = 0; lane < STRUCTSVM_WIDTH; lane++) most = best[lane] > most ? best[lane] : most;        \
        for (ptrdiff_t lane = 0; lane < (most > 0 ? STRUCTSVM_WIDTH : 0); lane++)                               \
            for (k = lane; best[lane] == most && k < found; k += STRUCTSVM_WIDTH)                               \
                if (GAIN(k_i[k], diagonal[k], fall[k], f[k], g_i, k_ii) == most) found = k;                     \
        return found < n ? found : -1;                                                                          \
    }

STRUCTSVM_SMO(extremes_single, some_single, gain_single, gains_single, partner_single, float)
STRUCTSVM_SMO(extremes_double, some_double, gain_double, gains_double, partner_double, double)

#endif
