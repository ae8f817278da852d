/* What each library of kernels has: the engine's threads, and the door by which CPython loads it. */

#ifndef POLYAD_LIBRARY_H
#define POLYAD_LIBRARY_H

#include "dtype.h"
#include "python.h"
#include "tasks.h"

static void (*polyad_parallel)(Task task, void *context, long parts); /* the engine's, see pool.h */
static long (*polyad_threads)(void);

/* bind(address of the engine's polyad_parallel, that of its polyad_threads, an array) */
static Object *bind(Object *self, Object *const *args, intptr_t count)
{
    polyad_parallel = (void (*)(Task, void *, long))(intptr_t)PyLong_AsLongLong(args[0]);
    polyad_threads = (long (*)(void))(intptr_t)PyLong_AsLongLong(args[1]);
    array_type = args[2]->type;
    return none();
}

#define BIND {"bind", bind, FASTCALL, "bind(parallel, threads, array)"}

/* How CPython loads the extension of a library, with the `methods` that stand before. */
#define LIBRARY(library)                                                                                      \
    static Module definition = {.head = {1, NULL}, .name = "polyad_native_" #library, .size = -1, .methods = methods}; \
    __attribute__((visibility("default"))) Object *JOINED(PyInit_polyad_native_##library, DTYPE)(void)        \
    {                                                                                                         \
        return PyModule_Create2(&definition, ABI);                                                            \
    }

#endif
