"""Operations on layouts and tensors in many sizes: planted faults are found and named."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from json_tables import cases
from limits import assert_limits, recorded
from numpy.typing import NDArray
from right_calls import quantized
from tables import rows
from uses import assert_use

import mxref
from mxref.conformance.checking import computed_calls
from mxref.conformance.checking.array_memory import MEMORIES, laid
from mxref.conformance.checking.call_findings import _only_later
from mxref.conformance.checking.call_places import places_text
from mxref.conformance.checking.call_rules import Rule, least_wrong, rule_of
from mxref.conformance.checking.computed_calls import ask_sizes
from mxref.conformance.checking.layout_questions import LayoutQuestion, LayoutSubject
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.operands.splitmix import splitmix64
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES
from mxref.targets.target import target_of

Array = NDArray[Any]
Function = Callable[..., Any]

TILES = "ocp+scale_layout=tiles_128x4"
BEFORE = "ocp+scale_place=before"
#: Where the bytes of an operation's vectors have one layout each, the one of these policies.
SLOTS = {"unpack": "low_nibble_first", "unpack_scales": "tiles_128x4", "quantize_tensor": "f32"}


def assert_found(
    op: str, format: str, function: Function, kind: str, text: str, *policy: str, **more: Any
) -> str:
    """What is said of one function, of this kind; `...` stands for any words."""
    return assert_use(found(op, format, function, *policy, **more), kind, text).text


def found(
    op: str, format: str, function: Function, policy: str = "ocp", **more: Any
) -> list[CallDependence]:
    """What is said of one function under a policy."""
    target = target_of(SimpleNamespace(**{op: function}), "kernel")
    slot, fails = SLOTS.get(op, "bytes"), more.get("fails", False)
    subject = LayoutSubject(op, format, slot, Policy.parse(policy), fails=fails)
    uses, scope = ask_sizes(target, [subject], more.get("elements", 5_000))
    assert scope.calls > 0
    return uses


def pack(codes: Array, name: str) -> Array:
    """FP4 codes by bits, the first in the low nibble."""
    bits = np.unpackbits(codes[:, np.newaxis], axis=1, bitorder="little")[:, :4]
    return np.packbits(bits.reshape(-1), bitorder="little")


def padded(values: Array, axis: int) -> Array:
    """Lines along an axis, filled up with zeros to whole blocks."""
    lines = np.moveaxis(values, axis, -1)
    whole = np.zeros((len(lines), -(-lines.shape[1] // 32) * 32), values.dtype)
    whole[:, : lines.shape[1]] = lines
    return whole


def by_blocks(whole: Array, name: str, axis: int) -> tuple[Array, Array]:
    scales, codes = quantized(whole, name, 1)
    return (scales, codes) if axis == 1 else (scales.T, codes.T)


@pytest.mark.parametrize(("op", "format", "policy"), cases(__file__, "right functions"))
def test_right_functions_pass_whatever_arrays_they_return(
    op: str, format: str, policy: str
) -> None:
    subject = LayoutSubject(op, format, SLOTS.get(op, "bytes"), Policy.parse(policy))

    def dressed(*arguments: Any) -> Any:
        for one in arguments:
            if isinstance(one, np.ndarray):
                assert one.flags.writeable
        result: Any = subject.answer(arguments)[0]
        if hasattr(result, "codes"):
            result = result.scale_codes, result.codes
        parts = result if isinstance(result, tuple) else (result,)
        wide = tuple(np.repeat(one.astype(np.int64), 2, axis=-1)[..., ::2] for one in parts)
        return wide if isinstance(result, tuple) else wide[0]

    assert found(op, format, dressed, policy) == []


def test_offsets_in_sixteen_bits() -> None:
    def wraps(codes: Array, name: str) -> Array:
        packed = np.zeros(-(-len(codes) // 2), np.uint8)
        at = np.arange(len(codes)) * 4 & 0xFFFF
        np.bitwise_or.at(packed, at // 8, (codes << (at % 8)).astype(np.uint8))
        return packed

    said = "wrong only in calls with 16,385 codes and more ("
    text = assert_found("pack", "e2m1", wraps, "size", said, elements=100_000)
    assert re.match(r"(\d+) of \1 such calls", text.removeprefix(said))
    assert "16,385 codes: byte 8192 holding element 16384" in text
    assert found("pack", "e2m1", wraps) == []  # right in calls of this size


def vectors_only(packed: Array, name: str, count: int) -> Array:
    """What follows the last whole vector is left out."""
    codes = mxref.unpack(packed, name, count)
    if count > 16:
        codes[count // 16 * 16 :] = 0
    return codes


def masked(values: Array, name: str, axis: int) -> tuple[Array, Array]:
    """A mask has its rows and columns exchanged."""
    if axis == 0:
        rows, columns = values.shape
        values[columns:] = 0
        values[:, rows:] = 0
    return quantized(values, name, axis)


def reads_on(values: Array, name: str, axis: int) -> tuple[Array, Array]:
    """The amax of a tail is taken of the next line, too."""
    whole = padded(values, axis)
    length = values.shape[axis]
    rest = whole.shape[1] - length
    if rest:
        whole[:-1, length:] = whole[1:, : min(rest, length)].repeat(rest, 1)[:, :rest] * 64
    scales, codes = by_blocks(whole, name, axis)
    np.moveaxis(codes, axis, -1)[:, length:] = 0
    return scales, codes


def by_bfloat16(values: Array, name: str, axis: int) -> tuple[Array, Array]:
    """Numbers, not sizes, are wrong along one axis."""
    if axis == 0:
        values = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    return quantized(values, name, axis)


def flat(values: Array, name: str, axis: int) -> tuple[Array, Array]:
    """Memory is taken as it lies."""
    return quantized(values.ravel(order="K").reshape(values.shape), name, axis)


def aligned(codes: Array, name: str) -> Array:
    """Loads of sixteen bytes."""
    return pack(np.roll(codes, codes.ctypes.data % 16), name)


def shared(values: Array, name: str, axis: int) -> tuple[Array, Array]:
    """A scale depends on the other numbers of the call."""
    scales, codes = quantized(values, name, axis)
    if values[0, 0] < 0 < values[-1, -1]:
        scales[-1, -1] += 1
    return scales, codes


FAULTS = {
    one.__name__: one
    for one in (vectors_only, masked, reads_on, by_bfloat16, flat, aligned, shared)
}


@pytest.mark.parametrize(
    "row", rows("conformance/checking", "layout_faults"), ids=lambda row: row[0]
)
def test_a_fault_is_named(row: list[str]) -> None:
    name, op, format, kind, said, *limit = row
    text = assert_found(op, format, FAULTS[name], kind, said)
    if limit:
        unit, least = limit
        assert_limits(text, {unit: int(least)})


@pytest.mark.parametrize("op", ["pack_scales", "unpack_scales"])
def test_tiles_that_stand_one_below_the_other(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = recorded(monkeypatch)

    def index(rows: int, columns: int) -> Array:
        row, column = np.arange(rows)[:, np.newaxis], np.arange(columns)
        tile = column // 4 * -(-rows // 128) + row // 128
        return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4

    def down_first(scales: Array) -> Array:
        rows, columns = scales.shape
        packed = np.zeros(-(-rows // 128) * -(-columns // 4) * 512, np.uint8)
        packed[index(rows, columns)] = scales
        return packed

    function = down_first if op == "pack_scales" else lambda packed, shape: packed[index(*shape)]
    text = assert_found(op, "e8m0", function, "size", "", TILES)
    assert_limits(text, {"rows": 129, "columns": 5}, asked)


@pytest.mark.parametrize("op", ["pack_blocks", "unpack_blocks"])
def test_blocks_behind_the_first_take_its_scale(op: str) -> None:
    policy = Policy.parse(BEFORE)

    def packs(scales: Array, codes: Array, name: str) -> Array:
        return mxref.pack_blocks(np.full_like(scales, scales[0]), codes.reshape(-1), name, policy)

    def unpacks(packed: Array, name: str) -> tuple[Array, Array]:
        scales, codes = mxref.unpack_blocks(packed, name, policy)
        return np.full_like(scales, scales[0]), codes.reshape(-1, 32)

    function = packs if op == "pack_blocks" else unpacks
    said = "...2 blocks and more (...2 blocks: block 1: "
    assert_found(op, "mxfp4_e2m1", function, "size", said, BEFORE)


def test_a_staging_buffer_that_is_cleared_once() -> None:
    buffer = np.zeros(1 << 16, np.float32)

    def staged(values: Array, name: str, axis: int) -> tuple[Array, Array]:
        lines = np.moveaxis(values, axis, -1)
        width = -(-lines.shape[1] // 32) * 32
        staging = buffer[: len(lines) * width].reshape(-1, width)
        staging[:, : lines.shape[1]] = lines
        return by_blocks(staging, name, axis)

    said = "not reproducible: the same ... gave two answers...elements along the axis that is no m"
    assert_found("quantize_tensor", "mxfp8_e4m3", staged, "state", said)


def test_numbers_that_are_wrong_whatever_came_before_are_no_kept_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The only wrong numbers are asked where what is kept is looked for, and nowhere before."""
    monkeypatch.setattr(computed_calls, "data_finding", lambda *_: (None, None))
    asked: list[bytes] = []

    def recorded(codes: Array, name: str) -> Array:
        asked.append(codes.tobytes())
        return pack(codes, name)

    assert found("pack", "e2m1", recorded) == []
    *_, wrong = (one for i, one in enumerate(asked) if one not in asked[:i])

    def wrong_there(codes: Array, name: str) -> Array:
        return pack(codes, name) ^ np.uint8(codes.tobytes() == wrong)

    assert_found("pack", "e2m1", wrong_there, "numbers", "wrong with some numbers: ")


