/* The largest elements of windows, in a library of their own: it is compiled when they are needed first. They run in
   the engine's threads. */

<python>
<bound>

<machine>
<arithmetic>
static Method methods[] = {
    {"bind", bind, FASTCALL, "bind(address, array)"},
    {"max_pool", NAME(max_pool_forward), FASTCALL, "max_pool(out, input, windows)"},
    {"max_pool_backward", NAME(max_pool_backward), FASTCALL, "max_pool_backward(out, grad, input, largest, windows)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(pools)
