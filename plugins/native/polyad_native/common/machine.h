/* This processor: the width of its vectors, the tile of a product that fits its registers, and memory for each thread. */

#ifndef POLYAD_MACHINE_H
#define POLYAD_MACHINE_H

#include <stddef.h>
#include <stdlib.h>

#if defined(__AVX512F__)
enum { VECTOR = 64, ROWS = 8, DEPTH = 512 };
#elif defined(__AVX2__)
enum { VECTOR = 32, ROWS = 6, DEPTH = 320 };
#elif defined(__aarch64__)
enum { VECTOR = 16, ROWS = 8, DEPTH = 320 };
#else
enum { VECTOR = 16, ROWS = 4, DEPTH = 320 };
#endif

/* Memory of a thread's own, for packed parts of operands; it grows and stays. */
static void *scratch(int purpose, size_t bytes)
{
    static _Thread_local struct { void *at; size_t size; } buffers[5];
    if (buffers[purpose].size < bytes) {
        free(buffers[purpose].at);
        buffers[purpose].size = 0;
        if (posix_memalign(&buffers[purpose].at, 64, bytes)) return buffers[purpose].at = NULL;
        buffers[purpose].size = bytes;
    }
    return buffers[purpose].at;
}

#endif
