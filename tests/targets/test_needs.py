"""What functions need: sizes that are multiples, and results that are read at once."""

from __future__ import annotations

from ast import literal_eval
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS, vector_file
from json_tables import cases
from right_calls import RIGHT_CALLS, quantized, tensor_scale
from tables import rows

import mxref
from mxref import golden
from mxref.conformance import Extent, TargetError, check, target_of
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.targets.filled_calls import filled
from mxref.targets.needs import Needs

#: Of each operation a vector file, its multiples, and the axes of its arguments that have them.
ASKED: dict[str, tuple[str, Any, dict[int, tuple[int, ...]]]] = {
    op: (stem, literal_eval(steps), literal_eval(axes))
    for op, stem, steps, axes in rows("targets", "asked")
}

TILES = "ocp+scale_layout=tiles_128x4"
POLICIES = {
    "encode_stochastic": "ocp+rounding=stochastic_a",
    "pack_scales": TILES,
    "unpack_scales": TILES,
}


def strict(op: str, seen: list[tuple[int, ...]]) -> Any:
    """A right kernel that takes its multiples alone."""

    def kernel(*arguments: Any) -> Any:
        for place, steps in ASKED[op][2].items():
            shape = arguments[place].shape
            seen.append(shape)
            if any(n % step for n, step in zip(shape, steps, strict=False)):
                raise ValueError(f"{op} takes multiples of {steps}, got {shape}")
        return RIGHT_CALLS[op](*arguments)

    return kernel


@pytest.mark.parametrize("op", ASKED)
def test_calls_are_filled_up_to_the_multiples_of_an_operation(op: str) -> None:
    stem, multiples, _ = ASKED[op]
    file, seen = vector_file(f"{op}/{stem}"), list[tuple[int, ...]]()
    policy = POLICIES.get(op, "ocp")
    kernel = {op: strict(op, seen), "POLICY": policy, "FORMATS": [file.format]}
    refusing = target_of(SimpleNamespace(**kernel), "kernel")
    assert refusing.ask(file, file.input_words()[:3]).errors
    target = target_of(SimpleNamespace(**kernel, MULTIPLES={op: multiples}), "kernel")
    seen.clear()
    for words in (file.input_words(), file.input_words()[:1], file.input_words()[:3]):
        got = target.ask(file, words)
        assert not got.errors
        assert seen
        right = target_of(SimpleNamespace(**{**kernel, op: RIGHT_CALLS[op]}), "right")
        assert np.array_equal(got.words, right.ask(file, words).words)


def by_32(values: Any, format: str) -> Any:
    assert len(values) % 32 == 0
    return mxref.encode(values, format)


def last_lane(values: Any, format: str) -> Any:
    codes = by_32(values, format)
    codes[31::32] = mxref.encode(values[31::32], format, "ocp+rounding=toward_zero")
    return codes


def by_128(values: Any, format: str) -> Any:
    assert len(values) % 128 == 0
    return quantized(values, format)


def last_block(values: Any, format: str) -> Any:
    scales, codes = by_128(values, format)
    codes[127::128, 5] = 0
    return scales, codes


@pytest.mark.parametrize(
    ("op", "multiple", "right", "wrong"),
    [("encode", 32, by_32, last_lane), ("quantize", 128, by_128, last_block)],
)
def test_a_right_kernel_of_multiples_passes_and_a_wrong_one_fails(
    op: str, multiple: int, right: Any, wrong: Any
) -> None:
    file = vector_file(f"{op}/{'e2m1' if op == 'encode' else 'mxfp4_e2m1'}.f32")
    reports = [
        check(
            target_of(SimpleNamespace(**{op: one}, MULTIPLES={op: multiple}), "kernel"),
            [file],
            extent=Extent(elements=40_000),
        )
        for one in (right, wrong)
    ]
    assert [report.passed for report in reports] == [True, False]
    assert f"{op} is asked for multiples of {multiple} (n) alone" in str(reports[0].scope.notes)
    assert " wrong only in calls with " in f" {reports[1].uses[0].text}"


