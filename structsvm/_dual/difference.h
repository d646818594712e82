/* Sparse differences d(y) as the dual keeps them. Most entries are 1 or -1: of these only the indices are kept, which
   takes a third of the memory, and reading it is what training waits for. */
#ifndef STRUCTSVM_DIFFERENCE_H
#define STRUCTSVM_DIFFERENCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    ptrdiff_t n;          /* entries, each with an index of its own */
    int32_t plus;         /* those of 1 end here, */
    int32_t minus;        /* those of -1 here, and the others are behind; each of the three sorted */
    int32_t *index;
    const double *value;  /* of the others */
} Difference;

/* Four sums: one would wait for each addition to end before the next begins. */
static inline double sum_at(const double *w, const int32_t *index, ptrdiff_t n) {
    double a = 0, b = 0, c = 0, d = 0;
    ptrdiff_t k = 0;
    for (; k + 4 <= n; k += 4) {
        a += w[index[k]];
        b += w[index[k + 1]];
        c += w[index[k + 2]];
        d += w[index[k + 3]];
    }
    for (; k < n; k++) a += w[index[k]];
    return (a + b) + (c + d);
}

static inline double dot_at(const double *w, const int32_t *index, const double *value, ptrdiff_t n) {
    double a = 0, b = 0, c = 0, d = 0;
    ptrdiff_t k = 0;
    for (; k + 4 <= n; k += 4) {
        a += w[index[k]] * value[k];
        b += w[index[k + 1]] * value[k + 1];
        c += w[index[k + 2]] * value[k + 2];
        d += w[index[k + 3]] * value[k + 3];
    }
    for (; k < n; k++) a += w[index[k]] * value[k];
    return (a + b) + (c + d);
}

/* A pair is x (x) (e_a - e_b), for a sparse x that is owned elsewhere. n is the number of entries of x, `index` holds
   where the row of each entry begins in w, `plus` is a, and `minus` is ~b, which is negative. All outputs of a pattern
   share x. Its entries are sorted by index, none is 0 or -1, and entries equal to 1 come last. A pair is summed in the
   same order as the equivalent packed entries, so both forms round alike and training breaks ties alike. */
static inline int is_pair(const Difference *x) { return x->minus < 0; }

static inline Difference pair_of(int32_t *rows, const double *value, ptrdiff_t n, int32_t a, int32_t b) {
    return (Difference){n, a, ~b, rows, value};
}

/* The number of entries of x that are not 1. */
static inline ptrdiff_t pair_others(const Difference *x) {
    ptrdiff_t n = x->n;
    while (n && x->value[n - 1] == 1) n--;
    return n;
}

static inline double pair_dot(const double *w, const Difference *x) {
    const double *up = w + x->plus, *down = w + ~x->minus, *value = x->value;
    const double *low = up < down ? up : down, *high = up < down ? down : up;
    const int32_t *index = x->index;
    const ptrdiff_t n = pair_others(x);
    double a = 0, b = 0, c = 0, d = 0;
    ptrdiff_t k = 0;
    for (; k + 2 <= n; k += 2) {
        a += low[index[k]] * value[k];
        b += high[index[k]] * value[k];
        c += low[index[k + 1]] * value[k + 1];
        d += high[index[k + 1]] * value[k + 1];
    }
    if (k < n) {
        a += low[index[k]] * value[k];
        a -= high[index[k]] * value[k];
    }
    a = (a - b) + (c - d);
    return sum_at(up, index + n, x->n - n) - sum_at(down, index + n, x->n - n) + (up < down ? a : -a);
}

static inline void pair_add(double *w, double scale, const Difference *x) {
    double *up = w + x->plus, *down = w + ~x->minus;
    for (ptrdiff_t k = 0; k < x->n; k++) {
        const double change = scale * x->value[k];
        up[x->index[k]] += change;
        down[x->index[k]] -= change;
    }
}

/* <a, b> of two pairs with the same x and `plus`; their `minus` may differ. */
static inline double pair_inner(const Difference *a, const Difference *b) {
    const ptrdiff_t n = pair_others(a);
    const int same = a->minus == b->minus;
    double total = (double)((1 + same) * (a->n - n));
    for (ptrdiff_t k = 0; k < n; k++) {
        total += a->value[k] * a->value[k];
        if (same) total += a->value[k] * a->value[k];
    }
    return total;
}

static inline double difference_dot(const double *w, const Difference *x) {
    if (is_pair(x)) return pair_dot(w, x);
    return sum_at(w, x->index, x->plus) - sum_at(w, x->index + x->plus, x->minus - x->plus)
        + dot_at(w, x->index + x->minus, x->value, x->n - x->minus);
}