def test_refused_memory_is_a_note() -> None:
    def refuses(values: Array, name: str, axis: int) -> tuple[Array, Array]:
        if not values.flags.c_contiguous:
            raise ValueError("values must be contiguous")
        return quantized(values, name, axis)

    target = target_of(SimpleNamespace(quantize_tensor=refuses), "kernel")
    subject = LayoutSubject("quantize_tensor", "mxfp4_e2m1", "f32", Policy())
    uses, scope = ask_sizes(target, [subject], 10_000)
    assert uses == []
    assert scope.notes == tuple(
        f"quantize_tensor mxfp4_e2m1 refuses {MEMORIES[memory]}"
        for memory in (2, 3, 4, 5, 8, 9, 10)
    )


@pytest.mark.parametrize("fails", [(True,), (True, False), (False, True), (False, False)])
def test_what_fails_with_one_float_type_is_not_said_of_another(fails: tuple[bool, ...]) -> None:
    def reverses(codes: Array, name: str) -> Array:
        return pack(codes[::-1], name)

    target = target_of(SimpleNamespace(pack=reverses), "kernel")
    subjects = [LayoutSubject("pack", "e2m1", "bytes", Policy(), fails=one) for one in fails]
    assert len(ask_sizes(target, subjects, 100)[0]) == (not any(fails))


