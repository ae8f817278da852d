/* Memory of a thread's own, for packed parts of operands; it grows and stays. */
static void *scratch(int purpose, size_t bytes)
{
    static _Thread_local struct { void *at; size_t size; } kept[5];
    if (kept[purpose].size < bytes) {
        free(kept[purpose].at);
        kept[purpose].size = 0;
        if (posix_memalign(&kept[purpose].at, 64, bytes)) return kept[purpose].at = NULL;
        kept[purpose].size = bytes;
    }
    return kept[purpose].at;
}

<functions>
#ifdef POLYAD_VECTOR_MATH /* the library has it for vectors */
__attribute__((simd("notinbranch"))) double exp(double);
__attribute__((simd("notinbranch"))) float logf(float);
__attribute__((simd("notinbranch"))) double log(double);
#endif
static inline float exp_float(float x) { return polyad_exp(x); }
static inline double exp_double(double x) { return exp(x); }
static inline float log_float(float x) { return logf(x); }
static inline double log_double(double x) { return log(x); }

#if defined(__AVX512F__)
enum { VECTOR = 64, ROWS = 8, DEPTH = 512 };
#elif defined(__AVX2__)
enum { VECTOR = 32, ROWS = 6, DEPTH = 320 };
#elif defined(__aarch64__)
enum { VECTOR = 16, ROWS = 8, DEPTH = 320 };
#else
enum { VECTOR = 16, ROWS = 4, DEPTH = 320 };
#endif

enum { RANK = 16, FEW = 32, HIGH = 192 / ROWS /* tiles of a product whose rows stay in the cache */ };

static inline long least(long a, long b) { return a < b ? a : b; }
static inline long up(long a, long b) { return (a + b - 1) / b; }
