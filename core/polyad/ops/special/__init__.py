"""Special functions of mathematics that have no elementary closed form: ``polyad.special``.

Each is a composite, so that every backend has it: expansions in Chebyshev polynomials, asymptotic series, continued
fractions and recurrences. They are right to a few units in the last place, in float32 as in float64; half types are
computed in float32 and rounded once. A backend overrides those of which it has a kernel that is as good and faster.

Of functions with a gradient the formula stands beside the function, in closed form. Where there is none, a gradient
that is asked for raises NotImplementedError.

    series.py             how expansions are evaluated; their coefficients are polyad.tables.special
    error_functions.py    the error function and the normal distribution
    gamma.py              the logarithm of the gamma function and its derivatives
    incomplete_gamma.py   the incomplete gamma functions
    zeta.py               the zeta function of Hurwitz
    bessel.py             Bessel functions and the Airy function
    polynomials.py        orthogonal polynomials
    entropy.py            products with logarithms

Functions that have a name here beside another (``special.expit`` is ``sigmoid``) get it where they are declared.

To add a function: its table in ``tools/special_tables.py``, the composite and its gradient in the module where it
belongs, samples in ``polyad_conformance/samples/special``, whose references come from mpmath.
"""
