/* What polyad_native runs in: a pool of threads, launches of generated kernels, and products by BLAS.

   It is a Python extension that needs no header files: what it uses of CPython is the stable ABI, declared below, and of
   NumPy the first fields of an array, which NumPy 1 and 2 share. Python's side checks both before it is used. */

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---------------------------------------------------------------------------------------------- CPython and NumPy */

typedef struct Object { intptr_t references; struct Object *type; } Object;
typedef Object *(*Fast)(Object *self, Object *const *args, intptr_t count);
typedef struct { const char *name; Fast call; int flags; const char *doc; } Method;
typedef struct {
    Object head; Object *(*init)(void); intptr_t index; Object *copy;
    const char *name; const char *doc; intptr_t size; Method *methods;
    void *slots, *traverse, *clear, *free;
} Module;
typedef struct { Object head; char *data; int rank; intptr_t *shape, *strides; } Array;

enum { FASTCALL = 0x0080, KEYWORDS = 0x0002, ABI = 1013 };

extern Object _Py_NoneStruct, *PyExc_RuntimeError, *PyExc_MemoryError;
extern Object *PyModule_Create2(Module *, int);
extern Object *PyCMethod_New(Method *, Object *self, Object *module, Object *type);
extern Object *PyLong_FromLongLong(long long), *PyBytes_FromStringAndSize(const char *, intptr_t);
extern long long PyLong_AsLongLong(Object *);
extern void *PyLong_AsVoidPtr(Object *);
extern double PyFloat_AsDouble(Object *);
extern char *PyBytes_AsString(Object *);
extern intptr_t PyBytes_Size(Object *), PyTuple_Size(Object *), PySequence_Size(Object *);
extern Object *PyTuple_GetItem(Object *, intptr_t), *PyList_GetItem(Object *, intptr_t);
extern Object *PyErr_Occurred(void);
extern void PyErr_SetString(Object *, const char *);
extern void *PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void *);
extern void Py_IncRef(Object *), Py_DecRef(Object *);
extern Object *PyObject_Vectorcall(Object *, Object *const *, size_t, Object *names), *PyTuple_Pack(intptr_t, ...);

static Object *none(void) { Py_IncRef(&_Py_NoneStruct); return &_Py_NoneStruct; }

/* ---------------------------------------------------------------------------------------------- threads */

typedef void (*Task)(void *context, long part, long parts);

enum { MOST = 256, SPINS = 2000 };

static struct {
    pthread_mutex_t owner;   /* held by the thread whose job runs */
    pthread_mutex_t lock;
    pthread_cond_t wake, finished;
    _Atomic uint64_t next;   /* the job's number in the upper half, its next part in the lower */
    _Atomic uint64_t shape;  /* the job's number, and how many parts it has */
    _Atomic long done;
    Task task;
    void *context;
    _Atomic int sleeping, waiting;
    int wanted, started;
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER, .wanted = 1, .started = 1};

static _Thread_local int inside; /* a job: what it starts runs inline */

