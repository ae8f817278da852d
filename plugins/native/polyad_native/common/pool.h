/* The pool of threads. */

#ifndef POLYAD_POOL_H
#define POLYAD_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "tasks.h"

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

#endif
