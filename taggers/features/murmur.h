/* MurmurHash64A of Austin Appleby, on little-endian machines. Inline, because most texts are short: a call into
   another module costs as much as the hash itself. */
#ifndef TAGGERS_MURMUR_H
#define TAGGERS_MURMUR_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t taggers_murmur(const char* text, ptrdiff_t n, uint64_t seed) {
    const uint64_t factor = 0xC6A4A7935BD1E995u;
    uint64_t hash = seed ^ ((uint64_t)n * factor), block;
    for (; n >= 8; n -= 8, text += 8) {
        memcpy(&block, text, 8);
        block *= factor;
        block ^= block >> 47;
        hash = (hash ^ block * factor) * factor;
    }
    if (n) {
        for (block = 0; n; n--) block = block << 8 | (unsigned char)text[n - 1];
        hash = (hash ^ block) * factor;
    }
    hash = (hash ^ hash >> 47) * factor;
    return hash ^ hash >> 47;
}
#endif