@pytest.mark.parametrize(
    ("text", "inside", "has_parts", "alone", "tells"), cases(__file__, "which rules tell")
)
def test_which_rules_tell_more_than_vectors_that_fail(
    text: str | None, inside: int, has_parts: bool, alone: bool, tells: bool
) -> None:
    """Of numbers, those of an axis; else those of parts, or of three calls in four."""
    rule = None if text is None else Rule(text, np.arange(4) < inside)
    subject = LayoutSubject("pack", "e2m1", "bytes", Policy())
    assert subject.tells(rule, has_parts=has_parts, alone=alone) == tells


@pytest.mark.sampled(6)
def test_of_what_fails_at_the_vectors_only_sizes_and_state_are_named() -> None:
    def unnamed(codes: Array, name: str) -> Array:
        return pack(codes[::-1], name)

    assert found("pack", "e2m1", unnamed, fails=True) == []
    assert len(found("pack", "e2m1", unnamed)) == 1

    def truncated(values: Array, name: str, axis: int) -> tuple[Array, Array]:
        return quantized(values, name, axis, rounding="toward_zero")

    assert found("quantize_tensor", "mxfp8_e4m3", truncated, fails=True) == []
    assert_found("quantize_tensor", "mxfp8_e4m3", truncated, "numbers", "")

    def along_rows(values: Array, name: str, axis: int) -> tuple[Array, Array]:
        if values.shape[axis] > 64:
            values[:] = 0
        return quantized(values, name, axis)

    text = assert_found("quantize_tensor", "mxfp8_e4m3", along_rows, "size", "", fails=True)
    assert_limits(text, {"elements along the axis": 65})


