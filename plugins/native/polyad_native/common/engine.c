/* What polyad_native runs in: a pool of threads, launches of generated kernels, and the choice between kernels. It is a
   Python extension. */

#include "allocation.h"
#include "launch.h"
#include "pool.h"
#include "python.h"
#include "replay.h"

/* ---------------------------------------------------------------------------------------------- threads */

/* addresses(): of polyad_parallel and polyad_threads */
static Object *addresses(Object *self, Object *const *args, intptr_t count)
{
    Object *pair = PyTuple_New(2);
    if (!pair) return NULL;
    PyTuple_SetItem(pair, 0, PyLong_FromLongLong((long long)(intptr_t)polyad_parallel));
    PyTuple_SetItem(pair, 1, PyLong_FromLongLong((long long)(intptr_t)polyad_threads));
    return pair;
}

static Object *set_threads(Object *self, Object *const *args, intptr_t count)
{
    static int once;
    if (!once) { pthread_atfork(NULL, NULL, forked); once = 1; }
    long long wanted = PyLong_AsLongLong(args[0]);
    pthread_mutex_lock(&pool.lock);
    pool.wanted = wanted < 1 ? 1 : wanted > MOST ? MOST : (int)wanted;
    pthread_mutex_unlock(&pool.lock);
    return none();
}

/* ---------------------------------------------------------------------------------------------- generated kernels */

/* launch(arrays, numbers): a tuple of arrays, a list or tuple of bytes. */
static Object *launch(Object *self, Object *const *args, intptr_t count)
{
    const Launch *launch = (const Launch *)PyBytes_AsString(self);
    void *arrays[ARGUMENTS];
    const void *numbers[ARGUMENTS];
    intptr_t array_count = PyTuple_Size(args[0]), number_count = PySequence_Size(args[1]);
    if (array_count < 0 || number_count < 0) return NULL;
    if (array_count > ARGUMENTS || number_count > ARGUMENTS) {
        PyErr_SetString(PyExc_RuntimeError, "a kernel has too many arguments");
        return NULL;
    }
    for (intptr_t n = 0; n < array_count; ++n) {
        Object *array = PyTuple_GetItem(args[0], n);
        if (!is_array(array)) {
            PyErr_SetString(PyExc_RuntimeError, "a kernel was given what is no array");
            return NULL;
        }
        arrays[n] = ((Array *)array)->data;
    }
    for (intptr_t n = 0; n < number_count; ++n) {
        Object *number = PySequence_GetItem(args[1], n);
        if (!number || !(numbers[n] = PyBytes_AsString(number))) return NULL;
        Py_DecRef(number); /* the sequence holds it */
    }
    Call call = {launch, arrays, numbers};
    void *thread = PyEval_SaveThread();
    polyad_parallel(run_launch, &call, launch->instances);
    PyEval_RestoreThread(thread);
    return watched(self, args) ? NULL : none();
}

static Method launch_method = {"launch", launch, FASTCALL, "launch(arrays, numbers)"};

/* launcher(entry, instances, geometry) */
static Object *launcher(Object *self, Object *const *args, intptr_t count)
{
    intptr_t size = PyBytes_Size(args[2]);
    if (size < 0) return NULL;
    Object *holder = PyBytes_FromStringAndSize(NULL, (intptr_t)sizeof(Launch) + size);
    if (!holder) return NULL;
    Launch *launch = (Launch *)PyBytes_AsString(holder);
    launch->entry = (Entry)PyLong_AsVoidPtr(args[0]);
    launch->instances = PyLong_AsLongLong(args[1]);
    memcpy(launch->geometry, PyBytes_AsString(args[2]), (size_t)size);
    Object *made = PyErr_Occurred() ? NULL : PyCMethod_New(&launch_method, holder, NULL, NULL);
    Py_DecRef(holder);
    return made;
}

/* ---------------------------------------------------------------------------------------------- choosing */

/* A call goes to *native* if an array at a place whose bit is set in *places* has *least* elements, unless it is replayed
   by one of the *records*; else to *other*, or where no array is given for the result, to *plain*. */
static Object *choose(Object *self, Object *const *args, intptr_t count, Object *names)
{
    const long long least = PyLong_AsLongLong(PyTuple_GetItem(self, 2));
    const long long places = PyLong_AsLongLong(PyTuple_GetItem(self, 3));
    for (intptr_t n = 0; n < count; ++n) {
        if (!(places >> n & 1)) continue;
        if (!is_array(args[n])) break; /* what stands for a tensor that is lost: it says so itself */
        if (elements_of((const Array *)args[n]) < least) continue;
        if (!names || PyTuple_Size(names) == 1) { /* out */
            const int out = names != NULL;
            Object *result = replayed(PyTuple_GetItem(self, 5), args, count + out, out);
            if (result || PyErr_Occurred()) return result;
        }
        return PyObject_Vectorcall(PyTuple_GetItem(self, 1), args, (size_t)count, names);
    }
    return PyObject_Vectorcall(PyTuple_GetItem(self, names ? 0 : 4), args, (size_t)count, names);
}

static Method choose_method = {"choose", (Fast)choose, FASTCALL | KEYWORDS, ""};

/* chooser(other, native, least, places, plain, records) */
static Object *chooser(Object *self, Object *const *args, intptr_t count)
{
    return holding(&choose_method, args, 6);
}

/* ---------------------------------------------------------------------------------------------- the extension */

/* layout(array): address, rank, first size and stride as seen here, to be compared with what NumPy says. The first call
   tells what type arrays are of. */
static Object *layout(Object *self, Object *const *args, intptr_t count)
{
    const Array *array = (Array *)args[0];
    array_type = array->head.type;
    const long long words[4] = {(long long)(intptr_t)array->data, array->rank, array->shape[0], array->strides[0]};
    return PyBytes_FromStringAndSize((const char *)words, sizeof words);
}

static Method methods[] = {
    {"align", align, FASTCALL, "align(api, huge_pages)"},
    {"chooser", chooser, FASTCALL, "chooser(other, native, least, places, plain, records)"},
    {"key", key, FASTCALL, "key(args, out)"},
    {"addresses", addresses, FASTCALL, "addresses(): of polyad_parallel and polyad_threads"},
    {"layout", layout, FASTCALL, ""},
    {"launcher", launcher, FASTCALL, "launcher(entry, instances, geometry)"},
    {"watch", watch, FASTCALL, "watch(launches)"},
    {"set_threads", set_threads, FASTCALL, "set_threads(number)"},
    {NULL, NULL, 0, NULL},
};

static Module definition = {.head = {1, NULL}, .name = "polyad_native_engine", .size = -1, .methods = methods};

__attribute__((visibility("default"))) Object *PyInit_polyad_native_engine_float(void)
{
    return PyModule_Create2(&definition, ABI);
}
