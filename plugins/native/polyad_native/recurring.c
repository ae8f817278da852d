/* Recurrent layers, in a library of their own: it is compiled when one of them is needed first. They run in the engine's
   threads. */

<python>
<bound>

<machine>
enum { LSTM, GRU, TANH, RELU };
enum { SEQUENCES = 16 }; /* of a part */

/* tanh(x) to 2 units in the last place: a polynomial where x is small, else by exp. */
static inline float tanh_float(float x)
{
    const float size = fabsf(x), z = x * x, e = polyad_exp(-2 * size);
    const float p = (((-0.0054535f * z + 0.02041292f) * z - 0.05367054f) * z + 0.13330623f) * z - 0.33333253f;
    return size < 0.66f ? x + x * z * p : copysignf((1 - e) / (1 + e), x);
}
#ifdef POLYAD_VECTOR_MATH
__attribute__((simd("notinbranch"))) double tanh(double);
#endif
static inline double tanh_double(double x) { return tanh(x); }

<arithmetic>
/* ---------------------------------------------------------------------------------------------- the extension */

static Method methods[] = {
    {"bind", bind, FASTCALL, "bind(address, array)"},
    {"run", NAME(run), FASTCALL, "run(kind, reverse, sizes, weight, projection, hidden, cell, backward, arrays)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(recurring)