def test_what_a_profile_refuses_may_be_refused() -> None:
    profile = PROFILES["torchao_0_18_floor"]

    def even(codes: Array, name: str) -> Array:
        if len(codes) % 2:
            raise ValueError("codes must be an even number")
        return pack(codes, name)

    for function in (even, pack):
        target = target_of(SimpleNamespace(pack=function), "kernel")
        subject = LayoutSubject("pack", "e2m1", "bytes", profile.policy, profile)
        assert ask_sizes(target, [subject], 1000)[0] == []
    said = "...a number of codes that is no multiple of 2 (...1 code: ValueError: codes must be an"
    assert_found("pack", "e2m1", even, "size", said)


def test_errors_and_wrong_shapes_are_wrong() -> None:
    def limited(codes: Array, name: str) -> Array:
        if len(codes) > 1024:
            raise MemoryError("too many codes")
        return pack(codes, name)

    said = "...1,025 codes and more (...1,025 codes: MemoryError: too many codes"
    assert_found("pack", "e2m1", limited, "size", said)
    (use,) = found("pack", "e2m1", lambda codes, name: pack(codes, name)[np.newaxis])
    text = r"wrong in (\d+) of \1 calls: 1 code: the result must have one axis"
    assert re.match(text, use.text), use.text


@pytest.mark.parametrize(("op", "format", "text"), cases(__file__, "results of another size"))
def test_results_of_another_size(op: str, format: str, text: str) -> None:
    policy = BEFORE if op == "pack_blocks" else "ocp"
    subject = LayoutSubject(op, format, SLOTS.get(op, "bytes"), Policy.parse(policy))

    def longer(*arguments: Any) -> Any:
        result: Any = subject.answer(arguments)[0]
        if op == "quantize_tensor":
            return result.scale_codes, np.repeat(result.codes, 2, axis=0)
        return np.concatenate([result, result[..., :1]], axis=-1)

    (use,) = found(op, format, longer, policy)
    assert text in use.text


def test_questions_keep_to_the_largest_number_of_elements() -> None:
    subject = LayoutSubject("quantize_tensor", "mxfp4_e2m1", "bf16", Policy())
    asked = list(subject.questions(5000, first_float=True, first_format=True))
    assert max(a * b for a, b in (one.shape for one in asked)) <= 5000
    few = list(subject.questions(5000, first_float=False, first_format=True))
    assert len(few) < len(asked)
    assert {one.memory for one in few} == {0}


def test_no_call_is_larger_when_what_is_wrong_is_looked_into() -> None:
    sizes = []

    def wrong(values: Array, name: str, axis: int) -> tuple[Array, Array]:
        sizes.append(values.size)
        return quantized(values * (len(values) > 2), name, axis)

    assert found("quantize_tensor", "mxint8", wrong, elements=1100)
    assert max(sizes) <= 1100


def test_questions_are_the_same_everywhere() -> None:
    codes = LayoutQuestion(LayoutSubject("pack", "e2m1", "bytes", Policy()), (1, 9)).arguments[0]
    drawn = b"".join(int(word).to_bytes(8, "little") for word in splitmix64((1 << 20) + 9, 2))
    assert codes.tolist() == [1 + byte % 15 for byte in drawn[:9]]


@pytest.mark.parametrize("float", ["f64", "f32", "f16", "bf16"])
def test_numbers_are_normal_and_their_blocks_scale_without_clamping(float: str) -> None:
    subject = LayoutSubject("quantize_tensor", "mxfp8_e5m2", float, Policy())
    values = LayoutQuestion(subject, (70, 70)).arguments[0].astype(np.float64)
    assert np.isfinite(values).all()
    assert (np.abs(values) >= 2.0**-4).all()
    assert (np.abs(values) < 2.0**12).all()


