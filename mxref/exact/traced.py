"""The steps of two-level scaling: what each operation of an arithmetic gives, with its bits.

The formulas of `mxref.exact.formulas` run on numbers that write down what is done with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mxref.exact.arithmetic import F32, Float
from mxref.exact.format_table import FLOATS, FloatType, look_up
from mxref.exact.formulas import ONE, Formats
from mxref.exact.integers import Number
from mxref.exact.patterns import write_float
from mxref.exact.small_float_scale import largest_of, numbers_of, setting_of

#: Constants of the formulas.
_CONSTANTS: Final = {(0, 3, -1): "1.5", (0, 1, 8): "256"}


class Step(NamedTuple):
    """One operation of an arithmetic.

    name: what its result is called in later steps; empty for an element's code. text: the
    operation, in which A and a are the largest magnitudes of tensor and block, M and C the largest
    element and scale, T is the tensor scale, s a scale and x0, x1, ... are the elements. bits: the
    result, the pattern of a float or a code. kind: the float type or the format that the result is
    rounded to.
    """

    name: str
    text: str
    bits: int
    kind: str


@dataclass
class _Log:
    """The steps so far; an operation that is done again has one."""

    steps: list[Step] = field(default_factory=list)
    done: dict[tuple[str, FloatType], Float] = field(default_factory=dict)

    def result(self, text: str, value: Float) -> Float:
        """Write an operation down, and name its result."""
        if (text, value.kind) not in self.done:
            name = f"r{len(self.done) + 1}"
            bits = write_float(value.number, value.kind)
            self.steps.append(Step(name, text, bits, value.kind.name))
            self.done[text, value.kind] = _Traced(value.number, value.kind, name, self)
        return self.done[text, value.kind]

    def named(self, name: str, value: Float) -> Float:
        """The number with a name."""
        return _Traced(value.number, value.kind, name, self)


@dataclass(frozen=True, eq=False)
class _Traced(Float):
    """A number whose products, quotients and limits are written down.

    Operations with numbers that are not traced and are no constants are not: zeros that fill a
    block, and the numbers whose errors 4 over 6 adds.
    """

    name: str
    log: _Log

    def times(self, other: Float, kind: FloatType) -> Float:
        """Return the product, rounded to a type."""
        return self._done(f"{self.name} * {{}}", other, super().times(other, kind))

    def over(self, other: Float, kind: FloatType) -> Float:
        """Return the quotient, rounded to a type."""
        return self._done(f"{self.name} / {{}}", other, super().over(other, kind))

    def __rmul__(self, other: Float) -> Float:
        value = Float.__mul__(other, self)
        return self.log.result(f"1 * {self.name}", value) if other is ONE else value

    def __rtruediv__(self, other: Float) -> Float:
        value = Float.__truediv__(other, self)
        is_one = other.number == ONE.number
        return self.log.result(f"1 / {self.name}", value) if is_one else value

    def of(self, kind: FloatType) -> Float:
        """Return it as a number of another type, which holds it."""
        return self.log.named(self.name, super().of(kind))

    def at_most(self, limit: Float) -> Float:
        """Return it with a magnitude of at most the finite limit; NaN stays NaN."""
        return self._limited("most", limit, super().at_most(limit))

    def at_least(self, limit: Float) -> Float:
        """Return it with a magnitude of at least the finite limit; NaN stays NaN."""
        return self._limited("least", limit, super().at_least(limit))

    def _limited(self, end: str, limit: Float, value: Float) -> Float:
        if value is self:
            return self
        name = limit.name if isinstance(limit, _Traced) else ""
        name = name or f"{write_float(limit.number, limit.kind):0{limit.kind.bits // 4}x}"
        return self.log.result(f"{self.name}, at {end} {name}", value)

    def _done(self, text: str, other: Float, value: Float) -> Float:
        if isinstance(other, _Traced):
            name = other.name
        else:
            sign, n, e = other.number
            name = "1" if n > 0 and (sign, n) == (0, 2 ** max(-e, 0)) else ""
            name = _CONSTANTS.get(other.number, name)
        if not name:
            return value
        text = text.format(name)
        if {self.name, name} <= {"M", "C", "256"}:  # exact
            return self.log.named(f"({text})", value)
        return self.log.result(text, value)


class _TracedFormats(Formats):
    """Formats whose largest numbers have names, and whose roundings are written down."""

    log: _Log

    @property
    def m(self) -> Float:
        """The largest element, M."""
        return self.log.named("M", super().m)

    @property
    def c(self) -> Float:
        """The largest scale, C."""
        return self.log.named("C", super().c)

    def largest(self, x: Sequence[Float], *, nan_counts: bool = False) -> Float:
        """The largest magnitude; a NaN makes it NaN or is passed over."""
        first = x[0].name if isinstance(x[0], _Traced) else "x0"
        texts = [step.text for step in self.log.steps if step.name == first]
        name = f"max |{texts[0].replace('x0', 'x')}|" if texts else "a"
        return self.log.named(name, super().largest(x, nan_counts=nan_counts))

    def to_scale(self, x: Float) -> tuple[int, Float]:
        """Round to a scale, saturating: its code and its value."""
        code, value = super().to_scale(x)
        count = sum(step.kind == self.scale.name for step in self.log.steps)
        name = "s" if count == 0 else f"s{count + 1}"
        text = x.name if isinstance(x, _Traced) else "1/8"
        self.log.steps.append(Step(name, text, code, self.scale.name))
        return code, self.log.named(name, value)

    def to_element(self, x: Float) -> int:
        """Round to an element code."""
        code = super().to_element(x)
        if isinstance(x, _Traced):
            self.log.steps.append(Step("", x.name, code, self.element.name))
        return code

    def seen(self, what: str, number: Number) -> None:
        """Write a number down that is computed otherwise."""
        self.log.steps.append(Step(what, "", write_float(number, F32), "f32"))


def steps_of_block(
    block: Sequence[int],
    given: int,
    source: str,
    format: str,
    scale_format: str,
    arithmetic: str,
    *,
    tensor: bool,
    rows: int = 1,
) -> list[Step]:
    """Return the steps by which an arithmetic quantizes a block that is the whole tensor.

    block: the bits of its elements. given: how many of them have steps of their own; the others
    are zeros. source, format, scale_format, arithmetic: as in `quantize_scaled`. tensor: whether
    there is a tensor scale. rows: as in `quantize_scaled`.
    Special values: as in `quantize_scaled`.
    Source: SPEC_NOTES N41, N45.

    >>> for one in steps_of_block([0x40C00000], 1, "f32", "e2m1", "ue4m3", "cublas", tensor=True):
    ...     print(one)
    Step(name='r1', text='(M * C) / A', bits=1138753536, kind='f32')
    Step(name='T', text='r1', bits=1138753536, kind='f32')
    Step(name='r2', text='x0 * T', bits=1160249344, kind='f32')
    Step(name='r3', text='max |x * T| / M', bits=1138753536, kind='f32')
    Step(name='s', text='r3', bits=126, kind='ue4m3')
    Step(name='r4', text='1 / s', bits=991054117, kind='f32')
    Step(name='r5', text='r2 * r4', bits=1086324737, kind='f32')
    Step(name='', text='r5', bits=7, kind='e2m1')
    """
    setting, named = setting_of(format, scale_format, arithmetic)
    setting = setting._replace(rows=rows)
    numbers = numbers_of(block, look_up(FLOATS, "source", source), named)
    if arithmetic == "exact":
        return _exact_steps(numbers[:given], numbers, setting, tensor=tensor)
    log = _Log()
    formats = _TracedFormats(*setting)
    formats.log = log
    scale = None
    if tensor:
        scale = named.tensor(log.named("A", largest_of(numbers, arithmetic)), formats)
        text = scale.name if isinstance(scale, _Traced) else "1"
        log.steps.append(Step("T", text, write_float(scale.number, F32), "f32"))
        scale = log.named("T", scale)
    x = [log.named(f"x{i}", v) for i, v in enumerate(numbers[:given])]
    named.block([*x, *numbers[given:]], scale, formats)
    return log.steps


def _exact_steps(
    given: Sequence[Float], numbers: Sequence[Float], s: Formats, *, tensor: bool
) -> list[Step]:
    """The steps of exact quotients, each of which is rounded once."""
    _, named = setting_of(s.element.name, s.scale.name, "exact")
    scale = named.tensor(largest_of(numbers, "exact"), s) if tensor else None
    code, codes = named.block(numbers, scale, s)
    steps = []
    if scale is not None:
        steps.append(Step("T", "A / (M * C)", write_float(scale.number, F32), "f32"))
    steps.append(Step("s", "a / (M * T)" if tensor else "a / M", code, s.scale.name))
    divisor = "(s * T)" if tensor else "s"
    return steps + [
        Step("", f"x{i} / {divisor}", codes[i], s.element.name) for i in range(len(given))
    ]
