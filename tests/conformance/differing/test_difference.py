"""What two profiles do differently in blocks and casts, on pairs that are known by hand."""

from __future__ import annotations

import collections
import functools
import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence
from tables import rows

import mxref
from mxref import exact
from mxref.bits.floats import BF16, LAYOUTS
from mxref.conformance.differing import difference_kinds, inputs, sides
from mxref.conformance.differing import figures as figures_module
from mxref.conformance.differing.cast_difference import (
    FORMATS,
    KINDS,
    CastDifference,
    cast_difference,
)
from mxref.conformance.differing.difference import Difference, Example, difference
from mxref.conformance.differing.sides import common_float, side_of
from mxref.golden.explain_number import fraction
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES, Profile


@functools.cache
def found(a: str, b: str, format: str = "mxfp4_e2m1", float: str | None = None) -> Difference:
    return difference(a, b, format, float=float)


def weighed(a: str, b: str, x: np.ndarray) -> figures_module.DataFigures:
    fmt = mxref.formats.block_format("mxfp4_e2m1")
    return figures_module.figures("x", x, side_of(a, fmt), side_of(b, fmt), fmt)


def kinds(one: Difference) -> list[str]:
    return [example.kind for example in one.examples]


def example(one: Difference, kind: str) -> Example:
    (same,) = [some for some in one.examples if some.kind == kind]
    assert not any(same.words[2:])
    return same


def test_torchao_halves_blocks_with_byte_0() -> None:
    one = found("torchao_0_18_floor", "ocp")
    assert kinds(one) == ["tiny block", "Inf block"]
    tiny = example(one, "tiny block")
    assert tiny.words[:2] == (0x00400000, 0)  # 2**-127
    # Divided by 2**-126 it is 0.5, code 1; the scale byte 0 is read as 2**-127.
    assert (tiny.a.scale, tiny.a.codes[:2], tiny.a.own[0]) == (0, (1, 0), 0x00200000)
    assert (tiny.b.scale, tiny.b.codes[:2], tiny.b.own[0]) == (0, (2, 0), 0x00400000)
    inf = example(one, "Inf block")
    assert inf.words[0] == 0x7F800000
    assert (inf.a.scale, inf.a.codes[:2]) == (255 - 2, (7, 0))
    assert (inf.b.scale, inf.b.codes[:2]) == (255, (0, 0))
    assert not one.readings
    assert one.found
    for figures in one.figures:
        assert not figures.differ
        assert figures.sqnr_db["a"] == figures.sqnr_db["b"]
        assert figures.sqnr_db["a_b"] is None


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("policy", "wanted"), rows("conformance/differing", "kinds"))
def test_kinds(policy: str, wanted: str) -> None:
    one = found("ocp", policy)
    assert ", ".join(kinds(one)) == wanted.strip("-")
    assert one.found == bool(kinds(one))
    assert one.tried > 20_000


def test_the_largest_number_of_a_block_says_its_kind() -> None:
    """Both sides of every limit, where the two sides differ in the scale."""
    top = {  # the largest numbers, in float32
        0x00000001: "tiny block",
        0x017FFFFF: "tiny block",
        0x01800000: "scale",  # 2**-124 is 4 * 2**-126
        0x7EFFFFFF: "scale",
        0x7F000000: "huge block",
        0x7F7FFFFF: "huge block",
        0x7F800000: "Inf block",
        0x7F800001: "NaN block",
    }
    words = np.zeros((1 + 2 * len(top), 32), np.uint64)
    words[1:, 7] = [bits | sign for sign in (0, 1 << 31) for bits in top]
    words[0, 3] = 1 << 31
    words[-1, 4] = 0x7F800000
    codes, failed = np.zeros(words.shape, np.uint8), np.zeros(len(words), bool)
    one, other = (
        sides.BlockAnswers(np.full(len(words), n, np.uint8), codes, failed) for n in (1, 2)
    )
    fmt = mxref.formats.block_format("mxfp4_e2m1")
    shown = difference_kinds.kinds(words, one, other, fmt, LAYOUTS["f32"])
    names = [
        [name for name, is_so in zip(difference_kinds.KINDS, row, strict=True) if is_so]
        for row in shown
    ]
    assert names == [["zero block"], *([kind] for _ in (0, 1) for kind in top.values())]


