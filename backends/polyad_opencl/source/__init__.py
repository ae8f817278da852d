"""OpenCL C for products and convolutions, and what runs generated kernels. Other pieces are in `polyad_kernels.source`.

tiles.py      loading, adding up and storing in registers
generated.py  from an expression of `polyad.codegen` to launches
"""
