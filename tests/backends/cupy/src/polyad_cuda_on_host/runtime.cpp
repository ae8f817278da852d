// The threads of a launch: a fiber each, one block after another, in the order that a schedule says.
//
// A thread runs until it waits for others. What a GPU leaves undefined ends the launch: barriers that some threads of a
// block miss, warp collectives that a named lane never reaches, shuffles from lanes that take no part.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <vector>

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
extern "C" {
uint3 cu_thread, cu_block;
dim3 cu_block_dim, cu_grid_dim;
char *cu_dynamic;
void cu_switch(void **from, void *to);
}
asm(".text\n.globl cu_switch\n.type cu_switch, @function\ncu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

namespace {
constexpr size_t STACK = 1 << 17, MOST = 1024, DYNAMIC = 1 << 18;
struct Fiber {
    void *sp;
    uint3 at;
    unsigned id;
    bool live;
    int wait;          // the line of a barrier that it waits at; below 0: of a warp collective
    unsigned mask;     // of that collective
    uint64_t published, seen;
};
Fiber fibers[MOST];
unsigned threads;
char *stacks;
void *home;
Fiber *me;
void (*body)(void **);
void **arguments;
bool failed;
char message[512];
unsigned votes, counted;
const std::vector<unsigned> *sequence;

void yield() { cu_switch(&me->sp, home); }

void entry() {
    body(arguments);
    me->live = false;
    me->wait = 0;
    for (;;) yield();
}

// A loop over all threads, for kernels whose threads never wait.
void entry_of_all() {
    for (unsigned k = 0; k < threads; ++k) {
        const unsigned i = (*sequence)[k];
        me->id = i;
        cu_thread = fibers[i].at;
        body(arguments);
    }
    me->id = 0;
    me->live = false;
    for (;;) yield();
}

void prepare(Fiber &fiber, unsigned number, void (*start)()) {
    void **top = (void **)(stacks + (number + 1) * STACK - 64);
    *--top = nullptr;
    *--top = (void *)start;
    for (int k = 0; k < 6; ++k) *--top = nullptr;
    fiber.sp = top;
    fiber.live = true;
    fiber.wait = 0;
}

void note(const char *what, int line) {
    if (!failed)
        snprintf(message, sizeof message, "%s (line %d, block %u,%u,%u, thread %u,%u,%u)", what, line, cu_block.x,
                 cu_block.y, cu_block.z, me ? me->at.x : 0, me ? me->at.y : 0, me ? me->at.z : 0);
    failed = true;
}

// Let go the lanes whose collective all of their mask have reached.
bool release_warp(unsigned first) {
    const unsigned end = std::min(first + 32, threads);
    bool any = false;
    for (unsigned i = first; i < end; ++i) {
        Fiber &fiber = fibers[i];
        if (!fiber.live || fiber.wait >= 0) continue;
        if (!(fiber.mask >> (i - first) & 1)) {
            me = &fiber;
            note("a lane calls a warp collective whose mask does not name it", -fiber.wait);
            return false;
        }
        bool all = true;
        for (unsigned j = first; j < end; ++j) {
            if (!(fiber.mask >> (j - first) & 1)) continue;
            if (!fibers[j].live || fibers[j].wait >= 0) {
                all = false;
            } else if (fibers[j].wait != fiber.wait || fibers[j].mask != fiber.mask) {
                me = &fiber;
                note("lanes of a warp meet at different collectives, or name different lanes", -fiber.wait);
                return false;
            }
        }
        if (!all) continue;
        const unsigned mask = fiber.mask;
        for (unsigned j = first; j < end; ++j)
            if (mask >> (j - first) & 1) {
                fibers[j].seen = fibers[j].published;
                fibers[j].wait = 0;
            }
        any = true;
    }
    return any;
}

// Run those of *order* from *begin* to *end* that wait for nobody, once; whether there was any.
bool run_some(const std::vector<unsigned> &order, unsigned begin, unsigned end) {
    bool ran = false;
    for (unsigned k = begin; k < end && !failed; ++k) {
        Fiber &fiber = fibers[order[k]];
        if (!fiber.live || fiber.wait) continue;
        me = &fiber;
        cu_thread = fiber.at;
        ran = true;
        cu_switch(&home, fiber.sp);
    }
    return ran;
}

// *far*: each warp in turn runs as far as it comes without the others, which is as far apart as warps can be.
void run_block(const std::vector<unsigned> &order, bool far) {
    for (unsigned i = 0; i < threads; ++i) prepare(fibers[i], i, entry);
    votes = 0;
    for (;;) {
        bool freed = false;
        const unsigned ahead = threads % 32 && far ? threads % 32 : 32;  // backwards, the last warp may be a short one
        for (unsigned begin = 0, end = far ? ahead : threads; begin < threads; begin = end, end = std::min(end + 32, threads)) {
            run_some(order, begin, end);
            while (far && !failed && release_warp(order[begin] & ~31u)) run_some(order, begin, end);
            if (failed) return;
        }
        for (unsigned warp = 0; warp < threads; warp += 32) freed |= release_warp(warp);
        if (failed) return;
        if (freed) continue;
        unsigned live = 0, ended = 0;
        Fiber *first = nullptr, *other = nullptr, *lane = nullptr;
        for (unsigned i = 0; i < threads; ++i) {
            Fiber &fiber = fibers[i];
            if (!fiber.live) { ++ended; continue; }
            ++live;
            if (fiber.wait < 0) lane = &fiber;
            if (!first) first = &fiber;
            if (fiber.wait != first->wait) other = &fiber;
        }
        if (!live) return;
        if (lane) {
            me = lane;
            note("lanes of a warp wait for lanes that never come: they have ended, or wait elsewhere", -lane->wait);
        } else if (other) {
            me = other;
            note("threads of a block wait at different barriers", other->wait);
        } else if (ended) {
            me = first;
            note("threads of a block wait at a barrier, others have ended", first->wait);
        }
        if (failed) return;
        counted = votes;
        votes = 0;
        for (unsigned i = 0; i < threads; ++i) fibers[i].wait = 0;
    }
}
}  // namespace

extern "C" {
[[noreturn]] void cu_fail(const char *what, int line) {
    note(what, line);
    for (;;) yield();
}
unsigned cu_lane() { return me->id & 31; }
void cu_sync(int line) {
    me->wait = line;
    yield();
}
unsigned cu_sync_count(bool holds, int line) {
    votes += holds;
    cu_sync(line);
    return counted;
}
void cu_warp_sync(unsigned mask, int line) {
    me->mask = mask;
    me->wait = -line;
    yield();
}
uint64_t cu_exchange(unsigned mask, uint64_t mine, int from, int line) {
    const unsigned first = me->id & ~31u;
    me->published = mine;
    cu_warp_sync(mask, line);
    if (from < 0 || from > 31 || first + from >= threads || !(mask >> from & 1))
        cu_fail("a shuffle reads a lane that takes no part", line);
    return fibers[first + from].seen;
}
unsigned cu_ballot(unsigned mask, bool holds, int line) {
    const unsigned first = me->id & ~31u;
    unsigned found = 0;
    me->published = holds;
    cu_warp_sync(mask, line);
    for (unsigned i = 0; i < 32 && first + i < threads; ++i)
        if (mask >> i & 1) found |= unsigned(fibers[first + i].seen) << i;
    return found;
}

// Run *kernel*; what a launch says that went wrong, or null. Schedule 0 takes threads and blocks forwards; 1 takes them
// backwards, each warp as far as it comes; any other shuffles them by that number.
const char *cu_run(void (*kernel)(void **), const unsigned *grid, const unsigned *block, size_t dynamic, void **args,
                   int waits, unsigned schedule, char *shared, size_t shared_bytes) {
    if (!stacks) {
        stacks = (char *)mmap(nullptr, MOST * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                              -1, 0);
        cu_dynamic = (char *)mmap(nullptr, DYNAMIC, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    cu_grid_dim = {grid[0], grid[1], grid[2]};
    cu_block_dim = {block[0], block[1], block[2]};
    threads = block[0] * block[1] * block[2];
    body = kernel;
    arguments = args;
    failed = false;
    me = nullptr;
    std::mt19937 random(schedule);
    std::vector<unsigned> order(threads);
    for (unsigned i = 0; i < threads; ++i) {
        order[i] = schedule == 1 ? threads - 1 - i : i;
        fibers[i].id = i;
        fibers[i].at = {i % block[0], i / block[0] % block[1], i / (block[0] * block[1])};
    }
    sequence = &order;
    const uint64_t blocks = uint64_t(grid[0]) * grid[1] * grid[2];
    std::vector<uint64_t> queue;
    if (schedule > 1) {
        std::shuffle(order.begin(), order.end(), random);
        queue.resize(blocks);
        std::iota(queue.begin(), queue.end(), 0);
        std::shuffle(queue.begin(), queue.end(), random);
    }
    for (uint64_t n = 0; n < blocks && !failed; ++n) {
        const uint64_t at = schedule == 0 ? n : schedule == 1 ? blocks - 1 - n : queue[n];
        cu_block = {unsigned(at % grid[0]), unsigned(at / grid[0] % grid[1]), unsigned(at / (uint64_t(grid[0]) * grid[1]))};
        if (shared_bytes) memset(shared, 0xff, shared_bytes);
        if (dynamic) memset(cu_dynamic, 0xff, dynamic);
        if (waits) {
            run_block(order, schedule == 1);
            continue;
        }
        Fiber &all = fibers[0];
        prepare(all, 0, entry_of_all);
        me = &all;
        cu_switch(&home, all.sp);
        fibers[0].id = 0;
    }
    return failed ? message : nullptr;
}
}

// What the undefined-behaviour sanitizer calls, in place of its library: the launch ends, not the process.
struct Position { const char *file; uint32_t line, column; };
#define UNDEFINED(name, what) \
    extern "C" void __ubsan_handle_##name(Position *at) { cu_fail("undefined behaviour: " what, int(at->line)); }
UNDEFINED(type_mismatch_v1_abort, "a pointer is null, or not aligned to what it points to")
UNDEFINED(add_overflow_abort, "an addition overflows")
UNDEFINED(sub_overflow_abort, "a subtraction overflows")
UNDEFINED(mul_overflow_abort, "a product overflows")
UNDEFINED(negate_overflow_abort, "a negation overflows")
UNDEFINED(divrem_overflow_abort, "a division by zero, or one that overflows")
UNDEFINED(shift_out_of_bounds_abort, "a shift by as many bits as there are, or more, or by less than none")
UNDEFINED(out_of_bounds_abort, "an index outside of its array")
UNDEFINED(vla_bound_not_positive_abort, "an array of no positive size")
UNDEFINED(float_cast_overflow_abort, "a float that is outside of an integer's range")
UNDEFINED(load_invalid_value_abort, "a bool that is neither 0 nor 1")
UNDEFINED(pointer_overflow_abort, "a pointer that leaves the address space, or null with an offset")
UNDEFINED(nonnull_arg_abort, "a null argument")
UNDEFINED(invalid_builtin_abort, "a count of leading or trailing zeros of 0")
UNDEFINED(builtin_unreachable, "what is said to be never reached is reached")
UNDEFINED(missing_return, "a function ends without a value")
