"""Programs to ONNX.

exporter.py      `export`: arguments, the capture, what is checked afterwards
program.py       what comes of it: a model in memory, its file
translating.py   a graph's values and nodes as ONNX's: dtypes, constants, views, writes
registry.py      which function translates which op, by opset
element_types.py dtypes as ONNX's
verifying.py     the model in onnxruntime, compared with the program
ops/             the translations by family, as ``polyad.ops`` has them

A function is captured with every composite op that has no translation taken apart, so a translation for each primitive
suffices; a composite has one where ONNX has an op of its own. To add a translation, write a function in the family's
module of ``ops/`` and say ``@translates("name")``; `registry` has the rules.
"""
