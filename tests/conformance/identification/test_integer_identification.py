"""The question that is shown for a choice of an integer operation: of one value, and the answer."""

from __future__ import annotations

import pytest

from mxref.conformance.identification.integer_identification import _shown

# Scale 1 and zero point 5; scale 0x1.a9fbe76c8b439p-7, as a float64 in two words.
_TWO_AND_NAN = (0, 0xFF, 0x3F800000, 5, 0x40000000, 0x7FC00000)
_OF_INT8 = (0xFFFFFF80, 0x7F, *_TWO_AND_NAN[2:])
_SCALE64 = (0xFFFFFF80, 0x7F, 0x3F8A9FBE, 0x76C8B439, 3, 0x3F800000, 0xBE7645A3)


@pytest.mark.parametrize(
    ("format", "probe", "choice", "policy", "answer", "shown"),
    [
        # 2 is 2 + 5, whatever is done with NaN: that question tells nothing of it.
        ("uint8", _TWO_AND_NAN, "nan", "nan=zero", (7, 0), "7fc00000, {} -> 00"),
        ("int8", _OF_INT8, "nan", "nan=lowest", (7, 0x80), "7fc00000, {} -> 80"),
        ("uint8", _TWO_AND_NAN, "nan", "default", None, "7fc00000, {} -> an error"),
        ("uint8", _TWO_AND_NAN, "zero_point", "nan=zero", (7, 0), ""),  # 7 wherever it is added
        # -18.5 units, as near as float32 has it: only where the zero point is added after rounding.
        (
            "int8_scale64",
            _SCALE64,
            "zero_point",
            "default",
            (0x50, 0xF1),
            "be7645a3, scale 3f8a9fbe76c8b439, zero point 3 -> f1",
        ),
    ],
)
def test_what_shows_a_choice_is_the_value_whose_answer_it_changes(
    format: str,
    probe: tuple[int, ...],
    choice: str,
    policy: str,
    answer: tuple[int, ...] | None,
    shown: str,
) -> None:
    said = _shown("quantize_affine", format, choice, policy, [probe], [answer])
    assert said == shown.format("scale 3f800000, zero point 5")
