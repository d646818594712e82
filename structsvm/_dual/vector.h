/* Dense loops worth wider registers: one binary, the machine's own width chosen when it is loaded.
   AVX2 without FMA, so that every machine rounds alike. */
#ifndef STRUCTSVM_VECTOR_H
#define STRUCTSVM_VECTOR_H

#include <stddef.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define STRUCTSVM_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define STRUCTSVM_CLONES
#endif

/* For parts of such loops: a separate function would not be compiled for their width. */
#if defined(__GNUC__)
#define STRUCTSVM_INLINE static inline __attribute__((always_inline))
#else
#define STRUCTSVM_INLINE static inline
#endif

/* Ask for a block of memory before it is needed. */
STRUCTSVM_INLINE void prefetch_lines(const void *block, ptrdiff_t n_bytes) {
#if defined(__GNUC__)
    for (ptrdiff_t at = 0; at < n_bytes; at += 64) __builtin_prefetch((const char *)block + at);
#endif
}

STRUCTSVM_INLINE void prefetch_line(const void *at) {
#if defined(__GNUC__)
    __builtin_prefetch(at);
#endif
}

/* y += a x */
STRUCTSVM_CLONES static void axpy_single(double *restrict y, double a, const float *restrict x, ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) y[k] += a * (double)x[k];
}

STRUCTSVM_CLONES static void axpy_double(double *restrict y, double a, const double *restrict x, ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < n; k++) y[k] += a * x[k];
}

#endif
