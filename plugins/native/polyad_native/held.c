/* Numbers as they lie in memory. HELD is REAL, or the bits of a half type: these become REAL where they are packed, and
   results are rounded once, where they are written. HALF says which half type it is. */

typedef REAL NAME(vector) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL))));

enum { NAME(LANES) = VECTOR / sizeof(REAL), NAME(COLUMNS) = 2 * NAME(LANES) };

enum { BFLOAT16 = 1, FLOAT16 = 2 };

#ifdef HALF
enum { HALVES = 1 };

typedef WORD NAME(words) __attribute__((vector_size(VECTOR)));
typedef HELD NAME(held) __attribute__((vector_size(VECTOR / 2), aligned(sizeof(HELD))));

static inline REAL NAME(wide)(HELD x)
{
    const unsigned int bits = x;
    polyad_float value = {.bits = bits << 16};
    if (HALF == BFLOAT16) return value.number;
    value.bits = (bits & 0x7fff) << 13;
    value.number *= 5.192296858534828e33f; /* 2^112: from the one exponent's bias to the other's */
    value.bits |= ((bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0) | (bits & 0x8000) << 16;
    return value.number;
}

static inline HELD NAME(narrow)(REAL x)
{
    const polyad_float value = {.number = x};
    if (HALF == FLOAT16) return polyad_half(x);
    const unsigned int near = (value.bits + 0x7fff + (value.bits >> 16 & 1)) >> 16;
    return (HELD)(x == x ? near : value.bits >> 16 | 0x40);
}

/* As many numbers as a vector has. Processors' instructions are named where gcc would put a vector together from parts. */
static inline NAME(vector) NAME(load)(const HELD *from)
{
    const NAME(held) bits = *(const NAME(held) *)from;
#if defined(__AVX512F__)
    typedef short halves __attribute__((vector_size(32)));
#else
    typedef short halves __attribute__((vector_size(16)));
#endif
#if HALF == 2 && defined(__AVX512F__)
    return __builtin_ia32_vcvtph2ps512_mask((halves)bits, (NAME(vector)){}, (unsigned short)-1, 4);
#elif HALF == 2 && defined(__F16C__) && defined(__AVX2__)
    return __builtin_ia32_vcvtph2ps256((halves)bits);
#else
#if defined(__AVX512F__) && !defined(__clang__)
    const NAME(words) all = (NAME(words))__builtin_ia32_pmovzxwd512_mask((halves)bits, (NAME(words)){}, (unsigned short)-1);
#elif defined(__AVX2__) && !defined(__clang__)
    const NAME(words) all = (NAME(words))__builtin_ia32_pmovzxwd256((halves)bits);
#else
    const NAME(words) all = __builtin_convertvector(bits, NAME(words));
#endif
    if (HALF == BFLOAT16) return (NAME(vector))(all << 16);
    const NAME(words) scaled = (NAME(words))((NAME(vector))((all & 0x7fff) << 13) * 5.192296858534828e33f);
    return (NAME(vector))(scaled | (((all & 0x7c00) == 0x7c00) & 0x7f800000) | (all & 0x8000) << 16);
#endif
}

static inline void NAME(widen)(const HELD *from, long count, REAL *to)
{
    long n = 0;
    for (; n + NAME(LANES) <= count; n += NAME(LANES)) *(NAME(vector) *)(to + n) = NAME(load)(from + n);
    for (; n < count; ++n) to[n] = NAME(wide)(from[n]);
}

__attribute__((noinline)) static void NAME(round_to)(const REAL *from, long count, HELD *to)
{
    for (long n = 0; n < count; ++n) to[n] = NAME(narrow)(from[n]);
}
#else
enum { HALVES = 0 };

static inline REAL NAME(wide)(HELD x) { return x; }
static inline HELD NAME(narrow)(REAL x) { return x; }
static inline NAME(vector) NAME(load)(const HELD *from) { return *(const NAME(vector) *)from; }
static inline void NAME(widen)(const HELD *from, long count, REAL *to) { memcpy(to, from, sizeof(REAL) * (size_t)count); }
static inline void NAME(round_to)(const REAL *from, long count, HELD *to) { memcpy(to, from, sizeof(REAL) * (size_t)count); }
#endif
