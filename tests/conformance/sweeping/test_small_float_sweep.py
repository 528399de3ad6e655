"""Sweeps of blocks under scales that are small floats: what is asked, and planted bugs.

Thresholds are compared with answers to all inputs, and with fractions, here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import right_calls
from helpers import sentence
from json_tables import cases
from sweep_helpers import OWN, findings, target

import mxref
from mxref import exact
from mxref.bits.floats import F32, LAYOUTS
from mxref.conformance import TargetError
from mxref.conformance.sweeping.block_sweep import sweep_blocks
from mxref.conformance.sweeping.block_tally import BlockTally
from mxref.conformance.sweeping.plan import OwnTarget, Plan
from mxref.conformance.sweeping.plans import plans
from mxref.conformance.sweeping.scale_runs import element_steps, scale_runs, tensor_scales
from mxref.conformance.sweeping.small_float_blocks import below
from mxref.conformance.sweeping.small_float_scales import SmallFloatScales
from mxref.conformance.sweeping.sweep import Swept, sweep, sweeps
from mxref.conformance.sweeping.sweep_text import finding_lines, swept_json
from mxref.formats.catalog import E2M1, UE4M3, UE5M3, block_format
from mxref.operations.blocks import TENSOR_KINDS
from mxref.policy.policy import Policy

Array = np.ndarray[Any, Any]
OCP = Policy()
ARITHMETICS = ("exact", "torchao", "transformer_engine", "cublas", "compressed_tensors")
FOUR_OVER_SIX = "ocp+scale_arithmetic=transformer_engine_4over6"


def under(arithmetic: str) -> Policy:
    return Policy().replace(scale_arithmetic=arithmetic)


def plan_of(source: Any, op: str, format: str, float: str = "f32", policy: Policy = OCP) -> Plan:
    (one,) = plans(source, op, (format,), float, policy, digest=False, inputs=(0, None))
    return one


def place(format: str, code: int, float: str = "f32", tensor: int = 0) -> int:
    """The part that asks about a scale code under a tensor scale."""
    tensors, runs = tensor_scales(format, OCP), scale_runs(format, float, OCP)
    (index,) = (i for i, one in enumerate(runs) if (one.tensor, one.code) == (tensor, code))
    return len(tensors) + index


# --- what is right passes -------------------------------------------------------------------------


def test_mxref_is_right_and_the_sweep_says_what_it_asked() -> None:
    whole = sweep(OWN, "quantize", "fp4_ue4m3", "f16")
    assert (whole.passed, whole.tally.wrong, whole.cases > 5_000_000) == (True, 0, True)
    assert whole.coverage == (
        "asked every largest magnitude and every number under each of 127 scales; zeros, "
        "infinities and NaN in every place; complete for kernels whose scale depends on the "
        "largest magnitude alone, and an element's code on its number and the scale alone"
    )
    assert sweep(OWN, "quantize", "fp4_ue4m3", "f16", end=2).coverage == ""
    assert sweep(OWN, "dequantize", "mxfp4_e2m1").coverage == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("float", ["f32", "bf16", "f16"])
def test_mxref_is_right_under_tensor_scales(arithmetic: str, float: str) -> None:
    policy = under(arithmetic)
    plan = plan_of(OwnTarget(policy), "quantize", "nvfp4", float, policy)
    tensors = len(tensor_scales("nvfp4", policy))
    some = [*range(tensors), *range(tensors, plan.end, 97)]
    found = [sweep_blocks(plan, index) for index in some]
    assert [part.found for part in found] == [()] * len(some)
    assert sum(part.cases for part in found) > 50_000


@pytest.mark.parametrize("arithmetic", [*ARITHMETICS, "transformer_engine_4over6"])
@pytest.mark.sampled(3)
def test_mxref_dequantizes_everything(arithmetic: str) -> None:
    policy = under(arithmetic)
    swept = sweep(OwnTarget(policy), "dequantize", "nvfp4", "f32", policy)
    # 16 codes in 16 places under 128 scale codes and 8 tensor scales.
    assert (swept.cases, swept.passed) == (16 * 16 * 128 * 8, True)
    assert sweep(OWN, "dequantize", "fp4_ue5m3", "bf16").cases == 16 * 16 * 256


def test_what_is_said_of_tensor_scales() -> None:
    (kind,) = {one.kind.value for one in tensor_scales("nvfp4", OCP) if one is not None}
    said = SmallFloatScales().coverage(plan_of(OWN, "dequantize", "nvfp4"))
    assert kind == "factor"
    assert said == (
        "asked each of the 16 codes in every place under each of the 128 scale codes under the "
        "tensor scales (factor) 1, 0.3720238 (of a tensor with amax 1000), 2688, 0.125, "
        "0.3333333, 4.408104e-39, 1.401298e-45, 3.402823e+38"
    )
    quantized = SmallFloatScales().coverage(plan_of(OWN, "quantize", "fp4_ue5m3"))
    assert quantized.startswith("asked both sides of every threshold of the scale and of the ")
    assert "under each of 255 scales; zeros" in quantized
    # A tensor with amax 1000 has the scale 1000 / 2688; its amax is what Transformer Engine stores.
    for arithmetic, number in (
        ("exact", np.float32(1000) / np.float32(2688)),
        ("transformer_engine", 1000),
        ("cublas", 2.688),
    ):
        derived = tensor_scales("nvfp4", under(arithmetic))[1]
        assert derived is not None
        assert derived.value == float(np.float32(number))


def test_other_block_formats_are_swept_without_being_named() -> None:
    def quantize(values: Array, format: str) -> tuple[Array, Array]:
        return right_calls.quantized(values, format)

    named = {"quantize": quantize, "FORMATS": ["fp4_ue4m3", "mxfp4_e2m1"]}
    for policy, formats in (
        (OCP, ["mxfp4_e2m1", "fp4_ue4m3"]),
        (Policy.parse("ocp+scale_rule=ceil"), ["mxfp4_e2m1"]),  # a choice of E8M0 scales
    ):
        found = sweeps(target(**named), "quantize", (), "bf16", policy, end=1)
        assert [one.file.format for one in found] == formats


@pytest.mark.parametrize(("format", "policy", "said"), cases(__file__, "not swept"))
def test_policies_that_are_not_swept(format: str, policy: str, said: str) -> None:
    chosen = Policy.parse(policy)
    text = sentence(ValueError, lambda: sweep(OWN, "quantize", format, "f32", chosen))
    assert text.startswith(f"policy of a sweep of {format} must {said}")
    assert text.endswith(f", got {chosen}")


def test_formats_of_other_operations() -> None:
    text = sentence(ValueError, lambda: sweep(OWN, "encode", "nvfp4"))
    assert "got the block format 'nvfp4': use 'e2m1', or sweep quantize" in text
    only = target(quantize=lambda values, format: None, FORMATS=["mxfp4_e2m1"])
    text = sentence(TargetError, lambda: sweep(only, "quantize", "nvfp4"))
    assert text.endswith("does not cover quantize of nvfp4 with f32, but of mxfp4_e2m1")


# --- what is asked --------------------------------------------------------------------------------


def asked(plan: Plan, index: int) -> Array:
    """The blocks of a part, without the tensor scale."""
    questions = SmallFloatScales().questions(plan, index)
    return questions.inputs[:, -block_format(plan.file.format).elements_per_block :]


def scaled(blocks: Any, float: str, arithmetic: str, tensor: int | None) -> list[Any]:
    """Scale codes and codes by the slow twin."""
    how = {name: OCP.choices()[name] for name in ("zero_sign", "nan_to_finite")}
    _, found = exact.quantize_scaled(blocks, float, "e2m1", "ue4m3", arithmetic, tensor, **how)
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("tensor", [0, 1, 6])  # 1, one of a tensor with amax 1000, 2**-149
def test_every_threshold_of_bfloat16_elements_is_asked_in_every_place(
    arithmetic: str, tensor: int
) -> None:
    """Against the answers to all numbers under a fixed largest magnitude."""
    policy = under(arithmetic)
    plan = plan_of(OWN, "quantize", "nvfp4", "bf16", policy)
    scale = tensor_scales("nvfp4", policy)[tensor]
    assert scale is not None
    runs = [one for one in scale_runs("nvfp4", "bf16", policy) if one.tensor == tensor]
    run = runs[len(runs) // 2]
    index = plan.parts()[-1] + 1 - len(scale_runs("nvfp4", "bf16", policy))
    index += scale_runs("nvfp4", "bf16", policy).index(run)
    blocks = asked(plan, index)
    for sign in (0, 0x8000):
        every = [bits | sign for bits in range(run.last + 1)]
        ((code, codes),) = scaled([[run.last, *every]], "bf16", arithmetic, scale.bits)
        assert code == run.code
        changes = [i for i in range(run.last) if codes[i + 1] != codes[i + 2]]
        assert len(changes) >= 7 or tensor == 6
        steps = element_steps("nvfp4", "bf16", policy, scale, run.last)[sign != 0]
        assert steps.starts.tolist() == [0, *(i + 1 for i in changes)]
        for bits in changes:
            for one in (bits, bits + 1):
                assert (blocks == (one | sign)).any(axis=0).all()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("tensor", [0, 1, 6])
def test_every_threshold_of_the_scale_is_asked_in_every_place(arithmetic: str, tensor: int) -> None:
    """Against the scale codes of all float16 numbers as the largest magnitude."""
    policy, layout = under(arithmetic), LAYOUTS["f16"]
    scale = tensor_scales("nvfp4", policy)[tensor]
    assert scale is not None
    every = range(1, layout.inf_bits)
    codes = [code for code, _ in scaled([[bits] for bits in every], "f16", arithmetic, scale.bits)]
    firsts = [1, *(bits + 1 for bits in every[:-1] if codes[bits - 1] != codes[bits])]
    lasts = [*(bits - 1 for bits in firsts[1:]), every[-1]]
    runs = [one for one in scale_runs("nvfp4", "f16", policy) if one.tensor == tensor]
    assert [(one.first, one.last) for one in runs] == list(zip(firsts, lasts, strict=True))
    assert [one.code for one in runs] == [codes[bits - 1] for bits in firsts]
    assert len(runs) > 20 or tensor == 6
    plan = plan_of(OWN, "quantize", "nvfp4", "f16", policy)
    begin = plan.end - len(scale_runs("nvfp4", "f16", policy))
    for run in runs[:: max(1, len(runs) // 2)]:
        blocks = asked(plan, begin + scale_runs("nvfp4", "f16", policy).index(run))
        magnitudes = blocks & np.uint64(0x7FFF)
        largest = magnitudes.max(axis=1)
        assert set(largest.tolist()) == set(range(run.first, run.last + 1))
        assert set(magnitudes.reshape(-1).tolist()) >= set(range(run.last + 1))
        for end in {run.first, run.last}:
            for bits in (end, end | 0x8000):
                there = (blocks == bits) & (largest == end)[:, np.newaxis]
                assert there.any(axis=0).all()


@pytest.mark.parametrize("format", ["nvfp4", "fp4_ue4m3", "fp4_ue5m3"])
def test_thresholds_of_float32_are_the_fractions_of_the_definition(format: str) -> None:
    """Under `exact`: midpoints times scale and tensor scale; ties go to even codes."""
    fmt = {"fp4_ue5m3": UE5M3}.get(format, UE4M3)
    tensors, runs = tensor_scales(format, OCP), scale_runs(format, "f32", OCP)

    def ends(values: list[Fraction], unit: Fraction, last: int) -> list[int]:
        """The first float beyond each midpoint; a tie to an odd code stays before."""
        found = []
        for code, (low, high) in enumerate(itertools.pairwise(values)):
            middle = (low + high) / 2 * unit
            bits = below(middle, F32)
            is_tie = bits < F32.inf_bits and number(bits) == middle
            found.append(bits if is_tie and code % 2 else bits + 1)
        return [bits for bits in found if 0 < bits <= last]

    def number(bits: int) -> Fraction:
        return Fraction(float(np.uint32(bits).view(np.float32)))

    def values(element: Any) -> list[Fraction]:
        return [Fraction(element.value(code)) for code in range(element.max_code + 1)]

    for place, tensor in enumerate(tensors):
        unit = Fraction(1) if tensor is None else number(tensor.bits)
        mine = [one for one in runs if one.tensor == place]
        starts = ends(values(fmt), 6 * unit, F32.inf_bits - 1)
        assert [one.first for one in mine] == sorted({1, *starts})
        for run in mine[1 :: 1 if format == "nvfp4" and place == 0 else 40]:
            scale = Fraction(fmt.value(run.code)) * unit
            for steps in element_steps(format, "f32", OCP, tensor, run.last):
                wanted = ends(values(E2M1), scale, run.last)
                assert steps.starts.tolist() == sorted({0, *wanted})


def test_both_sides_of_thresholds_of_float32_are_asked_in_every_place() -> None:
    plan, run = plan_of(OWN, "quantize", "fp4_ue4m3"), scale_runs("fp4_ue4m3", "f32", OCP)[0x35]
    blocks = asked(plan, place("fp4_ue4m3", 0x35))
    scale = Fraction(UE4M3.value(0x35))
    assert scale.numerator & (scale.numerator - 1)  # no power of two: few midpoints are floats
    grid = [Fraction(E2M1.value(code)) for code in range(8)]
    for one in (*grid[1:], *((a + b) / 2 for a, b in itertools.pairwise(grid))):
        bits = below(one * scale, F32)
        for near in (bits - 1, bits, bits + 1):
            for signed in (near, near | F32.sign_bit):
                assert near > run.last or (blocks == signed).any(axis=0).all()
    # The others: one number for each upper half, of both signs.
    halves = {*(blocks >> np.uint64(16)).reshape(-1).tolist()}
    upper = run.last >> 16
    assert halves >= {*range(upper), *(bits | 0x8000 for bits in range(upper))}


def test_zeros_infinities_and_nan_stand_in_every_place() -> None:
    layout = LAYOUTS["f32"]
    blocks = asked(plan_of(OWN, "quantize", "nvfp4"), 3)
    for bits in (layout.inf_bits, layout.nan_bits):
        for signed in (bits, bits | layout.sign_bit):
            alone = (blocks & np.uint64(layout.sign_bit - 1) >= layout.inf_bits).sum(axis=1) == 1
            assert ((blocks == signed) & alone[:, np.newaxis]).any(axis=0).all()
    zeros = blocks[(blocks & np.uint64(layout.sign_bit - 1) == 0).all(axis=1)]
    assert {len({*row}) for row in zeros.tolist()} == {1, 2}


# --- planted bugs ---------------------------------------------------------------------------------

Change = Callable[[Array, Array, Array, float], None]


def planted(change: Change, **choices: Any) -> Any:
    """Quantizes right, then changes scale codes (n,) and codes (n, 16) of values (n, 16)."""

    def quantize(values: Array, format: str, *tensor: Any) -> tuple[Array, Array]:
        if tensor:
            choices["tensor_scale"] = right_calls.tensor_scale(*tensor)
        scales, codes = right_calls.quantized(values, format, **choices)
        change(values, scales, codes, float(*tensor) if tensor else 1.0)
        return scales, codes

    return target(quantize=quantize, FORMATS=["nvfp4", "fp4_ue4m3"])


def nothing(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    pass


def swept(
    kernel: Any, format: str, first: int, end: int, float: str = "f32", **given: Any
) -> Swept:
    return sweep(kernel, "quantize", format, float, OCP, first=first, end=end, **given)


def one_ulp(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    """2.5 times the scale 0x35 goes to 2; the next number goes there, too."""
    tie = np.float32(2.5 * UE4M3.value(0x35))
    above = np.nextafter(tie, np.float32(9))
    codes[(values == above) & (scales[:, np.newaxis] == 0x35)] = 4


def scale_threshold(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    """The first largest magnitude of a code gets the code before, and elements as if not."""
    first = scale_runs("fp4_ue4m3", "f32", OCP)[0x36].first
    scales[np.abs(values).max(axis=1).view(np.uint32) == first] = 0x35


def clamped(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    np.minimum(scales, 0x78, out=scales)  # 256


def smallest(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    np.maximum(scales, 8, out=scales)  # 2**-6


def zero_block(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    scales[(values == 0).all(axis=1)] = 0x38


def zero_sign(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    codes[values == 0] = 0


def small_sign(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    codes[(codes == 8) & (values != 0)] = 0


def nan_block(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    scales[np.isnan(values).any(axis=1)] = 0x7E


def infinite_block(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    scales[np.isinf(values).any(axis=1)] = 0x7E


def last_nan(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    """A NaN in the last place is not seen."""
    scales[np.isnan(values[:, 15]) & ~np.isnan(values[:, :15]).any(axis=1)] = 0


def far_places(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    codes[:, 8:][codes[:, 8:] == 5] = 4


def negatives(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    codes[codes == 0xD] = 0xC


def last_largest(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    """The largest magnitude of the last place is not seen."""
    again = mxref.quantize(np.where(np.arange(16) < 15, values, 0), "fp4_ue4m3")
    scales[:] = again.scale_codes[:, 0]


def negative_largest(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    again = mxref.quantize(np.maximum(values, 0), "fp4_ue4m3")
    scales[:] = again.scale_codes[:, 0]


def reciprocal(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    """Multiplies by the rounded reciprocal of the scale 0x37."""
    r = np.float32(1) / np.float32(UE4M3.value(0x37))
    at = scales == 0x37
    codes[at] = mxref.encode(values[at] * r, "e2m1").astype(codes.dtype)


def inverted(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    again = mxref.quantize(values, "nvfp4", tensor_scale=float(np.float32(1 / tensor)))
    scales[:], codes[:] = again.scale_codes[:, 0], again.codes


def rounded_first(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    """The block's scale is rounded before it is divided by the tensor scale."""
    early = mxref.quantize(values, "fp4_ue4m3").scale_codes[:, 0]
    numbers = np.array([UE4M3.value(code) for code in range(128)], np.float32)
    scales[:] = mxref.encode(numbers[early] / np.float32(tensor), "ue4m3")


