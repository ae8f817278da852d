"""One training step of a parameter, as ops: what a backend fuses into a single pass over memory.

A family's ``_<name>_step`` takes a parameter, its gradient and the optimizer's state of it, and returns the new
parameter and the new state, element by element. The optimizers (`polyad.optim`) carry it out on all parameters of a
group and write the results over the operands (`polyad.optim.update`); a kernel that takes ``out`` does so without
allocating anything, and a backend without a kernel of its own generates one from the body.

What follows from the number of steps taken, such as a bias correction, is computed by an op of 0-d tensors,
``_<name>_rates``, on the parameter's device: nothing has to wait for the device to read a count.

To add an optimizer, declare its step here as a composite, in a module of its family's name, then write the class in
polyad/optim/. A kernel may come later, where a measurement asks for it.
"""
