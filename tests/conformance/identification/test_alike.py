"""Members that are one function before any question, by facts about the float types."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.cases.answers import exact_answers
from mxref.conformance.identification.alike import alike
from mxref.conformance.identification.setting import Setting
from mxref.policy.policy import Policy


@pytest.mark.parametrize(
    ("where", "choice", "group"),
    [
        # The types that hold every number of the float type. A float16 that was rounded to bfloat16
        # first may be beyond float16, but an amax alone is not rounded first.
        ("quantize mxfp8_e4m3 f16", "amax_type", ("source", "float32")),
        ("shared_scale e4m3 f16", "amax_type", ("source", "float32", "float16")),
        ("quantize mxfp8_e4m3 bf16", "amax_type", ("source", "float32", "bfloat16")),
        ("quantize mxfp8_e4m3 f32", "amax_type", ("source", "float32")),
        ("quantize mxfp8_e4m3 f64", "amax_type", ()),
        # A logarithm in float32 is wrong a few steps of float32 below a power of two: closer than
        # numbers of 16 bits lie. Subnormal numbers of float16, not those of bfloat16, are normal
        # in float32.
        (
            "quantize mxfp8_e4m3 f16",
            "scale_rule",
            ("floor", "floor_exponent_field", "floor_log2_float32"),
        ),
        ("quantize mxfp8_e4m3 bf16", "scale_rule", ("floor", "floor_log2_float32")),
        ("quantize mxfp8_e4m3 f32", "scale_rule", ()),
    ],
)
def test_what_is_one_function_whatever_else_is_chosen(
    where: str, choice: str, group: tuple[str, ...]
) -> None:
    groups = [some for some, _ in alike(Setting(*where.split()), choice) if len(some) > 1]
    assert groups == ([group] if group else [])


def test_the_largest_float16_is_beyond_it_once_it_is_rounded_to_bfloat16() -> None:
    """65504 becomes 65536: of scale 2**(16 - 8) for E4M3, or an infinity."""
    block = tuple(np.float16([65504, *[0] * 31]).view(np.uint16).tolist())

    def scale(amax_type: str) -> int:
        policy = Policy().replace(pre_rounding="bfloat16", amax_type=amax_type)
        return exact_answers("quantize", "mxfp8_e4m3", "f16", [block], policy)[0][0]

    assert scale("source") == scale("float32") == 127 + 8
    assert scale("float16") == 0xFE