def flushed(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    """A tensor scale whose reciprocal is infinite makes zeros of elements."""
    with np.errstate(over="ignore", divide="ignore"):
        if np.isinf(np.float32(1) / np.float32(tensor)):
            codes &= 8


def ignored(values: Array, scales: Array, codes: Array, tensor: float) -> None:
    again = mxref.quantize(values, "nvfp4", tensor_scale=1.0)
    scales[:], codes[:] = again.scale_codes[:, 0], again.codes


#: Bug -> its change, and the scale code that shows it: 0 where blocks with specials do.
PLANTED = {
    "one element threshold by an ulp under one scale": (one_ulp, 0x35),
    "one threshold of the scale by an ulp": (scale_threshold, 0x36),
    "a largest scale of 256": (clamped, 0x7C),
    "a smallest scale of 2**-6": (smallest, 0x05),
    "the scale of zeros": (zero_block, None),
    "the sign of zero": (zero_sign, None),
    "the sign of what becomes zero": (small_sign, 0x30),
    "NaN": (nan_block, None),
    "infinity": (infinite_block, None),
    "NaN in the last place": (last_nan, None),
    "places from 8 on": (far_places, 0x42),
    "negative numbers": (negatives, 0x42),
    "a largest magnitude in the last place": (last_largest, 0x22),
    "a negative largest magnitude": (negative_largest, 0x22),
    "the reciprocal of one scale": (reciprocal, 0x37),
}


@pytest.mark.parametrize("name", PLANTED)
def test_bugs_without_a_tensor_scale(name: str) -> None:
    change, code = PLANTED[name]
    index = 0 if code is None else place("fp4_ue4m3", code)
    assert not swept(planted(change), "fp4_ue4m3", index, index + 1).passed
    assert swept(planted(nothing), "fp4_ue4m3", index, index + 1).passed


@pytest.mark.parametrize(("choices", "code"), cases(__file__, "other choices"))
def test_other_choices(choices: dict[str, str], code: int) -> None:
    index = place("fp4_ue4m3", code)
    assert not swept(planted(nothing, **choices), "fp4_ue4m3", index, index + 1).passed


def test_reciprocals_are_told_under_all_scales_where_any_number_tells_them() -> None:
    """Against all float32 numbers up to 16 ulp from a midpoint, under every scale."""
    grid = [E2M1.value(code) for code in range(8)]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(grid)]
    found = []
    for code in range(1, 127):
        scale = UE4M3.value(code)
        bits = [np.float32(one * scale).view(np.uint32) + np.arange(-16, 17) for one in middles]
        x = np.concatenate(bits).astype(np.uint32).view(np.float32)
        exact_ones = mxref.encode(x.astype(np.float64) / scale, "e2m1")
        r = np.float32(1) / np.float32(scale)
        if (exact_ones != mxref.encode(x * r, "e2m1")).any():
            found.append(code)

    def change(values: Array, scales: Array, codes: Array, tensor: float) -> None:
        numbers = np.array([1, *(UE4M3.value(code) for code in range(1, 127)), 1], np.float32)
        finite = np.flatnonzero((scales > 0) & (scales < 127))
        quotients = values[finite] * (np.float32(1) / numbers[scales[finite]])[:, np.newaxis]
        codes[finite] = mxref.encode(quotients, "e2m1")

    whole = sweep(planted(change), "quantize", "fp4_ue4m3")
    assert isinstance(whole.tally, BlockTally)
    assert sorted({code for codes in whole.tally.groups.values() for code in codes}) == found
    assert (len(found), whole.tally.left) == (30, 0)


