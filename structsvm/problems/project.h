/* Scores of a sparse input. Each is summed in the order of the entries, so rounding does not depend on the width. */
#ifndef STRUCTSVM_PROJECT_H
#define STRUCTSVM_PROJECT_H

#include <stdint.h>

#include "structsvm/_dual/vector.h"

/* Compute `count` scores at once; the sums stay in registers. */
STRUCTSVM_INLINE void project_some(double *scores, const double *w, const int32_t *index, const double *value, ptrdiff_t n,
                                   const int count) {
    double sums[8] = {0};
    for (ptrdiff_t k = 0; k < n; k++) {
        const double *row = w + index[k], x = value[k];
        for (int r = 0; r < count; r++) sums[r] += x * row[r];
    }
    for (int r = 0; r < count; r++) scores[r] = sums[r];
}

/* scores[r] = sum over k of value[k] w[index[k] + r] */
STRUCTSVM_CLONES static void projected(double *scores, const double *w, const int32_t *index, const double *value,
                                       ptrdiff_t n, ptrdiff_t width) {
    ptrdiff_t r = 0;
    for (; r + 8 <= width; r += 8) project_some(scores + r, w + r, index, value, n, 8);
    for (; r + 4 <= width; r += 4) project_some(scores + r, w + r, index, value, n, 4);
    for (; r + 2 <= width; r += 2) project_some(scores + r, w + r, index, value, n, 2);
    for (; r < width; r++) project_some(scores + r, w + r, index, value, n, 1);
}

#endif
