/* Functions of float in a few instructions each, which a compiler makes vectors of without calling anybody. They stand
   in the engine and in every generated kernel. */

typedef union { unsigned int bits; float number; } polyad_float;

/* exp(x) to 1.1 units in the last place: 2^k times a polynomial in what remains, |r| <= log(2) / 2. The power is applied
   in two halves, so that results below the normal numbers are rounded once. What is 0 is not computed: processors are
   slow at numbers that small, and masked scores are all -infinity. */
static inline float polyad_exp(float x)
{
    const float near = x < -104.0f ? 0.0f : x > 89.0f ? 89.0f : x; /* nan stays */
    polyad_float turned, low, high;
    turned.number = near * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the whole number is in the last bits */
    const float whole = turned.number - 12582912.0f;
    const float r = (near - whole * 0.693359375f) + whole * 2.12194440e-4f;
    const float sum = (((0.001381446691f * r + 0.00836878047f) * r + 0.04166839422f) * r + 0.1666652011f) * r + 0.4999999341f;
    const int k = (int)(turned.bits - 0x4b400000u), half = k >> 1;
    low.bits = (unsigned int)(127 + half) << 23;
    high.bits = (unsigned int)(127 + k - half) << 23;
    const float power = (1.0f + (r + r * r * sum)) * low.number * high.number;
    return x < -104.0f ? 0.0f : power;
}

/* The bits of float16, rounded to nearest, ties to even. */
static inline unsigned short polyad_half(float x)
{
    polyad_float value = {.number = x}, near = value, small = value;
    const unsigned int sign = value.bits & 0x80000000u;
    value.bits ^= sign;
    small.bits = value.bits;
    small.number += 0.5f; /* its last place is the least number of float16 */
    near.bits = value.bits - 0x38000000u + 0xfffu + (value.bits >> 13 & 1);
    const unsigned int finite = value.bits < 0x38800000u ? small.bits - 0x3f000000u : near.bits >> 13;
    const unsigned int whole = value.bits > 0x7f800000u ? 0x7e00u : value.bits >= 0x477ff000u ? 0x7c00u : finite;
    return (unsigned short)(sign >> 16 | whole);
}
