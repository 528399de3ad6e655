"""Named arithmetics in NumPy's float32 against the same in rounded float64."""

from __future__ import annotations

import numpy as np
import pytest

import mxref
from mxref.bits import single
from mxref.bits.floats import BF16, F16, F32, F64, FloatLayout
from mxref.blocks import named, routes
from mxref.blocks.arithmetics import ARITHMETICS
from mxref.blocks.two_level import TensorScale
from mxref.formats.catalog import (
    E4M3,
    OTHER_BLOCK_FORMATS,
    UE4M3,
    BlockFormat,
    ElementFormat,
    ScaleFormat,
    ScaleKind,
    Specials,
)
from mxref.policy.choices import ScaleArithmetic
from mxref.policy.policy import Policy

BY_STEPS = [name for name, one in ARITHMETICS.items() if one.steps is not None]
#: Stored numbers: 1, usual ones, near both ends of float32, zero, infinity and NaN.
STORED = (0x3F800000, 0x3A5F1D37, 0x45280000, 0x7F123457, 3, 0, 0x7F800000, 0x7FC00000)


def patterns(layout: FloatLayout) -> np.ndarray:
    """Any patterns, and blocks of every binade, of zeros, and with specials."""
    random = np.random.default_rng(layout.width)
    rows = random.integers(0, 1 << layout.width, (700, 16), np.uint64)
    field = random.integers(0, (1 << layout.exponent_bits) - 1, (500, 1))
    field = np.clip(field - random.integers(0, 6, (500, 16)), 0, None).astype(np.uint64)
    below = np.uint64(layout.sign_bit | (1 << layout.mantissa_bits) - 1)
    rows[200:] = rows[200:] & below | field << np.uint64(layout.mantissa_bits)
    rows[:40] &= np.uint64(layout.sign_bit)
    rows[40, 3], rows[41, 3], rows[42, 3] = layout.inf_bits, layout.nan_bits, layout.inf_bits
    return rows.astype(layout.uint)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", [F32, BF16, F16, F64], ids=lambda layout: layout.name)
@pytest.mark.parametrize("arithmetic", BY_STEPS, ids=lambda one: one.value)
@pytest.mark.parametrize("more", ["", "+rounding=toward_negative+nan_to_finite=signed_max"])
def test_blocks_are_those_of_rows(
    arithmetic: ScaleArithmetic, layout: FloatLayout, more: str
) -> None:
    policy = Policy.parse(f"ocp+scale_arithmetic={arithmetic.value}{more}")
    rows = patterns(layout)
    for fmt in (
        one for one in OTHER_BLOCK_FORMATS.values() if one.scale.kind is ScaleKind.SMALL_FLOAT
    ):
        kind = ARITHMETICS[arithmetic].kind
        tensors = [TensorScale(bits, kind) for bits in STORED] if fmt.tensor_scale else [None]
        for tensor in tensors:
            want = routes.quantize_rows(rows, layout, fmt, policy, tensor)
            for beside in (1, 5):
                lanes = np.ascontiguousarray(rows.reshape(-1, beside, 16).swapaxes(1, 2))
                found = routes.quantize_two_levels(lanes, layout, fmt, policy, tensor)
                if found is None:
                    assert tensor is None
                    assert layout in (BF16, F16)
                    assert arithmetic is ScaleArithmetic.COMPRESSED_TENSORS
                    continue
                assert (found[0].reshape(-1) == want[0]).all()
                assert (found[1].swapaxes(1, 2).reshape(rows.shape) == want[1]).all()


def test_which_blocks_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    fmt = OTHER_BLOCK_FORMATS["fp4_ue4m3"]

    def is_taken(text: str, of: BlockFormat = fmt) -> bool:
        lanes = np.zeros((256, 16, 1), np.uint32)
        return named.quantize_named(lanes, F32, of, Policy.parse(f"ocp{text}"), None) is not None

    assert is_taken("+scale_arithmetic=cublas")
    assert not is_taken("")
    assert not is_taken("+scale_arithmetic=transformer_engine_4over6")
    assert not is_taken("+scale_arithmetic=torchao+rounding=stochastic_a")
    assert not is_taken("+scale_arithmetic=torchao+nan_to_finite=error")
    monkeypatch.setattr(named, "single", lambda: single.CAREFUL)
    assert not is_taken("+scale_arithmetic=cublas")


@pytest.mark.parametrize(
    ("element", "scale"),
    [
        (ElementFormat("far", 3, 2, 300), UE4M3),  # a table of float32 keys would have 16 GiB
        (E4M3, ScaleFormat("far", 7, 0, -200, Specials.NONE)),
        (E4M3, ScaleFormat("far", 1, 6, 200, Specials.NONE)),
    ],
)
def test_numbers_that_float32_does_not_hold_are_those_of_few(
    element: ElementFormat, scale: ScaleFormat
) -> None:
    fmt = BlockFormat("far", element, scale, 16)
    values = np.random.default_rng(7).standard_normal((1024, 16)) * 2.0**-100
    values[:, :2] = 0.0, 1e39  # infinity as a float32 number
    for arithmetic in BY_STEPS:
        choices = {"scale_arithmetic": arithmetic.value}
        many = mxref.quantize(values, fmt, **choices)
        few = mxref.quantize(values[:100], fmt, **choices)
        assert many.codes[:100].tolist() == few.codes.tolist()
        assert many.scale_codes[:100].tolist() == few.scale_codes.tolist()