@pytest.mark.sampled(3)
def test_the_simplest_blocks() -> None:
    tie = example(found("ocp", "ocp+rounding=ties_to_away"), "tie")
    # 1.25 is 5 under the scale 2**-2, midway between 4 (code 6) and 6 (code 7).
    assert tie.words[:2] == (0x3FA00000, 0)
    assert (tie.a.scale, tie.a.codes[0], tie.b.codes[0]) == (125, 6, 7)
    zero = example(found("ocp", "ocp+zero_block=one"), "zero block")
    assert (any(zero.words), zero.a.scale, zero.b.scale) == (False, 0, 127)
    sign = example(found("ocp", "ocp+underflow_sign=dropped"), "zero sign")
    assert sign.a.codes[1] == 8
    assert sign.b.codes[1] == 0


@pytest.mark.sampled(6)
def test_each_example_is_what_the_profiles_say() -> None:
    one = found("torchao_0_18_rceil", "tosa", "mxfp8_e4m3", "bf16")
    assert one.layout.name == "bf16"
    assert {"tiny block", "Inf block", "scale"} <= {*kinds(one)}
    for some in one.examples:
        x = np.array(some.words, np.uint16).view(ml_dtypes.bfloat16)
        for name, side in ((one.a, some.a), (one.b, some.b)):
            blocks = mxref.profile(name).quantize(x, "mxfp8_e4m3")
            assert (blocks.scale_codes[0], *blocks.codes.tolist()) == (side.scale, *side.codes)


@pytest.mark.sampled(6)
def test_reading() -> None:
    (ff,) = found("ocp", "ocp+scale_ff=inf").readings
    # 0 times infinity is NaN to both: 14 codes are left.
    assert (ff.kind, ff.count, ff.scale, ff.code) == ("scale ff", 14, 255, 1)
    assert (ff.a, ff.b) == (0x7FC00000, 0x7F800000)
    (nothing,) = found("ocp", "ocp+scale_00=zero").readings
    assert (nothing.kind, nothing.count, nothing.scale) == ("scale 00", 14, 0)
    assert (nothing.a, nothing.b) == (0x00200000, 0)  # 0.5 * 2**-127
    crosswise = example(found("ocp+zero_sign=dropped", "ocp+decoded_zero=dropped"), "zero block")
    assert crosswise.words[0] == 0x80000000
    assert (crosswise.a.codes[0], crosswise.a.own[0], crosswise.a.other[0]) == (0, 0, 0)
    assert (crosswise.b.codes[0], crosswise.b.own[0], crosswise.b.other[0]) == (8, 0, 0x80000000)


@pytest.mark.sampled(0)
def test_an_error_is_a_difference() -> None:
    fmt = mxref.formats.block_format("mxfp4_e2m1")
    rows = np.ones((7, 32), np.float32)
    rows[[0, 4, 5]], rows[0, 3], rows[6, 0] = 2.0, np.nan, np.inf
    answers = side_of("gfloat", fmt).quantize(rows, fmt)
    assert answers.failed.tolist() == [True, *[False] * 6]
    assert answers.scales.tolist() == [0, 125, 125, 125, 126, 126, 254]
    nan = example(found("gfloat", "ocp"), "NaN block")
    assert (nan.a.scale, nan.a.codes, nan.b.scale) == (None, (), 255)
    assert nan.words[0] == 0x7FC00000


def test_figures_by_hand() -> None:
    x = np.zeros((3, 40), np.float32)
    x[0, 0], x[1, 0], x[2, 39] = 7.0, 4.0, -7.0
    figures = weighed("ocp", "ocp+scale_rule=rceil", x)
    assert (figures.data, figures.elements, figures.blocks) == ("x", 120, 6)
    # 7 becomes 6 under the scale 1, and 8 under the scale 2.
    assert figures.sqnr_db["a"] == pytest.approx(10 * math.log10((49 + 16 + 49) / 2), abs=1e-9)
    assert figures.sqnr_db["b"] == figures.sqnr_db["a"] == figures.sqnr_db["b_reads_a"]
    assert figures.sqnr_db["a_b"] == pytest.approx(10 * math.log10((36 + 16 + 36) / 8), abs=1e-9)
    assert (figures.other_scale, figures.other_code) == (2 / 6, 2 / 120)
    assert (figures.other_value, figures.other_reading) == (2 / 120, (0.0, 0.0))
    assert not any(figures.lost.values())
    one = weighed("ocp", "ocp", np.array(7.0, np.float32))
    assert (one.elements, one.blocks) == (1, 1)
    assert one.sqnr_db["a"] == pytest.approx(10 * math.log10(49), abs=1e-9)


