"""Kernels that multiply matrices, written for a tile: how many results a work-item or a group has in hand at a time.

Both add the products of a result one after another, from the first on, whatever the tile; whether a product is
rounded before it is added is the driver's affair. Both take the same parameters and three batch dimensions, read the
left operand with any steps, and the right one along dense rows. Which tiles a device is offered is said
in `algorithms`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyad.base.dtypes import DType

from ....source.tiles import ELEMENTS, lanes, prologue

BATCHES = 3
"""Batch dimensions that the kernels walk."""

PARAMETERS = "pqpqpq" + "q" * 15

_PARAMETERS = """__global T *c, long co, __global const T *a, long ao, __global const T *b, long bo,
                   long m, long n, long k, long am, long ak, long bk, long n0, long n1, long n2,
                   long a0, long a1, long a2, long b0, long b1, long b2"""

_BATCH = """
    long at = get_global_id(2), c2 = at % n2, c1 = at / n2 % n1, c0 = at / n2 / n1;
    a += ao + c0 * a0 + c1 * a1 + c2 * a2;
    b += bo + c0 * b0 + c1 * b1 + c2 * b2;
    c += co + at * m * n;
"""


@dataclass(frozen=True, slots=True)
class Registers:
    """A work-item keeps *rows* by *vectors* vectors of results in registers: the tile for CPUs."""

    rows: int
    vectors: int

    def __str__(self) -> str:
        return f"registers {self.rows}x{self.vectors}"

    def fits(self, device: Any, dtype: DType) -> bool:
        return True

    def size(self, dtype: DType, m: int, n: int, batch: int) -> tuple[int, int, int]:
        """Work-items for *batch* products of m by n results."""
        return -(-m // self.rows), -(-n // (self.vectors * lanes(dtype))), batch

    @property
    def local(self) -> tuple[int, int, int]:
        """The local size."""
        return 1, 1, 1

    def source(self) -> str:
        """Rows beyond the last are computed from the last row again, and not stored."""
        rows, vectors = range(self.rows), range(self.vectors)
        accumulators = "".join(f"    V c{r}_{v} = (V)(0);\n" for r in rows for v in vectors)
        starts = "".join(f"    long a{r}_ = min(i + {r}, m - 1) * am;\n" for r in rows)
        products = "".join(
            f"            {{ V x = (V)(load(a, a{r}_ + p * ak)); "
            + " ".join(f"c{r}_{v} += x * y{v};" for v in vectors)
            + " }\n"
            for r in rows
        )
        full = "".join(f"            V y{v} = loadv(b, p * bk + j + {v} * W);\n" for v in vectors)
        stores = "".join(
            f"        if (i + {r} < m) {{ "
            + " ".join(f"storev(c, (i + {r}) * n + j + {v} * W, c{r}_{v});" for v in vectors)
            + " }\n"
            for r in rows
        )
        spilled = "".join(f"        VSTORE(c{r}_{v}, {r * self.vectors + v}, tile);\n" for r in rows for v in vectors)
        return f"""
