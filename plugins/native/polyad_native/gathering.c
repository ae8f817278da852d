/* Elements and sums at indices, running sums and cross entropy, in a library of their own: it is compiled when one of
   them is needed first. They run in the engine's threads. */

<python>
<bound>

<machine>
<arithmetic>
static Method methods[] = {
    {"bind", bind, FASTCALL, "bind(address, array)"},
    {"add_at", NAME(add_at), FASTCALL, "add_at(out, source, index, sizes)"},
    {"gather", NAME(gather), FASTCALL, "gather(out, in, index, sizes)"},
    {"running_sum", NAME(running_sum), FASTCALL, "running_sum(out, in, outer, count, inner)"},
    {"cross_entropy", NAME(cross_entropy), FASTCALL, "cross_entropy(out, scores, target, ignored[, grad[, mean]])"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(gathering)
