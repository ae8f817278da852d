/* Attention, in a library of its own for each dtype, half types too: products' inner kernel serves it. */

<python>
<bound>

<machine>
<arithmetic>
static Method methods[] = {
    {"bind", bind, FASTCALL, "bind(address, array)"},
    {"attend", NAME(attend), FASTCALL, "attend(out, sums, query, key, value, mask, causal, scale)"},
    {"attend_back", NAME(attend_back), FASTCALL, ""},
    {NULL, NULL, 0, NULL},
};

LIBRARY(attending)
