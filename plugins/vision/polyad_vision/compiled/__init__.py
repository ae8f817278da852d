"""What torchvision has in compiled libraries, in polyad's ops: ``torch.ops.torchvision`` and ``torch.ops.image``.

torchvision asks for its libraries when it is imported; `polyad.ops.load_library` then calls ``register()`` of the
module that the entry point group ``polyad.op_libraries`` declares for one.

ops.py          torchvision's ops: what is registered
boxes.py        non-maximum suppression
regions.py      what regions of interest are pooled by
deformable.py   the deformable convolution
images.py       pictures' files, by Pillow
"""
