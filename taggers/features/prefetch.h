/* Ask for a cache line before it is needed; where the compiler cannot, nothing is lost but time. */
#ifndef TAGGERS_PREFETCH_H
#define TAGGERS_PREFETCH_H
#if defined(__GNUC__) || defined(__clang__)
#define taggers_prefetch(address) __builtin_prefetch((address), 0, 3)
#else
#define taggers_prefetch(address) ((void)(address))
#endif
#endif
