"""Prints how wrong each fault and each combination is, against mxref's public functions.

    python tests/pairs/prove_strange.py           the proof; the exit status is 1 if it fails
    python tests/pairs/prove_strange.py --draw    the lines of sets.txt, drawn anew

What is proved: the kernel without faults is 0 wrong in every operation and format; every fault
alone is wrong somewhere; of every combination no fault can be left out without other answers; and
the lines of sets.txt are those that are drawn. A number of `quantize` is wrong if its code or
its scale is, an output of `matmul` if it is outside of what float32 additions may give
(`mxref.matmul_bounds`). NaN is compared as a class, and codes under a NaN scale are not compared.
"""

import itertools
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import strange_sets
from right_kernel import ALL, ELEMENTS, MX, Array, Element, code_decoded
from strange_faults import FAULTS, kernel

import mxref

KINDS = ("ordinary", "special")
Call = tuple[Any, ...]


def of_blocks(kind: str, f: Element, k: int) -> Array:
    """Blocks of float32, one a row."""
    rng = np.random.default_rng(1)
    normal = rng.standard_normal((96, k))
    if kind == "ordinary":
        rows = [
            normal,
            rng.uniform(-1, 1, normal.shape),
            np.exp(2 * rng.standard_normal(normal.shape)) * np.sign(normal),
            rng.standard_normal(normal.shape) * 2.0 ** rng.integers(-8, 9, (96, 1)),
            rng.laplace(size=normal.shape) * 2.0 ** rng.integers(-20, 21, (96, 1)),
            np.maximum(rng.standard_normal(normal.shape), 0),
            rng.standard_normal(normal.shape).astype(ml_dtypes.bfloat16),
            1000 * rng.standard_normal(normal.shape),
        ]
        return np.concatenate(rows).astype(np.float32)
    every = np.float64(2.0) ** np.arange(-149, 128)[:, np.newaxis]
    wide = rng.uniform(-1, 1, (len(every), k)) * every
    numbers = code_decoded(np.arange(1 << f.bits), f)
    numbers = np.unique(np.abs(numbers[np.isfinite(numbers)]))
    middles = (numbers[1:] + numbers[:-1]) / 2
    ties = rng.choice(middles, (96, k)) * rng.choice([-1, 1], (96, k))
    ties[:, 3] = numbers[-1]
    fewer = rng.standard_normal((96, k))
    fewer[rng.random(fewer.shape) < 0.5] *= 0.0
    powers = rng.standard_normal((96, k)) / 8
    powers[np.arange(96), rng.integers(0, k, 96)] = 2.0 ** rng.integers(1, 20, 96)
    holes = rng.standard_normal((160, k))
    place = np.arange(160), np.arange(160) % k
    holes[place] = np.repeat([np.nan, -np.nan, np.inf, -np.inf, -0.0], 32)
    spread = rng.standard_normal((96, k)) * 2.0 ** -rng.integers(0, 24, (96, k))
    zeros = np.copysign(np.zeros((4, k)), rng.standard_normal((4, k)))
    rows = [wide, ties, ties * 2.0**-40, fewer, powers, holes, spread, zeros, -np.abs(normal)]
    with np.errstate(all="ignore"):
        return np.concatenate(rows).astype(np.float32)


def of_codes(kind: str, name: str) -> tuple[Array, Array]:
    """Scale codes and codes: of ordinary numbers, or all scales and all codes."""
    if kind == "ordinary":
        blocks = mxref.quantize(of_blocks(kind, ELEMENTS[name], 32), name)
        return blocks.scale_codes[:, 0], blocks.codes
    rng = np.random.default_rng(2)
    scales = np.append(rng.permutation(256), rng.integers(100, 150, 512)).astype(np.uint8)
    return scales, rng.integers(0, 1 << ELEMENTS[name].bits, (len(scales), 32)).astype(np.uint8)


def of_tensors(kind: str, f: Element) -> Iterator[Array]:
    rng = np.random.default_rng(3)
    blocks = of_blocks(kind, f, 32)
    yield from (blocks, blocks.T)
    for shape in ((5, 70), (64, 64), (33, 40), (1, 7), (100, 31), (97, 97)):
        x = rng.standard_normal(shape).astype(np.float32)
        if kind == "special":
            x *= np.float32(2) ** rng.integers(-60, 60, shape)
            x[rng.random(shape) < 0.01] = np.nan
            x[rng.random(shape) < 0.01] = -np.inf
            x[rng.random(shape) < 0.1] = -0.0
        yield x


