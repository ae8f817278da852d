/* Convolutions, in a library of their own for each dtype, half types too: products' inner kernel serves them. */

<python>
<bound>

<machine>
<arithmetic>
static Method methods[] = {
    {"bind", bind, FASTCALL, "bind(address, array)"},
    {"convolve", NAME(convolve), FASTCALL, "convolve(out, input, weight, bias, geometry)"},
    {"convolve_weight", NAME(convolve_weight), FASTCALL, "convolve_weight(out, grad, input, geometry)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(convolving)
