/* Calls of generated kernels that are replayed.

   What generated kernels do with arrays of the same layouts and the same other arguments is the same each time: results
   are allocated, and kernels launched. Python's side watches the first such call and keeps what it did; the calls that
   follow are replayed here, without a frame of Python. */

#ifndef POLYAD_REPLAY_H
#define POLYAD_REPLAY_H

#include "launch.h"
#include "python.h"

enum { WORDS = 128, SLOTS = 64, KEEPS_LOCK = 1 << 13 /* below so many elements the interpreter's lock is kept */ };
enum { KEY, MADE, LAUNCHES, RESULTS, SINGLE, SIZES }; /* what a record is a tuple of; what comes after is only kept alive */

static struct { Object *launches; pthread_t thread; } watching;

/* watch(launches): until it is called again, this thread's launches are added to the list. */
static Object *watch(Object *self, Object *const *args, intptr_t count)
{
    Object *before = watching.launches;
    watching.launches = args[0] == &_Py_NoneStruct ? NULL : args[0];
    watching.thread = pthread_self();
    if (watching.launches) Py_IncRef(watching.launches);
    if (before) Py_DecRef(before);
    return none();
}

static int watched(Object *launch, Object *const *args)
{
    if (!watching.launches || !pthread_equal(watching.thread, pthread_self())) return 0;
    Object *said = PyTuple_Pack(3, launch, args[0], args[1]);
    if (!said) return -1;
    const int failed = PyList_Append(watching.launches, said);
    Py_DecRef(said);
    return failed;
}

/* What tells calls apart: whether the last of *args* is *out*, the array for the result; the arrays' shapes and strides,
   and which of them are the same array; the values of floats and ints; a tuple's items, and which objects all others are.
   Gives the number of words; 0 if there are too many. */
static int describe(Object *const *args, intptr_t count, int out, intptr_t *words)
{
    int n = 0;
    words[n++] = out;
    for (intptr_t at = 0; at < count; ++at) {
        struct Object *type = args[at]->type;
        if (n + 3 > WORDS) return 0;
        if (is_array(args[at])) {
            const Array *array = (const Array *)args[at];
            const int rank = array->rank;
            if (n + 2 + 2 * rank > WORDS) return 0;
            words[n++] = rank;
            intptr_t same = 0;
            while (args[same] != args[at]) ++same;
            words[n++] = same;
            for (int d = 0; d < rank; ++d) words[n++] = array->shape[d];
            for (int d = 0; d < rank; ++d) words[n++] = array->strides[d];
        } else if (type == &PyTuple_Type) {
            const intptr_t size = PyTuple_Size(args[at]);
            if (n + 1 + size > WORDS) return 0;
            words[n++] = -4 - size;
            for (intptr_t item = 0; item < size; ++item) words[n++] = (intptr_t)PyTuple_GetItem(args[at], item);
        } else if (type == &PyFloat_Type) {
            const double value = PyFloat_AsDouble(args[at]);
            words[n++] = -1;
            memcpy(words + n++, &value, sizeof value);
        } else {
            int more = 1;
            const long long value = type == &PyLong_Type ? PyLong_AsLongLongAndOverflow(args[at], &more) : 0;
            words[n++] = more ? -2 : -3;
            words[n++] = more ? (intptr_t)args[at] : (intptr_t)value;
        }
    }
    return n;
}

/* key(args, out): what the call is recognised by; empty if it cannot be. */
static Object *key(Object *self, Object *const *args, intptr_t count)
{
    intptr_t words[WORDS];
    Object *given[SLOTS];
    const intptr_t size = PyTuple_Size(args[0]);
    for (intptr_t at = 0; at < size && at < SLOTS; ++at) given[at] = PyTuple_GetItem(args[0], at);
    const int n = size > SLOTS ? 0 : describe(given, size, args[1] == &_Py_TrueStruct, words);
    return PyBytes_FromStringAndSize((const char *)words, n * (intptr_t)sizeof *words);
}

/* The bytes that an array's elements, of *size* bytes each, lie within. */
static void extent(const Array *array, int size, const char **begin, const char **end)
{
    *begin = array->data, *end = array->data + size;
    for (int d = 0; d < array->rank; ++d) {
        const intptr_t reach = (array->shape[d] - 1) * array->strides[d];
        if (reach < 0) *begin += reach;
        else *end += reach;
    }
}