def of_matrices(kind: str, name: str) -> Iterator[Call]:
    rng = np.random.default_rng(4)
    bits = ELEMENTS[name].bits
    for m, n, k, most in ((7, 5, 64, bits), (8, 9, 96, bits), (3, 16, 32, bits), (6, 6, 224, bits),
                          (9, 7, 96, ELEMENTS[name].mantissa + 1)):  # fmt: skip
        sides: list[Array] = []
        for rows in (m, n):
            if kind == "ordinary":
                x = rng.standard_normal((rows, k)) * 2.0 ** rng.integers(-3, 4, (rows, 1))
                blocks = mxref.quantize(x.astype(np.float32), name)
                sides += [blocks.scale_codes, blocks.codes]
            else:
                shape = rows, k // 32
                scales = rng.integers(*((0, 256) if k == 32 else (117, 137)), shape)
                scales[0] = rng.choice([0, 1, 60, 200, 254], shape[1:])
                codes = rng.integers(0, 1 << most, (rows, k))
                sides += [scales.astype(np.uint8), codes.astype(np.uint8)]
        yield (*sides, name, name)


@cache
def calls(operation: str, name: str, kind: str) -> list[Call]:
    """The arguments of all calls."""
    f = ELEMENTS[name]
    if operation == "quantize" and name == "nvfp4":
        x = of_blocks(kind, f, 16)
        given = (1.0, 0.01 / 3, 3e-5) if kind == "ordinary" else (1.0, 1e-20, 7e10)
        return [(x, name, np.float32(t)) for t in given]
    if operation == "quantize":
        return [(of_blocks(kind, f, 32), name)]
    if operation == "encode":
        largest = float(np.nanmax(np.where(np.isinf(d := code_decoded(np.arange(128), f)), 0, d)))
        x = of_blocks(kind, f, 32).ravel()
        wide = np.float32(largest / 3) * of_blocks("ordinary", f, 32)[:96].ravel()
        return [(np.append(x, wide) if kind == "ordinary" else x, f.name)]
    if operation == "dequantize":
        return [(*of_codes(kind, name), name, np.dtype(t))
                for t in (np.float32, ml_dtypes.bfloat16, np.float16)]  # fmt: skip
    if operation == "quantize_tensor":
        return [(x, name, axis) for x in of_tensors(kind, f) for axis in (0, 1)]
    return list(of_matrices(kind, name))


@cache
def wanted(operation: str, name: str, kind: str) -> list[Any]:
    """What mxref answers; of `matmul` its bounds."""
    answers: list[Any] = []
    for call in calls(operation, name, kind):
        if operation == "encode":
            answers.append(mxref.encode(*call))
        elif operation == "quantize":
            more = {"tensor_scale": float(call[2])} if name == "nvfp4" else {}
            blocks = mxref.quantize(call[0], name, **more)
            answers.append((blocks.scale_codes[:, 0], blocks.codes))
        elif operation == "quantize_tensor":
            blocks = mxref.quantize(call[0], name, axis=call[2])
            answers.append((blocks.scale_codes, blocks.codes))
        elif operation == "dequantize":
            how = {"scale_codes": call[0][:, np.newaxis], "block_format": name}
            answers.append(mxref.dequantize(call[1], call[3], **how))
        else:
            sides = zip(call[:4:2], call[1:4:2], strict=True)
            f = mxref.formats.block_format(name)
            a, b = (mxref.Blocks(c, s, f, 1, c.shape) for s, c in sides)
            answers.append(mxref.matmul_bounds(a, b.T))
    return answers


def comparable(answer: Any, name: str, axis: int = 1) -> Array:
    """An answer as integers in one array, a number each; NaN is one number."""
    if not isinstance(answer, tuple):
        if answer.dtype.kind == "u":
            return one_nan(answer, ELEMENTS[name])
        bits = answer.view(np.uint32 if answer.itemsize == 4 else np.uint16).astype(np.int64)
        return np.where(np.isnan(answer.astype(float)), -1, bits)
    scales, codes = answer
    scales = scales if scales.ndim == 2 else scales[:, np.newaxis]
    size = codes.shape[axis] // scales.shape[axis]
    each = np.repeat(scales, size, axis=axis).astype(np.int64)
    nan = each & 127 == 127 if name == "nvfp4" else each == 255
    return np.where(nan, -1, each << 8 | one_nan(codes, ELEMENTS[name]))