#: Bug -> its change, and the tensor scale and the scale code that show it.
WITH_TENSOR = {
    "the tensor scale is inverted": (inverted, 3, 0x38),
    "the tensor scale is ignored": (ignored, 3, 0x38),
    "the block's scale is rounded before the tensor scale": (rounded_first, 4, 0x39),
    "an infinite reciprocal makes zeros": (flushed, 6, 0x38),
}


@pytest.mark.parametrize("name", WITH_TENSOR)
def test_bugs_with_a_tensor_scale(name: str) -> None:
    change, tensor, code = WITH_TENSOR[name]
    index = place("nvfp4", code, tensor=tensor)
    found = swept(planted(change), "nvfp4", index, index + 1)
    assert not found.passed
    assert swept(planted(nothing), "nvfp4", index, index + 1).passed
    # Under a tensor scale of 1 the first three are right, and so is the last one.
    index = place("nvfp4", code)
    assert swept(planted(change), "nvfp4", index, index + 1).passed


def test_one_number_of_16_bits_that_is_no_threshold() -> None:
    def change(values: Array, scales: Array, codes: Array, tensor: float) -> None:
        codes[(values.view(np.uint16) == 0x3FB1) & (scales[:, np.newaxis] == 0x45)] ^= 1

    index = place("fp4_ue4m3", 0x45, "bf16")
    found = swept(planted(change), "fp4_ue4m3", index, index + 1, "bf16")
    assert found.tally.wrong == 1
    # 1.3828125 / 3.25 is 0.4255; with 7 fraction bits, the last one sticky, it is 0.4238.
    assert finding_lines(found) == [
        "scale 45: x / scale 3fdb200000000000 = 0x1.b2p-2 = 0.423828125: want 01 = 0.5, got 00 = 0"
    ]


