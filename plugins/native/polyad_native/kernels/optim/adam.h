/* A step of Adam, AdamW and AMSGrad. */

#ifndef POLYAD_ADAM_H
#define POLYAD_ADAM_H

#include <math.h>

#include "sgd.h"

#ifdef DTYPE_double
static inline double real_sqrt(double x) { return sqrt(x); }
#else
static inline float real_sqrt(float x) { return sqrtf(x); }
#endif

/* *largest* is NULL but for AMSGrad. */
static inline __attribute__((always_inline)) void adam(
    real *p, const real *g, real *m, real *v, real *largest, long count, const double *numbers, double size, double epsilon)
{
    const int decoupled = numbers[5] != 0, decays = !decoupled && numbers[4] != 0;
    const real shrink = (real)(decoupled ? 1 - numbers[0] * numbers[4] : 1.0), decay = (real)numbers[4];
    const real add1 = (real)(1 - numbers[1]), keep2 = (real)numbers[2], add2 = (real)(1 - numbers[2]);
    const real way = numbers[6] != 0 ? -1 : 1, times = (real)size, eps = (real)epsilon;
#pragma omp simd
    for (long i = 0; i < count; ++i) {
        const real q = p[i] * shrink, d = descent(q, g[i], decay, decays, way);
        const real first = m[i] + (d - m[i]) * add1, second = v[i] * keep2 + d * d * add2;
        m[i] = first;
        v[i] = second;
        real below = second;
        if (largest) {
            const real before = largest[i];
            below = largest[i] = before > second || before != before ? before : second;
        }
        p[i] = q - first / (real_sqrt(below) + eps) * times;
    }
}

#endif
