/* The dtype that a library is compiled for. What is compiled says DTYPE_double, DTYPE_bfloat16 or DTYPE_float16 before
   it includes a library's file; without a word it is float32, as an editor reads the file.

   real is computed in, an element lies in memory as stored, and word is a whole number of real's size. */

#ifndef POLYAD_DTYPE_H
#define POLYAD_DTYPE_H

#define BFLOAT16 1
#define FLOAT16 2

#if defined(DTYPE_double)
typedef double real, stored;
typedef long long word;
#define REAL double
#define DTYPE double
#else
typedef float real;
typedef int word;
#define REAL float
#if defined(DTYPE_bfloat16)
typedef unsigned short stored;
#define DTYPE bfloat16
#define HALF BFLOAT16
#elif defined(DTYPE_float16)
typedef unsigned short stored;
#define DTYPE float16
#define HALF FLOAT16
#else
typedef float stored;
#define DTYPE float
#endif
#endif

/* The function *name* for a type: JOINED(exp, REAL) is exp_float. */
#define JOINED_AS_WRITTEN(name, type) name##_##type
#define JOINED(name, type) JOINED_AS_WRITTEN(name, type)

#endif