def test_figures_of_bytes_read_by_the_other() -> None:
    x = np.zeros((2, 32), np.float32)
    x[0, 0], x[1, 0] = np.nan, 4.0
    figures = weighed("ocp+block_nan=ignore", "ocp+scale_00=zero", x)
    # Of the NaN block the one keeps the zeros, all under scale 00; the other loses them.
    assert figures.lost == {"a": 0, "b": 31, "a_b": 32, "b_reads_a": 0, "a_reads_b": 31}
    # FF NaN to both; under scale 00 the one has 6 for NaN, which the other reads as 0.
    assert figures.other_reading == (1 / 64, 0.0)
    assert figures.other_scale == 1 / 2


def test_the_sign_of_zero_is_no_other_value() -> None:
    x = np.zeros((1, 32), np.float32)
    x[0, :3] = 4.0, -0.0, -0.125  # the last is flushed to -0
    figures = weighed("ocp", "ocp+zero_sign=dropped", x)
    assert (figures.other_code, figures.other_sign, figures.other_value) == (1 / 32, 1 / 32, 0.0)
    assert figures.differ
    figures = weighed("ocp", "ocp+zero_sign=dropped+underflow_sign=dropped", x)
    assert (figures.other_code, figures.other_sign, figures.other_value) == (2 / 32, 2 / 32, 0.0)


def test_data_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x = inputs.data(LAYOUTS["f32"], 32)["normal"]
    whole = weighed("ocp", "torchao_0_18_even", x)
    monkeypatch.setattr(figures_module, "_PART", 1000)
    assert whole == weighed("ocp", "torchao_0_18_even", x)
    assert whole.differ


def test_tallies_of_tensors_add_up() -> None:
    """Every figure of two tensors is that of both in one."""
    fmt = mxref.formats.block_format("mxfp4_e2m1")
    both_sides = [side_of(name, fmt) for name in ("ocp+block_nan=ignore", "ocp+scale_00=zero")]
    one, other = np.zeros((2, 2, 32), np.float32)
    one[0, 0], one[1, 0] = np.nan, 4.0
    other[0, 0], other[1, :3] = np.nan, (7.0, -0.0, 2.0**-3)
    parts = [figures_module.tally(x, *both_sides, fmt) for x in (one, other)]
    parts[0] += parts[1]
    both = parts[0].figures("x")
    assert both == figures_module.figures("x", np.concatenate([one, other]), *both_sides, fmt)
    assert (both.elements, both.blocks) == (128, 4)
    # As in one of them, twice: elements of a NaN block that one side keeps and the other loses.
    assert both.lost == {"a": 0, "b": 62, "a_b": 64, "b_reads_a": 0, "a_reads_b": 62}


def test_the_data() -> None:
    for layout in LAYOUTS.values():
        data = inputs.data(layout, 32)
        normal, even = (data[name].astype(np.float64) for name in ("normal", "log-uniform"))
        assert normal.shape == even.shape == (4096, 32)
        assert abs(normal.mean()) < 0.01
        assert abs(normal.std() - 1) < 0.01
        octaves = np.unique(np.frexp(even)[1], return_counts=True)
        assert octaves[0][0] == -15
        assert len(octaves[0]) in (32, 33)  # float16 is rounded up to 2**16, others as well
        assert (abs(octaves[1][:32] / 4096 - 1) < 0.1).all()
        assert abs(np.sign(even).mean()) < 0.01


@pytest.mark.sampled(6)
def test_data_of_another_type_are_rounded() -> None:
    x = np.float64([[1.0 + 2.0**-40, 2.0**-127]])
    one = difference("torchao_0_18_floor", "ocp", "mxfp4_e2m1", data={"x": x})
    assert one.notes == ("x was rounded from float64 to float32",)
    assert not difference("ocp", "ocp", "mxfp4_e2m1", data={"x": x}).notes
    text = sentence(TypeError, lambda: difference("ocp", "ocp", "mxfp4_e2m1", data={"x": x > 0}))
    assert text == "x must be float64, float32, float16 or bfloat16, got bool"
    none = np.zeros((2, 0), np.float32)
    assert "x must hold numbers" in sentence(
        ValueError, lambda: difference("ocp", "ocp", "mxfp4_e2m1", data={"x": none})
    )


