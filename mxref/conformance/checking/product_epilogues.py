"""A target's `matmul` with alpha, beta, C and a bias: calls with them, and what wrong ones do.

All numbers are small multiples of 1/16, so that every order of additions and every way to fuse them
is exact: what is wrong is the epilogue.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array
from mxref.bits.floats import LAYOUTS
from mxref.conformance.checking.array_memory import copies
from mxref.conformance.checking.product_data import ProductData
from mxref.conformance.checking.product_outputs import first_wrong, same_numbers
from mxref.conformance.checking.product_shapes import Product, ProductSubject
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.operands.returned import float_words
from mxref.operands.splitmix import splitmix64
from mxref.support.text import a_few
from mxref.targets.calls import error_text, is_fault, quiet
from mxref.targets.product_function import EPILOGUE

__all__ = ["BUGS", "ask_epilogues"]

Words = NDArray[np.uint64]

#: Rows, columns and blocks: a square, others, one row.
_SHAPES = (8, 8, 2), (5, 7, 1), (33, 17, 3), (1, 9, 2)
#: So many blocks may have numbers of one sign, whose sums have more bits than those of float16.
_POSITIVE = 8
#: What a call is given: numbers, or whether there are C and a bias.
_GIVEN: tuple[Mapping[str, float], ...] = (
    {"alpha": 0.5}, {"alpha": -3.0}, {"beta": 2.0, "c": 1}, {"beta": -0.5, "c": 1},
    {"beta": 0.0, "c": 1}, {"bias": 1}, {"alpha": 0.75, "beta": 2.0, "c": 1},
    {"alpha": -3.0, "bias": 1}, {"alpha": 0.5, "beta": -0.5, "c": 1, "bias": 1},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Call:
    """A product with what it is given beside its operands.

    Args:
        product: the product, whose outputs are known.
        given: of EPILOGUE.
    """

    product: Product
    given: Mapping[str, float]

    @property
    def total(self) -> F64Array:
        """The product alone."""
        tensors = self.product.arguments[-2:] if self.product.subject.has_tensors else (1, 1)
        sides = (self.product.side(which)[2].astype(np.float64) for which in (0, 1))
        a, b = sides
        return a @ b.T * float(tensors[0]) * float(tensors[1])

    def drawn(self, name: str) -> F64Array:
        """C or the bias: multiples of 1/4, below 16; under a beta of 0 all of C is NaN."""
        rows, columns, _ = self.product.shape
        shape = (rows, columns) if name == "c" else (columns,)
        if name not in self.given:
            return np.zeros(shape)
        if name == "c" and self.given.get("beta") == 0:
            return np.full(shape, np.nan)
        words = splitmix64(rows << 20 | columns << 4 | len(self.given), int(np.prod(shape)))
        return ((words >> np.uint64(40)).astype(np.int64) % 127 - 63).reshape(shape) / 4

    @property
    def factors(self) -> tuple[float, float]:
        """Alpha and beta, 1 where they are not given."""
        return self.given.get("alpha", 1.0), self.given.get("beta", 1.0)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Those of the target's function, None for what it is not given."""
        function, arguments = self.product.subject.function, self.product.arguments
        if function.takes_tensors and not self.product.subject.has_tensors:
            arguments = (*arguments, None, None)
        dtype = LAYOUTS[self.product.subject.float].dtype
        more: list[Any] = []
        for name in function.epilogue:
            is_array = name in self.given and name in ("c", "bias")
            more.append(self.drawn(name).astype(dtype) if is_array else self.given.get(name))
        return (*arguments, *more)

    @property
    def name(self) -> str:
        """It in words."""
        return ", ".join([self.product.name, *(_word(*one) for one in self.given.items())])


def _word(name: str, number: float) -> str:
    return {"c": "C", "bias": "bias"}.get(name, f"{name}={number:g}")


#: What a stage makes of a call: numbers for each output, or none where it cannot be called so.
_Term = Callable[[_Call], F64Array]


def _before(dtype: Any) -> _Term:
    """Alpha times a sum that was rounded."""
    return lambda call: call.factors[0] * call.total.astype(dtype).astype(np.float64)


def _along_rows(call: _Call) -> F64Array:
    rows, columns, _ = call.product.shape
    return call.drawn("bias")[np.arange(rows) % columns][:, np.newaxis]


def _transposed(call: _Call) -> F64Array:
    c = call.drawn("c")
    return _scaled(call, c.T if c.shape[0] == c.shape[1] else c)


def _scaled(call: _Call, c: F64Array) -> F64Array:
    """Beta times C, which is not read under 0."""
    beta = call.factors[1]
    return beta * c if beta else np.zeros(c.shape)


