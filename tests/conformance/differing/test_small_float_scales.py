"""What two profiles do differently in blocks under scales that are small floats, and in NVFP4."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from helpers import sentence
from json_tables import cases

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.cases.read import vectors_folder
from mxref.cli.command_line import main
from mxref.conformance.differing import difference_kinds, inputs, sides
from mxref.conformance.differing import figures as figures_module
from mxref.conformance.differing.difference import BlockBytes, Difference, difference
from mxref.conformance.differing.sides import side_of

F32 = LAYOUTS["f32"]
NVFP4 = mxref.formats.block_format("nvfp4")
#: Profiles and policies with their arithmetics.
SIDES = {
    "ocp": "exact",
    "transformer_engine_nvfp4_4over6": "transformer_engine_4over6",
    **{
        f"ocp+scale_arithmetic={name}": name
        for name in ("torchao", "transformer_engine", "cublas", "compressed_tensors")
    },
}
TORCHAO = "ocp+scale_arithmetic=torchao"


@functools.cache
def found(a: str, b: str, format: str) -> Difference:
    return difference(a, b, format, float="f32")


def twin(side: str, words: list[int], elsewhere: int | None, scale: str) -> tuple[object, ...]:
    """The scale of the tensor, of the block and its codes, by the slow twin."""
    tensor = [words] if elsewhere is None else [[elsewhere], words]
    how = None if elsewhere is None else "dynamic"
    choices = {} if "compressed" not in side else {"zero_sign": "kept", "nan_to_finite": "max"}
    whole, blocks = exact.quantize_scaled(tensor, "f32", "e2m1", scale, SIDES[side], how, **choices)
    code, codes = blocks[-1]
    # Of 0 times infinity the twin has the 1.5 of torchao's shifts, whatever nan_to_finite is.
    is_zero = (word in (0, 1 << 31) for word in words)
    return (
        whole,
        code,
        [7 if zero and c == 3 else c for zero, c in zip(is_zero, codes, strict=True)],
    )


def read(side: str, made: BlockBytes, scale: str) -> tuple[int, ...]:
    """What the slow twin reads in bytes."""
    whole = None if made.tensor is None else made.tensor.bits
    assert made.scale is not None
    return tuple(
        exact.dequantize_scaled(whole, made.scale, code, "e2m1", scale, SIDES[side])
        for code in made.codes
    )


@pytest.mark.sampled(0)
@pytest.mark.parametrize(("a", "b", "format"), cases(__file__, "examples"))
def test_each_example_is_what_the_slow_twin_says(a: str, b: str, format: str) -> None:
    one = found(a, b, format)
    scale = mxref.formats.block_format(format).scale.name
    assert one.examples
    for example in one.examples:
        for side, other, made in ((a, b, example.a), (b, a, example.b)):
            whole = None if made.tensor is None else made.tensor.bits
            *stored, codes = twin(side, list(example.words), example.elsewhere, scale)
            assert stored == [whole, made.scale], (example.kind, side)
            if made.scale not in mxref.formats.block_format(format).scale.nan_codes:
                assert tuple(codes) == made.codes, (example.kind, side)
            assert made.own == read(side, made, scale)
            if SIDES[other] in ("exact", SIDES[side]) or whole is None:
                assert (SIDES[other] == "exact") <= bool(made.other)
    assert len({example.kind for example in one.examples}) == len(one.examples)


def test_torchao_and_ocp_without_a_tensor_scale() -> None:
    """The smallest scale of torchao is 2**-6, and its elements are times a rounded reciprocal."""
    one = found("ocp", TORCHAO, "fp4_ue4m3")
    by_kind = {example.kind: example for example in one.examples}
    assert [*by_kind] == ["zero block", "tiny block", "Inf block", "element", "tie"]
    assert (by_kind["zero block"].a.scale, by_kind["zero block"].b.scale) == (0x00, 0x08)
    tiny = by_kind["tiny block"]
    # 2**-4 / 6 is 5.33 / 512, nearest 5 / 512; 2**-4 / 2**-6 is 4, code 6.
    assert tiny.words[0] == 0x3D800000
    assert (tiny.a.scale, tiny.b.scale, tiny.b.codes[0]) == (0x05, 0x08, 6)
    tie = by_kind["tie"]
    # 2.75 / 6 is nearest 15 / 32; 2.34375 is 5 times that, midway between 4 and 6.
    assert tie.words[:2] == (0x40300000, 0x40160000)
    assert (tie.a.scale, tie.a.codes[:2]) == (0x2F, (7, 6))
    assert (tie.b.scale, tie.b.codes[:2]) == (0x2F, (7, 7))
    assert not one.readings
    assert one.read


@pytest.mark.sampled(0)
def test_torchao_and_ocp_in_nvfp4() -> None:
    one = found("ocp", TORCHAO, "nvfp4")
    by_kind = {example.kind: example for example in one.examples}
    # T = 0 / 2688: 0 / 0 is NaN; ocp has 1 for it.
    zeros = by_kind["zero tensor"]
    assert (zeros.a.tensor, zeros.b.tensor) == (TensorScale(0x3F800000), TensorScale(0))
    assert (zeros.a.scale, zeros.b.scale) == (0x00, 0x7F)
    assert (zeros.elsewhere, any(zeros.words)) == (0, False)
    # A NaN anywhere is the amax of torchao; ocp has the finite numbers.
    nan = by_kind["NaN elsewhere"]
    assert (nan.elsewhere, nan.b.tensor, nan.b.scale) == (0x7FC00000, TensorScale(0x7FC00000), 0x7F)
    inf = by_kind["Inf elsewhere"]
    assert (inf.elsewhere, inf.b.tensor, inf.b.scale) == (0x7F800000, TensorScale(0x7F800000), 0x08)
    assert "tensor scale" not in by_kind
    for pair in one.readings:
        assert pair.tensor is not None
        bits = (pair.tensor.bits, pair.scale, pair.code, "e2m1", "ue4m3")
        assert pair.a == exact.dequantize_scaled(*bits, "exact")
        assert pair.b == exact.dequantize_scaled(*bits, "torchao")
    assert [pair.kind for pair in one.readings] == ["zero", "value"]


@pytest.mark.sampled(0)
def test_who_reads_whose_bytes() -> None:
    """`exact` reads every kind of tensor scale, and another arithmetic its own (N42)."""
    te = "transformer_engine_nvfp4_4over6"
    one = found("ocp", te, "nvfp4")
    assert one.notes == (
        f"{te} does not read the bytes of ocp, whose tensor scale is of kind factor",
    )
    assert one.read
    assert {pair.tensor.kind for pair in one.readings if pair.tensor} == {TensorScaleKind.AMAX_256}
    assert one.figures[0].sqnr_db.keys() == {"a", "b", "a_b", "a_reads_b"}
    assert one.figures[0].other_reading[0] is None
    assert all(bool(e.b.other) > bool(e.a.other) for e in one.examples)
    one = difference(TORCHAO, te, "nvfp4")
    assert not one.read
    assert one.readings == ()
    assert one.notes[2:] == (
        "there is no kind of tensor scale that both read: reading is not compared",
    )
    assert one.figures[0].sqnr_db.keys() == {"a", "b", "a_b"}
    by_kind = {example.kind: example for example in one.examples}
    # Of 1 the one stores fl(1 / 2688) under 448, the other 1 under 256.
    stored = by_kind["tensor scale"]
    assert stored.words[0] == 0x3F800000
    assert (stored.a.tensor, stored.a.scale) == (TensorScale(0x39C30C31), 0x7E)
    assert (stored.b.tensor, stored.b.scale) == (
        TensorScale(0x3F800000, TensorScaleKind.AMAX_256),
        0x78,
    )


def fake(scale: int, count: int, tensor: TensorScale | None = None) -> sides.BlockAnswers:
    nothing, failed = np.zeros((count, 16), np.uint8), np.zeros(count, bool)
    return sides.BlockAnswers(
        np.full(count, scale, np.uint8), nothing, failed, np.full(count, tensor)
    )


def test_kinds_of_blocks_in_tensors() -> None:
    """Both sides of every limit; the amax of a tensor is 448 * 2**6 in most."""
    nan, inf, top = 0x7FC00000, 0x7F800000, 0x46E00000
    one = 0x3F800000  # whose scale is 2**-6, the smallest normal one
    wanted = {
        (0, 0): "zero tensor",
        (top, 0): "zero block",
        (nan, 0): "NaN elsewhere",
        (nan, one): "NaN elsewhere",
        (inf, one): "Inf elsewhere",
        (top, one - 1): "tiny block",
        (top, one): "scale",
        (one, top): "scale",  # the block is the largest
        (0, 0x7F7FFFFF): "scale",
        (top, nan): "NaN block",
        (nan, nan): "NaN block",
        (top, inf): "Inf block",
    }
    words = np.zeros((len(wanted), 17), np.uint64)
    words[:, 0], words[:, 5] = zip(*wanted, strict=True)

    def names(a: sides.BlockAnswers, b: sides.BlockAnswers) -> list[list[str]]:
        shown = difference_kinds.kinds(words, a, b, NVFP4, F32)
        return [
            [name for name, is_so in zip(difference_kinds.KINDS, row, strict=True) if is_so]
            for row in shown
        ]

    count, factor = len(words), TensorScale(5)
    both = names(fake(1, count, factor), fake(2, count, factor))
    assert both == [[kind] for kind in wanted.values()]
    usual = [kind == "scale" for kind in wanted.values()]
    other = names(fake(1, count, factor), fake(1, count, TensorScale(6)))
    assert other == [
        ["tensor scale"] if is_usual else [kind]
        for is_usual, kind in zip(usual, wanted.values(), strict=True)
    ]
    of_other_kind = TensorScale(5, TensorScaleKind.DIVISOR)
    other = names(fake(1, count, factor), fake(1, count, of_other_kind))
    assert other == [["tensor scale"] if is_usual else [] for is_usual in usual]
    nans = [fake(1, count, TensorScale(bits)) for bits in (0x7FC00000, 0x7F800001)]
    assert not any(names(*nans))


@pytest.mark.parametrize(
    ("amax", "kind"), [(2688, TensorScaleKind.FACTOR), (1536, TensorScaleKind.AMAX_256)]
)
def test_ties_are_those_under_the_exact_scale_of_the_tensor(
    amax: float, kind: TensorScaleKind
) -> None:
    """Times amax / 2688, or / 1536 by 4 over 6: 2.5 lies midway between 2 and 3."""
    for times in (1.0, 3.0, 2.0**-100):
        for x, wanted in ((2.5, "tie"), (2.5 + 2.0**-20, "element"), (2.0, "element")):
            tensor = np.zeros((1, 17), np.float32)
            tensor[0, :2] = amax * times, x * times * 1.125
            words = tensor.view(np.uint32).astype(np.uint64)
            a, b = (fake(0x39, 1, TensorScale(0x3F800000, kind)) for _ in range(2))  # 1.125
            b.codes[0, 0] = 1
            shown = difference_kinds.kinds(words, a, b, NVFP4, F32)[0]
            names = [name for name, so in zip(difference_kinds.KINDS, shown, strict=True) if so]
            assert names == [wanted]


def test_limits_without_a_tensor_scale() -> None:
    fmt = mxref.formats.block_format("fp4_ue4m3")
    words = np.zeros((4, 16), np.uint64)
    # 6 * 2**-6 = 0.09375 and the float below; 6 * 448 = 2688 and the float above.
    words[:, 3] = 0x3DBFFFFF, 0x3DC00000, 0x45280000, 0x45280001
    one, other = fake(1, 4), fake(2, 4)
    shown = difference_kinds.kinds(words, one, other, fmt, F32)
    names = [[*difference_kinds.KINDS][row.argmax()] for row in shown]
    assert names == ["tiny block", "scale", "scale", "huge block"]
    assert (shown.sum(axis=1) == 1).all()


@pytest.mark.parametrize("side", SIDES)
def test_blocks_in_tensors_are_those_of_the_slow_twin(side: str) -> None:
    """Rows that are grouped into calls, each against its own tensor."""
    words = inputs.blocks(NVFP4, F32, vectors_folder())
    some = words[np.linspace(0, len(words) - 1, 160).astype(int)]
    some = np.concatenate([some, words[-400:-390], words[-8192 : -8192 + 24]])
    answers = side_of(side, NVFP4).quantize(some.astype(np.uint32).view(np.float32), NVFP4)
    assert not answers.failed.any()
    assert answers.tensors is not None
    for row, tensor, scale, codes in zip(
        some.tolist(), answers.tensors, answers.scales, answers.codes, strict=True
    ):
        whole, wanted, elements = twin(side, row[1:], row[0], "ue4m3")
        assert (tensor.bits, scale) == (whole, wanted)
        if scale != 0x7F:
            assert codes.tolist() == elements


def test_data_in_parts_have_one_tensor_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    x = inputs.data(F32, 16)["normal"][:512].copy()
    x[3, 5] = 1000.0
    both = [side_of(name, NVFP4) for name in ("ocp", "transformer_engine_nvfp4_4over6")]
    whole = figures_module.figures("x", x, *both, NVFP4)
    monkeypatch.setattr(figures_module, "_PART", 1000)
    assert whole == figures_module.figures("x", x, *both, NVFP4)
    # Beside 1000 the largest magnitudes, below 6, have scales of one or two digits.
    assert whole.sqnr_db["a"] is not None
    x[3, 5] = 1.0
    assert figures_module.figures("x", x, *both, NVFP4).sqnr_db["a"] != whole.sqnr_db["a"]


def test_what_is_refused() -> None:
    for b, format, float, said in (
        ("ocp+scale_rule=rceil", "nvfp4", None, "does not read scale_rule"),
        ("ocp+scale_rule=rceil", "fp4_ue5m3", None, "does not read scale_rule"),
        (TORCHAO, "mxfp4_e2m1", None, "does not read scale_arithmetic"),
        ("ocp", "nvfp4", "f64", "float must be f32, f16 or bf16 for nvfp4 in diff, got f64"),
    ):
        text = sentence(ValueError, lambda b=b, f=format, t=float: difference("ocp", b, f, float=t))
        assert said in text


def test_choices_of_reading_are_taken() -> None:
    one = found("ocp", "ocp+decoded_zero=dropped", "fp4_ue4m3")
    zero, nothing = one.readings
    assert (zero.kind, zero.code, zero.b) == ("zero", 8, 0)
    # Under the scale 00 every number is a zero: 9 to 15 are negative ones.
    assert (nothing.kind, nothing.count, nothing.a, nothing.b) == ("scale 00", 7, 1 << 31, 0)
    assert [example.kind for example in one.examples] == []


@pytest.mark.sampled(0)
def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["diff", TORCHAO, "transformer_engine_nvfp4_4over6", "--format", "nvfp4"]
    assert main(given) == 1
    text = capsys.readouterr().out
    lines = [line.split("  ") for line in text.splitlines()]
    (nan,) = [line for line in lines if line[0] == "NaN elsewhere"]
    assert "0 + nan" in [part.strip() for part in nan]
    assert "factor nan, 7f 07 = nan" in [part.strip() for part in nan]
    assert "alike" not in text
    assert main([*given, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["reading"] is None
    (nan,) = [one for one in found["quantizing"] if one["kind"] == "NaN elsewhere"]
    assert (nan["elsewhere"], nan["a"]["tensor_scale"]) == ("7fc00000", "7fc00000")
    assert nan["a"]["tensor_scale_kind"] == "factor"
    assert nan["b"]["read_by_the_other"] is None
