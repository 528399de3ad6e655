"""Which clause decides the answer of a dot product, and whether the standard requires it."""

from __future__ import annotations

from fractions import Fraction

from mxref.bits.floats import LAYOUTS
from mxref.golden.case_inputs import Why, Words
from mxref.operations.product_words import SCALED_PAIRS, numbers, operands

__all__ = ["product_reason"]

#: Bits of bfloat16, and the exponents of float16: what fits both is exact in any float type.
_BITS, _LOWEST, _HIGHEST = 8, -14, 15
#: The clause about each pair of blocks of 16, which the standard has not.
_SCALED_CLAUSES = dict(zip(SCALED_PAIRS, ("N42", "N41", "N43", "N41", "N42"), strict=True))


def product_reason(format: str, float: str, inputs: Words, answer: Words) -> Why:
    """Whether the standard requires an answer whatever the precision of the sum, and the clause.

    It requires answers where a scale or an element is NaN or infinite, and where operands and sums
    have 8 bits and exponents of float16, so that every order is exact: MX 6.1 leaves open precision
    and order.

    >>> product_reason("mxfp8_e4m3-mxfp8_e4m3", "f32", (127, 56, 127, 56), (0x3F800000,))
    (True, 'MX-6.1', ('one_product',))
    """
    layout, bits = LAYOUTS[float], answer[0] & (LAYOUTS[float].sign_bit - 1)
    sides = numbers(inputs, format)
    products = None if sides is None else [x * y for x, y in zip(*sides, strict=True)]
    blocks = len(operands(inputs, format)[0].scales)
    clause = "MX-6.2" if blocks > 1 else "MX-6.1"
    flags = {
        "nan": bits > layout.inf_bits,
        "inf": products is None and bits == layout.inf_bits,
        "one_product": products is not None and sum(map(bool, products)) == 1,
        "zero": answer[0] == 0,
        "subnormal": 0 < bits < 1 << layout.mantissa_bits,
        "overflow": products is not None and bits == layout.inf_bits,
    }
    raised = tuple(name for name, is_set in flags.items() if is_set)
    if format in SCALED_PAIRS:
        is_sum = products is not None and sum(map(bool, products)) > 1
        return False, "N43" if is_sum else _SCALED_CLAUSES[format], raised
    if sides is None or products is None:
        return True, clause, raised
    parts = [abs(number) for side in sides for number in side if number]
    some = [abs(product) for product in products if product]
    scale = max((product.denominator for product in some), default=1)
    units = [int(product * scale) for product in some]
    unit = min((n & -n for n in units), default=1)
    coarse = (
        all(Fraction(2) ** _LOWEST <= part < 2 ** (_HIGHEST + 1) for part in parts)
        and sum(units) <= unit << _BITS
        and unit * 2**-_LOWEST >= scale
        and sum(units) <= scale << _HIGHEST
    )
    return (True, clause, raised) if coarse or not some else (False, "N43", raised)