def test_arrays_in_other_memory_reach_a_kernel_of_multiples_as_they_are() -> None:
    def encode(values: Any, format: str) -> Any:
        codes = by_32(values, format)
        return codes if values.flags.writeable else codes ^ 1

    kernel = SimpleNamespace(encode=encode, MULTIPLES={"encode": 32})
    extent = Extent(elements=100, search=False)
    report = check(target_of(kernel, "kernel"), [vector_file("encode/e2m1.f32")], extent=extent)
    (use,) = report.uses
    assert use.text.startswith("wrong only in calls with read-only arrays: with 64 numbers, ")


def own_buffer() -> Any:
    room = np.zeros(1 << 17, np.uint8)

    def encode(values: Any, format: str) -> Any:
        room[: len(values)] = mxref.encode(values, format)
        return room[: len(values)]

    return encode


@pytest.mark.parametrize("reuses", [True, False])
def test_a_function_may_say_that_it_gives_back_its_own_buffer(reuses: bool) -> None:
    kernel = SimpleNamespace(encode=own_buffer(), REUSES_RESULT=reuses)
    report = check(
        target_of(kernel, "kernel"), [vector_file("encode/e2m1.f32")], extent=Extent(elements=9_000)
    )
    assert report.passed is reuses
    assert reuses or "is overwritten by the next call" in report.uses[0].text


def test_multiples_that_leave_no_call_compare_nothing() -> None:
    kernel = SimpleNamespace(encode=by_32, MULTIPLES={"encode": 1 << 25})
    report = check(target_of(kernel, "kernel"), [vector_file("encode/e2m1.f32")])
    assert not report.compared
    assert not report.passed
    text = "encode is not asked: a call with multiples of 33,554,432 (n) has more than 16,777,216"
    assert text in str(report.scope.notes)


@pytest.mark.parametrize(("multiples", "sentence"), cases(__file__, "malformed multiples"))
def test_malformed_multiples_are_told_in_a_sentence(multiples: Any, sentence: str) -> None:
    with pytest.raises(TargetError) as caught:
        target_of(SimpleNamespace(encode=by_32, MULTIPLES=multiples), "kernel")
    assert str(caught.value).startswith(f"target kernel: {sentence}")


def test_multiples_of_products_are_a_tuple_or_in_the_mapping() -> None:
    assert Needs.of((16, 8, 64)) == Needs.of({"matmul": [16, 8, 64]})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", list(ASKED)[-13:])
def test_a_right_kernel_of_multiples_passes_in_every_format(op: str) -> None:
    """Its calls of other sizes, in other memory and with ordinary data are filled up, too."""
    some: dict[str, int | tuple[int, ...]] = {
        "linear_qcs4w": (1, 1, 2),
        "pack_int4": (1, 2),
        "unpack_int4": (1, 2),
    }
    sizes = REGISTRY[op].multiples
    multiples = some.get(op, 4 if len(sizes) == 1 else (4,) * len(sizes))
    steps = dict(zip(sizes, [multiples] if isinstance(multiples, int) else multiples, strict=True))

    def kernel(*arguments: Any) -> Any:
        shapes = [one.shape for one in arguments if isinstance(one, np.ndarray)]
        result = RIGHT_CALLS[op](*arguments)
        if op.endswith("affine"):
            assert not shapes[0] or shapes[0][-1] % 4 == 0
        elif op.startswith("linear_qcs"):
            assert all(n % steps[name] == 0 for n, name in zip(result.shape, "mn", strict=True))
            assert shapes[0][1] % steps["k"] == 0
        elif op == "addmm":
            assert all(n % 4 == 0 for n in (*result.shape, shapes[1][1]))
        elif op.startswith("un"):
            assert result.shape[-1] % steps.get("k", 4) == 0
        elif op != "grid_sample":
            assert all(n % step == 0 for n, step in zip(shapes[0], steps.values(), strict=False))
        return result

    files = golden.read_vectors(VECTORS, lambda stem: stem.startswith(f"{op}/"))
    policy = POLICIES.get(op, "ocp")
    given = {op: kernel, "POLICY": policy, "MULTIPLES": {op: multiples}}
    target = target_of(SimpleNamespace(**given), "kernel")
    assert len(target.notes) == 1
    files = [one for one in files if target.covers(one.op, one.format, one.float)]
    report = check(target, files, extent=Extent(elements=2_000))
    assert report.passed, report.uses
    assert not report.uses


