/* The inner loops of sequence labelling. AVX2 where the machine has it, without FMA, so that every machine rounds alike. */
#ifndef STRUCTSVM_SEQUENCE_H
#define STRUCTSVM_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define STRUCTSVM_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define STRUCTSVM_CLONES
#endif

#if defined(__GNUC__)
#define STRUCTSVM_PREFETCH(address) __builtin_prefetch(address)
#else
#define STRUCTSVM_PREFETCH(address)
#endif

/* Rows are a multiple of this many labels long. */
enum { STRUCTSVM_LANES = 8 };

/* scores[y] += sum over features of value * w[row * stride + y]; no values: all are 1. */
#define STRUCTSVM_SCORE(name, number)                                                                                   \
    STRUCTSVM_CLONES static void name(number *restrict scores, const number *restrict w, const int32_t *restrict rows,   \
                                      const float *restrict values, ptrdiff_t n, ptrdiff_t stride) {                     \
        ptrdiff_t width = stride & ~(ptrdiff_t)(STRUCTSVM_LANES - 1);                                                   \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                             \
            const number *row = w + (ptrdiff_t)rows[k] * stride;                                                        \
            if (k + 4 < n) {                                                                                            \
                const char *next = (const char *)(w + (ptrdiff_t)rows[k + 4] * stride);                                 \
                for (ptrdiff_t at = 0; at < (ptrdiff_t)sizeof(number) * width; at += 64) STRUCTSVM_PREFETCH(next + at); \
            }                                                                                                           \
            if (values == NULL)                                                                                         \
                for (ptrdiff_t y = 0; y < width; y++) scores[y] += row[y];                                              \
            else                                                                                                        \
                for (ptrdiff_t y = 0; y < width; y++) scores[y] += (number)values[k] * row[y];                          \
        }                                                                                                               \
    }

STRUCTSVM_SCORE(score_token_double, double)
STRUCTSVM_SCORE(score_token_single, float)

/* next[y] = max_p previous[p] + transitions[p, y], back[y] the first p that reaches it. */
STRUCTSVM_CLONES static void viterbi_step(float *restrict next, int32_t *restrict back, const float *restrict previous,
                                          const float *restrict transitions, ptrdiff_t n_labels, ptrdiff_t stride) {
    ptrdiff_t width = stride & ~(ptrdiff_t)(STRUCTSVM_LANES - 1);
    for (ptrdiff_t y = 0; y < width; y++) {
        next[y] = previous[0] + transitions[y];
        back[y] = 0;
    }
    for (ptrdiff_t p = 1; p < n_labels; p++) {
        const float base = previous[p];
        const float *row = transitions + p * stride;
        const int32_t from = (int32_t)p;
        for (ptrdiff_t y = 0; y < width; y++) {
            float score = base + row[y];
            int32_t better = score > next[y];
            next[y] = better ? score : next[y];
            back[y] = better ? from : back[y];
        }
    }
}

#endif
