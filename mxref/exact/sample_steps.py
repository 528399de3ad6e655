"""One sample of an image, step by step: what is computed, exactly, and rounded.

The last step of each function is what the function of that name gives in `mxref.exact.samples`.
Source: SPEC_NOTES Q13.
"""

from __future__ import annotations

from fractions import Fraction

from mxref.exact.arithmetic import F32, product
from mxref.exact.integer_steps import Log, Step, exactly
from mxref.exact.integers import Number
from mxref.exact.patterns import converted, float_reader
from mxref.exact.samples import Rows, place32, place_of, value, weights32
from mxref.exact.sums import fraction, integer32, total_of

__all__ = ["float32_value", "grid_sample", "value_steps"]

_AT_THE_ENDS = {"zeros": "", "border": ", from 0 to {}", "reflection": ", mirrored at both ends"}


def grid_sample(
    image: Rows,
    x: int,
    y: int,
    *,
    align_corners: bool,
    padding: str,
    zero_point: int,
    output: tuple[int, int, int],
    ties: str,
    mode: str = "bilinear",
    scale_bits: tuple[int, int] | None = None,
) -> Log:
    """Return the steps of a sample of codes; x and y are the codes of the grid.

    The output is the zero point and the range of the result.

    >>> log = grid_sample(
    ...     [[4, 5]], 0, 0, align_corners=True, padding="zeros", zero_point=3,
    ...     output=(3, -128, 127), ties="even_step",
    ... )
    >>> [(step.name, step.exact) for step in log]
    [('X', '0.5'), ('Y', '0'), ('v', '1.5'), ('r', '1.5'), ('q', '5')]
    """
    log = Log()
    how = {"align_corners": align_corners, "padding": padding, "mode": mode}
    total, name = _mean(log, image, x, y, zero_point, **how), "v"  # type: ignore[arg-type]
    zero, low, high = output
    if scale_bits is not None:
        source, target = (fraction(float_reader(F32)(bits)) for bits in scale_bits)
        total, name = total * source / target, "u"
        text = f"v * {exactly(source)} / {exactly(target)}"
        log.append(Step(name, text, exactly(total), "", 0, "exact"))
    if ties == "even_code":
        r = log.whole("r", f"{name} + {zero}" if zero else name, total + zero)
        log.limited("r", r, low, high)
    else:
        r = log.whole("r", name, total)
        log.limited(f"r + {zero}", r + zero, low, high)
    return log


def value_steps(
    image: Rows,
    x: int,
    y: int,
    scale_bits: int,
    zero_point: int,
    *,
    align_corners: bool,
    padding: str,
) -> Log:
    """Return the steps of an exact sample of a dequantized image, rounded once.

    >>> how = {"align_corners": True, "padding": "zeros"}
    >>> [step.exact for step in value_steps([[4, 5]], 0, 0, 0x3F800000, 3, **how)]
    ['0.5', '0', '1.5', '1.5']
    """
    log, how = Log(), {"align_corners": align_corners, "padding": padding}
    total = _mean(log, image, x, y, zero_point, **how)  # type: ignore[arg-type]
    scale = fraction(float_reader(F32)(scale_bits))
    word = value(image, x, y, scale_bits, zero_point, **how)  # type: ignore[arg-type]
    log.append(Step("y", f"v * {exactly(scale)}", exactly(total * scale), F32.name, word, F32.name))
    return log


def float32_value(
    image: Rows,
    x: int,
    y: int,
    scale_bits: int,
    zero_point: int,
    *,
    align_corners: bool,
    padding: str,
) -> Log:
    """Return the steps of a sample as float32 computes it.

    >>> how = {"align_corners": True, "padding": "zeros"}
    >>> [step.name for step in float32_value([[4, 5]], 0, 0, 0x3F800000, 3, **how)]
    ['X', 'Y', 'y0', 'y1', 'y2', 'y']
    """
    log, scale = Log(), float_reader(F32)(scale_bits)
    taps = []
    for name, g, size in (("X", x, len(image[0])), ("Y", y, len(image))):
        place = place32(g, size, align_corners=align_corners, padding=padding)
        text = f"the coordinate of g = {g} among {size} pixels, in float32"
        log.append(Step(name, text, exactly(place), "", 0, "exact"))
        taps.append(weights32(place, "bilinear"))
    total: Number | None = None
    for i, down in taps[1]:
        for j, across in taps[0]:
            inside = 0 <= i < len(image) and 0 <= j < len(image[0])
            steps = image[i][j] - zero_point if inside else 0
            number = converted(product(integer32(steps), scale), F32)
            weight = converted(product(across, down), F32)
            term, name = product(number, weight), f"y{len(log) - 2}"
            text = f"fl({steps} * {exactly(scale)}) * {exactly(weight)}"
            if total is not None:
                text, term = f"{text} + {log[-1].name}", total_of(term, total)
            total = log.fl("y" if name == "y3" else name, text, term)
    return log


def _mean(
    log: Log,
    image: Rows,
    x: int,
    y: int,
    zero_point: int,
    *,
    align_corners: bool,
    padding: str,
    mode: str = "bilinear",
) -> Fraction:
    """The exact sample less the zero point, with its steps."""
    places = []
    for name, g, size in (("X", x, len(image[0])), ("Y", y, len(image))):
        place = place_of(g, size, align_corners=align_corners, padding=padding)
        of = "(g / 32767 + 1)"
        text = f"{of} * {size - 1} / 2" if align_corners else f"({of} * {size} - 1) / 2"
        text = f"{text}, g = {g}{_AT_THE_ENDS[padding].format(size - 1)}"
        if mode == "nearest":
            place = Fraction(log.whole(name, text, place))
        else:
            log.append(Step(name, text, exactly(place), "", 0, "exact"))
        places.append(place)
    column, row = (place.numerator // place.denominator for place in places)
    terms, total = [], Fraction(0)
    for i in (row, row + 1):
        for j in (column, column + 1):
            weight = (1 - abs(places[0] - j)) * (1 - abs(places[1] - i))
            inside = 0 <= i < len(image) and 0 <= j < len(image[0])
            if weight:
                terms.append(f"{exactly(weight)} * {image[i][j] if inside else 'outside'}")
                total += weight * (image[i][j] - zero_point if inside else 0)
    shift = f", each less {zero_point}, outside 0" if zero_point else ", outside 0"
    log.append(Step("v", " + ".join(terms) + shift, exactly(total), "", 0, "exact"))
    return total
