/* Products, in a library of their own for each dtype, half types too, compiled when the first is needed. They run in the
   engine's threads. */

<python>
<bound>

<machine>
<arithmetic>
static Method methods[] = {
    {"bind", bind, FASTCALL, "bind(address, array)"},
    {"product", NAME(product), FASTCALL, "product(out, a, b, bias)"},
    {"quick_product", NAME(quick_product), FASTCALL, "quick_product(empty, dtype, other)"},
    {"quick_rectified", NAME(quick_rectified), FASTCALL, "quick_rectified(empty, dtype, other)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(matrices)
