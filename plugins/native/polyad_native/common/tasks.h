/* Work in parts. What parts there are follows from the sizes of the operands, never from the threads: results would
   depend on them. */

#ifndef POLYAD_TASKS_H
#define POLYAD_TASKS_H

/* Does one of the parts of a job. */
typedef void (*Task)(void *context, long part, long parts);

static inline long least(long a, long b) { return a < b ? a : b; }
static inline long up(long a, long b) { return (a + b - 1) / b; }

#endif