def test_one_number_in_eight_lies_just_below_a_power_of_two() -> None:
    subject = LayoutSubject("quantize_tensor", "mxfp8_e5m2", "f32", Policy())
    bits = LayoutQuestion(subject, (70, 70)).arguments[0].view(np.uint32)
    below = (1 << 23) - (bits & 0x7FFFFF)  # in ulp
    counts = np.bincount(below[below <= 4], minlength=5)
    assert counts[0] == 0
    assert (np.abs(counts[1:] - 4900 / 32) < 50).all()


@pytest.mark.parametrize("memory", range(len(MEMORIES)))
def test_memory_changes_nothing_but_the_place(memory: int) -> None:
    for dtype in (np.uint8, np.float32, ml_dtypes.bfloat16):
        for shape in ((9,), (3, 4)):
            array = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
            moved = laid(array, memory)
            assert moved.dtype == array.dtype
            assert (moved == array).all()
            assert not np.shares_memory(moved, array)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (lambda r, c: r % 512 == 0, "a number of rows that is a multiple of 512"),
        (lambda r, c: r % 512 == 3, "a number of rows that is 3 above a multiple of 512"),
        (lambda r, c: min(r, c) >= 64, "64 lines on the shorter side and more"),
        (lambda r, c: r * c >= 4000, "more than N elements, N from 3,969 to 4,031"),
    ],
)
def test_sizes_are_told_apart_near_a_wrong_call(
    wrong: Callable[[int, int], bool], rule: str
) -> None:
    def quantize_tensor(values: Array, name: str, axis: int) -> tuple[Array, Array]:
        scales, codes = quantized(values, name, axis)
        return scales, codes ^ np.uint8(wrong(*values.shape))

    said = f"wrong only in calls with {rule} ("
    assert_found("quantize_tensor", "mxfp8_e4m3", quantize_tensor, "size", said, elements=70_000)


def test_the_least_wrong_size_is_found_between_two_that_were_asked() -> None:
    asked = []

    def is_wrong(size: int) -> bool:
        asked.append(size)
        return size > 65_535

    assert least_wrong(257, 65_573, is_wrong) == 65_536
    assert len(asked) <= 17
    assert least_wrong(8, 9, is_wrong) == 9


@pytest.mark.parametrize(
    ("calls", "later"),
    [
        ([(8, 0), (9, 0), *[(8, 1)] * 2, *[(9, 1)] * 2], True),
        ([(8, 0), (9, 0), *[(8, 1)] * 2, (8, 0), (9, 1)], False),  # three may be chance
        ([(8, 0), *[(8, 1)] * 2, (9, 1), *[(9, 1)] * 2], False),  # the first call of a size
        ([(8, 0), *[(8, 1)] * 4, (9, 0), (8, 0), *[(9, 1)] * 40], True),
    ],
)
def test_from_four_on_wrong_calls_after_right_ones_of_their_sizes_are_state(
    calls: list[tuple[int, int]], later: bool
) -> None:
    replies: list[Any] = [
        SimpleNamespace(question=SimpleNamespace(features={"codes": size}), wrong=bool(wrong))
        for size, wrong in calls
    ]
    assert _only_later(replies, 4) == later


def test_rules() -> None:
    calls = [{"rows": n, "kind": kind} for n in (1, 2, 31, 32, 64, 80, 100) for kind in ("a", "b")]

    def rule(wrong: Callable[[dict[str, Any]], bool]) -> str:
        best = rule_of(calls, [wrong(one) for one in calls])
        return "" if best is None else best.text

    assert rule(lambda one: one["kind"] == "a") == "a"
    assert rule(lambda one: one["rows"] >= 32) == "32 rows and more"
    few = rule(lambda one: one["rows"] <= 2 and one["kind"] == "b")
    assert few == "fewer than N rows, N from 3 to 31, and b"
    assert rule(lambda one: one["rows"] % 32 != 0) == "a number of rows that is no multiple of 32"
    assert rule(lambda one: one["rows"] == 31) == "31 rows, where 2 and 32 are right"
    assert rule(lambda one: one["rows"] == 2) == "2 rows, where 1 and 31 are right"
    assert rule(lambda one: one["rows"] == 1) == "fewer than 2 rows"
    assert rule(lambda one: one["rows"] > 32) == "more than N rows, N from 32 to 63"
    assert rule(lambda one: (one["rows"], one["kind"]) in ((1, "a"), (100, "b"))) == ""


