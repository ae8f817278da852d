/* Random words. */

#include "../../common/library.h"
#include "philox.h"

/* words(out, numbers): those of as many blocks as *out* has rows of four; the numbers are seed and first block. */
static Object *words(Object *self, Object *const *args, intptr_t count)
{
    const Array *out = (Array *)args[0];
    uint64_t numbers[2];
    memcpy(numbers, PyBytes_AsString(args[1]), sizeof numbers);
    uint32_t *to = (uint32_t *)out->data;
    const long blocks = out->shape[0];
    void *thread = PyEval_SaveThread();
    for (long at = 0; at < blocks; at += BLOCKS) {
        uint32_t drawn[4 * BLOCKS];
        philox(numbers[0], numbers[1] + (uint64_t)at, drawn);
        memcpy(to + 4 * at, drawn, 4 * sizeof *to * (size_t)least(BLOCKS, blocks - at));
    }
    PyEval_RestoreThread(thread);
    return none();
}

static Method methods[] = {
    BIND,
    {"words", words, FASTCALL, "words(out, numbers)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(sampling)