def test_numbers_are_given_in_a_type_that_holds_them() -> None:
    def side(*floats: str) -> sides.Side:
        one = Profile("x", Policy(), "", "", floats=floats or None)
        return sides.Side(one, one)

    assert common_float(side("bf16"), side("f32")).name == "bf16"
    assert common_float(side("f16"), side()).name == "f16"
    assert common_float(side("f64"), side()).name == "f64"
    assert common_float(side(), side("bf16", "f32"), "bf16").name == "bf16"
    text = sentence(ValueError, lambda: common_float(side("f64"), side("f32")))
    assert text.endswith("there is none: x takes f64; x takes f32")
    assert "got f64" in sentence(ValueError, lambda: common_float(side(), side("f32"), "f64"))
    assert "'bf16'?" in sentence(ValueError, lambda: common_float(side(), side(), "bf"))
    every = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    numbers = sides.rounded_to(every, LAYOUTS["f32"]).view(np.uint32) >> 16
    bits = every.view(np.uint16)
    nan = bits & 0x7FFF > 0x7F80
    assert (numbers[~nan] == bits[~nan]).all()
    assert (numbers[nan] & 0x7FFF == 0x7FC0).all()


@pytest.mark.sampled(0)
def test_what_one_of_them_lacks() -> None:
    one = found("executorch", "ocp", "mxfp8_e4m3")
    assert one.notes == (
        "executorch does not quantize mxfp8_e4m3: reading alone is compared, on no data",
    )
    assert (one.tried, one.examples, one.figures, one.found) == (0, (), (), False)
    read = found("ocp", "gfloat").notes
    assert read == ("gfloat does not dequantize mxfp4_e2m1: its bytes are read as ocp reads them",)
    text = sentence(ValueError, lambda: difference("cuda", "ocp", "mxfp4_e2m1"))
    assert text.endswith("got mxfp4_e2m1: cuda no quantize; cuda no dequantize")


def test_errors() -> None:
    for a, b, format, said in (
        ("torchao_0_18_flor", "ocp", "mxfp4_e2m1", r"\(did you mean 'torchao_0_18_floor'\?\)$"),
        ("ocp", "ocp+rounding=up", "mxfp4_e2m1", "rounding must be one of"),
        ("ocp", "ocp+rounding=stochastic_a", "mxfp4_e2m1", "without random bits"),
        ("ocp", "ocp", "nvfp5", "must be one of .*nvfp4"),
        ("ocp", "ocp", "nvfp4_16x16", "must have blocks in rows, got nvfp4_16x16: use 'nvfp4'"),
        ("ocp", "ocp", "mxfp8", "mxfp8_e5m2.*mxfp8_e4m3|mxfp8_e4m3.*mxfp8_e5m2"),
    ):
        with pytest.raises(ValueError, match=said):
            difference(a, b, format)
    assert difference("ocp", "ocp", "mxfp4").format.name == "mxfp4_e2m1"


@pytest.mark.sampled(0)
def test_every_profile_can_be_asked() -> None:
    """Beside `ocp` each either has something of the format or says that it has not."""
    for name, profile in list(PROFILES.items())[1::4]:
        if any(profile.speaks_of(op, "mxfp8_e4m3") for op in ("quantize", "dequantize")):
            one = found(name, "ocp", "mxfp8_e4m3")
            assert bool(one.tried) == profile.speaks_of("quantize", "mxfp8_e4m3")
        else:
            text = sentence(ValueError, lambda n=name: found(n, "ocp", "mxfp8_e4m3"))
            assert f"{name} no quantize" in text


# --- casts ----------------------------------------------------------------------------------------


FFFF = 1 << 16


def of(one: CastDifference) -> dict[str, int]:
    return {example.kind: example.count for example in one.examples}


@pytest.mark.parametrize(
    ("policy", "format", "wanted"), rows("conformance/differing", "kinds_of_casts")
)
def test_kinds_of_casts(policy: str, format: str, wanted: str) -> None:
    one = cast_difference("ocp", policy, format, float="bf16")
    assert one.tried == FFFF
    assert ", ".join(f"{kind} {count}" for kind, count in of(one).items()) == wanted.strip("-")
    assert one.found == bool(of(one))


@pytest.mark.sampled(3)
def test_kinds_are_those_of_the_slow_twin() -> None:
    """Every bfloat16 whose codes differ in the twin, classed by fractions."""
    policy = "ocp+rounding=toward_positive+overflow=nonsaturating+underflow_sign=dropped"
    choices = dict(one.split("=") for one in policy.split("+")[1:])
    encoders = exact.encoder("bf16", "e4m3"), exact.encoder("bf16", "e4m3", **choices)
    numbers = sorted(Fraction(float(v)) for v in exact_values())
    smallest, middles = numbers[1], {(a + b) / 2 for a, b in itertools.pairwise(numbers)}
    middles.add(Fraction(464))  # to the next number of the same spacing
    wanted: collections.Counter[str] = collections.Counter()
    for bits in range(FFFF):
        codes = [encode(bits, 0, 0) for encode in encoders]
        if codes[0] == codes[1] or all(code & 0x7F == 0x7F for code in codes):
            continue
        match fraction(bits, BF16):
            case None:
                kind = "NaN" if bits & 0x7FFF > 0x7F80 else "infinity"
            case 0:
                kind = "zero"
            case x if abs(x) > 448:
                kind = "beyond"
            case x:
                kind = "tie" if abs(x) in middles else "tiny" if abs(x) < smallest else "number"
        wanted[kind] += 1
    assert len(wanted) == 5
    assert of(cast_difference("ocp", policy, "e4m3", float="bf16")) == wanted


