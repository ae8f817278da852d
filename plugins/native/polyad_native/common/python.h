/* CPython and NumPy without their header files, which many machines lack: of CPython the stable ABI, of NumPy the first
   fields of an array, which NumPy 1 and 2 share. Python's side checks both before anything here is used. */

#ifndef POLYAD_PYTHON_H
#define POLYAD_PYTHON_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct Object { intptr_t references; struct Object *type; } Object;
typedef Object *(*Fast)(Object *self, Object *const *args, intptr_t count);
typedef struct { const char *name; Fast call; int flags; const char *doc; } Method;
typedef struct {
    Object head; Object *(*init)(void); intptr_t index; Object *copy;
    const char *name; const char *doc; intptr_t size; Method *methods;
    void *slots, *traverse, *clear, *free;
} Module;
typedef struct { Object head; char *data; int rank; intptr_t *shape, *strides; } Array;

enum { RANK = 16 }; /* more dimensions than these are left to others */

enum { FASTCALL = 0x0080, KEYWORDS = 0x0002, ABI = 1013 };

extern struct Object PyFloat_Type, PyLong_Type, PyTuple_Type;
extern Object _Py_NoneStruct, _Py_TrueStruct, *PyExc_RuntimeError, *PyExc_MemoryError;
extern Object *PyModule_Create2(Module *, int);
extern Object *PyCMethod_New(Method *, Object *self, Object *module, Object *type);
extern Object *PyLong_FromLongLong(long long), *PyBytes_FromStringAndSize(const char *, intptr_t);
extern long long PyLong_AsLongLong(Object *), PyLong_AsLongLongAndOverflow(Object *, int *);
extern void *PyLong_AsVoidPtr(Object *);
extern double PyFloat_AsDouble(Object *);
extern char *PyBytes_AsString(Object *);
extern intptr_t PyBytes_Size(Object *), PyTuple_Size(Object *), PySequence_Size(Object *);
extern Object *PyTuple_New(intptr_t), *PyTuple_GetItem(Object *, intptr_t), *PySequence_GetItem(Object *, intptr_t);
extern int PyTuple_SetItem(Object *, intptr_t, Object *), PyList_Append(Object *, Object *);
extern intptr_t PyList_Size(Object *);
extern Object *PyList_GetItem(Object *, intptr_t);
extern void *PyCapsule_GetPointer(Object *, const char *);
extern Object *PyCapsule_New(void *, const char *, void *), *PyErr_Occurred(void);
extern void PyErr_SetString(Object *, const char *);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);
extern void Py_IncRef(Object *), Py_DecRef(Object *);
extern Object *PyObject_Vectorcall(Object *, Object *const *, size_t, Object *names), *PyTuple_Pack(intptr_t, ...);

extern int PyType_IsSubtype(struct Object *, struct Object *);

static struct Object *array_type;

static inline int is_array(const Object *value)
{
    return value->type == array_type || PyType_IsSubtype(value->type, array_type);
}

static Object *none(void) { Py_IncRef(&_Py_NoneStruct); return &_Py_NoneStruct; }

/* A callable that holds the first *count* of *args*, which it gets as a tuple. */
static Object *holding(Method *method, Object *const *args, intptr_t count)
{
    Object *held = PyTuple_New(count);
    if (!held) return NULL;
    for (intptr_t n = 0; n < count; ++n) {
        Py_IncRef(args[n]);
        PyTuple_SetItem(held, n, args[n]);
    }
    Object *made = PyCMethod_New(method, held, NULL, NULL);
    Py_DecRef(held);
    return made;
}

#endif