static inline void rest(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Does a part of the present job if there is one left. A part is taken by a step of `next` that names its job, so a
   thread that comes late cannot take a part of another; the job lives until the parts that were taken are done. */
static int take_part(void)
{
    uint64_t at = atomic_load(&pool.next), shape = atomic_load(&pool.shape);
    while ((at >> 32) == (shape >> 32) && (uint32_t)at < (uint32_t)shape) {
        if (atomic_compare_exchange_weak(&pool.next, &at, at + 1)) {
            pool.task(pool.context, (long)(uint32_t)at, (long)(uint32_t)shape);
            if (atomic_fetch_add(&pool.done, 1) + 1 == (long)(uint32_t)shape && atomic_load(&pool.waiting)) {
                pthread_mutex_lock(&pool.lock);
                pthread_cond_signal(&pool.finished);
                pthread_mutex_unlock(&pool.lock);
            }
            return 1;
        }
        shape = atomic_load(&pool.shape);
    }
    return 0;
}

static int idle(void)
{
    uint64_t at = atomic_load(&pool.next), shape = atomic_load(&pool.shape);
    return (at >> 32) != (shape >> 32) || (uint32_t)at >= (uint32_t)shape;
}

static void *worker(void *number)
{
    inside = 1;
    for (;;) {
        while (take_part()) {}
        int spin = 0;
        while (spin < SPINS && idle()) { rest(); ++spin; }
        if (spin < SPINS) continue;
        pthread_mutex_lock(&pool.lock);
        atomic_fetch_add(&pool.sleeping, 1);
        while (idle() || (intptr_t)number >= pool.wanted) pthread_cond_wait(&pool.wake, &pool.lock);
        atomic_fetch_sub(&pool.sleeping, 1);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

static void start_threads(void)
{
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (pool.started < pool.wanted) {
        pthread_t thread;
        if (pthread_create(&thread, &detached, worker, (void *)(intptr_t)pool.started)) break;
        ++pool.started;
    }
    pthread_attr_destroy(&detached);
}

static void forked(void)
{
    pthread_mutex_init(&pool.owner, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.finished, NULL);
    atomic_store(&pool.next, 0);
    atomic_store(&pool.shape, 0);
    atomic_store(&pool.sleeping, 0);
    atomic_store(&pool.waiting, 0);
    pool.started = 1;
}

/* Calls task(context, part, parts) for each part, in as many threads as are free. What parts there are must not depend
   on how many threads there are, or results would. */
void polyad_parallel(Task task, void *context, long parts)
{
    if (parts < 2 || pool.wanted < 2 || inside || pthread_mutex_trylock(&pool.owner)) {
        for (long part = 0; part < parts; ++part) task(context, part, parts);
        return;
    }
    if (pool.started < pool.wanted) start_threads();
    uint64_t number = ((atomic_load(&pool.next) >> 32) + 1) & 0xffffffffu;
    pool.task = task;
    pool.context = context;
    atomic_store(&pool.done, 0);
    atomic_store(&pool.shape, number << 32 | (uint64_t)parts);
    atomic_store(&pool.next, number << 32);
    if (atomic_load(&pool.sleeping)) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    inside = 1;
    while (take_part()) {}
    inside = 0;
    for (int spin = 0; spin < SPINS && atomic_load(&pool.done) < parts; ++spin) rest();
    if (atomic_load(&pool.done) < parts) {
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.waiting, 1);
        while (atomic_load(&pool.done) < parts) pthread_cond_wait(&pool.finished, &pool.lock);
        atomic_store(&pool.waiting, 0);
        pthread_mutex_unlock(&pool.lock);
    }
    pthread_mutex_unlock(&pool.owner);
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

typedef void (*Entry)(void *const *arrays, const void *const *numbers, const void *geometry, long long, long long);

typedef struct { Entry entry; long long instances; char geometry[]; } Launch;
typedef struct { const Launch *launch; void **arrays; const void **numbers; } Call;

static void run_launch(void *context, long part, long parts)
{
    const Call *call = context;
    call->launch->entry(call->arrays, call->numbers, call->launch->geometry, part, parts);
}

enum { ARGUMENTS = 64 };

/* launch(arrays, numbers): a tuple of arrays, a list or tuple of bytes. */
static Object *launch(Object *self, Object *const *args, intptr_t count)
{
    const Launch *launch = (const Launch *)PyBytes_AsString(self);
    void *arrays[ARGUMENTS];
    const void *numbers[ARGUMENTS];
    intptr_t held = PyTuple_Size(args[0]), given = PySequence_Size(args[1]);
    if (held < 0 || given < 0) return NULL;
    if (held > ARGUMENTS || given > ARGUMENTS) {
        PyErr_SetString(PyExc_RuntimeError, "a kernel has too many arguments");
        return NULL;
    }
    for (intptr_t n = 0; n < held; ++n) arrays[n] = ((Array *)PyTuple_GetItem(args[0], n))->data;
    for (intptr_t n = 0; n < given; ++n) numbers[n] = PyBytes_AsString(PyList_GetItem(args[1], n));
    Call call = {launch, arrays, numbers};
    void *thread = PyEval_SaveThread();
    polyad_parallel(run_launch, &call, launch->instances);
    PyEval_RestoreThread(thread);
    return none();
}

static Method launch_method = {"launch", launch, FASTCALL, "launch(arrays, numbers)"};

/* launcher(entry, instances, geometry) */
static Object *launcher(Object *self, Object *const *args, intptr_t count)
{
    intptr_t size = PyBytes_Size(args[2]);
    if (size < 0) return NULL;
    Object *held = PyBytes_FromStringAndSize(NULL, (intptr_t)sizeof(Launch) + size);
    if (!held) return NULL;
    Launch *launch = (Launch *)PyBytes_AsString(held);
    launch->entry = (Entry)PyLong_AsVoidPtr(args[0]);
    launch->instances = PyLong_AsLongLong(args[1]);
    memcpy(launch->geometry, PyBytes_AsString(args[2]), (size_t)size);
    Object *made = PyErr_Occurred() ? NULL : PyCMethod_New(&launch_method, held, NULL, NULL);
    Py_DecRef(held);
    return made;
}

/* ---------------------------------------------------------------------------------------------- choosing */

/* A call goes to *native* if an array at a place whose bit is set in *places* has *least* elements, else to *other*. */
static Object *choose(Object *self, Object *const *args, intptr_t count, Object *names)
{
    const long long least = PyLong_AsLongLong(PyTuple_GetItem(self, 2));
    const long long places = PyLong_AsLongLong(PyTuple_GetItem(self, 3));
    for (intptr_t n = 0; n < count; ++n) {
        if (!(places >> n & 1)) continue;
        const Array *array = (const Array *)args[n];
        intptr_t size = 1;
        for (int d = 0; d < array->rank; ++d) size *= array->shape[d];
        if (size >= least) return PyObject_Vectorcall(PyTuple_GetItem(self, 1), args, (size_t)count, names);
    }
    return PyObject_Vectorcall(PyTuple_GetItem(self, 0), args, (size_t)count, names);
}

static Method choose_method = {"choose", (Fast)choose, FASTCALL | KEYWORDS, ""};

/* chooser(other, native, least, places) */
static Object *chooser(Object *self, Object *const *args, intptr_t count)
{
    Object *held = PyTuple_Pack(4, args[0], args[1], args[2], args[3]);
    if (!held) return NULL;
    Object *made = PyCMethod_New(&choose_method, held, NULL, NULL);
    Py_DecRef(held);
    return made;
}

/* ---------------------------------------------------------------------------------------------- arithmetic */

/* Memory of a thread's own, for packed parts of operands; it grows and stays. */
static void *scratch(int purpose, size_t bytes)
{
    static _Thread_local struct { void *at; size_t size; } kept[4];
    if (kept[purpose].size < bytes) {
        free(kept[purpose].at);
        kept[purpose].size = 0;
        if (posix_memalign(&kept[purpose].at, 64, bytes)) return kept[purpose].at = NULL;
        kept[purpose].size = bytes;
    }
    return kept[purpose].at;
}

<functions>
#ifdef POLYAD_VECTOR_MATH /* the library has it for vectors */
__attribute__((simd("notinbranch"))) double exp(double);
#endif
static inline float exp_float(float x) { return polyad_exp(x); }
static inline double exp_double(double x) { return exp(x); }

#if defined(__AVX512F__)
enum { VECTOR = 64, ROWS = 12 };
#elif defined(__AVX2__)
enum { VECTOR = 32, ROWS = 6 };
#elif defined(__aarch64__)
enum { VECTOR = 16, ROWS = 8 };
#else
enum { VECTOR = 16, ROWS = 4 };
#endif

enum { DEPTH = 320, RANK = 16 };

static inline long least(long a, long b) { return a < b ? a : b; }
static inline long up(long a, long b) { return (a + b - 1) / b; }

<arithmetic>
<elements>
/* ---------------------------------------------------------------------------------------------- the extension */

/* layout(array): address, rank, first size and stride as seen here, to be compared with what NumPy says. */
static Object *layout(Object *self, Object *const *args, intptr_t count)
{
    const Array *array = (Array *)args[0];
    const long long words[4] = {(long long)(intptr_t)array->data, array->rank, array->shape[0], array->strides[0]};
    return PyBytes_FromStringAndSize((const char *)words, sizeof words);
}

static Method methods[] = {
    {"chooser", chooser, FASTCALL, "chooser(other, native, least, places)"},
    {"layout", layout, FASTCALL, ""},
    {"launcher", launcher, FASTCALL, "launcher(entry, instances, geometry)"},
    {"product_float", product_float, FASTCALL, "product_float(out, a, b, bias)"},
    {"product_double", product_double, FASTCALL, "product_double(out, a, b, bias)"},
    {"attend_float", attend_float, FASTCALL, "attend_float(out, sums, query, key, value, mask, causal, scale)"},
    {"attend_double", attend_double, FASTCALL, "attend_double(out, sums, query, key, value, mask, causal, scale)"},
    {"attend_back_float", attend_back_float, FASTCALL, ""},
    {"attend_back_double", attend_back_double, FASTCALL, ""},
    {"convolve_float", convolve_float, FASTCALL, "convolve_float(out, input, weight, bias, geometry)"},
    {"convolve_double", convolve_double, FASTCALL, "convolve_double(out, input, weight, bias, geometry)"},
    {"convolve_weight_float", convolve_weight_float, FASTCALL, "convolve_weight_float(out, grad, input, geometry)"},
    {"convolve_weight_double", convolve_weight_double, FASTCALL, "convolve_weight_double(out, grad, input, geometry)"},
    {"max_pool_backward_float", max_pool_backward_float, FASTCALL, ""},
    {"max_pool_backward_double", max_pool_backward_double, FASTCALL, ""},
    {"add_at_float", add_at_float, FASTCALL, ""},
    {"add_at_double", add_at_double, FASTCALL, ""},
    {"running_sum_float", running_sum_float, FASTCALL, ""},
    {"running_sum_double", running_sum_double, FASTCALL, ""},
    {"cross_entropy_float", cross_entropy_float, FASTCALL, ""},
    {"cross_entropy_double", cross_entropy_double, FASTCALL, ""},
    {"copy", copy, FASTCALL, "copy(out, in, size)"},
    {"dropout", dropout, FASTCALL, "dropout(out, kept, in, numbers)"},
    {"set_threads", set_threads, FASTCALL, "set_threads(number)"},
    {NULL, NULL, 0, NULL},
};

static Module definition = {.head = {1, NULL}, .name = "polyad_native_engine", .size = -1, .methods = methods};

__attribute__((visibility("default"))) Object *PyInit_polyad_native_engine(void)
{
    return PyModule_Create2(&definition, ABI);
}
