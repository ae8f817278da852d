/* What polyad_native runs in: a pool of threads, launches of generated kernels, and the choice between kernels.

   It is a Python extension that needs no header files: what it uses of CPython is the stable ABI, declared below, and of
   NumPy the first fields of an array, which NumPy 1 and 2 share. Python's side checks both before it is used. */

<python>
<memory>
/* ---------------------------------------------------------------------------------------------- threads */

typedef void (*Task)(void *context, long part, long parts);

enum { MOST = 255, PARTS = (1 << 24) - 1, SPIN = 200 /* microseconds */ };

static struct {
    pthread_mutex_t owner;   /* held by the thread whose job runs */
    pthread_mutex_t lock;
    pthread_cond_t wake, finished;
    _Atomic uint64_t job;    /* its number in the upper half, then 8 bits for its threads and 24 for its parts */
    _Atomic long done;
    Task task;
    void *context;
    _Atomic int sleeping, waiting;
    int wanted, started;
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER, .wanted = 1, .started = 1};

/* The next part of each thread's share, below the job's number. */
static struct { _Alignas(64) _Atomic uint64_t next; } shares[MOST];

static _Thread_local int inside; /* a job: what it starts runs inline */

static inline void rest(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline long threads_of(uint64_t job) { return (long)(job >> 24 & 0xff); }
static inline long parts_of(uint64_t job) { return (long)(job & PARTS); }

/* Does a part of *job* if there is one left: of the thread's own share, else of another's. Shares are the same for each
   job with as many parts, so that a thread mostly reads what it wrote before. A part is taken by a step of `next` that
   names its job, so a thread that comes late cannot take a part of another; the job lives until the parts that were
   taken are done. */
static int take_part(uint64_t job, long thread)
{
    const long threads = threads_of(job), parts = parts_of(job);
    for (long turn = 0; turn < threads; ++turn) {
        const long share = (thread + turn) % threads;
        const uint64_t end = (job >> 32) << 32 | (uint64_t)(parts * (share + 1) / threads);
        uint64_t at = atomic_load(&shares[share].next);
        while (at >> 32 == job >> 32 && at < end) {
            if (!atomic_compare_exchange_weak(&shares[share].next, &at, at + 1)) continue;
            pool.task(pool.context, (long)(uint32_t)at, parts);
            if (atomic_fetch_add(&pool.done, 1) + 1 == parts && atomic_load(&pool.waiting)) {
                pthread_mutex_lock(&pool.lock);
                pthread_cond_signal(&pool.finished);
                pthread_mutex_unlock(&pool.lock);
            }
            return 1;
        }
    }
    return 0;
}

static int64_t microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Rests until *condition* holds, but not long. */
#define SPIN_UNTIL(condition)                                                               \
    for (int64_t n = 1, end = microseconds() + SPIN; !(condition); ++n) {                   \
        rest();                                                                             \
        if (n % 64 == 0 && microseconds() > end) break;                                     \
    }

static void *worker(void *number)
{
    const long thread = (long)(intptr_t)number;
    uint64_t last = 0;
    inside = 1;
    for (;;) {
        const uint64_t job = atomic_load(&pool.job);
        if (job != last) {
            while (thread < threads_of(job) && take_part(job, thread)) {}
            last = job;
        }
        SPIN_UNTIL(atomic_load(&pool.job) != last)
        if (atomic_load(&pool.job) != last) continue;
        pthread_mutex_lock(&pool.lock);
        atomic_fetch_add(&pool.sleeping, 1);
        while (atomic_load(&pool.job) == last || thread >= pool.wanted) pthread_cond_wait(&pool.wake, &pool.lock);
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
    atomic_store(&pool.job, 0);
    atomic_store(&pool.sleeping, 0);
    atomic_store(&pool.waiting, 0);
    pool.started = 1;
}

/* Calls task(context, part, parts) for each part, in as many threads as are free. What parts there are must not depend
   on how many threads there are, or results would. */
void polyad_parallel(Task task, void *context, long parts)
{
    if (parts < 2 || parts > PARTS || pool.wanted < 2 || inside || pthread_mutex_trylock(&pool.owner)) {
        for (long part = 0; part < parts; ++part) task(context, part, parts);
        return;
    }
    if (pool.started < pool.wanted) start_threads();
    const uint64_t number = ((atomic_load(&pool.job) >> 32) + 1) << 32, threads = (uint64_t)pool.wanted;
    const uint64_t job = number | threads << 24 | (uint64_t)parts;
    pool.task = task;
    pool.context = context;
    atomic_store(&pool.done, 0);
    for (uint64_t share = 0; share < threads; ++share)
        atomic_store(&shares[share].next, number | (uint64_t)parts * share / threads);
    atomic_store(&pool.job, job);
    if (atomic_load(&pool.sleeping)) {
        pthread_mutex_lock(&pool.lock);
        pthread_cond_broadcast(&pool.wake);
        pthread_mutex_unlock(&pool.lock);
    }
    inside = 1;
    while (take_part(job, 0)) {}
    inside = 0;
    SPIN_UNTIL(atomic_load(&pool.done) >= parts)
    if (atomic_load(&pool.done) < parts) {
        pthread_mutex_lock(&pool.lock);
        atomic_store(&pool.waiting, 1);
        while (atomic_load(&pool.done) < parts) pthread_cond_wait(&pool.finished, &pool.lock);
        atomic_store(&pool.waiting, 0);
        pthread_mutex_unlock(&pool.lock);
    }
    pthread_mutex_unlock(&pool.owner);
}

/* How many threads a job that starts here has. */
long polyad_threads(void) { return inside ? 1 : pool.wanted; }

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

typedef void (*Entry)(void *const *arrays, const void *const *numbers, const void *geometry, long long, long long);

typedef struct { Entry entry; long long instances; char geometry[]; } Launch;
typedef struct { const Launch *launch; void **arrays; const void **numbers; } Call;

static void run_launch(void *context, long part, long parts)
{
    const Call *call = context;
    call->launch->entry(call->arrays, call->numbers, call->launch->geometry, part, parts);
}

enum { ARGUMENTS = 64 };

<repeating>
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
    for (intptr_t n = 0; n < held; ++n) {
        Object *array = PyTuple_GetItem(args[0], n);
        if (!is_array(array)) {
            PyErr_SetString(PyExc_RuntimeError, "a kernel was given what is no array");
            return NULL;
        }
        arrays[n] = ((Array *)array)->data;
    }
    for (intptr_t n = 0; n < given; ++n) {
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

/* A call goes to *native* if an array at a place whose bit is set in *places* has *least* elements, unless it is among
   those that are *known*; else to *other*, or where no array is given for the result, to *plain*. */
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
            Object *result = repeated(PyTuple_GetItem(self, 5), args, count + out, out);
            if (result || PyErr_Occurred()) return result;
        }
        return PyObject_Vectorcall(PyTuple_GetItem(self, 1), args, (size_t)count, names);
    }
    return PyObject_Vectorcall(PyTuple_GetItem(self, names ? 0 : 4), args, (size_t)count, names);
}

static Method choose_method = {"choose", (Fast)choose, FASTCALL | KEYWORDS, ""};

/* chooser(other, native, least, places, plain, known) */
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
    {"chooser", chooser, FASTCALL, "chooser(other, native, least, places, plain, known)"},
    {"key", key, FASTCALL, "key(args, out)"},
    {"addresses", addresses, FASTCALL, "addresses(): of polyad_parallel and polyad_threads"},
    {"layout", layout, FASTCALL, ""},
    {"launcher", launcher, FASTCALL, "launcher(entry, instances, geometry)"},
    {"watch", watch, FASTCALL, "watch(launches)"},
    {"set_threads", set_threads, FASTCALL, "set_threads(number)"},
    {NULL, NULL, 0, NULL},
};

static Module definition = {.head = {1, NULL}, .name = "polyad_native_engine", .size = -1, .methods = methods};

__attribute__((visibility("default"))) Object *PyInit_polyad_native_engine(void)
{
    return PyModule_Create2(&definition, ABI);
}