# --- how it is said -------------------------------------------------------------------------------


def test_the_same_interval_under_several_scales_is_one_line() -> None:
    index = place("nvfp4", 0x40)
    found = swept(planted(negatives), "nvfp4", index, index + 3)
    assert finding_lines(found) == [
        "tensor scale 1 scale 40-42: x / scales c004200000000000 = -0x1.42p+1 = -2.515625 to "
        "c00be00000000000 = -0x1.bep+1 = -3.484375: want 0d = -3, got 0c = -2"
    ]
    (group,) = swept_json(found)["groups"]
    assert group["scales"] == [[0x3F800000, code] for code in (0x40, 0x41, 0x42)]


@pytest.mark.parametrize(
    ("arithmetic", "stored"),
    [("exact", "0.3720238"), ("transformer_engine", "1000"), ("cublas", "2.688")],
)
def test_quotients_by_tensor_scales_of_every_kind(arithmetic: str, stored: str) -> None:
    """A factor, the largest magnitude of the tensor and a divisor: x over scales is the same."""
    policy = under(arithmetic)
    runs = scale_runs("nvfp4", "f32", policy)
    index = next(i for i, one in enumerate(runs) if (one.tensor, one.code) == (1, 0x40))
    index += len(tensor_scales("nvfp4", policy))

    def quantize(values: Array, format: str, tensor: Any) -> tuple[Array, Array]:
        kind = TENSOR_KINDS[arithmetic]
        whole = mxref.TensorScale(int(tensor.view(np.uint32)), kind)
        how: Any = {"tensor_scale": whole, "scale_arithmetic": arithmetic}
        scales, codes = right_calls.quantized(values, format, **how)
        codes[codes == 0xD] = 0xC
        return scales, codes

    kernel = target(quantize=quantize, FORMATS=["nvfp4"])
    found = sweep(kernel, "quantize", "nvfp4", "f32", policy, first=index, end=index + 1)
    assert finding_lines(found) == [
        f"tensor scale {stored} scale 40: x / scales c004200000000000 = -0x1.42p+1 = -2.515625 to "
        "c00be00000000000 = -0x1.bep+1 = -3.484375: want 0d = -3, got 0c = -2"
    ]