def test_an_infinite_scale_of_a_row_is_no_zero_times_infinity_where_rows_are_filled_up() -> None:
    """Outputs beside it have zeros behind them, which add nothing."""
    file, calls = vector_file("addmm/nvfp4-nvfp4-special.f32"), list[tuple[int, ...]]()

    def kernel(*arguments: Any) -> Any:
        calls.append(arguments[1].shape)
        return RIGHT_CALLS["addmm"](*arguments)

    given = {"addmm": kernel, "FORMATS": [file.format]}
    for multiples in ((1, 1, 4), (8, 8, 64)):
        target = target_of(SimpleNamespace(**given, MULTIPLES={"addmm": multiples}), "kernel")
        calls.clear()
        got = target.ask(file, file.input_words())
        assert not got.errors
        assert np.array_equal(got.words, file.outputs(0))
        assert {shape[1] % multiples[2] for shape in calls} == {0}


@pytest.mark.parametrize("pattern", [0x7F800000, 0x7FC00000, 0x7F7FFFFF, 0])
@pytest.mark.parametrize("length", [1, 5, 16, 21])
def test_products_under_any_scale_of_a_tensor_are_filled_up(length: int, pattern: int) -> None:
    rng = np.random.default_rng(length)
    scales, codes = (
        rng.integers(0x30, 0x40, (2, 3, -(-length // 16)), np.uint8),
        rng.integers(1, 8, (2, 3, length), np.uint8),
    )
    codes[0, 0, -1] = 0  # a product that is NaN, where zeros of the call itself are
    tensors = np.array([pattern, 0x40000000], np.uint32).view(np.float32)

    fmt = mxref.formats.block_format("nvfp4")

    def blocks(scales: Any, codes: Any, tensor: np.float32) -> mxref.Blocks:
        return mxref.Blocks(codes, scales, fmt, 1, codes.shape, tensor_scale=tensor_scale(tensor))

    def matmul(*sides: Any, tensor_scale_a: np.float32, tensor_scale_b: np.float32) -> Any:
        assert sides[1].shape[1] % 8 == 0
        a, b = blocks(*sides[:2], tensor_scale_a), blocks(*sides[2:4], tensor_scale_b)
        return np.asarray(mxref.matmul(a, b.T))

    dtype = np.dtype(np.float32)
    given: Any = (scales[0], codes[0], scales[1], codes[1], "nvfp4", "nvfp4", dtype, *tensors)
    kernel = SimpleNamespace(matmul=matmul, FORMATS=["nvfp4"], MULTIPLES=(4, 4, 8))
    got = target_of(kernel, "kernel").operations["matmul"](*given)
    a, b = (blocks(*one) for one in zip(scales, codes, tensors, strict=True))
    assert np.array_equal(got.view(np.uint32), np.asarray(mxref.matmul(a, b.T)).view(np.uint32))


def test_products_that_fill_a_row_up_leave_a_sum_of_minus_zero_as_it_is() -> None:
    """fma_f32: (-0) + 1 * (-0) is -0, and 0 * 0 would make it +0."""

    def by_4(a: Any, b: Any, c: Any) -> Any:
        assert a.shape[1] % 4 == 0
        return mxref.mma(a, b, c, adder="fma_f32")

    one, zero = np.ones((1, 1), np.float32), -np.zeros((1, 1), np.float32)
    call = filled("mma", by_4, (1, 1, 4), Policy())
    assert call(one, zero, zero).view(np.uint32).tolist() == [[0x80000000]]
