"""The features of integer operations, worked out one word of an answer at a time in fractions.

Nothing here is taken from `mxref.conformance`, `mxref.cases` or the fast path: the words of a case
are read as `vectors/README.md` has them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from features_by_hand import INF, PARITY, SIGNS, fourth, input_class, magnitude, parity, significand

Facts = dict[str, Any]
#: Bits of a code.
BITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32}
SIDES = ("below a tie", "a tie", "above a tie")


def signed(word: int, bits: int = 32) -> int:
    return word - (1 << bits) if word >= 1 << bits - 1 else word


def single(number: Fraction | float) -> float:
    """Rounded to float32; of products and quotients of two of these once."""
    try:
        return float(struct.unpack("f", struct.pack("f", float(number)))[0])
    except OverflowError:
        return math.copysign(INF, number)


def counted(name: str, index: int) -> Facts:
    return {name: index, f"{name} parity": parity(index), f"{name} of four": fourth(index)}


def result(code: int) -> Facts:
    sign = "negative" if code < 0 else "positive" if code else "0"
    return {"result": code, "result parity": PARITY[code % 2], "result sign": sign}


def rounded(number: Fraction, code: int, offset: int, low: int, high: int, up: bool) -> Facts:
    """How a number becomes a code less an offset, if its fraction is rounded up or not."""
    floor = number.numerator // number.denominator
    rest = 2 * (number - floor)
    whole = floor + (up and rest > 0)
    away = abs(whole) > abs(number)
    rounding = "rounded away from zero" if away else "rounded toward zero"
    rounding = "exact" if rest == 0 else rounding
    rounding = rounding if low <= whole + offset <= high else "clamped"
    side = "an integer" if rest == 0 else SIDES[(rest > 1) - (rest < 1) + 1]
    return {"fraction": side, "rounding": rounding, **result(code)}


def integer_facts(
    op: str, format: str, words: list[int], want: list[int], policy: str
) -> list[Facts]:
    """The features of every word of the answer to a case, by name."""
    chosen = dict(part.split("=") for part in policy.split("+") if "=" in part)
    match op:
        case "quantize_affine" | "dequantize_affine":
            units = list(affine(op, format, words, want, chosen))
        case "pack_int4" | "unpack_int4":
            units = list(int4(op, words, want))
        case "rescale":
            units = list(rescaled(format, words, want, chosen))
        case "qlinear_matmul":
            units = list(multiplied(format, words, want))
        case "qlinear_add" | "qlinear_mul":
            units = list(elementwise(format, words, want))
        case "mma":
            units = list(added(words, want))
        case "matmul_nbits":
            units = list(of_outputs(words, want, ("m", "n", "k", "block_size")))
        case "addmm":
            units = list(with_epilogue(format, words, want))
        case "grid_sample" if format not in BITS:
            units = list(of_another_form(format, words, want))
        case _:
            units = list(sampled(words, want, format))
    more = (
        {**counted("element", i), "elements behind": len(want) - 1 - i} for i in range(len(want))
    )
    return [{**one, **unit} for one, unit in zip(more, units, strict=True)]


def affine(
    op: str, format: str, words: list[int], want: list[int], chosen: dict[str, str]
) -> Iterator[Facts]:
    low, high, rest = signed(words[0]), signed(words[1]), words[2:]
    dims, axis, count, scales = [1, 1, 1], 0, 1, 1
    if format.endswith("_axis"):
        axis, count, *dims = signed(rest[0]) % 3, *rest[1:5]
        rest = rest[5:]
        scales = count if count == dims[axis] else count * math.prod(dims) // dims[axis]
    if format.endswith("_scale64"):
        wide = struct.unpack(">d", struct.pack(">2I", *rest[:2]))
        rest = rest[1:]
    else:
        wide = struct.unpack(f">{scales}f", struct.pack(f">{scales}I", *rest[:scales]))
    zeros, values = rest[scales : 2 * scales], rest[2 * scales :]
    groups = [count if i == axis else size for i, size in enumerate(dims)]
    for i, word in enumerate(values):
        which, unit = 0, {"quant_min": low, "quant_max": high}
        if format.endswith("_axis"):
            at = [i // (dims[1] * dims[2]), i // dims[2] % dims[1], i % dims[2]]
            unit |= counted("channel", at[axis]) | {"channels behind": dims[axis] - 1 - at[axis]}
            at[axis] //= dims[axis] // count
            which = (at[0] * groups[1] + at[1]) * groups[2] + at[2]
            which = at[axis] if count == dims[axis] else which
            unit["scale's number"] = which
        zero = signed(zeros[which])
        unit |= {"scale": Fraction(wide[which]), "zero point": zero}
        if op == "dequantize_affine":
            unit |= {"integer code": signed(word), "difference": signed(word) - zero}
            unit |= {
                "product": magnitude(want[i], "f32"),
                "product class": input_class(want[i], "f32"),
            }
            yield unit
            continue
        code = want[i] if format.startswith("u") else signed(want[i], BITS[format.split("_")[0]])
        yield unit | quantized(word, code, wide[which], zero, low, high, chosen)


def quantized(
    word: int, code: int, scale: float, zero: int, low: int, high: int, chosen: dict[str, str]
) -> Facts:
    size = magnitude(word, "f32")
    unit = {"sign": SIGNS[word >> 31], "input": input_class(word, "f32"), "magnitude": size}
    unit |= {"significand": significand(size), **result(code)}
    if size is None or size == INF:
        unspoken = {"fraction": None, "rounding": None}
        return unit | unspoken | {"scaled magnitude": size}
    divisor = Fraction(single(scale))
    if chosen.get("scaling") == "divide":
        y = single(size / divisor)
    else:
        kept = Fraction(scale) if chosen.get("scale_type") == "float64" else divisor
        y = single(size * Fraction(single(1 / kept)))
    unit["scaled magnitude"] = y if y == INF else Fraction(y)
    y = -y if word >> 31 else y
    when = chosen.get("zero_point", "after")
    if when == "fused":
        exact = size * Fraction(single(1 / kept)) * (-1 if word >> 31 else 1)
        y = single(exact + zero)
    elif when == "before" and abs(y) < INF:
        y = single(Fraction(y) + zero)
    if abs(y) >= 2.0**52:
        return unit | {"fraction": None, "rounding": None}
    number = Fraction(y)
    offset = zero if when == "after" else 0
    return unit | rounded(number, code, offset, low, high, round(number) > number)


def int4(op: str, words: list[int], want: list[int]) -> Iterator[Facts]:
    rows, k = words[:2]
    columns = len(want) // rows if rows else 0
    for i, word in enumerate(want):
        code = word if op == "pack_int4" else signed(word, 8)
        yield {"k": k, **placed(i, rows, columns), **result(code)}


def placed(i: int, rows: int, columns: int) -> Facts:
    """The place of an element in a matrix."""
    column = i % columns
    place = {"rows": rows, "columns": columns, "row": i // columns, "column": column}
    return place | {"columns behind": columns - 1 - column, "column parity": parity(column)}


def rescaled(
    format: str, words: list[int], want: list[int], chosen: dict[str, str]
) -> Iterator[Facts]:
    target = format.split("_")[0].split("-")[1]
    zero_in, zero_out, channels = signed(words[0]), signed(words[1]), words[2]
    bits = BITS[target]
    low, high = (0, (1 << bits) - 1) if target[0] == "u" else (-1 << bits - 1, (1 << bits - 1) - 1)
    values = words[3 + 2 * channels :]
    for i, value in enumerate(values):
        channel = i % channels
        m, shift = words[3 + channel], words[3 + channels + channel]
        difference = signed(value) - zero_in
        unit = {"input_zero": zero_in, "output_zero": zero_out, "channels": channels}
        unit |= placed(i, len(want) // channels, channels)
        for name, code in (("multiplier", m), ("shift", shift), ("q", signed(value))):
            unit |= sided(name, code)
        number = Fraction(difference * m, 1 << shift)
        up = number - math.floor(number) >= Fraction(1, 2)
        if chosen.get("rounding") == "double" and shift > 31:
            half = (1 << 30) * (1 if difference >= 0 else -1)
            twice = difference * m + (1 << shift - 1) + half >> shift
            up = twice > math.floor(number)
        got = want[i] if target[0] == "u" else signed(want[i], bits)
        yield unit | rounded(number, got, zero_out, low, high, up)


def sided(name: str, code: int) -> Facts:
    side = "negative" if code < 0 else "positive" if code else "0"
    return {name: code, f"{name} parity": parity(code), f"{name} side": side}


def multiplied(format: str, words: list[int], want: list[int]) -> Iterator[Facts]:
    m, k, n, a_zero, y_zero, *rest = words
    scales, zeros = {"a_scale": rest[:1] * n, "y_scale": rest[1:2] * n}, rest[2 + n : 2 + 2 * n]
    scales["b_scale"] = rest[2 : 2 + n]
    for i, word in enumerate(want):
        column = i % n
        zero = signed(zeros[column])
        unit = {"m": m, "k": k, "n": n} | placed(i, m, n) | sided("b_zero", zero)
        unit |= {"a_zero": signed(a_zero), "y_zero": signed(y_zero)}
        for name, each in scales.items():
            size = magnitude(each[column], "f32")
            unit |= {f"{name} input": input_class(each[column], "f32")}
            unit |= {f"{name} sign": SIGNS[each[column] >> 31]}
            unit |= {f"{name} magnitude": size, f"{name} significand": significand(size)}
        code = signed(word, 8) if format == "int8" else word
        yield unit | result(code)


def elementwise(format: str, words: list[int], want: list[int]) -> Iterator[Facts]:
    rows, columns, has, *rest = words
    zeros = [signed(word) for word in rest[:3]]
    codes = [signed(word) for word in rest[6:]]
    common: Facts = {"rows": rows, "columns": columns, "b_has": has}
    common |= {f"{name}_zero": zero for name, zero in zip("aby", zeros, strict=True)}
    for name, word in zip("aby", rest[3:6], strict=True):
        size = magnitude(word, "f32")
        common |= {f"{name}_scale input": input_class(word, "f32")}
        common |= {f"{name}_scale sign": SIGNS[word >> 31], f"{name}_scale magnitude": size}
        common |= {f"{name}_scale significand": significand(size)}
    for i, word in enumerate(want):
        column = i % columns
        unit = common | placed(i, rows, columns)
        place = (i, column, 0)[has]
        for name, code in (("a", codes[i]), ("b", codes[rows * columns + place])):
            unit |= sided(name, code)
        yield unit | result(signed(word, 8) if format == "int8" else word)


def added(words: list[int], want: list[int]) -> Iterator[Facts]:
    m, k, n, *rest = words
    for i, word in enumerate(rest[: len(want)]):
        unit = {"m": m, "k": k, "n": n} | placed(i, m, n) | {"c input": input_class(word, "f32")}
        size = magnitude(word, "f32")
        yield unit | {
            "c sign": SIGNS[word >> 31],
            "c magnitude": size,
            "c significand": significand(size),
        }


def of_outputs(words: list[int], want: list[int], names: tuple[str, ...]) -> Iterator[Facts]:
    """Sizes, which stand first, and the place in a matrix."""
    sizes: Facts = dict(zip(names, words, strict=False))
    m, n = sizes["m"], sizes["n"]
    for i in range(len(want)):
        yield sizes | placed(i, m, n)


def number(name: str, word: int, type: str) -> Facts:
    size, sign = magnitude(word, type), SIGNS[word >> (31 if type == "f32" else 15)]
    return {
        f"{name} input": input_class(word, type),
        f"{name} sign": sign,
        f"{name} magnitude": size,
        f"{name} significand": significand(size),
    }


def with_epilogue(format: str, words: list[int], want: list[int]) -> Iterator[Facts]:
    m, k, n, alpha, beta, *rest = words
    type = "bf16" if format.endswith("bf16") else "f32"
    scales = []
    if format.startswith("nvfp4"):
        scales, rest = rest[m : m + n], rest[m + n :]
    bias, c = rest[:n], rest[n:]
    for i, unit in enumerate(of_outputs([m, k, n], want, ("m", "k", "n"))):
        unit = unit | number("alpha", alpha, "f32") | number("beta", beta, "f32")
        unit = unit | number("bias", bias[i % n], type) | number("c", c[i], type)
        yield unit | (number("tensor_scales_b", scales[i % n], "f32") if scales else {})


def of_another_form(format: str, words: list[int], want: list[int]) -> Iterator[Facts]:
    """The parameters that stand first, and codes of the type of the result."""
    align, border, zero, *rest = words
    unit: Facts = {
        "align_corners": ("off", "on")[align],
        "padding": ("zeros", "border")[border],
        "zero_point": signed(zero),
    }
    type, _, form = format.partition("_")
    if form in ("output", "values"):
        unit, rest = unit | number("scale", rest[0], "f32"), rest[1:]
    if form == "output":
        unit |= number("output_scale", rest[0], "f32") | {"output_zero": signed(rest[1])}
        rest, type = rest[2:], {"int8": "uint8", "uint8": "int8"}[type]
    if form in ("batch", "nhwc"):
        unit, rest = unit | {"images": rest[0]}, rest[1:]
    unit |= dict(zip(("channels", "height", "width", "down", "across"), rest, strict=False))
    for word in want:
        yield (
            unit if form == "values" else unit | result(signed(word, 8) if type == "int8" else word)
        )


def sampled(words: list[int], want: list[int], format: str) -> Iterator[Facts]:
    align, border, zero, *sizes, h, w = words[:8]
    grid = list(map(signed, words[8 + math.prod(sizes) :]))
    unit: Facts = {
        "align_corners": ("off", "on")[align],
        "padding": ("zeros", "border")[border],
        "zero_point": signed(zero),
        **dict(zip(("channels", "height", "width", "down", "across"), (*sizes, h, w), strict=True)),
    }
    for i, word in enumerate(want):
        x, y = grid[2 * (i % (h * w)) :][:2]
        code = signed(word, 8) if format == "int8" else word
        yield unit | {"grid x": x, "grid y": y} | result(code)