/* w += scale x */
static inline void difference_add(double *w, double scale, const Difference *x) {
    ptrdiff_t k = 0;
    if (is_pair(x)) {
        pair_add(w, scale, x);
        return;
    }
    for (; k < x->plus; k++) w[x->index[k]] += scale;
    for (; k < x->minus; k++) w[x->index[k]] -= scale;
    for (; k < x->n; k++) w[x->index[k]] += scale * x->value[k - x->minus];
}

static inline double difference_norm(const Difference *x) {
    if (is_pair(x)) return pair_inner(x, x);
    double total = (double)x->minus;
    for (ptrdiff_t k = 0; k < x->n - x->minus; k++) total += x->value[k] * x->value[k];
    return total;
}

/* How many indices two sorted lists have in common; no branch that could be foreseen wrongly. */
static inline ptrdiff_t common(const int32_t *a, ptrdiff_t n_a, const int32_t *b, ptrdiff_t n_b) {
    ptrdiff_t i = 0, j = 0, total = 0;
    while (i < n_a && j < n_b) {
        const int32_t at = a[i], other = b[j];
        total += at == other;
        i += at <= other;
        j += at >= other;
    }
    return total;
}

/* Where a sorted list of n has an index, or would have it. */
static inline ptrdiff_t place_of(const int32_t *index, ptrdiff_t n, int32_t wanted) {
    ptrdiff_t low = 0;
    while (n > 0) {
        const ptrdiff_t half = n / 2;
        if (index[low + half] < wanted) low += half + 1, n -= half + 1;
        else n = half;
    }
    return low;
}

/* The sum of those entries of a that are not 1 or -1 and whose indices b has from `from` to `to`. */
static inline double others_times(const Difference *a, const Difference *b, ptrdiff_t from, ptrdiff_t to) {
    double total = 0;
    for (ptrdiff_t k = a->minus; k < a->n && from < to; k++) {
        from += place_of(b->index + from, to - from, a->index[k]);
        if (from < to && b->index[from] == a->index[k]) total += a->value[k - a->minus];
    }
    return total;
}

static inline double difference_inner(const Difference *a, const Difference *b) {
    if (is_pair(a)) return pair_inner(a, b);
    const int32_t *a_minus = a->index + a->plus, *b_minus = b->index + b->plus;
    const ptrdiff_t n_a = a->minus - a->plus, n_b = b->minus - b->plus;
    double total = (double)(common(a->index, a->plus, b->index, b->plus) + common(a_minus, n_a, b_minus, n_b)
                            - common(a->index, a->plus, b_minus, n_b) - common(a_minus, n_a, b->index, b->plus));
    total += others_times(a, b, 0, b->plus) - others_times(a, b, b->plus, b->minus);
    total += others_times(b, a, 0, a->plus) - others_times(b, a, a->plus, a->minus);
    for (ptrdiff_t i = a->minus, j = b->minus; i < a->n && j < b->n;) {
        if (a->index[i] == b->index[j]) total += a->value[i++ - a->minus] * b->value[j++ - b->minus];
        else if (a->index[i] < b->index[j]) i++;
        else j++;
    }
    return total;
}

static inline int difference_equal(const Difference *a, const Difference *b) {
    return a->n == b->n && a->plus == b->plus && a->minus == b->minus && (is_pair(a) || (
        (a->n == 0 || memcmp(a->index, b->index, (size_t)a->n * sizeof(int32_t)) == 0)
        && (a->n == a->minus || memcmp(a->value, b->value, (size_t)(a->n - a->minus) * sizeof(double)) == 0)));
}

/* Sort by merging the runs that are there: tokens come with their features in order. Of many entries, `poll` is asked
   before each pass whether to go on; -1 if not. */
static inline int sort_runs(int32_t *at, int32_t *spare, ptrdiff_t n, int (*poll)(void)) {
    ptrdiff_t runs;
    do {
        if (n > 100000 && poll() < 0) return -1;
        runs = 0;
        for (ptrdiff_t from = 0, middle, end; from < n; from = end, runs++) {
            for (middle = from + 1; middle < n && at[middle - 1] <= at[middle];) middle++;
            for (end = middle + (middle < n); end < n && at[end - 1] <= at[end];) end++;
            ptrdiff_t i = from, j = middle, out = from;
            while (i < middle && j < end) {
                const int less = at[j] < at[i];
                spare[out++] = less ? at[j] : at[i];
                j += less;
                i += !less;
            }
            memcpy(spare + out, at + i, (size_t)(middle - i) * sizeof(int32_t));
            memcpy(spare + out + (middle - i), at + j, (size_t)(end - j) * sizeof(int32_t));
        }
        memcpy(at, spare, (size_t)n * sizeof(int32_t));
    } while (runs > 1);
    return 0;
}

