"""The record of an implementation of products: dot products and linear layers, by its POLICY.

It claims a policy and no profile. Where the policy names an accumulation, every output has to have
its bits; otherwise it has to be in the interval of float32 sums. Asked are the vectors, every row
with every row, and random operands: at least 100,000 outputs of dot products in all.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.read import vectors_folder
from mxref.cases.records import VectorFile
from mxref.conformance.checking.product_outputs import same_numbers
from mxref.conformance.compare.product_intervals import inside_all, tolerated
from mxref.formats.catalog import BLOCK_FORMATS, ElementFormat
from mxref.operands.word_rows import padded, stripped
from mxref.operations.intervals import held
from mxref.operations.layers import fast_layer, layer_bounds, layer_parts
from mxref.operations.product_words import MX_PAIRS, DotSide, pair_formats
from mxref.operations.products import accumulations, bounds, groups, outputs
from mxref.operations.registry import DOT_OPERATIONS, LAYER_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.asked_files import read_for
from mxref.targets.calls import is_fault, quiet, without_cases
from mxref.targets.target import PythonTarget

__all__ = [
    "KINDS",
    "OUTPUTS",
    "dot_count",
    "dot_rounds",
    "examine_products",
    "layer_rounds",
    "product_files",
]

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
#: Random outputs of dot products of one adapter, and of one of its files at least.
OUTPUTS, _LEAST = 120_000, 20_000
#: Lengths of random dot products.
_LENGTHS = (32, 64, 96, 160)
#: Sums of the exponents of two scales around which random ones are drawn.
_SUMS = (0, 0, 0, 0, 127, -127, -149)
#: Sequences, rows, inputs and outputs of random layers.
_SHAPES = ((1, 64, 160, 96), (4, 24, 160, 64), (3, 20, 96, 40), (2, 8, 32, 32))
#: What an output of a dot product is about, the first that applies.
KINDS = (
    "a scale is NaN",
    "an element is NaN or infinite",
    "an element times its own scale is beyond the float type",
    "an element times its own scale loses bits in the float type",
    "a sum may be beyond float32",
    "ordinary",
)


def examine_products(target: PythonTarget, *, outputs: int = OUTPUTS) -> dict[str, Any]:
    """The record of a target: for each operation, formats and float type what it answers.

    Args:
        target: the implementation.
        outputs: the number of random outputs.
    """
    files = product_files(target)
    if not files:
        raise ValueError(f"target {target.name} must have a product, it has none")
    count = dot_count(files, outputs)
    records = [
        _dots(target, file, count) if file.op == "matmul" else _layers(target, file)
        for file in files
    ]
    return {
        "policy": str(target.policy),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "files": records,
    }


def product_files(target: PythonTarget, read: Iterable[VectorFile] = ()) -> list[VectorFile]:
    """The files of vectors, and those without cases for what has no vectors.

    Args:
        target: the implementation.
        read: files that have been read already.
    """
    ops = ("matmul", *LAYER_OPERATIONS)
    folder, policy = vectors_folder(), target.policy
    files = read_for(folder, target, policy, only=lambda op, *_: op in ops, read=read)
    found = {file.stem: file for file in files if file.op in ops}
    wanted = [(op, f, t) for op in ops for f in (MX_PAIRS if op == "matmul" else BLOCK_FORMATS)
              for t in ("f32", "bf16")]  # fmt: skip
    covered = [without_cases(*names) for names in wanted if target.covers(*names)]
    return [found.get(file.stem, file) for file in covered]


def dot_count(files: Sequence[VectorFile], outputs: int) -> int:
    """The number of random outputs of each file of dot products, of `outputs` in all."""
    dots = sum(file.op == "matmul" for file in files)
    return max(_LEAST if outputs == OUTPUTS else 0, -(-outputs // max(dots, 1)))


class _Tally:
    """Counts of one file."""

    def __init__(self, file: VectorFile, policy: Policy) -> None:
        self.file, self.policy = file, policy
        self.cases: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.found: dict[tuple[str, str], dict[str, Any]] = {}

    def miss(self, kind: str, how: str, count: int, example: str) -> None:
        """Count answers that are not right."""
        one = self.found.setdefault((kind, how), {"count": 0, "example": example})
        one["count"] += count

    def as_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        """As plain data."""
        differences = [
            {"kind": kind, "how": how, "asked": self.asked[kind], **one}
            for (kind, how), one in self.found.items()
        ]
        return {
            "op": self.file.op, "format": self.file.format, "float": self.file.float,
            "cases": dict(self.cases), "outputs": sum(self.asked.values()),
            "exact": self.counts["exact"], "nearest": self.counts["nearest"],
            "accumulations": [*names], "differences": differences,
        }  # fmt: skip


def _dots(target: PythonTarget, file: VectorFile, count: int) -> dict[str, Any]:
    """Every row with every row: of the vectors, and of random operands."""
    formats, layout = pair_formats(file.format), LAYOUTS[file.float]
    tally, how = _Tally(file, target.policy), [*accumulations(file.format)]
    tolerant = tolerated(target.policy)
    for origin, a, b in dot_rounds(file, count):
        tally.cases[origin] += len(a) * len(b)
        kind = _kinds(a, b, file)
        for number, name in enumerate(KINDS):
            tally.asked[name] += int((kind == number).sum())
        try:
            with quiet():
                asked = DOT_OPERATIONS["matmul"].call(file.format, file.float, a, b)
                got = asked.read(target.operations["matmul"](*asked.arguments.values()))
        except BaseException as error:
            if not is_fault(error):
                raise
            text = type(error).__name__
            for number in np.unique(kind).tolist():
                some = int((kind == number).sum())
                tally.miss(KINDS[number], f"raises {text}", some, "")
            continue
        columns = {name: str(Policy().replace(accumulation=name)) for name in ("exact", *how)}
        same = {
            name: same_numbers(outputs(a, b, formats, file.float, column), got, file.float)
            for name, column in columns.items()
        }
        how = [name for name in how if same[name].all()]
        nearest = inside_all(file, a, b, got, "nearest") | same["exact"]
        wide = inside_all(file, a, b, got, "any") | same["exact"]
        tally.counts["exact"] += int(same["exact"].sum())
        tally.counts["nearest"] += int(nearest.sum())
        own = outputs(a, b, formats, file.float, str(target.policy))
        right = same_numbers(own, got, file.float)
        wrong = ~(right | nearest) if tolerant else ~right
        where = np.where(nearest, 0, np.where(wide, 1, 2))
        for key in np.unique((kind * 3 + where)[wrong]).tolist():
            places = np.argwhere(wrong & (kind * 3 + where == key))
            i, j = min(places.tolist(), key=lambda p: _size(a[p[0]], b[p[1]]))
            example = _example(a[i], b[j], int(own[i, j]), int(got[i, j]), layout)
            tally.miss(KINDS[key // 3], _HOWS[key % 3], len(places), example)
    return tally.as_json(tuple(how))


_HOWS = (
    "inside the interval of additions that round to nearest",
    "inside the interval of adders that truncate",
    "outside every float32 accumulation",
)


def _size(a: DotSide, b: DotSide) -> int:
    return sum(map(bool, a.codes)) + sum(map(bool, b.codes))


def _example(a: DotSide, b: DotSide, want: int, got: int, layout: FloatLayout) -> str:
    """Operands without what is not needed, then the two answers."""
    if (np.array(a.codes) != 0).sum() > 4 or len(a.codes) > 64:
        operands = f"K = {len(a.codes)}"
    else:
        operands = " · ".join(
            " ".join(f"{c:02x}" for c in _short(side.codes))
            + " under "
            + " ".join(f"{s:02x}" for s in side.scales)
            for side in (a, b)
        )
    digits = layout.width // 4
    return f"{operands}: want {want:0{digits}x}, got {got:0{digits}x}"


def _short(codes: tuple[int, ...]) -> tuple[int, ...]:
    """Codes without zeros at the end."""
    last = max((i for i, code in enumerate(codes) if code), default=0)
    return codes[: last + 1]


def dot_rounds(file: VectorFile, count: int) -> Iterator[tuple[str, list[DotSide], list[DotSide]]]:
    """Rows of both sides with the name of their origin; every row is asked with every row.

    Args:
        file: with its cases of level 1.
        count: the number of random outputs.
    """
    if file.cases:
        for _, a, b in groups(file.input_words(), file.format):
            yield "vectors", a, b
    state = np.random.default_rng([*file.stem.encode()])
    rows = int(np.ceil(np.sqrt(count / len(_LENGTHS))))
    first, second = (fmt.element for fmt in pair_formats(file.format))
    for length in _LENGTHS:
        yield "random", *_drawn(first, second, length, rows, state)


def _drawn(
    first: ElementFormat,
    second: ElementFormat,
    length: int,
    rows: int,
    state: np.random.Generator,
) -> tuple[list[DotSide], list[DotSide]]:
    """Rows of finite codes: all, or few among zeros; scales around powers where sums go wrong."""
    sums = np.array(_SUMS)[state.integers(len(_SUMS), size=(rows, 1))]
    sums = sums + state.integers(-9, 10, (rows, length // 32))
    left = sums // 2 + state.integers(-9, 10, (rows, 1))
    found = []
    for fmt, powers in ((first, left), (second, sums - left)):
        codes = np.arange(fmt.code_count, dtype=np.uint8)
        pool = codes[np.isfinite(mxref.decode(codes, fmt.name))]
        some = state.choice(pool, (rows, length))
        few = (state.random((rows, length)) < 4 / length) | (state.random((rows, 1)) < 0.7)
        scales = np.clip(powers + 127, 0, 254)
        some = np.where(few, some, 0)
        found.append(
            [
                DotSide(tuple(s), tuple(c))
                for s, c in zip(scales.tolist(), some.tolist(), strict=True)
            ]
        )
    return found[0], found[1]


def _kinds(a: list[DotSide], b: list[DotSide], file: VectorFile) -> NDArray[np.intp]:
    """The number of the first of KINDS that applies to each row with each row."""
    layout, parts = LAYOUTS[file.float], []
    for rows, fmt in zip((a, b), pair_formats(file.format), strict=True):
        scales, codes = (np.array([getattr(r, n) for r in rows]) for n in ("scales", "codes"))
        values = mxref.decode(codes.astype(np.uint8), fmt.element.name).astype(np.float64)
        powers = np.repeat(np.exp2(scales.astype(np.float64) - 127), 32, axis=1)
        with np.errstate(all="ignore"):
            numbers = np.abs(values * powers[:, : codes.shape[1]])
            held = numbers.astype(layout.dtype).astype(np.float64)
        beyond = np.isinf(held) & np.isfinite(numbers)
        each = (scales == 255, ~np.isfinite(values), beyond, (held != numbers) & ~beyond)
        parts.append([one.any(axis=1) for one in each])
    ends = bounds(a, b, pair_formats(file.format), file.float, "any")
    may = np.isinf(ends.overflow) | np.isnan(ends.overflow)
    conditions = [x[:, np.newaxis] | y for x, y in zip(*parts, strict=True)] + [may]
    return np.select(conditions, range(5), 5)


def _layers(target: PythonTarget, file: VectorFile) -> dict[str, Any]:
    """Layers of the vectors, and random ones."""
    tally, layout = _Tally(file, target.policy), LAYOUTS[file.float]
    for origin, inputs in layer_rounds(file):
        tally.cases[origin] += len(inputs)
        answers = target.ask(file, inputs) if len(inputs) else None
        for i, row in enumerate(inputs):
            words, got = stripped(row), stripped(answers.words[i]) if answers else ()
            parts = _parts(file.op, words)
            ends = layer_bounds(file.op, file.format, file.float, words, target.policy)
            names = np.repeat(np.arange(len(parts)), [size for _, size in parts])
            tally.asked.update(dict(parts))
            if (answers and i in answers.errors) or len(got) != len(ends.lo):
                error = answers.errors.get(i, "another size") if answers else ""
                tally.miss(parts[0][0], f"raises {error.partition(':')[0]}", len(ends.lo), "")
                continue
            found = np.array(got, np.uint64)
            own = fast_layer(file.op, file.format, file.float, words, str(target.policy))
            same = same_numbers(own, found, file.float)
            inside: Bools = held(ends, found, file.float) | same
            tally.counts["exact"] += int(same.sum())
            tally.counts["nearest"] += int(inside.sum())
            for number, (name, _) in enumerate(parts):
                wrong = np.flatnonzero((names == number) & ~inside)
                if wrong.size:
                    digits, first = layout.width // 4, int(wrong[0])
                    example = (
                        f"want {int(own[first]):0{digits}x}, got {int(found[first]):0{digits}x}"
                    )
                    how = "outside the interval of float32 sums"
                    tally.miss(name, how, wrong.size, example)
    return tally.as_json(())


def layer_rounds(file: VectorFile) -> Iterator[tuple[str, Words]]:
    """Layers as words, one a row, with the name of their origin."""
    yield "vectors", file.input_words() if file.cases else np.zeros((0, 1), np.uint64)
    yield "random", padded([_layer(file, shape, seed) for seed, shape in enumerate(_SHAPES)])


def _parts(op: str, words: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """What an answer holds, with its counts of numbers; y with a bias is a kind of its own."""
    parts = layer_parts(op, words)
    return (("y with a bias", parts[0][1]),) if op == "linear" and words[4] else parts


def _layer(file: VectorFile, shape: tuple[int, int, int, int], seed: int) -> tuple[int, ...]:
    """Normal numbers times a power of two for each index of each axis, as words."""
    sequences, rows, inputs, outputs = shape
    layout = LAYOUTS[file.float]
    state = np.random.default_rng([seed, *file.stem.encode()])
    spread = 20 if file.format == "mxfp8_e5m2" else 9

    def matrix(*size: int) -> list[int]:
        values = state.standard_normal(size)
        for axis, count in enumerate(size):
            powers = np.exp2(state.integers(-spread, spread + 1, count))
            values = values * powers.reshape(-1, *(1,) * (len(size) - axis - 1))
        bits: list[int] = values.astype(layout.dtype).view(layout.uint).reshape(-1).tolist()
        return bits

    x, w = matrix(sequences, rows, inputs), matrix(outputs, inputs)
    if file.op == "linear":
        bias = matrix(outputs) if seed % 2 else []
        return (*shape, seed % 2, *x, *w, *bias)
    return (*shape, *x, *w, *matrix(sequences, rows, outputs))
