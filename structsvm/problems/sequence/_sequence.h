/* The inner loops of sequence labelling. */
#ifndef STRUCTSVM_SEQUENCE_H
#define STRUCTSVM_SEQUENCE_H

#include <stdint.h>

#include "structsvm/_dual/vector.h"

/* Rows are a multiple of this many labels long. */
enum { STRUCTSVM_LANES = 8 };

/* The numbers of features, three bytes each in two arrays, so that several are joined at once; `top` holds a fourth byte or is NULL. */
static inline void join_rows(int32_t *restrict rows, const uint16_t *restrict low, const uint8_t *restrict high, const uint8_t *top,
                             ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) rows[k] = (int32_t)low[k] | (int32_t)high[k] << 16;
    if (top != NULL)
        for (ptrdiff_t k = 0; k < n; k++) rows[k] |= (int32_t)top[k] << 24;
}

/* scores[y] += sum over features of value * w[row * stride + y]; no values: all are 1. */
#define STRUCTSVM_SCORE(name, number)                                                                                   \
    STRUCTSVM_CLONES static void name(number *restrict scores, const number *restrict w, const int32_t *restrict rows,   \
                                      const float *restrict values, ptrdiff_t n, ptrdiff_t stride) {                     \
        ptrdiff_t width = stride & ~(ptrdiff_t)(STRUCTSVM_LANES - 1);                                                   \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                             \
            const number *row = w + (ptrdiff_t)rows[k] * stride;                                                        \
            if (k + 4 < n) prefetch_lines(w + (ptrdiff_t)rows[k + 4] * stride, (ptrdiff_t)sizeof(number) * width);      \
            if (values == NULL)                                                                                         \
                for (ptrdiff_t y = 0; y < width; y++) scores[y] += row[y];                                              \
            else                                                                                                        \
                for (ptrdiff_t y = 0; y < width; y++) scores[y] += (number)values[k] * row[y];                          \
        }                                                                                                               \
    }

STRUCTSVM_SCORE(score_token_double, double)

/* A few weights at once: left to itself, the compiler adds those of a block one by one. */
#if defined(__GNUC__)
typedef double structsvm_pack __attribute__((vector_size(32), aligned(8)));
#else
typedef double structsvm_pack;
#endif
enum { STRUCTSVM_PACKS = STRUCTSVM_LANES * sizeof(double) / sizeof(structsvm_pack) };

/* The same where w is in blocks of STRUCTSVM_LANES weights: places[row * n_blocks + b] says where block b of a row is. A block
   that was never written is at a place of zeros. It is added too, because a branch could not be predicted. */
STRUCTSVM_CLONES static void score_token_blocks(double *restrict scores, const double *restrict w, const int32_t *restrict places,
                                                const int32_t *restrict rows, const float *restrict values, ptrdiff_t n,
                                                ptrdiff_t n_blocks) {
    for (ptrdiff_t k = 0; k < n; k++)
        for (ptrdiff_t b = 0; b < n_blocks; b++)
            prefetch_line(w + (ptrdiff_t)places[rows[k] * n_blocks + b] * STRUCTSVM_LANES);
    for (ptrdiff_t k = 0; k < n; k++) {
        const double value = values == NULL ? 1 : values[k];
        for (ptrdiff_t b = 0; b < n_blocks; b++) {
            const double *block = w + (ptrdiff_t)places[rows[k] * n_blocks + b] * STRUCTSVM_LANES;
            structsvm_pack *sums = (structsvm_pack *)(scores + b * STRUCTSVM_LANES);
            for (int j = 0; j < STRUCTSVM_PACKS; j++) sums[j] += value * ((const structsvm_pack *)block)[j];
        }
    }
}

/* Rows of weights as labelling reads them. Few of the features of a model have weights for many labels, but they are those
   that occur all the time: they are added eight labels at a time (`wide`), the others weight by weight (`cells`). */
typedef struct {
    uint32_t label;
    float value;
} structsvm_cell;

typedef struct {
    uint32_t start; /* among the cells, or which of the wide rows */
    int32_t count;  /* of cells; -1: a wide row */
} structsvm_span;

typedef struct {
    const structsvm_span *spans;
    const structsvm_cell *cells;
    const float *wide;
    ptrdiff_t stride;
} structsvm_rows;