def one_nan(codes: Array, f: Element) -> Array:
    return np.where(np.isnan(code_decoded(codes, f)), 256, codes.astype(np.int64) & 255)


@cache
def answers(faults: tuple[str, ...], name: str, operation: str, kind: str) -> list[Any]:
    function = getattr(kernel(faults, name, operation), operation)
    return [function(*call) for call in calls(operation, name, kind)]


def numbers(answer: Any, operation: str, name: str, call: Call) -> Array:
    return comparable(answer, name, call[2] if operation == "quantize_tensor" else 1)


def wrong(faults: tuple[str, ...], name: str, operation: str, kind: str) -> float:
    """The share of wrong numbers."""
    parts = []
    got = answers(faults, name, operation, kind)
    asked = calls(operation, name, kind)
    for answer, right, call in zip(got, wanted(operation, name, kind), asked, strict=True):
        if operation == "matmul":
            parts.append(~right.hold(answer))
        else:
            both = (numbers(a, operation, name, call) for a in (answer, right))
            parts.append(np.not_equal(*both))
    return float(np.concatenate([part.ravel() for part in parts]).mean())


def parted(a: tuple[str, ...], b: tuple[str, ...], name: str, operation: str) -> int:
    """In how many numbers two kernels differ, over all data."""
    return sum(
        int((numbers(x, operation, name, call) != numbers(y, operation, name, call)).sum())
        for kind in KINDS
        for x, y, call in zip(
            answers(a, name, operation, kind),
            answers(b, name, operation, kind),
            calls(operation, name, kind),
            strict=True,
        )
    )


def without_each(faults: tuple[str, ...], name: str, operation: str) -> list[int]:
    """In how many numbers the kernel differs from the one without each of its faults."""
    rest = (tuple(other for other in faults if other != one) for one in faults)
    return [parted(faults, others, name, operation) for others in rest]


def visible(faults: tuple[str, ...], name: str, operation: str) -> bool:
    """Whether no fault is hidden by the others."""
    return all(without_each(faults, name, operation))


def line(id: str, operation: str, name: str, faults: tuple[str, ...]) -> tuple[str, float]:
    shares = [wrong(faults, name, operation, kind) for kind in KINDS]
    said = "  ".join(f"{share:8.3%}" for share in shares)
    return f"{id:4} {operation:15} {name:11} {said}  {' + '.join(faults) or '-'}", max(shares)


def main() -> int:
    if sys.argv[1:] == ["--draw"]:
        for id, operation, name, faults in itertools.chain(*strange_sets.draw(visible)):
            print(id, operation, name, " ".join(faults), sep="  ")
        return 0
    bad = 0
    print(f"{'id':4} {'operation':15} {'format':11} {KINDS[0]:>8}  {KINDS[1]:>8}  wrong with")
    for operation in ("quantize", "encode", "dequantize", "quantize_tensor", "matmul"):
        for name in ALL if operation == "quantize" else MX:
            text, share = line("", operation, name, ())
            print(text)
            bad += share > 0
    for one in FAULTS.values():
        for operation in one.operations:
            for name in one.formats:
                if name == "nvfp4" and operation != "quantize":
                    continue
                text, share = line("", operation, name, (one.name,))
                print(text)
                bad += share == 0
    for id, operation, name, faults in (*strange_sets.PAIRS, *strange_sets.TRIPLES):
        text, share = line(id, operation, name, faults)
        counts = without_each(faults, name, operation)
        print(f"{text}; without each of them {counts} numbers differ")
        bad += share == 0 or 0 in counts
    drawn = tuple(map(tuple, strange_sets.draw(visible)))
    same = drawn == (strange_sets.PAIRS, strange_sets.TRIPLES)
    print(f"drawn anew with seed {strange_sets.SEED}: {'the same' if same else 'OTHERS'}")
    bad += not same
    print("proved" if not bad else f"NOT PROVED: {bad}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
