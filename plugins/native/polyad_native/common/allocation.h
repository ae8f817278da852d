/* Memory for NumPy's arrays that begins with a line of the cache.

   NumPy asks this handler (NEP 49) for the memory of its arrays. malloc's blocks begin at any multiple of 16 bytes, so
   that each vector of 64 bytes would lie on two lines of the cache. The address that malloc gave stands before a block. */

#ifndef POLYAD_ALLOCATION_H
#define POLYAD_ALLOCATION_H

#include <sys/mman.h>

#include "python.h"

typedef struct {
    char name[127];
    uint8_t version;
    void *context;
    void *(*allocate)(void *, size_t), *(*zeroed)(void *, size_t, size_t), *(*resize)(void *, void *, size_t);
    void (*release)(void *, void *, size_t);
} Handler;

enum { LINE = 64, UNALIGNED = 16, SMALL = 256, SET_HANDLER = 304 /* PyDataMem_SetHandler in NumPy's table */ };
static const size_t HUGE_PAGES_FROM = 1 << 22, PAGE = 1 << 12;
static int huge_pages;

/* Bytes to ask malloc for, 0 if they are too many. */
static size_t with_room(size_t size)
{
    const size_t all = size + (size < SMALL ? UNALIGNED : LINE + UNALIGNED);
    return all < size ? 0 : all;
}

static size_t begin_of(const char *block, size_t size)
{
    const uintptr_t whole = size < SMALL ? UNALIGNED : LINE, first = (uintptr_t)block + UNALIGNED;
    return (size_t)((first + whole - 1) / whole * whole - (uintptr_t)block);
}

static void *placed(char *block, size_t size)
{
    if (!block) return NULL;
    char *memory = block + begin_of(block, size);
    memcpy(memory - sizeof block, &block, sizeof block);
#ifdef MADV_HUGEPAGE
    if (huge_pages && size >= HUGE_PAGES_FROM) { /* as NumPy does */
        const size_t before = PAGE - (uintptr_t)memory % PAGE;
        madvise(memory + before, size - before, MADV_HUGEPAGE);
    }
#endif
    return memory;
}

static char *block_of(const void *memory)
{
    char *block;
    memcpy(&block, (const char *)memory - sizeof block, sizeof block);
    return block;
}

static void *allocate(void *context, size_t size)
{
    const size_t all = with_room(size);
    return all ? placed(malloc(all), size) : NULL;
}

static void *zeroed(void *context, size_t count, size_t each)
{
    size_t size;
    if (__builtin_mul_overflow(count, each, &size)) return NULL;
    const size_t all = with_room(size);
    return all ? placed(calloc(all, 1), size) : NULL;
}

static void *resize(void *context, void *memory, size_t size)
{
    if (!memory) return allocate(context, size);
    char *block = block_of(memory);
    const size_t began = (size_t)((char *)memory - block), all = with_room(size);
    if (!all || all + began < all || !(block = realloc(block, all + began))) return NULL;
    memmove(block + begin_of(block, size), block + began, size);
    return placed(block, size);
}

static void release(void *context, void *memory, size_t size) { if (memory) free(block_of(memory)); }

static Handler handler = {"polyad", 1, NULL, allocate, zeroed, resize, release};

/* align(api, huge_pages): NumPy's table of functions, and whether large arrays ask for huge pages. Holds for the
   thread that calls. */
static Object *align(Object *self, Object *const *args, intptr_t count)
{
    Object *(*const *table)(Object *) = PyCapsule_GetPointer(args[0], NULL);
    Object *capsule = table ? PyCapsule_New(&handler, "mem_handler", NULL) : NULL;
    if (!capsule) return NULL;
    huge_pages = PyLong_AsLongLong(args[1]) != 0;
    Object *before = table[SET_HANDLER](capsule);
    Py_DecRef(capsule);
    if (!before) return NULL;
    Py_DecRef(before);
    return none();
}

#endif