enum { STRUCTSVM_BLOCK = 64, STRUCTSVM_AHEAD = 64 };

typedef struct {
    int n_wide, n_sparse;
    const float *wide[STRUCTSVM_BLOCK];
    float wide_values[STRUCTSVM_BLOCK], sparse_values[STRUCTSVM_BLOCK];
    structsvm_span sparse[STRUCTSVM_BLOCK];
} structsvm_block;

/* Look up to STRUCTSVM_BLOCK rows up and have their weights fetched, so that they come while others are added. */
static inline void structsvm_look_up(structsvm_block *block, const structsvm_rows *weights, const int32_t *rows, const float *values,
                                     ptrdiff_t n) {
    block->n_wide = block->n_sparse = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        structsvm_span span = weights->spans[rows[k]];
        float value = values == NULL ? 1.0f : values[k];
        if (span.count < 0) {
            const float *row = weights->wide + (ptrdiff_t)span.start * weights->stride;
            prefetch_lines(row, (ptrdiff_t)sizeof(float) * weights->stride);
            block->wide_values[block->n_wide] = value;
            block->wide[block->n_wide++] = row;
        } else {
            prefetch_line(weights->cells + span.start);
            block->sparse_values[block->n_sparse] = value;
            block->sparse[block->n_sparse++] = span;
        }
    }
}

/* Add the wide rows to the scores of so many labels at once: enough sums side by side that none waits for itself. */
STRUCTSVM_INLINE void structsvm_add_wide(float *restrict scores, const structsvm_block *restrict block,
                                         ptrdiff_t y, const int lanes, int weighted) {
    float sum[4 * STRUCTSVM_LANES];
    for (int j = 0; j < lanes; j++) sum[j] = scores[y + j];
    for (int k = 0; k < block->n_wide; k++) {
        const float *row = block->wide[k] + y;
        if (weighted)
            for (int j = 0; j < lanes; j++) sum[j] += block->wide_values[k] * row[j];
        else
            for (int j = 0; j < lanes; j++) sum[j] += row[j];
    }
    for (int j = 0; j < lanes; j++) scores[y + j] = sum[j];
}

/* Add the rows to a token's scores: the wide ones, then the others, so that no sum of eight waits for a single one. */
STRUCTSVM_CLONES static void structsvm_add(float *restrict scores, const structsvm_block *restrict block,
                                           const structsvm_rows *restrict weights, int weighted) {
    ptrdiff_t y = 0, stride = weights->stride;
    for (; y + 4 * STRUCTSVM_LANES <= stride; y += 4 * STRUCTSVM_LANES)
        structsvm_add_wide(scores, block, y, 4 * STRUCTSVM_LANES, weighted);
    for (; y + 2 * STRUCTSVM_LANES <= stride; y += 2 * STRUCTSVM_LANES)
        structsvm_add_wide(scores, block, y, 2 * STRUCTSVM_LANES, weighted);
    for (; y < stride; y += STRUCTSVM_LANES) structsvm_add_wide(scores, block, y, STRUCTSVM_LANES, weighted);
    for (int k = 0; k < block->n_sparse; k++) {
        const structsvm_cell *cell = weights->cells + block->sparse[k].start, *end = cell + block->sparse[k].count;
        for (; cell < end; cell++) scores[cell->label] += weighted ? block->sparse_values[k] * cell->value : cell->value;
    }
}

/* lattice[t, y] += sum over the features of token t of value * weight; no values: all are 1.
   Tokens whose `skip` is not 0 are skipped; NULL: none. */
static void score_sentence(float *lattice, const structsvm_rows *weights, const int32_t *rows, const float *values,
                           const long long *token_ptr, ptrdiff_t n_tokens, const uint8_t *skip) {
    structsvm_block blocks[2];
    float *scores[2] = {NULL, NULL};
    int turn = 0;
    for (ptrdiff_t t = 0; t < n_tokens; t++) {
        if (skip != NULL && skip[t]) continue;
        for (long long k = token_ptr[t]; k < token_ptr[t + 1]; k += STRUCTSVM_BLOCK) {
            long long left = token_ptr[t + 1] - k;
            ptrdiff_t n = left < STRUCTSVM_BLOCK ? (ptrdiff_t)left : STRUCTSVM_BLOCK;
            for (long long at = k + STRUCTSVM_AHEAD; at < k + STRUCTSVM_AHEAD + n && at < token_ptr[n_tokens]; at++)
                prefetch_line(weights->spans + rows[at]);
            structsvm_look_up(&blocks[turn], weights, rows + k, values == NULL ? NULL : values + k, n);
            scores[turn] = lattice + t * weights->stride;
            turn ^= 1;
            if (scores[turn] != NULL) structsvm_add(scores[turn], &blocks[turn], weights, values != NULL);
            scores[turn] = NULL;
        }
    }
    turn ^= 1;
    if (scores[turn] != NULL) structsvm_add(scores[turn], &blocks[turn], weights, values != NULL);
}

