/* Philox4x32-10, see polyad.random.philox: BLOCKS blocks of four words at once. */

#ifndef POLYAD_PHILOX_H
#define POLYAD_PHILOX_H

#include <stdint.h>

enum { BLOCKS = 64 };

static void philox(uint64_t seed, uint64_t block, uint32_t *words)
{
    uint32_t a[BLOCKS], b[BLOCKS], c[BLOCKS], d[BLOCKS];
    for (int i = 0; i < BLOCKS; ++i) {
        a[i] = (uint32_t)(block + (uint64_t)i);
        b[i] = (uint32_t)((block + (uint64_t)i) >> 32);
        c[i] = d[i] = 0;
    }
    uint32_t first = (uint32_t)seed, second = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < BLOCKS; ++i) {
            const uint64_t low = (uint64_t)a[i] * 0xD2511F53u, high = (uint64_t)c[i] * 0xCD9E8D57u;
            a[i] = (uint32_t)(high >> 32) ^ b[i] ^ first;
            b[i] = (uint32_t)high;
            c[i] = (uint32_t)(low >> 32) ^ d[i] ^ second;
            d[i] = (uint32_t)low;
        }
        first += 0x9E3779B9u;
        second += 0xBB67AE85u;
    }
    for (int i = 0; i < BLOCKS; ++i) {
        words[4 * i] = a[i];
        words[4 * i + 1] = b[i];
        words[4 * i + 2] = c[i];
        words[4 * i + 3] = d[i];
    }
}

#endif