/* Take entries into a difference, whose index has room for 3 n of them in all: each third has its own place at first. */
static inline void take(Difference *to, ptrdiff_t n, int32_t index, double value, double *others) {
    if (value == 1) to->index[to->plus++] = index;
    else if (value == -1) to->index[n + to->minus++] = index;
    else if (value != 0) others[to->n] = value, to->index[2 * n + to->n++] = index;
}

static inline void close_up(Difference *to, ptrdiff_t n, const double *others) {
    memmove(to->index + to->plus, to->index + n, (size_t)to->minus * sizeof(int32_t));
    to->minus += to->plus;
    memmove(to->index + to->minus, to->index + 2 * n, (size_t)to->n * sizeof(int32_t));
    to->n += to->minus;
    to->value = others;
}

/* Entries that are all 1 or -1, in any order, as a difference; 0 if they are not, -1 if `poll` ends it. `room` is for
   5 n indices, and the values not 1 or -1, where some come together, replace those that were given. */
static inline int pack_units(Difference *to, const int32_t *index, double *value, ptrdiff_t n, int32_t *room,
                             int (*poll)(void)) {
    int32_t *up = room + 3 * n, *down = room + 4 * n;
    ptrdiff_t ups = 0, downs = 0, i = 0, j = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        if (value[k] == 1) up[ups++] = index[k];
        else if (value[k] == -1) down[downs++] = index[k];
        else return 0;
    }
    if (sort_runs(up, room, ups, poll) < 0 || sort_runs(down, room, downs, poll) < 0) return -1;
    *to = (Difference){0, 0, 0, room, NULL};
    while (i < ups || j < downs) {
        const int32_t at = j == downs || (i < ups && up[i] < down[j]) ? up[i] : down[j];
        double sum = 0;
        for (; i < ups && up[i] == at; i++) sum += 1;
        for (; j < downs && down[j] == at; j++) sum -= 1;
        take(to, n, at, sum, value);
    }
    close_up(to, n, value);
    return 1;
}

/* The same from entries that are in order, each index once, whatever their values. */
static inline void pack_sorted(Difference *to, const int32_t *index, double *value, ptrdiff_t n, int32_t *room) {
    *to = (Difference){0, 0, 0, room, NULL};
    for (ptrdiff_t k = 0; k < n; k++) take(to, n, index[k], value[k], value);
    close_up(to, n, value);
}

/* Renumber the rows of indices, `stride` entries each, in place, and drop entries of rows without a new number (-1).
   The new numbers must keep the order of the rows. */
static inline void difference_renumber(Difference *x, const int32_t *row_of, ptrdiff_t stride) {
    double *value = (double *)x->value;
    ptrdiff_t n = 0, plus = 0, minus = 0;
    for (ptrdiff_t k = 0; k < x->n; k++) {
        const int32_t row = row_of[x->index[k] / stride];
        if (row < 0) continue;
        if (k >= x->minus) value[n - minus] = value[k - x->minus];
        else minus++, plus += k < x->plus;
        x->index[n++] = (int32_t)(row * stride + x->index[k] % stride);
    }
    x->n = n, x->plus = (int32_t)plus, x->minus = (int32_t)minus;
}

/* The number of entries that `unpack` writes. */
static inline ptrdiff_t difference_size(const Difference *x) { return is_pair(x) ? 2 * x->n : x->n; }

/* All entries in order of index. */
static inline void unpack(const Difference *x, int32_t *index, double *value) {
    if (is_pair(x)) {
        const int up_first = x->plus < ~x->minus;
        for (ptrdiff_t k = 0; k < x->n; k++) {
            const int32_t up = x->index[k] + x->plus, down = x->index[k] + ~x->minus;
            index[2 * k] = up_first ? up : down, value[2 * k] = up_first ? x->value[k] : -x->value[k];
            index[2 * k + 1] = up_first ? down : up, value[2 * k + 1] = -value[2 * k];
        }
        return;
    }
    ptrdiff_t i = 0, j = x->plus, k = x->minus;
    for (ptrdiff_t n = 0; n < x->n; n++) {
        int32_t at = INT32_MAX;
        if (i < x->plus) at = x->index[i];
        if (j < x->minus && x->index[j] < at) at = x->index[j];
        if (k < x->n && x->index[k] < at) at = x->index[k];
        index[n] = at;
        if (i < x->plus && x->index[i] == at) value[n] = 1, i++;
        else if (j < x->minus && x->index[j] == at) value[n] = -1, j++;
        else value[n] = x->value[k++ - x->minus];
    }
}

#endif
