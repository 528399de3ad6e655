"""The threshold table: every step of `encode`, for each rounding, overflow method, source and sign.

For a fixed policy the code is a monotone step function of the magnitude, so the first magnitude of
each code defines it completely. A file of `encode` is complete if it has both sides of each step.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mxref._version import VECTORS_VERSION
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import exact_answers
from mxref.cases.grid import grid, pattern
from mxref.cases.records import VectorFile, json_line, words
from mxref.formats.catalog import ElementFormat, Specials, element_format
from mxref.policy.choices import Overflow, Rounding
from mxref.policy.policy import Policy

__all__ = ["Table", "missing_sides", "table_lines", "table_text", "tables", "thresholds"]


Steps = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The steps of `encode` for one rounding and one sign of the inputs.

    Args:
        rounding: the rounding.
        negative: the sign.
        steps: pairs of a magnitude pattern and the code that begins there, from zero, saturating.
        beyond: the steps that each other overflow method adds, up to infinity.
    """

    rounding: str
    negative: bool
    steps: Steps
    beyond: Mapping[str, Steps]

    def all_steps(self) -> Steps:
        """The steps of every overflow method."""
        return self.steps + tuple(step for more in self.beyond.values() for step in more)


def thresholds(fmt: ElementFormat, layout: FloatLayout, *, negative: bool, **choices: Any) -> Steps:
    """The magnitudes at which the code changes, from zero to infinity, each with its code.

    Steps can only lie at the numbers of the format and the next one above, at midpoints, one float
    above either, and at infinity. The float before each is checked: nothing changes in between.

    >>> from mxref.bits.floats import F32
    >>> from mxref.formats.catalog import E2M1
    >>> [f"{bits:08x} {code:02x}" for bits, code in thresholds(E2M1, F32, negative=False)][:4]
    ['00000000 00', '3e800001 01', '3f400000 02', '3fa00001 03']

    Raises:
        RuntimeError: a step lies elsewhere.
    """
    sign = layout.sign_bit * negative

    numbers, middles = grid(fmt, layout)
    with contextlib.suppress(ValueError):  # beyond float16 for E5M2
        numbers = [*numbers, pattern(*fmt.magnitude_parts(fmt.max_code + 1), layout)]
    points = {point + step for point in (*numbers, *middles) for step in (0, 1)}
    inside = sorted(p for p in points | {layout.inf_bits} if 0 < p <= layout.inf_bits)
    asked = [[bits | sign] for point in (1, *inside) for bits in (point - 1, point)]
    policy = Policy().replace(**choices)
    codes = iter(exact_answers("encode", fmt.name, layout.name, asked, policy))
    ((first,), _), found = (next(codes), next(codes)), []
    found.append((0, first))
    for point in inside:
        (before,), (here,) = next(codes), next(codes)
        if before != found[-1][1]:
            raise RuntimeError(f"{fmt.name} from {layout.name} has a step before {point:#x}")
        if here != found[-1][1]:
            found.append((point, here))
    return tuple(found)


@functools.cache
def tables(fmt: ElementFormat, layout: FloatLayout) -> tuple[Table, ...]:
    """The tables of a format and a float type.

    Raises:
        RuntimeError: overflow methods differ before the overflow.
    """
    found = []
    for rounding in Rounding:
        if rounding.value.startswith("stochastic"):
            continue
        for negative in (False, True):
            steps, beyond = thresholds(fmt, layout, negative=negative, rounding=rounding.value), {}
            others = [method for method in Overflow if method is not Overflow.SATURATE]
            for method in others if fmt.specials is not Specials.NONE else ():
                choices = {"rounding": rounding.value, "overflow": method.value}
                more = thresholds(fmt, layout, negative=negative, **choices)
                if more[: len(steps)] != steps:
                    raise RuntimeError(f"{fmt.name}: {method} differs from saturate too early")
                beyond[method.value] = more[len(steps) :]
            beyond = {method: more for method, more in beyond.items() if more}
            found.append(Table(rounding.value, negative, steps, beyond))
    return tuple(found)


def missing_sides(file: VectorFile) -> set[int]:
    """Sides of steps that are no inputs of a file of `encode`, as magnitude patterns.

    A monotone encoder that gives the right code on both sides of every step is right everywhere.
    """
    layout = LAYOUTS[file.float]
    asked = {bits for case in file.cases for bits in case.inputs}
    missing = set()
    for table in tables(element_format(file.format), layout):
        sign = layout.sign_bit * table.negative
        sides = {side for step, _ in table.all_steps() for side in (step - 1, step) if side >= 0}
        missing |= {side for side in sides if side | sign not in asked}
    return missing


def table_text(fmt: ElementFormat, lines: Sequence[str]) -> Iterator[str]:
    """The lines of the file of a format: one JSON object, in which each table has a line.

    >>> [*table_text(element_format("e2m1"), ["{}", "{}"])][1:]
    ['{},', '{}', ']}']
    """
    header = {"mxref_vectors": VECTORS_VERSION, "thresholds": fmt.name, "floats": list(LAYOUTS)}
    yield json_line(header)[:-1] + ',"tables":['
    yield from (f"{line}," for line in lines[:-1])
    yield from lines[-1:]
    yield "]}"


def table_lines(fmt: ElementFormat, layout: FloatLayout) -> Iterator[str]:
    """The tables of a format and a float type as text, one a line."""
    digits = layout.width // 4
    for table in tables(fmt, layout):
        record: dict[str, Any] = {"float": layout.name, "rounding": table.rounding}
        record |= {"sign": "-" if table.negative else "+", **_words(table.steps, digits)}
        if table.beyond:
            record["beyond"] = {m: _words(more, digits) for m, more in table.beyond.items()}
        yield json_line(record)


def _words(steps: Steps, digits: int) -> dict[str, str]:
    return {
        "codes": words(tuple(code for _, code in steps), 2),
        "from": words(tuple(bits for bits, _ in steps), digits),
    }
