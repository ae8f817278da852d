"""Programs that are not trained any more: `freeze` and `optimize_for_inference`.

freezing.py   attributes become constants of the program
folding.py    batch norms folded into the layers before them
"""
