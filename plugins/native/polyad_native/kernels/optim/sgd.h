/* A step of SGD, without and with momentum. */

#ifndef POLYAD_SGD_H
#define POLYAD_SGD_H

#include "../../common/dtype.h"

/* The gradient of what is minimised; *way* is 1, or uphill -1. Compilers write a loop for each choice that is left, so
   what a factor of 1 can say is said by a factor. */
static inline real descent(real p, real g, real decay, int decays, real way)
{
    return decays ? p * decay + g * way : g * way;
}

static void sgd(real *p, const real *g, long count, const double *numbers)
{
    const real lr = (real)numbers[0], decay = (real)numbers[1];
    const real way = numbers[2] != 0 ? -1 : 1;
    const int decays = numbers[1] != 0;
#pragma omp simd
    for (long i = 0; i < count; ++i) p[i] = p[i] - descent(p[i], g[i], decay, decays, way) * lr;
}

static void momentum(real *p, const real *g, real *m, long count, const double *numbers)
{
    const real lr = (real)numbers[0], keep = (real)numbers[1], add = (real)(1 - numbers[2]), decay = (real)numbers[3];
    const real way = numbers[5] != 0 ? -1 : 1;
    const int decays = numbers[3] != 0, nesterov = numbers[4] != 0;
#pragma omp simd
    for (long i = 0; i < count; ++i) {
        const real d = descent(p[i], g[i], decay, decays, way);
        const real b = m[i] * keep + d * add;
        m[i] = b;
        p[i] = p[i] - (nesterov ? b * keep + d : b) * lr;
    }
}

#endif
