"""The Tensor, and the memory that tensors share.

tensor.py        the class: an array, its type, and what it shares and remembers
methods.py       the class that the ops' methods are attached to, from which Tensor inherits
storage.py       memory that several tensors share, with the number of writes to it
subclasses.py    results of the class of an operand that is a subclass
legacy_types.py  FloatTensor and PyTorch's other older names
"""

from .storage import Storage as Storage  # before tensor.py: histories, which it imports, ask for storages
from .tensor import Tensor as Tensor
