/* CUDA C kernels on the host: each thread of a block is a fiber that runs until a barrier. Blocks come one after another.

   It aborts where threads of a block wait at different barriers, or some have ended while others wait. Shared memory is
   filled with NaN before each block. Threads run in a given order, so that kernels that lack a barrier show it: what
   one thread is to read, another has not written yet, or has overwritten. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define __global__
#define __device__
#define __shared__ static __attribute__((section("cuda_shared")))
#define __syncthreads() host_meet(__LINE__)
#define HOST_THREADS 256
#define HOST_STACK 65536
struct dim { int x; };
static struct dim blockIdx, threadIdx, blockDim, gridDim;
extern char __start_cuda_shared[] __attribute__((weak)), __stop_cuda_shared[] __attribute__((weak));
static ucontext_t host_home, host_fibers[HOST_THREADS];
static char host_stacks[HOST_THREADS][HOST_STACK];
static int host_waits[HOST_THREADS];

static void host_meet(int line)
{
    const int me = threadIdx.x;
    host_waits[me] = line;
    swapcontext(&host_fibers[me], &host_home);
}

static void host_block(void (*body)(void), int order)
{
    const int count = blockDim.x;
    if (__start_cuda_shared) memset(__start_cuda_shared, 0xff, __stop_cuda_shared - __start_cuda_shared);
    for (int at = 0; at < count; ++at) {
        getcontext(&host_fibers[at]);
        host_fibers[at].uc_stack.ss_sp = host_stacks[at];
        host_fibers[at].uc_stack.ss_size = HOST_STACK;
        host_fibers[at].uc_link = &host_home;
        makecontext(&host_fibers[at], body, 0);
    }
    for (int waiting = 1; waiting;) {
        for (int at = 0; at < count; ++at) {
            threadIdx.x = order ? count - 1 - at : at;
            host_waits[threadIdx.x] = 0;
            swapcontext(&host_home, &host_fibers[threadIdx.x]);
        }
        waiting = host_waits[0];
        for (int at = 1; at < count; ++at)
            if (host_waits[at] != waiting) {
                fprintf(stderr, "threads 0 and %d wait at lines %d and %d\n", at, waiting, host_waits[at]);
                abort();
            }
    }
}

static void host_launch(void (*body)(void), int blocks, int threads, int order)
{
    gridDim.x = blocks;
    blockDim.x = threads;
    for (int block = 0; block < blocks; ++block) {
        blockIdx.x = order ? blocks - 1 - block : block;
        host_block(body, order);
    }
}
