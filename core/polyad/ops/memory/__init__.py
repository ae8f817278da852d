"""The memory of a tensor: dtype and device, copies, storage, and what other libraries are shown of it."""
