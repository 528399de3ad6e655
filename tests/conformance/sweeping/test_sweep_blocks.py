"""Every element under every scale: bugs planted in quantize and dequantize, found as intervals.

Scale codes of E2M1 are also the numbers of its scales: code 00 comes first, and there are 253.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import right_calls
from helpers import sentence
from sweep_helpers import OWN, findings, target

import mxref
from mxref.cases.answers import fast_answers
from mxref.cases.product import scale_range
from mxref.conformance.sweeping.block_sweep import BlockTally
from mxref.conformance.sweeping.sweep import Swept, sweep
from mxref.conformance.sweeping.sweep_text import finding_lines, summary
from mxref.formats.catalog import E2M1, block_format
from mxref.golden import level2
from mxref.policy.policy import Policy

Array = np.ndarray[Any, Any]
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
    from mxref.conformance.sweeping import block_sweep as blocks

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