/* next[y] = max_p previous[p] + transitions[p, y], back[y] the first p that reaches it, for PACKS packs of labels, whose best
   scores stay in registers. The compiler leaves them in memory unless the packs are as long as its registers. */
#if defined(__GNUC__)
#define STRUCTSVM_VITERBI(name, bytes, PACKS)                                                                           \
    STRUCTSVM_INLINE void name(float *restrict next, int32_t *restrict back, const float *restrict previous,            \
                               const float *restrict transitions, ptrdiff_t n_labels, ptrdiff_t stride) {               \
        typedef float scores __attribute__((vector_size(bytes), aligned(4)));                                           \
        typedef int32_t labels __attribute__((vector_size(bytes), aligned(4)));                                         \
        scores best[PACKS];                                                                                             \
        labels from[PACKS];                                                                                             \
        for (int j = 0; j < PACKS; j++) best[j] = previous[0] + ((const scores *)transitions)[j], from[j] = (labels){0}; \
        for (ptrdiff_t p = 1; p < n_labels; p++)                                                                        \
            for (int j = 0; j < PACKS; j++) {                                                                           \
                scores score = previous[p] + ((const scores *)(transitions + p * stride))[j];                           \
                labels better = score > best[j];                                                                        \
                best[j] = (scores)((better & (labels)score) | (~better & (labels)best[j]));                             \
                from[j] = (better & ((int32_t)p - (labels){0})) | (~better & from[j]);                                  \
            }                                                                                                           \
        for (int j = 0; j < PACKS; j++) ((scores *)next)[j] = best[j], ((labels *)back)[j] = from[j];                   \
    }

/* A step for all labels, 32, 16 and 8 at a time. */
#define STRUCTSVM_VITERBI_STEP(name, attributes, bytes)                                                                 \
    STRUCTSVM_VITERBI(name##_32, bytes, 128 / bytes)                                                                    \
    STRUCTSVM_VITERBI(name##_16, bytes, 64 / bytes)                                                                     \
    STRUCTSVM_VITERBI(name##_8, bytes, 32 / bytes)                                                                      \
    attributes static void name(float *restrict next, int32_t *restrict back, const float *restrict previous,           \
                                const float *restrict transitions, ptrdiff_t n_labels, ptrdiff_t stride) {              \
        ptrdiff_t y = 0;                                                                                                \
        for (; y + 32 <= stride; y += 32) name##_32(next + y, back + y, previous, transitions + y, n_labels, stride);   \
        for (; y + 16 <= stride; y += 16) name##_16(next + y, back + y, previous, transitions + y, n_labels, stride);   \
        for (; y < stride; y += 8) name##_8(next + y, back + y, previous, transitions + y, n_labels, stride);           \
    }

STRUCTSVM_VITERBI_STEP(viterbi_step_short, , 16)
#if defined(__x86_64__)
STRUCTSVM_VITERBI_STEP(viterbi_step_long, __attribute__((target("avx2"))), 32)
#define viterbi_step (__builtin_cpu_supports("avx2") ? viterbi_step_long : viterbi_step_short)
#else
#define viterbi_step viterbi_step_short
#endif
#else
static void viterbi_step(float *next, int32_t *back, const float *previous, const float *transitions, ptrdiff_t n_labels,
                         ptrdiff_t stride) {
    for (ptrdiff_t p = 0; p < n_labels; p++)
        for (ptrdiff_t y = 0; y < stride; y++) {
            float score = previous[p] + transitions[p * stride + y];
            if (p == 0 || score > next[y]) {
                next[y] = score;
                back[y] = (int32_t)p;
            }
        }
}
#endif

#endif