def test_a_key_with_right_and_wrong_elements() -> None:
    """A reciprocal of 1.875, rounded up, makes the last number below 1.75 times that 1.75, a tie.

    The key of its quotient is that of other numbers below 1.75, too, which are right.
    """
    policy = under("cublas")
    index = plan_of(OWN, "quantize", "fp4_ue4m3", "f32", policy).end - 1
    runs = scale_runs("fp4_ue4m3", "f32", policy)
    index -= len(runs) - 1 - next(i for i, one in enumerate(runs) if one.code == 0x3F)

    def change(values: Array, scales: Array, codes: Array, tensor: float) -> None:
        at = scales == 0x3F
        codes[at] = mxref.encode(values[at].astype(np.float64) / 1.875, "e2m1")

    kernel = planted(change, scale_arithmetic="cublas")
    found = sweep(kernel, "quantize", "fp4_ue4m3", "f32", policy, first=index, end=index + 1)
    assert (
        "scale 3f: x / scale 3ffbe00000000000 = 0x1.bep+0 = 1.7421875: want 04 = 2, got 03 = 1.5"
        in finding_lines(found)
    )


def test_wrong_scales_under_tensor_scales(tmp_path: Any) -> None:
    def change(values: Array, scales: Array, codes: Array, tensor: float) -> None:
        scales[(scales == 0x41) | (scales == 0x42)] += 1

    index = place("nvfp4", 0x40)
    what = partial(swept, planted(change), "nvfp4", index, index + 3)
    found = what(state=tmp_path / "state.json")
    assert isinstance(found.tally, BlockTally)
    blocks = {code: count for code, (count, _) in found.tally.scales.items()}
    assert set(blocks) == {0x41, 0x42}
    assert finding_lines(found) == [
        f"tensor scale 1 scale: want 41 = 2.25 to 42 = 2.5, got 42 = 2.5 and so on, "
        f"in {sum(blocks.values())} blocks"
    ]
    assert swept_json(found)["scales"][0]["want"] == [0x3F800000, 0x41]
    assert findings(what(state=tmp_path / "state.json")) == findings(found)


def test_dequantize() -> None:
    def dequantize(scales: Array, codes: Array, format: str, dtype: Any, tensor: Any) -> Array:
        floats = right_calls.dequantize(scales, codes, format, dtype, tensor)
        at = (scales == 0x39)[:, np.newaxis] & (codes == 5) & (np.arange(16) == 11)
        floats[at & (float(tensor) < 1e-40)] *= -1
        return floats

    found = sweep(target(dequantize=dequantize, FORMATS=["nvfp4"]), "dequantize", "nvfp4")
    # 3 * 1.125 * 2**-149 rounds to 3 * 2**-149.
    assert finding_lines(found) == [
        "tensor scale 1.401298e-45 scale 39: code 05 = 3: want 00000003 = 0x1.8p-148 = "
        "4.2038954e-45, got 80000003 = -0x1.8p-148 = -4.2038954e-45"
    ]
