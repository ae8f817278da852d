typedef void (*Task)(void *context, long part, long parts);

static void (*polyad_parallel)(Task task, void *context, long parts); /* the engine's */
static long (*polyad_threads)(void);

/* bind(address of the engine's polyad_parallel, that of its polyad_threads, an array) */
static Object *bind(Object *self, Object *const *args, intptr_t count)
{
    polyad_parallel = (void (*)(Task, void *, long))(intptr_t)PyLong_AsLongLong(args[0]);
    polyad_threads = (long (*)(void))(intptr_t)PyLong_AsLongLong(args[1]);
    array_type = args[2]->type;
    return none();
}

/* How CPython loads the extension of a library, with the `methods` that stand before. */
#define LIBRARY(library)                                                                                      \
    static Module definition = {.head = {1, NULL}, .name = "polyad_native_" #library, .size = -1, .methods = methods}; \
    __attribute__((visibility("default"))) Object *ENTRY(PyInit_polyad_native_##library)(void)                \
    {                                                                                                         \
        return PyModule_Create2(&definition, ABI);                                                            \
    }
