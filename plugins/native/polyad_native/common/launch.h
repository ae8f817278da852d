/* Launches of generated kernels. */

#ifndef POLYAD_LAUNCH_H
#define POLYAD_LAUNCH_H

#include "pool.h"

typedef void (*Entry)(void *const *arrays, const void *const *numbers, const void *geometry, long long, long long);

typedef struct { Entry entry; long long instances; char geometry[]; } Launch;
typedef struct { const Launch *launch; void **arrays; const void **numbers; } Call;

static void run_launch(void *context, long part, long parts)
{
    const Call *call = context;
    call->launch->entry(call->arrays, call->numbers, call->launch->geometry, part, parts);
}

enum { ARGUMENTS = 64 };

#endif