__kernel void gemm({_PARAMETERS})
{{
{_BATCH}
    long i = get_global_id(0) * {self.rows}, j = get_global_id(1) * {self.vectors} * W;
    int left = (int)min(n - j, (long){self.vectors} * W);
{starts}{accumulators}
    // The last vectors of a row may reach beyond it: what they hold there is computed, and not stored.
    for (long p = 0; p < k; ++p) {{
{full}{products}    }}
    if (left == {self.vectors} * W) {{
{stores}    }} else {{
        S tile[{self.rows * self.vectors} * W];
{spilled}        for (int r = 0; r < {self.rows}; ++r)
            for (int l = 0; l < left; ++l)
                if (i + r < m) store(c, (i + r) * n + j + l, tile[r * {self.vectors} * W + l]);
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Local:
    """A group of work-items shares its operands in local memory: the tile for GPUs.

    Attributes:
        down, across: work-items of a group, along rows and along columns of the result.
        rows, columns: results of a work-item.
        depth: products added between two visits to local memory.
    """

    down: int
    across: int
    rows: int
    columns: int
    depth: int

    def __str__(self) -> str:
        return f"local {self.down * self.rows}x{self.across * self.columns}x{self.depth} by {self.down}x{self.across}"

    def fits(self, device: Any, dtype: DType) -> bool:
        """Whether the device's groups and local memory are large enough."""
        shared = (self.down * self.rows + self.across * self.columns + 2) * self.depth * ELEMENTS[dtype.name].size
        widest = device.handle.max_work_item_sizes
        return (
            self.down * self.across <= device.max_local_size
            and self.across <= widest[0]
            and self.down <= widest[1]
            and shared <= device.handle.local_mem_size
        )

    def size(self, dtype: DType, m: int, n: int, batch: int) -> tuple[int, int, int]:
        """Work-items for *batch* products of m by n results, whole groups."""
        groups_down, groups_across = -(-m // (self.down * self.rows)), -(-n // (self.across * self.columns))
        return groups_across * self.across, groups_down * self.down, batch

    @property
    def local(self) -> tuple[int, int, int]:
        """The local size."""
        return self.across, self.down, 1

    def source(self) -> str:
        """Elements beyond the operands count as 0, and results beyond the matrix are not stored."""
        return f"""
#define DOWN {self.down}
#define ACROSS {self.across}
#define ROWS {self.rows}
#define COLUMNS {self.columns}
#define DEPTH {self.depth}
__kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, 1)))
void gemm({_PARAMETERS})
{{
{_BATCH}
    __local S left[DEPTH][DOWN * ROWS + 1], right[DEPTH][ACROSS * COLUMNS + 1];
    int x = get_local_id(0), y = get_local_id(1), own = y * ACROSS + x;
    long i = (long)get_group_id(1) * DOWN * ROWS, j = (long)get_group_id(0) * ACROSS * COLUMNS;
    int upright = am < ak;
    S sums[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; ++r) for (int s = 0; s < COLUMNS; ++s) sums[r][s] = (S)0;
    for (long p = 0; p < k; p += DEPTH) {{
        // Neighbours among the work-items read neighbours in memory.
        for (int e = own; e < DOWN * ROWS * DEPTH; e += DOWN * ACROSS) {{
            int row = upright ? e % (DOWN * ROWS) : e / DEPTH, q = upright ? e / (DOWN * ROWS) : e % DEPTH;
            left[q][row] = i + row < m && p + q < k ? load(a, (i + row) * am + (p + q) * ak) : (S)0;
        }}
        for (int e = own; e < ACROSS * COLUMNS * DEPTH; e += DOWN * ACROSS) {{
            int column = e % (ACROSS * COLUMNS), q = e / (ACROSS * COLUMNS);
            right[q][column] = j + column < n && p + q < k ? load(b, (p + q) * bk + j + column) : (S)0;
        }}
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int q = 0; q < DEPTH; ++q) {{
            S u[ROWS], v[COLUMNS];
            for (int r = 0; r < ROWS; ++r) u[r] = left[q][y + r * DOWN];
            for (int s = 0; s < COLUMNS; ++s) v[s] = right[q][x + s * ACROSS];
            for (int r = 0; r < ROWS; ++r) for (int s = 0; s < COLUMNS; ++s) sums[r][s] += u[r] * v[s];
        }}
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    for (int r = 0; r < ROWS; ++r) {{
        long row = i + y + r * DOWN;
        for (int s = 0; s < COLUMNS; ++s) {{
            long column = j + x + s * ACROSS;
            if (row < m && column < n) store(c, row * n + column, sums[r][s]);
        }}
    }}
}}
"""


Tile = Registers | Local


def kernel(device: Any, dtype: DType, tile: Tile) -> Any:
    """The compiled kernel of *tile* for *dtype*."""
    what = f"gemm {dtype.name} ({tile})"
    return device.kernel(f"{prologue(dtype)}\n{tile.source()}", "gemm", PARAMETERS, what=what, local=tile.local)