#: What the stages do, the right thing first: alpha times the sum, beta times C, the bias.
BUGS: Mapping[str, Mapping[str, _Term]] = {
    "product": {
        "": lambda call: call.factors[0] * call.total,
        "alpha is forgotten": lambda call: call.total,
        "alpha is squared": lambda call: call.factors[0] ** 2 * call.total,
        "it divides by alpha": lambda call: call.total / call.factors[0],
        "the sign of alpha is lost": lambda call: abs(call.factors[0]) * call.total,
        "beta is taken for alpha": lambda call: call.factors[1] * call.total,
        "the sum is rounded to bfloat16 before alpha": _before(ml_dtypes.bfloat16),
        "the sum is rounded to float16 before alpha": _before(np.float16),
    },
    "source": {
        "": lambda call: _scaled(call, call.drawn("c")),
        "C is forgotten": lambda call: np.zeros(call.total.shape),
        "beta is forgotten": lambda call: call.drawn("c"),
        "C is read although beta is 0": lambda call: call.factors[1] * call.drawn("c"),
        "beta is squared": lambda call: call.factors[1] * _scaled(call, call.drawn("c")),
        "C is added twice": lambda call: 2 * _scaled(call, call.drawn("c")),
        "C is subtracted": lambda call: -_scaled(call, call.drawn("c")),
        "C is multiplied by alpha, too": lambda call: (
            call.factors[0] * _scaled(call, call.drawn("c"))
        ),
        "C is multiplied by alpha, not by beta": lambda call: call.factors[0] * call.drawn("c"),
        "C is transposed": _transposed,
    },
    "bias": {
        "": lambda call: call.drawn("bias"),
        "the bias is forgotten": lambda call: np.zeros(call.total.shape),
        "the bias is added twice": lambda call: 2 * call.drawn("bias"),
        "the bias is subtracted": lambda call: -call.drawn("bias"),
        "the bias is multiplied by alpha, too": lambda call: call.factors[0] * call.drawn("bias"),
        "the bias is multiplied by beta, too": lambda call: call.factors[1] * call.drawn("bias"),
        "the bias runs along rows, not columns": _along_rows,
        "the bias is that of the next column": lambda call: np.roll(call.drawn("bias"), -1),
    },
}
#: The wrong stages of a sentence at most; more would give anything.
_MOST = 2


def ask_epilogues(
    subjects: Sequence[ProductSubject], elements: int
) -> tuple[list[CallDependence], tuple[str, ...]]:
    """What is wrong in calls with alpha, beta, C and a bias, and a note of what was asked.

    Of products whose vectors fail nothing is asked.

    Args:
        subjects: products, each with the target's function.
        elements: the largest number of elements in a call.

    Source: SPEC_NOTES N52.
    """
    uses, count, names = [], 0, dict[str, None]()
    for subject in subjects:
        if subject.fails or not subject.function.epilogue:
            continue
        calls = [one for one in _calls(subject) if one.product.elements <= elements]
        with quiet():
            replies = [_asked(one) for one in calls]
        count += len(calls)
        names |= dict.fromkeys(subject.function.epilogue)
        text = _text(subject, calls, replies)
        if text:
            uses.append(CallDependence(subject.op, subject.format, "options", text))
    some = a_few([*names], len(EPILOGUE))
    return uses, (f"products: {count} calls with {some}",) if count else ()


def _calls(subject: ProductSubject) -> Iterator[_Call]:
    """The calls that the target's parameters allow."""
    known = {*subject.function.epilogue}
    shapes = dict.fromkeys(subject.fit(one) for one in _SHAPES)
    for shape, given in itertools.product(shapes, _GIVEN):
        if "beta" not in known and given.get("beta") == 2:  # a C without a factor
            given = {name: one for name, one in given.items() if name != "beta"}
        if {*given} <= known:
            numbers = "positive" if shape[2] <= _POSITIVE else ""
            kind = ProductData(equal=True, numbers=numbers)
            yield _Call(Product(subject, shape, kind=kind), given)


def _asked(call: _Call) -> Words | str:
    """The words of the answer, or the error."""
    subject = call.product.subject
    try:
        result = subject.function.function(*copies(call.arguments))
        return float_words(result, call.product.shape[:2], LAYOUTS[subject.float])
    except BaseException as error:
        if not is_fault(error):
            raise
        return error_text(error)


def _text(subject: ProductSubject, calls: Sequence[_Call], replies: Sequence[Words | str]) -> str:
    """What is wrong, in words; empty if nothing is."""
    right = [_words(call, dict.fromkeys(BUGS, "")) for call in calls]
    wrong = [
        isinstance(got, str) or not same_numbers(want, got, subject.float).all()
        for want, got in zip(right, replies, strict=True)
    ]
    if not any(wrong):
        return ""
    first = wrong.index(True)
    got, call = replies[first], calls[first]
    counts = f"{sum(wrong)} of {len(calls)} calls with alpha, beta, C or a bias are wrong"
    if isinstance(got, str):
        example = f"{call.name}: {got}"
    else:
        bad = ~same_numbers(right[first], got, subject.float)
        example = first_wrong(call.name, right[first], got, bad, subject.float)
    cause = _cause(subject, calls, replies)
    return f"{cause or 'no known fault gives them'} ({counts}): {example}"


def _cause(subject: ProductSubject, calls: Sequence[_Call], replies: Sequence[Words | str]) -> str:
    """The fewest wrong stages that give all answers but for errors, in words."""
    pairs = [one for one in zip(calls, replies, strict=True) if not isinstance(one[1], str)]
    every = itertools.product(*BUGS.values()) if pairs else ()
    found = [dict(zip(BUGS, names, strict=True)) for names in every]
    for chosen in sorted(found, key=lambda one: sum(map(bool, one.values()))):
        texts = [text for text in chosen.values() if text]
        if 0 < len(texts) <= _MOST and all(
            same_numbers(_words(call, chosen), got, subject.float).all()  # type: ignore[arg-type]
            for call, got in pairs
        ):
            return " and ".join(texts)
    return ""


def _words(call: _Call, chosen: Mapping[str, str]) -> Words:
    """The words of the outputs under what the stages do."""
    layout = LAYOUTS[call.product.subject.float]
    with np.errstate(all="ignore"):
        total = sum(BUGS[stage][text](call) for stage, text in chosen.items())
        numbers = np.broadcast_to(total, call.product.shape[:2]).astype(layout.dtype)
    return numbers.view(layout.uint).astype(np.uint64)
