/* exp and log of real, which compilers make vectors of. */

#ifndef POLYAD_REAL_MATH_H
#define POLYAD_REAL_MATH_H

#include <math.h>

#include "dtype.h"
#include "vector_math.h"

#ifdef POLYAD_VECTOR_MATH /* the library has it for vectors */
__attribute__((simd("notinbranch"))) double exp(double);
__attribute__((simd("notinbranch"))) float logf(float);
__attribute__((simd("notinbranch"))) double log(double);
#endif
#ifdef DTYPE_double
static inline double real_exp(double x) { return exp(x); }
static inline double real_log(double x) { return log(x); }
#else
static inline float real_exp(float x) { return polyad_exp(x); }
static inline float real_log(float x) { return logf(x); }
#endif

#endif
