"""The units of a case as raw facts: patterns, codes and places, a dict for each unit."""

from __future__ import annotations

from collections.abc import Iterator

from features_by_hand import Facts
from helpers import ELEMENT


def facts(
    op: str, format: str, float: str, words: list[int], want: list[int]
) -> Iterator[tuple[str, int, Facts]]:
    """Kind of unit, number of its word, and facts, of every word of the answer to a case."""
    base = {"format": ELEMENT.get(format, format), "float": float}
    match op:
        case "encode" | "encode_scale" | "encode_stochastic":
            more = dict(zip(("x", "draw", "width"), words, strict=False))
            yield "answer", 0, {**base, **more, "want": want[0]}
        case "shared_scale":
            yield "answer", 0, {"float": float, "x": words[0], "scale": want[0]}
        case "decode" | "decode_scale":
            yield "answer", 0, {**base, "code": words[0]}
        case "dequantize":
            for i, code in enumerate(words[1:]):
                place = {"position": i, "block": words[1:]}
                yield "element", i, {**base, **place, "scale": words[0], "code": code}
        case "quantize":
            yield from _block(base, words, want, {})
        case "quantize_tensor":
            yield from _tensor(base, words, want)
        case _:
            shape: Facts = {"scale": words[0]} if op == "pack_blocks" else {}
            shape |= {"length": words[0] if op == "unpack" else len(words), "count": len(want)}
            for i, word in enumerate(want):
                more = _place(words, i) if op.endswith("pack_scales") else {}
                yield "word", i, {**base, **shape, **more, "word": i, "want": word}


def _place(words: list[int], index: int) -> Facts:
    """Row and column of a scale, row by row."""
    row, column = divmod(index, words[1])
    return {"rows": words[0], "columns": words[1], "row": row, "column": column}


def _block(
    base: Facts, block: list[int], want: list[int], more: Facts
) -> Iterator[tuple[str, int, Facts]]:
    shared = {**base, **more, "scale": want[0], "block": block}
    yield "scale", 0, shared
    for i, (x, code) in enumerate(zip(block, want[1:], strict=True)):
        yield "element", i + 1, {**shared, "x": x, "want": code, "position": i}


def _tensor(base: Facts, words: list[int], want: list[int]) -> Iterator[tuple[str, int, Facts]]:
    """Blocks of 32 along the axis, tails filled up with zeros; scales, then codes, in C order."""
    rows, columns, axis, *values = words
    lines, length = (columns, rows) if axis == 0 else (rows, columns)
    blocks = -(-length // 32)
    for line in range(lines):
        for block in range(blocks):
            places = [(line, 32 * block + i) for i in range(32)]
            inside = sum(place < length for _, place in places)
            cells = [(line, i) if axis else (i, line) for line, i in places]
            width, scale_width = (32 * blocks, blocks) if axis else (columns, columns)
            x = [values[r * columns + c] if r < rows and c < columns else 0 for r, c in cells]
            at = [lines * blocks + r * width + c for r, c in cells]
            scale = line * scale_width + block if axis else block * scale_width + line
            numbers = [scale, *at]
            more = {"rows": rows, "columns": columns, "axis": str(axis), "length": inside}
            more |= {"number": block, "blocks": blocks, "row" if axis else "column": line}
            found = _block(base, x, [want[n] for n in numbers], more)
            for (kind, i, unit), number in zip(found, numbers, strict=True):
                place = {"column" if axis else "row": places[i - 1][1]} if i else {}
                yield kind, number, {**unit, **place}