def exact_values() -> list[float]:
    return np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(float).tolist()


@pytest.mark.sampled(3)
def test_torch_and_cuda_in_e8m0() -> None:
    one = cast_difference("torch", "cuda", "e8m0")
    infinity, beyond, number = one.examples
    # torch gives the nearest power of two, and NaN beyond them; CUDA the next one above.
    assert (infinity.kind, infinity.codes) == ("infinity", (0xFF, 0xFE))
    assert (beyond.kind, beyond.word, beyond.codes) == ("beyond", 0x7F400000, (0xFF, 0xFE))
    assert (number.kind, number.word, number.codes) == ("number", 0x3FA00000, (0x7F, 0x80))
    assert number.own == number.other == (0x3F800000, 0x40000000)
    assert not one.readings
    for figures in one.figures:  # significands below 3/2, but for 1, are half of the uniform ones
        assert figures.other_value == figures.other_code
    assert one.figures[1].other_code == pytest.approx(0.5, abs=0.01)


def test_torch_before_and_after_it_saturated() -> None:
    one = cast_difference("torch_2_12", "torch", "e4m3", float="bf16")
    assert [(some.kind, some.word, some.codes) for some in one.examples] == [
        ("infinity", 0x7F80, (0x7F, 0x7E)),
        ("beyond", 0x4400, (0x7F, 0x7E)),
    ]
    assert [some.other_code > 0.2 for some in one.figures] == [False, True]


def test_reading_of_casts() -> None:
    one = cast_difference("mlx_0_31", "mlx_0_32", "e4m3", float="bf16")
    (nan,) = one.readings  # 480, the next number, in 0.31
    assert (nan.kind, nan.count, nan.code, nan.a, nan.b) == (
        "NaN code", 2, 0x7F, 0x43F00000, 0x7FC00000,
    )  # fmt: skip
    assert not one.examples
    assert one.found
    (ff,) = cast_difference("ocp", "ocp+scale_ff=inf", "e8m0", float="bf16").readings
    assert (ff.kind, ff.code, ff.b) == ("NaN code", 0xFF, 0x7F800000)


def test_what_one_of_them_lacks_in_casts() -> None:
    one = cast_difference("ocp", "onnx_nosat", "e4m3", float="bf16")
    assert one.notes == ("onnx_nosat does not read e4m3: its codes are read as ocp reads them",)
    assert of(one).keys() == {"infinity", "beyond"}
    one = cast_difference("ocp", "onnx_down", "e8m0", float="bf16")
    assert one.notes == ("onnx_down does not read e8m0: its codes are read as ocp reads them",)


def test_own_data_and_what_is_refused() -> None:
    x = np.float64([[1.0, 500.0], [-3.0, 1e300]])
    one = cast_difference("torch", "torch_2_12", "e4m3", float="bf16", data={"x": x})
    assert (one.figures[-1].numbers, one.figures[-1].other_code) == (4, 0.5)
    text = sentence(ValueError, lambda: cast_difference("torch", "cuda", "e5m2"))
    assert "torch no encode" in text
    refused = {"x": np.float32([1.0, np.nan])}
    text = sentence(
        ValueError, lambda: cast_difference("gfloat", "ocp", "e2m1", float="bf16", data=refused)
    )
    assert "x must hold numbers that gfloat casts, got nan" in text


@pytest.mark.sampled(14)
@pytest.mark.parametrize("format", FORMATS)
def test_every_profile_casts_beside_ocp(format: str) -> None:
    op = "encode_scale" if format == "e8m0" else "encode"
    for name, profile in PROFILES.items():
        if not profile.speaks_of(op, format):
            continue
        one = cast_difference("ocp", name, format, float=_sixteen(profile.floats))
        assert {*of(one)} <= {*KINDS}
        for some in one.examples:
            assert some.codes[0] != some.codes[1]


def _sixteen(floats: tuple[str, ...] | None) -> str | None:
    return next((name for name in ("bf16", "f16") if name in (floats or ("bf16",))), None)