@pytest.mark.parametrize(("right", "text"), [(0, True), (1, True), (2, False), (4, False)])
def test_two_properties_are_named_if_not_more_than_a_third_of_their_calls_are_right(
    right: int, text: bool
) -> None:
    calls = [{"rows": n, "kind": kind} for n in (1, 64) for kind in "ab" for _ in range(4)]
    wrong = [call == {"rows": 64, "kind": "b"} for call in calls]
    pairs = [*zip(calls, wrong, strict=True)]
    pairs = pairs[:-2] + [({"rows": 64, "kind": "b"}, False)] * right
    rule = rule_of(*zip(*pairs, strict=True))
    assert (rule is not None) == text
    if rule is not None:
        assert rule.text == "64 rows, where 1 is right and no more were asked, and b"


@pytest.mark.parametrize(
    ("first", "said"),
    [(63, False), (64, True), (71, True), (72, False), (128, True), (143, True), (144, False)],
)
def test_wrong_places_begin_at_a_power_of_two_or_little_behind(first: int, said: bool) -> None:
    text = f", in rows from number {first} on" if said else ""
    assert places_text([(np.arange(first, 400), 400)], "rows") == text


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda n: np.arange(127, n, 128), "whose number is 127 above a multiple of 128"),
        (lambda n: np.arange(1024, n, 1024), "whose number is a multiple of 1,024"),
        (
            lambda n: np.flatnonzero(np.arange(n) // 32 % 4 == 2),
            "whose number is 64 to 95 above a multiple of 128",
        ),
        (lambda n: np.arange(64, 96), "from number 64 to number 95"),
        (lambda n: np.arange(64, n), "from number 64 on"),
        (lambda n: np.arange(60, n), ""),
    ],
)
def test_blocks_that_are_skipped(wrong: Callable[[int], Any], text: str) -> None:
    places = [(wrong(size), size) for size in range(3000, 3080, 7)]
    assert places_text(places, "rows") == (f", in rows {text}" if text else "")


def test_a_limit_is_one_of_the_calls_that_the_other_property_leaves() -> None:
    """Of rows that were asked with other kinds or columns alone nothing is known."""

    def text(calls: Sequence[dict[str, Any]], wrong: Callable[[dict[str, Any]], bool]) -> str:
        best = rule_of(calls, [wrong(one) for one in calls])
        assert best is not None
        return best.text

    ones = (*((n, "a") for n in range(1, 13)), *((n, "b") for n in (1, 2, 3, 10, 11, 12)))
    calls = [{"rows": rows, "kind": kind} for rows, kind in ones]
    for least in range(4, 11):
        found = text(calls, lambda one: one["rows"] >= least and one["kind"] == "b")  # noqa: B023
        assert found == "more than N rows, N from 3 to 9, and b"
    found = text(calls, lambda one: one["rows"] < 9 and one["kind"] == "b")
    assert found == "fewer than N rows, N from 4 to 10, and b"
    shapes = [(128, 128), (128, 256), (256, 128), (64, 128), (128, 32), (127, 1), (1, 127), (9, 9)]
    calls = [{"rows": m, "columns": n} for m, n in shapes]
    found = text(calls, lambda one: one["rows"] >= 100 and one["columns"] >= 40)
    assert found == "more than N rows, N from 64 to 127, and more than M columns, M from 32 to 127"
    # A property of the rows excludes rows that were asked, whatever else a call has.
    calls = [{"rows": n} for n in (*range(1, 42), 48, 63, 64, 65)]
    found = text(calls, lambda one: one["rows"] > 32 and one["rows"] % 32 != 0)
    assert found == "33 rows and more, and a number of rows that is no multiple of 32"
    calls = [{"rows": n} for n in (*range(1, 33), 36, 40, 48, 63, 64, 65)]
    found = text(calls, lambda one: one["rows"] > 32 and one["rows"] % 32 != 0)
    assert found == (
        "more than N rows, N from 32 to 35, and a number of rows that is no multiple of 32"
    )
