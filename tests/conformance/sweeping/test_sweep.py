"""Every input: what is wrong is found, said in as few intervals as there are, and goes on.

Targets with planted bugs are written here; what must be found is worked out by hand from where the
bug was planted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import right_calls
from helpers import sentence
from sweep_helpers import OWN, findings, target, wrong_where
from tables import rows

import mxref
from mxref import exact
from mxref.cases.answers import fast_answers
from mxref.cases.product import scale_range
from mxref.conformance import TargetError, target_of
from mxref.conformance.sweeping.block_tally import BlockTally
from mxref.conformance.sweeping.intervals import KEPT, Interval, Tally
from mxref.conformance.sweeping.sweep import OwnTarget, Swept, sweep, sweeps
from mxref.conformance.sweeping.sweep_text import finding_lines, summary
from mxref.formats.catalog import E2M1, block_format
from mxref.golden import VectorFile, level2
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers

Array = np.ndarray[Any, Any]
#: Inputs of one call, on whose borders intervals must go on.
CALL = 1 << 19
ONE = 0x3F800000


def intervals(swept: Swept) -> tuple[Interval, ...]:
    assert isinstance(swept.tally, Tally)
    return swept.tally.intervals()


# --- what is right passes -------------------------------------------------------------------------


def test_the_digest_is_of_all_codes_in_order() -> None:
    codes = bytes(exact.encode(bits, "bf16", "e4m3") for bits in range(1 << 16))
    swept = sweep(OWN, "encode", "e4m3", "bf16", digest=True)
    assert swept.digest == hashlib.sha256(codes).hexdigest()
    assert sweep(OWN, "encode", "e4m3", "bf16").digest == ""


def test_another_policy_is_another_function() -> None:
    policy = Policy.parse("ocp+rounding=toward_zero+overflow=nonsaturating")
    assert sweep(OwnTarget(policy), "encode", "e5m2", "f16").policy == str(policy)
    assert sweep(OwnTarget(policy), "encode", "e5m2", "f16").passed
    # Truncation differs in the upper half below each of the numbers, and at the tie below odd ones.
    assert not sweep(OWN, "encode", "e5m2", "f16", policy).passed


def test_any_nan_is_right() -> None:
    def encode(values: Array, format: str) -> Array:
        codes = mxref.encode(values, format)
        codes[np.isnan(values)] = 0xFF  # `ocp` gives 7f
        return codes

    assert sweep(target(encode=encode), "encode", "e4m3", "f16").passed
    swept = sweep(target(encode=encode), "encode", "e2m3", "f16")  # which has no NaN
    # f16: 1023 patterns above infinity, of each sign; ff is no code of six bits.
    assert [(i.first, i.last, i.want, i.got) for i in intervals(swept)] == [
        (0x7C01, 0x7FFF, (0x1F,), (0xFF,)),
        (0xFC01, 0xFFFF, (0x1F,), (0xFF,)),
    ]


# --- planted bugs ---------------------------------------------------------------------------------


def test_an_interval_over_the_borders_of_calls_and_parts() -> None:
    start = 0x40200000 - 8 * CALL  # the second part begins at 2.5, a tie; 5 stands for 3
    first, last = start + 6 * CALL - 5, start + 10 * CALL + 7
    planted = wrong_where(lambda x: (x >= first) & (x <= last), code=1)
    swept = sweep(planted, "encode", "e2m1", first=start, end=start + 11 * CALL)
    assert intervals(swept) == (Interval(first, last, (4, 5), (1,)),)
    assert swept.tally.wrong == last - first + 1


def test_all_negative_numbers() -> None:
    planted = wrong_where(lambda x: x >> 15 == 1, code=0)
    swept = sweep(planted, "encode", "e2m1", "bf16")
    (one,) = intervals(swept)
    # Down to the largest number; after that NaN, which is to become +6, is wrong, too.
    assert (one.first, one.last) == (0x8000, 0xFFFF)
    assert one.want == (7, 8, 9, 10, 11, 12, 13, 14, 15)
    assert one.got == (0,)


def test_the_same_wrong_interval_of_both_signs_is_one_line() -> None:
    truncated = target(encode=partial(mxref.encode, rounding="toward_zero"))
    swept = sweep(truncated, "encode", "e2m1", "bf16")
    # Between 4 and 6 what is above 5 is wrong, and 2.5 is even: 3.5 is a tie that goes up to 4.
    ends = ["3e81-3eff", "3f40-3f7f", "3fa1-3fbf", "3fe0-3fff", "4021-403f", "4060-407f"]
    found = [(f"{i.first:x}-{i.last:x}", i.want, i.got) for i in intervals(swept)]
    assert found[:7] == [(one, (n + 1,), (n,)) for n, one in enumerate([*ends, "40a1-40bf"])]
    assert swept.tally.count == 14
    lines = finding_lines(swept)
    assert len(lines) == 7
    assert lines[6] == (
        "40a1 = 0x1.42p+2 = 5.0312 to 40bf = 0x1.7ep+2 = 5.9688: want 07 = 6, got 06 = 4, "
        "and with the other sign"
    )


def test_another_answer_of_the_other_sign_is_another_line() -> None:
    planted = wrong_where(lambda x: x & 0x7FFF == 0x3F90)  # 03 for both, which is positive
    lines = finding_lines(sweep(planted, "encode", "e2m1", "bf16"))
    assert [line[:4] for line in lines] == ["3f90", "bf90"]


def test_more_intervals_than_are_kept_are_counted() -> None:
    # Every second input: the first and the last pattern of a call are never both wrong.
    planted = wrong_where(lambda x: x & 1 == 1, code=7)
    swept = sweep(planted, "encode", "e2m1", first=ONE, end=ONE + 3 * CALL)
    assert swept.tally.wrong == swept.tally.count == 3 * CALL // 2
    found = intervals(swept)
    assert (len(found), swept.tally.left) == (KEPT, swept.tally.count - KEPT)
    assert [i.first for i in found] == list(range(ONE + 1, ONE + 1 + 2 * KEPT, 2))


def test_intervals_beyond_those_kept_still_go_on_over_borders() -> None:
    """At each border of calls the last input and the first one are wrong."""
    planted = wrong_where(lambda x: (x & 1023 == 1023) | (x & 1023 == 0), code=7)
    swept = sweep(planted, "encode", "e2m1", first=ONE + 512, end=ONE + 512 + 10 * CALL)
    assert swept.tally.count == 10 * CALL // 1024
    assert swept.tally.wrong == 2 * swept.tally.count


def test_what_is_kept_does_not_depend_on_where_the_sweep_begins() -> None:
    planted = wrong_where(lambda x: x % 700 < 30, code=77)
    whole = sweep(planted, "encode", "e2m1", "bf16", first=0, end=60000)
    late = sweep(planted, "encode", "e2m1", "bf16", first=701, end=60000)
    assert intervals(whole)[2:] == intervals(late)[1:-1]
    assert whole.tally.count == 86


# --- targets that raise or answer with something else ---------------------------------------------


def raising(is_bad: Callable[[Array], Array]) -> Any:
    def encode(values: Array, format: str) -> Array:
        if is_bad(values.view(f"u{values.dtype.itemsize}")).any():
            raise ValueError("no such number")
        return mxref.encode(values, format)

    return target(encode=encode)


def test_one_input_that_raises_is_found() -> None:
    bits = ONE + CALL + 77
    planted = raising(lambda x: x == bits)
    swept = sweep(planted, "encode", "e2m1", first=ONE, end=ONE + 3 * CALL)
    (one,) = intervals(swept)
    assert (one.first, one.last, one.want, one.got) == (bits, bits, (2,), ())
    assert one.error.startswith("ValueError: no such number (test_sweep.py:")
    assert swept.tally.wrong == 1
    assert "raises ValueError: no such number" in finding_lines(swept)[0]


def test_all_nan_that_raise_are_two_intervals() -> None:
    swept = sweep(raising(lambda x: x & 0x7FFF > 0x7F80), "encode", "e4m3", "bf16")
    assert [(i.first, i.last) for i in intervals(swept)] == [(0x7F81, 0x7FFF), (0xFF81, 0xFFFF)]
    assert swept.tally.wrong == 2 * 127


def test_a_target_that_always_raises_ends_soon() -> None:
    calls = []

    def encode(values: Array, format: str) -> Array:
        calls.append(values.size)
        raise ValueError("not yet written")

    swept = sweep(target(encode=encode), "encode", "e4m3", first=0, end=8 * CALL)
    (one,) = intervals(swept)
    assert (one.first, one.last) == (0, 8 * CALL - 1)
    assert len(calls) == 8 * 9  # all of them, and eight one by one


def test_what_cannot_be_told_apart_is_said_to_be_some() -> None:
    swept = sweep(raising(lambda x: x % 64 == 5), "encode", "e4m3", first=0, end=CALL)
    alone = [i for i in intervals(swept) if not i.error.endswith(", some of these inputs")]
    assert len(alone) > 5
    assert all(i.first == i.last and i.first % 64 == 5 for i in alone)
    # Halves are searched from the front, so that the rest is left as a whole.
    assert isinstance(swept.tally, Tally)
    assert (last := swept.tally.open) is not None
    assert (last.first <= CALL // 2, last.last) == (True, CALL - 1)
    assert last.error.endswith(", some of these inputs")


def test_raising_and_wrong_inputs_side_by_side() -> None:
    def encode(values: Array, format: str) -> Array:
        bits = values.view(np.uint16)
        if (bits == 0x3F90).any():
            raise ValueError("no")
        codes = mxref.encode(values, format)
        codes[(bits >= 0x3F88) & (bits < 0x3F98)] = 7
        return codes

    swept = sweep(target(encode=encode), "encode", "e2m1", "bf16")
    assert [(i.first, i.last, bool(i.error)) for i in intervals(swept)] == [
        (0x3F88, 0x3F8F, False),
        (0x3F90, 0x3F90, True),
        (0x3F91, 0x3F97, False),
    ]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda values: mxref.encode(values[1:], "e4m3"), "the result must have shape (65536,)"),
        (lambda values: values, "codes must come back as integers, got float16"),
        (lambda values: np.full(values.size, -1), "codes must not be negative, got -1"),
    ],
)
def test_what_is_no_array_of_codes_ends_the_sweep(answer: Any, text: str) -> None:
    wrong = target(encode=lambda values, format: answer(values))
    said = sentence(TargetError, lambda: sweep(wrong, "encode", "e4m3", "f16"))
    assert said.startswith(f"target planted cannot be swept: {text}")


def test_a_target_that_writes_to_its_input_spoils_nothing() -> None:
    def encode(values: Array, format: str) -> Array:
        codes = mxref.encode(values, format)
        values.view(f"u{values.dtype.itemsize}")[:] = 0
        return codes

    assert sweep(target(encode=encode), "encode", "e4m3", first=0x3F000000, end=0x3F200000).passed


def test_codes_of_any_integer_type() -> None:
    wide = target(encode=lambda values, format: mxref.encode(values, format).astype(np.int64) + 256)
    (one,) = intervals(sweep(wide, "encode", "e2m1", "bf16", first=0, end=256))
    assert one.got == (256,)
    good = target(encode=lambda values, format: mxref.encode(values, format).astype(np.int64))
    assert sweep(good, "encode", "e2m1", "bf16").passed


class InWords:
    """A target that is asked in words only, as a command is."""

    name, policy = "in words", Policy()

    def covers(self, op: str, format: str, float: str) -> bool:
        return True

    def ask(self, file: VectorFile, inputs: Array) -> Answers:
        answers = OWN.ask(file, inputs)
        answers.words[inputs == 0x3FB0] = 9
        errors = {int(i): "is silent" for i in np.flatnonzero(inputs[:, 0] >> 4 == 0x400)}
        return Answers(answers.words, errors)


def test_a_target_that_is_asked_in_words() -> None:
    assert intervals(sweep(InWords(), "encode", "e2m1", "bf16")) == (
        Interval(0x3FB0, 0x3FB0, (3,), (9,)),
        Interval(0x4000, 0x400F, (4,), (), "is silent"),
    )


# --- other operations -----------------------------------------------------------------------------


def test_decode_names_the_codes() -> None:
    def decode(codes: Array, format: str) -> Array:
        numbers = mxref.decode(codes, format)
        numbers[codes == 8] = 0.0  # which is -0
        return numbers

    swept = sweep(target(decode=decode), "decode", "e2m1")
    assert swept.cases == 16
    assert finding_lines(swept) == [
        "08 = -0: want 80000000 = -0x0p+0 = -0, got 00000000 = 0x0p+0 = 0"
    ]


def test_scales() -> None:
    doubled = target(
        encode_scale=lambda values: np.minimum(mxref.encode_scale(values) + np.uint8(0), 253),
        shared_scale=lambda amax, format: mxref.shared_scale(amax, format, "ceil"),
        decode_scale=lambda codes: np.where(codes == 0, 0, mxref.decode_scale(codes)).astype("f4"),
    )
    swept = sweep(doubled, "encode_scale", float="bf16")
    # From 2**127 on, infinity and NaN included; negative numbers the same.
    assert [(i.first, i.last, i.want, i.got) for i in intervals(swept)] == [
        (0x7F00, 0x7FFF, (254, 255), (253,)),
        (0xFF00, 0xFFFF, (254, 255), (253,)),
    ]
    assert finding_lines(swept)[0].endswith("and with the other sign")
    swept = sweep(doubled, "shared_scale", "e2m1", "bf16")
    # All but powers of two, zero, what is clamped below, infinity and NaN: 126 fractions a binade.
    assert {i.last - i.first + 1 for i in intervals(swept)[1:]} == {127}
    swept = sweep(doubled, "decode_scale")
    assert [(i.first, i.last, i.got) for i in intervals(swept)] == [(0, 0, (0,))]


# --- what cannot be swept -------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "text"), rows("conformance/sweeping", "refused"))
def test_what_cannot_be_asked_is_refused(asked: str, text: str) -> None:
    words, _, policy = asked.partition(" ocp")
    arguments: list[Any] = [*words.split(), *([Policy.parse(f"ocp{policy}")] if policy else [])]
    assert text in sentence(ValueError, lambda: sweep(OWN, *arguments))


def test_what_the_target_does_not_have_is_refused() -> None:
    only = target(encode=mxref.encode)
    said = sentence(TargetError, lambda: sweep(only, "encode_scale"))
    assert said == "target planted does not cover encode_scale of e8m0 with f32"
    module = SimpleNamespace(quantize=mxref.quantize, FORMATS=["fp8_e4m3_f32_128x128"])
    said = sentence(ValueError, lambda: sweeps(target_of(module, "tiles"), "quantize"))
    assert "got 'fp8_e4m3_f32_128x128', which has 2**31 of them" in said
    some = target_of(SimpleNamespace(encode=mxref.encode, FORMATS=["e2m1", "e3m2"]), "some")
    said = sentence(TargetError, lambda: sweep(some, "encode", "e4m3"))
    assert said == "target some does not cover encode of e4m3 with f32, but of e3m2, e2m1"


def test_numbers_of_the_call() -> None:
    def said(**given: Any) -> str:
        return sentence(ValueError, lambda: sweep(OWN, "encode", "e2m1", "bf16", **given))

    assert said(first=5, end=5) == "first and end must be from 0 to 65536, got 5 and 5"
    assert said(end=70000).endswith("got 0 and 70000")
    assert said(jobs=0) == "jobs must be 1 or more, got 0: give 1, or leave it out"
    assert said(digest=True, state=Path("x")).startswith("digest must not be asked of a sweep")


# --- blocks ---------------------------------------------------------------------------------------


Change = Callable[[Array, Array, Array], None]


def planted(change: Change) -> Any:
    """Quantizes right, then changes scale codes (n,) and codes (n, 32) of values (n, 32)."""

    def quantize(values: Array, format: str) -> tuple[Array, Array]:
        scales, codes = right_calls.quantized(values, format)
        change(values, scales, codes)
        return scales, codes

    return target(quantize=quantize)


def quantized(
    change: Change, first: int = 0x78, end: int = 0x7C, float: str = "f32", **given: Any
) -> Swept:
    return sweep(planted(change), "quantize", "mxfp4_e2m1", float, first=first, end=end, **given)


def nothing(values: Array, scales: Array, codes: Array) -> None:
    pass


def tally(swept: Swept) -> BlockTally:
    assert isinstance(swept.tally, BlockTally)
    return swept.tally


@pytest.mark.sampled(2)
@pytest.mark.parametrize("format", ["mxfp8_e5m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8"])
def test_mxref_is_right_at_the_ends(format: str) -> None:
    swept = sweep(OWN, "quantize", format, first=0, end=1)
    assert swept.passed
    assert swept.cases > 5_000
    assert sweep(OWN, "quantize", format, first=125, end=126).passed


#: Float type -> dtype, all scale codes of E2M1 (amax 2**n has the scale 2**(n - 2), those below
#: 2**-125 have 2**-127), and one of them with its largest amax.
SHORT = {
    "f16": (np.dtype(np.float16), range(101, 141), 0x78, 0x2BFF),
    "bf16": (np.dtype(ml_dtypes.bfloat16), range(253), 0x03, 0x02FF),
}


@pytest.mark.parametrize("float", SHORT)
def test_every_number_of_16_bits_stands_under_every_scale(float: str) -> None:
    dtype, scales, scale, largest = SHORT[float]
    found = scale_range(E2M1, Policy(), float)
    assert [code for code, _, _ in found] == list(scales)
    (index,) = (i for i, one in enumerate(found) if one[0] == scale)
    assert found[index][2] == largest
    seen: list[Array] = []

    def quantize(values: Array, format: str) -> tuple[Array, Array]:
        assert values.dtype == dtype
        seen.append(values.view(np.uint16).copy())
        blocks = mxref.quantize(values, format)
        assert (blocks.scale_codes == scale).all()
        return blocks.scale_codes[:, 0], blocks.codes

    swept = sweep(
        target(quantize=quantize), "quantize", "mxfp4_e2m1", float, first=index, end=index + 1
    )
    (blocks,) = seen
    assert (swept.passed, swept.cases) == (True, blocks.size)
    # In every block one element has an amax of the scale; the others are all numbers up to that.
    signs = np.arange(1 << 16)
    assert set(blocks.reshape(-1).tolist()) == set(signs[signs & 0x7FFF <= largest].tolist())
    assert sweep(OWN, "quantize", "mxint8", float, first=1, end=2).passed


@pytest.mark.parametrize("float", SHORT)
def test_one_wrong_number_of_16_bits_is_found(float: str, tmp_path: Path) -> None:
    """The number nearest above the tie 2.5, under one scale: in float16 a key has all its bits."""
    dtype, _, scale, _ = SHORT[float]
    bit = 2.0**-9 if float == "f16" else 2.0**-6
    number = dtype.type((2.5 + bit) * 2.0 ** (scale - 127))

    def change(values: Array, scales: Array, codes: Array) -> None:
        codes[(values == number) & (scales[:, np.newaxis] == scale)] = 4

    (index,) = (i for i, one in enumerate(scale_range(E2M1, Policy(), float)) if one[0] == scale)
    what = partial(quantized, change, index - 1, index + 2, float=float)
    swept = what(state=tmp_path / "state.json")
    hex = {
        "f16": "4004040000000000 = 0x1.404p+1 = 2.501953125",
        "bf16": "4004200000000000 = 0x1.42p+1 = 2.515625",
    }
    assert finding_lines(swept) == [
        f"scale {scale:02x}: x / scale {hex[float]}: want 05 = 3, got 04 = 2"
    ]
    assert finding_lines(what(state=tmp_path / "state.json")) == finding_lines(swept)


def test_mxref_dequantizes_everything() -> None:
    for float in ("f32", "bf16", "f16"):
        swept = sweep(OWN, "dequantize", "mxfp6_e3m2", float)
        assert (swept.cases, swept.passed) == (256 * 64, True)


def test_a_right_target_passes() -> None:
    swept = quantized(nothing)
    assert (swept.passed, finding_lines(swept)) == (True, [])


def test_an_interval_of_numbers_under_every_scale() -> None:
    def three_becomes_two(values: Array, scales: Array, codes: Array) -> None:
        codes[codes == 5] = 4

    swept = quantized(three_becomes_two)
    # What lies between the ties 2.5 and 3.5, which go to even codes: of 128 keys to a binade 63.
    assert swept.tally.wrong == 4 * 63
    assert finding_lines(swept) == [
        "scale 78-7b: x / scale 4004200000000000 = 0x1.42p+1 = 2.515625 to 400be00000000000 = "
        "0x1.bep+1 = 3.484375: want 05 = 3, got 04 = 2"
    ]


def test_a_bug_under_one_scale_only() -> None:
    def change(values: Array, scales: Array, codes: Array) -> None:
        codes[scales == 0x79] ^= 8

    swept = quantized(change)
    groups = tally(swept).groups
    assert {tuple(scales) for scales in groups.values()} == {(0x79,)}
    # Every key is wrong: those of all float32 below 8, of both signs, which are neighbours.
    (whole,) = groups
    assert (whole.first, swept.tally.wrong) == (0, 2 * 0x4100)


def test_a_wrong_scale() -> None:
    def change(values: Array, scales: Array, codes: Array) -> None:
        scales[(scales == 0x79) | (scales == 0x7A)] += 1

    swept = quantized(change)
    blocks = {code: count for code, (count, _) in tally(swept).scales.items()}
    assert blocks == {
        scale: quantized(nothing, scale, scale + 1).cases // 32 for scale in (0x79, 0x7A)
    }
    assert not swept.passed
    # Elements under a wrong scale are not judged.
    assert swept.tally.wrong == 0
    total = sum(blocks.values())
    assert finding_lines(swept) == [
        f"scale: want 79 = 2^-6 to 7a = 2^-5, got 7a = 2^-5 and so on, in {total} blocks"
    ]
    assert f"0 of {swept.cases} wrong, {total} blocks with a wrong scale" in summary(swept)


def test_a_bug_in_the_last_element_only() -> None:
    def change(values: Array, scales: Array, codes: Array) -> None:
        codes[:, 31] |= 7

    found = tally(quantized(change, 0x78, 0x79))
    assert 1000 < found.wrong < 4000
    assert all(interval.got in [(7,), (15,), (7, 15)] for interval in found.groups)


@pytest.mark.sampled(3)
def test_blocks_that_raise() -> None:
    def change(values: Array, scales: Array, codes: Array) -> None:
        if (scales == 0x7A).any():
            raise ValueError("not this scale")

    swept = quantized(change)
    ((interval, scales),) = tally(swept).groups.items()
    assert scales == [0x7A]
    assert interval.error.startswith("ValueError: not this scale")
    assert (interval.first, interval.got) == (0, ())


def test_dequantize() -> None:
    def dequantize(scales: Array, codes: Array, format: str, dtype: Any) -> Array:
        fmt = block_format(format)
        right = mxref.Blocks(codes, scales[:, None], fmt, 1, codes.shape)
        floats = mxref.dequantize(right, dtype)
        floats[(scales[:, None] > 0xF0) & (scales[:, None] < 0xF4) & (codes == 3)] = 0
        return floats

    swept = sweep(target(dequantize=dequantize), "dequantize", "mxfp4_e2m1")
    assert swept.tally.wrong == 3
    # 1.5 * 2**(f1 - 7f) and so on, which differ from scale to scale.
    assert [line.split(",")[0] for line in finding_lines(swept)] == [
        f"scale {scale:02x}: code 03 = 1.5: want {bits:08x} = 0x1.8p+{n} = {1.5 * 2.0**n:.8g}"
        for scale, bits, n in (
            (0xF1, 0x78C00000, 114), (0xF2, 0x79400000, 115), (0xF3, 0x79C00000, 116)
        )
    ]  # fmt: skip


@pytest.mark.sampled(6)
def test_it_goes_on_and_other_processes_find_the_same(tmp_path: Path) -> None:
    path, state = tmp_path / "kernel.py", tmp_path / "state.json"
    path.write_text(
        "import mxref\n\ndef quantize(values, format):\n"
        "    blocks = mxref.quantize(values, format)\n"
        "    scales, codes = blocks.scale_codes[:, 0].copy(), blocks.codes.copy()\n"
        "    codes[codes == 9] = 10\n    scales[scales == 0x80] = 0x7f\n    return scales, codes\n"
    )
    load = partial(mxref.conformance.load_target, str(path))
    what = partial(sweep, load, "quantize", "mxfp4_e2m1", first=0x7E, end=0x82)

    whole = what()
    assert (len(tally(whole).groups), set(tally(whole).scales)) == (1, {0x80})
    assert findings(what(jobs=2)) == findings(whole)

    def stop(done: int, total: int, wrong: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        what(state=state, progress=stop)
    assert json.loads(state.read_bytes())["done"] == 3
    assert findings(what(state=state)) == findings(whole)


def test_references_that_differ_end_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    from mxref.conformance.sweeping import power_scales as blocks

    def wrong(*arguments: Any) -> Array:
        words = fast_answers(*arguments)
        words[7, 5] ^= 1
        return words

    monkeypatch.setattr(blocks, "fast_answers", wrong)
    with pytest.raises(level2.DisagreementError, match="the two references disagree on quantize"):
        quantized(nothing)


def test_no_such_scales() -> None:
    said = sentence(ValueError, lambda: quantized(nothing, 0, 254))
    assert said == "first and end must be from 0 to 253, got 0 and 254"
