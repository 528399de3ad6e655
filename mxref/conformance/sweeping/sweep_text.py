"""The result of a sweep as lines and as plain data."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from mxref.bits.floats import F64, LAYOUTS
from mxref.blocks.two_level import TensorScale
from mxref.cases.records import VectorFile
from mxref.cases.shown import show_input, show_output
from mxref.conformance.sweeping.block_questions import key_float
from mxref.conformance.sweeping.block_tally import CODE_BITS, BlockTally
from mxref.conformance.sweeping.digests import recorded_digest
from mxref.conformance.sweeping.intervals import Interval
from mxref.conformance.sweeping.scale_runs import tensor_scales
from mxref.conformance.sweeping.sweep import Swept
from mxref.formats.catalog import E8M0, block_format
from mxref.operands.shown import show_code, show_float
from mxref.policy.policy import Policy
from mxref.targets.calls import code_format

__all__ = ["finding_lines", "summary", "sweeps_json", "sweeps_lines", "swept_json"]

#: The scale code in the number of a scale.
_CODE = (1 << CODE_BITS) - 1


def summary(swept: Swept) -> str:
    """The last line: numbers of compared and wrong answers, and the duration.

    >>> from mxref.conformance.sweeping.sweep import sweep
    >>> from mxref.conformance.sweeping.plan import OwnTarget
    >>> from mxref.policy.policy import Policy
    >>> summary(sweep(OwnTarget(Policy()), "decode", "e2m1")).partition(" in ")[0]
    'PASS mxref: decode e2m1 f32 under ocp: 0 of 16 wrong,'
    """
    file, tally = swept.file, swept.tally
    text = f"{tally.wrong} of {swept.cases} wrong"
    if tally.wrong:
        text += f" in {tally.count} interval{'s' * (tally.count != 1)}"
    if isinstance(tally, BlockTally) and tally.scales:
        text += f", {sum(blocks for blocks, _ in tally.scales.values())} blocks with a wrong scale"
    word = "PASS" if swept.passed else "FAIL"
    what = f"{file.op} {file.format} {file.float} under {swept.policy}"
    took = f"in {swept.seconds:.1f} s, {swept.share:.0%} of it in the target{_from(swept.date)}"
    ending = f"; {swept.ending}" if swept.ending else ""
    return f"{word} {swept.target}: {what}: {text}, {took}{ending}"


def _from(date: str) -> str:
    return f", from the state of {date}" if date else ""


def sweeps_lines(sweeps: Sequence[Swept]) -> list[str]:
    """Findings and summary of each sweep, and one line for all."""
    lines = []
    for one in sweeps:
        lines += finding_lines(one)
        if one.tally.left:
            lines.append(f"... and {one.tally.left} more intervals, which are not kept")
        if one.digest:
            lines.append(f"digest {one.digest}{_beside_recorded(one)}")
        if one.coverage:
            lines.append(one.coverage)
        lines.append(summary(one))
    if len(sweeps) > 1:
        lines.append(_summary_of_all(sweeps))
    return lines


def _beside_recorded(swept: Swept) -> str:
    recorded = recorded_digest(swept)
    if not recorded:
        return ""
    return ", as recorded" if swept.digest == recorded else f", recorded is {recorded}"


def _summary_of_all(sweeps: Sequence[Swept]) -> str:
    first, passed = sweeps[0], sum(one.passed for one in sweeps)
    word = "PASS" if passed == len(sweeps) else "FAIL"
    what = f"{first.file.op} of {len(sweeps)} formats {first.file.float} under {first.policy}"
    wrong, cases, seconds = _sums(sweeps)
    text = f"{wrong} of {cases} wrong, {passed} of {len(sweeps)} formats pass"
    dates = {one.date for one in sweeps}  # of one state, but empty where anything was asked
    return f"{word} {first.target}: {what}: {text}, in {seconds:.1f} s{_from(min(dates))}"


def _sums(sweeps: Iterable[Swept]) -> tuple[int, int, float]:
    """Wrong answers, answers, seconds."""
    wrong, cases, seconds = zip(
        *((one.tally.wrong, one.cases, one.seconds) for one in sweeps), strict=True
    )
    return sum(wrong), sum(cases), sum(seconds)


def finding_lines(swept: Swept) -> list[str]:
    """The wrong answers: one line for each kept interval.

    In `encode` and `encode_scale` an interval and its mirror image of the other sign share a line.
    """
    file, tally = swept.file, swept.tally
    if isinstance(tally, BlockTally):
        tensors = _tensor_texts(swept)
        return [*_scale_lines(file, tally, tensors), *_group_lines(file, tally, tensors)]
    lines, mirrored = [], set()
    intervals = tally.intervals()
    for one in intervals:
        if one in mirrored:
            continue
        twin = next((other for other in intervals if _is_mirrored(file, one, other)), None)
        if twin is not None:
            mirrored.add(twin)
        lines.append(
            _line(one, lambda word: show_input(file, word), lambda word: show_output(file, word))
            + (", and with the other sign" if twin is not None else "")
        )
    return lines


def _is_mirrored(file: VectorFile, one: Interval, other: Interval) -> bool:
    """Whether two intervals, with their answers, differ only in sign."""
    if file.row.from_codes:
        return False
    sign, fmt = LAYOUTS[file.float].sign_bit, code_format(file)

    def opposite(codes: Sequence[int]) -> set[tuple[bool, int]]:
        known = (fmt.sign_and_magnitude(code) for code in codes if code < fmt.code_count)
        flip = fmt != E8M0  # whose codes are those of magnitudes
        return {(negative ^ flip, magnitude) for negative, magnitude in known}

    def own(codes: Sequence[int]) -> set[tuple[bool, int]]:
        return {fmt.sign_and_magnitude(code) for code in codes if code < fmt.code_count}

    return (
        (other.first, other.last, other.error) == (one.first | sign, one.last | sign, one.error)
        and one.last < sign
        and own(other.want) == opposite(one.want)
        and own(other.got) == opposite(one.got)
    )


def _line(one: Interval, show_in: Callable[[int], str], show_out: Callable[[int], str]) -> str:
    where = show_in(one.first)
    if one.last != one.first:
        where += f" to {show_in(one.last)}"
    got = f"raises {one.error}" if one.error else f"got {_several(one.got, show_out)}"
    return f"{where}: want {_several(one.want, show_out)}, {got}"


def _several(words: Sequence[int], show: Callable[[int], str]) -> str:
    """At most three answers."""
    text = " or ".join(show(word) for word in words[:3])
    return text if len(words) <= 3 else f"{text} or others"


def _tensor_texts(swept: Swept) -> list[str]:
    """What stands before the scales under each tensor scale; one empty text without these."""
    tensors = tensor_scales(swept.file.format, Policy.parse(swept.policy))
    return ["" if one is None else f"tensor scale {one.value:.7g} " for one in tensors]


def _group_lines(file: VectorFile, tally: BlockTally, tensors: Sequence[str]) -> list[str]:
    fmt = block_format(file.format).element
    over = "scale" if len(tensors) == 1 else "scales"

    def line(one: Interval) -> str:
        if (
            not file.row.from_codes
        ):  # of float32 an odd key stands for the numbers between its neighbours
            return f"x / {over} " + _line(
                one,
                lambda key: show_float(key_float(key, fmt, file.float), F64),
                partial(show_code, fmt=fmt),
            )
        show_number = partial(show_float, layout=LAYOUTS[file.float])
        return "code " + _line(one, partial(show_code, fmt=fmt), show_number)

    return [f"{_under(scales, tensors)}: {line(one)}" for one, scales in tally.groups.items()]


def _under(scales: Iterable[int], tensors: Sequence[str]) -> str:
    """Numbers of scales as ranges of codes, those under each tensor scale behind it.

    >>> _under([1, 2, 3, 255], [""]), _under([1, 2, 0x105], ["tensor scale 1 ", "tensor scale 3 "])
    ('scale 01-03 ff', 'tensor scale 1 scale 01-02, tensor scale 3 scale 05')
    """
    found: dict[int, list[int]] = {}
    for scale in scales:
        found.setdefault(scale >> CODE_BITS, []).append(scale & _CODE)
    texts = [f"{tensors[i]}scale {_ranges(codes)}" for i, codes in sorted(found.items())]
    return ", ".join(texts)


def _scale_lines(file: VectorFile, tally: BlockTally, tensors: Sequence[str]) -> list[str]:
    """Wrong scales; neighbours with the same distance from the right scale share a line."""
    fmt = block_format(file.format).scale
    lines = []

    def alike(item: tuple[int, tuple[int, tuple[int, ...]]]) -> tuple[int, list[int]]:
        scale, (_, got) = item
        return scale >> CODE_BITS, sorted({code - (scale & _CODE) for code in got})

    for (tensor, _), same in itertools.groupby(sorted(tally.scales.items()), alike):
        codes = list(same)
        (first, (_, got)), blocks = codes[0], sum(blocks for _, (blocks, _) in codes)
        to = f" to {show_code(codes[-1][0] & _CODE, fmt)}" if len(codes) > 1 else ""
        came = _several(sorted(set(got)), lambda code: show_code(code, fmt))
        so_on = " and so on" if len(codes) > 1 else ""
        want = f"want {show_code(first & _CODE, fmt)}{to}"
        lines.append(f"{tensors[tensor]}scale: {want}, got {came}{so_on}, in {blocks} blocks")
    return lines


def _ranges(codes: Iterable[int]) -> str:
    """Scale codes as ranges.

    >>> _ranges([1, 2, 3, 255])
    '01-03 ff'
    """
    texts = []
    numbered = enumerate(sorted(set(codes)))
    for _, run in itertools.groupby(numbered, lambda item: item[1] - item[0]):
        members = [code for _, code in run]
        end = f"-{members[-1]:02x}" if len(members) > 1 else ""
        texts.append(f"{members[0]:02x}{end}")
    return " ".join(texts)


def sweeps_json(sweeps: Sequence[Swept]) -> dict[str, Any]:
    """The report of one sweep, or the sums of several and the report of each."""
    if len(sweeps) == 1:
        return swept_json(sweeps[0])
    wrong, cases, seconds = _sums(sweeps)
    return {
        "target": sweeps[0].target,
        "passed": all(one.passed for one in sweeps),
        "compared": cases,
        "wrong": wrong,
        "seconds": round(seconds, 3),
        "sweeps": [swept_json(one) for one in sweeps],
    }


def swept_json(swept: Swept) -> dict[str, Any]:
    """The report as plain data for `--json`; inputs, keys and answers are integers.

    Under tensor scales a scale is a pair: the pattern of the tensor scale, and the scale code.
    """
    file, tally = swept.file, swept.tally
    found: dict[str, Any]
    if isinstance(tally, BlockTally):
        record = tally.as_json()
        tensors = tensor_scales(file.format, Policy.parse(swept.policy))
        groups = [
            {**one, "scales": [_plain(scale, tensors) for scale in one["scales"]]}
            for one in record["groups"]
        ]
        scales = [
            {"want": _plain(scale, tensors), "blocks": blocks, "got": got}
            for scale, blocks, got in record["scales"]
        ]
        found = {"groups": groups, "scales": scales}
    else:
        found = {"intervals": [dataclasses.asdict(one) for one in tally.intervals()]}
    return {
        "target": swept.target,
        "op": file.op,
        "format": file.format,
        "float": file.float,
        "policy": swept.policy,
        "passed": swept.passed,
        "compared": swept.cases,
        "wrong": tally.wrong,
        "intervals_found": tally.count,
        **found,
        "seconds": round(swept.seconds, 3),
        "coverage": swept.coverage,
        "target_share": round(swept.share, 4),
        "state_date": swept.date,
        "ending": swept.ending,
        "digest": swept.digest,
        "recorded_digest": recorded_digest(swept) if swept.digest else "",
    }


def _plain(scale: int, tensors: Sequence[TensorScale | None]) -> int | list[int]:
    place, code = scale >> CODE_BITS, scale & _CODE
    tensor = tensors[place]
    return code if tensor is None else [tensor.bits, code]
