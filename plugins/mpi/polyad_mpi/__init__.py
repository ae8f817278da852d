"""The engine "mpi" of `polyad.distributed`: collectives by an MPI library, through mpi4py.

plugin.py   what pluggy reads
joining.py  how processes that no ``mpiexec`` started become one MPI job
engine.py   operations, each by one call of MPI
reducing.py which MPI operation reduces which dtype; half types are reduced by functions of their own
"""
