"""The conformance suite: whether a backend is right. Installed with polyad, needs no file of its repository.

    pytest --pyargs polyad_conformance --polyad-backend=NAME
    polyad conformance NAME --report card.json

    samples/       what is tested: an op, inputs for it, a reference in wide NumPy arithmetic, error cases;
                   one file a family
    modules/       which layers are tested, with what settings and inputs; one file a family
    sample.py      the form of a sample
    patterns.py    samples that many ops share, such as the shapes of an elementwise op
    tolerance.py   how far a result may be off, and why
    checks/        how it is tested: functions that raise AssertionError, so that they can be tested themselves
    test_*.py      one pytest item for each check and sample
    report.py      the score card
    known_bugs.py  strict expected failures that a backend declares

Invariants: references use NumPy alone, neither polyad's ops nor the NumPy backend; a check sees a backend only through
polyad's public behaviour and `polyad.backend.Backend`; what is expected follows from the backend's declared
capabilities.

To add a sample, see `polyad_conformance.samples`. To add a check, write it in ``checks/`` and call it from a
``test_*.py``.
"""
