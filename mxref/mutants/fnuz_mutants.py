"""Classes B19 and E11: FNUZ gone wrong, whose only special is NaN in the place of -0."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Floats
from mxref.mutants.encoder import by_policy
from mxref.mutants.mutant import Function, Mutants, wrong
from mxref.numbers.element import decode, encode

__all__ = ["FNUZ"]

_FORMATS = ("e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz")
_NAN = 0x80


def _encoder(change: Callable[[U8, NDArray[Any]], NDArray[Any]], times: float = 1) -> Function:
    """An encoder that multiplies its input first and changes its codes."""

    def run(values: NDArray[Any], format: str) -> U8:
        with np.errstate(over="ignore", invalid="ignore"):
            codes = encode(values * values.dtype.type(times), format)
        return change(codes, values).astype(np.uint8)

    return run


def _same(codes: U8, values: NDArray[Any]) -> U8:
    return codes


def _carry_lost(values: NDArray[Any], format: str) -> U8:
    """Codes in which the carry to a power of two above the smallest normal one is lost."""
    codes, step = encode(values, format), 4 if format == "e5m2fnuz" else 8
    is_power = (codes % step == 0) & (codes % 128 > step)
    carried = is_power & (np.abs(values) < np.abs(decode(codes, format)))
    return np.where(carried, codes - step, codes).astype(np.uint8)


def _decoder(change: Callable[[Floats, U8], NDArray[Any]]) -> Function:
    """A decoder whose numbers are changed."""

    def run(codes: U8, format: str) -> NDArray[Any]:
        numbers = decode(codes, format)
        return change(numbers, codes).astype(np.float32)

    return run


def _normal(codes: U8, format: str) -> Floats:
    """Subnormal codes read with a hidden bit: half of what the code one binade up stands for."""
    step = 4 if format == "e5m2fnuz" else 8
    low = (codes & 0x7F) < step
    numbers = decode(
        np.where(low & (codes % 128 > 0), codes + step, codes).astype(np.uint8), format
    )
    return np.where(low, numbers / 2, numbers).astype(np.float32)


_encodes = functools.partial(wrong, op="encode", formats=_FORMATS, floats=("f32",), model="M23")
_decodes = functools.partial(wrong, op="decode", formats=_FORMATS, floats=("f32",), model="M10")
_NONSATURATING = "ocp+overflow=nonsaturating"

FNUZ: Mutants = {
    "B19a negative_zero_is_80: keeps the sign of a zero, which makes it NaN": _encodes(
        _encoder(lambda codes, values: codes | _NAN * ((codes == 0) & np.signbit(values))),
        model="M1",
    ),
    "B19b bias_one_low: encodes with the bias of OCP, one less": _encodes(_encoder(_same, 0.5)),
    "B19c bias_one_high: encodes with a bias one more": _encodes(_encoder(_same, 2)),
    "B19d nan_is_7f: encodes NaN as 7F, as OCP does": _encodes(
        _encoder(lambda codes, values: np.where(np.isnan(values), 0x7F, codes)), model="M1"
    ),
    "B19e overflow_is_nan: encodes what is too large as NaN": _encodes(
        by_policy(overflow="nonsaturating"), model="M4"
    ),
    "B19f overflow_saturates: saturates where overflow is to be NaN": _encodes(
        by_policy(), policy=_NONSATURATING, model="M4"
    ),
    "B19g largest_is_7e: saturates at the number before the largest": _encodes(
        _encoder(lambda codes, values: np.where(codes % 128 == 0x7F, codes - 1, codes))
    ),
    "B19h inf_is_nan: encodes infinity as NaN, though numbers saturate": _encodes(
        _encoder(lambda codes, values: np.where(np.isinf(values), _NAN, codes)), model="M1"
    ),
    "B19i ties_away_fnuz: rounds a tie away from zero": _encodes(
        by_policy(rounding="ties_to_away")
    ),
    "B19j cut_off_fnuz: cuts off instead of rounding": _encodes(by_policy(rounding="toward_zero")),
    "B19k subnormals_flushed_fnuz: encodes what is below the normal numbers as zero": _encodes(
        lambda values, format: np.where(
            encode(values, format) % 128 < (4 if format == "e5m2fnuz" else 8),
            _NAN * np.isnan(values),
            encode(values, format),
        ).astype(np.uint8)
    ),
    "B19l carry_lost_fnuz: loses the carry of the fraction into the exponent": _encodes(
        _carry_lost
    ),
    "E11a code_80_is_zero: reads 80 as -0 instead of NaN": _decodes(
        _decoder(lambda numbers, codes: np.where(codes == _NAN, np.float32(-0.0), numbers))
    ),
    "E11b codes_7f_are_nan: reads 7F and FF as NaN, as OCP does": _decodes(
        _decoder(lambda numbers, codes: np.where(codes % 128 == 0x7F, np.float32(np.nan), numbers))
    ),
    "E11c bias_of_ocp_read: reads with the bias of OCP, one less": _decodes(
        _decoder(lambda numbers, codes: numbers * 2)
    ),
    "E11d bias_one_high_read: reads with a bias one more": _decodes(
        _decoder(lambda numbers, codes: numbers / 2)
    ),
    "E11e top_binade_is_special: reads codes with the largest exponent as NaN": _decodes(
        _decoder(
            lambda numbers, codes: np.where(
                np.abs(numbers) >= 2.0 ** np.floor(np.log2(np.nanmax(numbers))), np.nan, numbers
            )
        )
    ),
    "E11f hidden_bit_fnuz: reads subnormal codes with a hidden bit": _decodes(_normal),
    "E11g subnormals_read_as_zero_fnuz: reads subnormal codes as zero": _decodes(
        lambda codes, format: np.where(
            (codes % 128 < (4 if format == "e5m2fnuz" else 8)) & (codes != _NAN),
            np.float32(0),
            decode(codes, format),
        ).astype(np.float32)
    ),
}