/* Whether the last of *args*, which is written, lies apart from the others, or is one of them. */
static int lies_apart(Object *const *args, intptr_t count, const unsigned char *sizes)
{
    const char *begin, *end, *first, *last;
    extent((Array *)args[count - 1], sizes[count - 1], &begin, &end);
    for (intptr_t at = 0; at < count - 1; ++at) {
        if (args[at] == args[count - 1] || !sizes[at]) continue;
        extent((Array *)args[at], sizes[at], &first, &last);
        if (first < end && begin < last) return 0;
    }
    return 1;
}

static intptr_t elements_of(const Array *array)
{
    intptr_t size = 1;
    for (int d = 0; d < array->rank; ++d) size *= array->shape[d];
    return size;
}

/* Whether none of the arrays is so large that other threads should run meanwhile: a result may be larger than all that
   it is computed of. */
static int small(Object *const *slots, intptr_t count)
{
    for (intptr_t at = 0; at < count; ++at)
        if (is_array(slots[at]) && elements_of((Array *)slots[at]) >= KEEPS_LOCK) return 0;
    return 1;
}

static Object *replay(Object *record, Object *const *args, intptr_t count)
{
    Object *slots[SLOTS], *result = NULL;
    memcpy(slots, args, (size_t)count * sizeof *slots);
    intptr_t filled = count;
    Object *made = PyTuple_GetItem(record, MADE);
    for (intptr_t at = 0, all = PyTuple_Size(made); at < all; ++at) {
        Object *of = PyTuple_GetItem(made, at), *const wanted[2] = {PyTuple_GetItem(of, 1), PyTuple_GetItem(of, 2)};
        if (!(slots[filled] = PyObject_Vectorcall(PyTuple_GetItem(of, 0), wanted, 2, NULL))) goto done;
        ++filled;
    }
    Object *launches = PyTuple_GetItem(record, LAUNCHES);
    const int keeps_lock = small(slots, filled);
    for (intptr_t at = 0, all = PyTuple_Size(launches); at < all; ++at) {
        Object *each = PyTuple_GetItem(launches, at), *of = PyTuple_GetItem(each, 1), *packed = PyTuple_GetItem(each, 2);
        const unsigned char *places = (const unsigned char *)PyBytes_AsString(of);
        void *arrays[SLOTS];
        const void *numbers[SLOTS];
        for (intptr_t n = 0, size = PyBytes_Size(of); n < size; ++n) arrays[n] = ((Array *)slots[places[n]])->data;
        for (intptr_t n = 0, size = PyTuple_Size(packed); n < size; ++n)
            numbers[n] = PyBytes_AsString(PyTuple_GetItem(packed, n));
        Call call = {(const Launch *)PyBytes_AsString(PyTuple_GetItem(each, 0)), arrays, numbers};
        void *thread = keeps_lock ? NULL : PyEval_SaveThread();
        polyad_parallel(run_launch, &call, call.launch->instances);
        if (thread) PyEval_RestoreThread(thread);
    }
    Object *results = PyTuple_GetItem(record, RESULTS);
    const unsigned char *places = (const unsigned char *)PyBytes_AsString(results);
    if (PyTuple_GetItem(record, SINGLE) == &_Py_TrueStruct) {
        Py_IncRef(result = slots[places[0]]);
    } else if ((result = PyTuple_New(PyBytes_Size(results)))) {
        for (intptr_t n = 0, size = PyBytes_Size(results); n < size; ++n) {
            Py_IncRef(slots[places[n]]);
            PyTuple_SetItem(result, n, slots[places[n]]);
        }
    }
done:
    while (filled > count) Py_DecRef(slots[--filled]);
    return result;
}

/* The result of a call that is in the list *all*; NULL without an error if it is not. */
static Object *replayed(Object *all, Object *const *args, intptr_t count, int out)
{
    const intptr_t size = PyList_Size(all);
    intptr_t words[WORDS];
    const intptr_t bytes = size && count <= SLOTS ? describe(args, count, out, words) * (intptr_t)sizeof *words : 0;
    for (intptr_t at = 0; bytes && at < size; ++at) {
        Object *record = PyList_GetItem(all, at), *by = PyTuple_GetItem(record, KEY);
        if (PyBytes_Size(by) != bytes || memcmp(PyBytes_AsString(by), words, (size_t)bytes)) continue;
        if (out && !lies_apart(args, count, (const unsigned char *)PyBytes_AsString(PyTuple_GetItem(record, SIZES)))) return NULL;
        Py_IncRef(record); /* another thread may take it out of the list meanwhile */
        Object *result = replay(record, args, count);
        Py_DecRef(record);
        return result;
    }
    return NULL;
}

#endif
