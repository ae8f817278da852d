/* A block of 4 x 4 turned over. */
static inline void NAME(turn)(const REAL *from, long apart, REAL *to, long to_apart)
{
    typedef REAL four __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL))));
    const four a = *(const four *)from, b = *(const four *)(from + apart), c = *(const four *)(from + 2 * apart),
               d = *(const four *)(from + 3 * apart);
#if defined(__clang__)
    const four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), AB = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(four *)to = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    *(four *)(to + to_apart) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    *(four *)(to + 2 * to_apart) = __builtin_shufflevector(AB, CD, 0, 1, 4, 5);
    *(four *)(to + 3 * to_apart) = __builtin_shufflevector(AB, CD, 2, 3, 6, 7);
#else
    typedef WORD mask __attribute__((vector_size(4 * sizeof(REAL))));
    const four ab = __builtin_shuffle(a, b, (mask){0, 4, 1, 5}), AB = __builtin_shuffle(a, b, (mask){2, 6, 3, 7});
    const four cd = __builtin_shuffle(c, d, (mask){0, 4, 1, 5}), CD = __builtin_shuffle(c, d, (mask){2, 6, 3, 7});
    *(four *)to = __builtin_shuffle(ab, cd, (mask){0, 1, 4, 5});
    *(four *)(to + to_apart) = __builtin_shuffle(ab, cd, (mask){2, 3, 6, 7});
    *(four *)(to + 2 * to_apart) = __builtin_shuffle(AB, CD, (mask){0, 1, 4, 5});
    *(four *)(to + 3 * to_apart) = __builtin_shuffle(AB, CD, (mask){2, 3, 6, 7});
#endif
}

