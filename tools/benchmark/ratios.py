"""Sections whose limits are ratios to what is natural, measured in the same run.

They do not depend on the machine: of NVFP4 and stochastic rounding to mxref's MXFP4 and nearest
rounding, of small calls to a plain sequence of NumPy calls, of verbs to ``import numpy``.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref
from benchmark.jobs import Job, own, values_of
from benchmark.measure import in_turns
from benchmark.wanted import Options, Wanted, python

__all__ = ["MOST", "nvfp4", "small", "stochastic", "verbs"]

#: How many times as long each may take, by section: a third more than it took when it was set.
MOST: Mapping[str, Mapping[str, float]] = {
    "nvfp4": {
        "quantize f32": 2.5,
        "quantize bf16": 1.7,
        "dequantize f32": 1.4,
    },
    "stochastic": {
        "encode e4m3": 3,
        "encode e2m1": 3,
        "quantize mxfp8_e4m3": 3,
        "quantize mxfp4_e2m1": 3,
    },
    "small": {
        "encode e4m3": 3.7,
        "decode e4m3": 2.1,
        "shared_scale e4m3": 4,
        "quantize mxfp4_e2m1": 6.8,
        "quantize nvfp4": 20,
        "dequantize mxfp4_e2m1": 3.7,
    },
    "verbs": {
        "--version": 0.7,
        "--help": 1,
        "explain rceil": 3.2,
        "identify tools/examples/my_kernel.py": 4.5,
        "diff torchao_0_18_floor ocp --format mxfp4_e2m1": 6.5,
    },
}
#: What is called in turns, and what it is measured beside.
Pair = tuple[Callable[[], object], Callable[[], object]]


def _lines(
    section: str,
    beside: str,
    pairs: Mapping[str, Callable[[], Pair]],
    seconds: float,
    clock: Callable[[], float] = time.process_time,
) -> Iterator[Wanted]:
    """A line for each pair, with the limit that `MOST` has for it."""
    assert pairs.keys() == MOST[section].keys()

    def measure(pair: Callable[[], Pair]) -> float:
        return 1 / in_turns(*pair(), seconds, clock).ratio

    for name, pair in pairs.items():
        what, most = f"{name}: {beside}", MOST[section][name]
        yield Wanted(what, functools.partial(measure, pair), most=most, unit="times as long")


def nvfp4(options: Options) -> Iterator[Wanted]:
    """NVFP4, whose tensors have a scale, too, beside MXFP4."""

    def quantize(float: str) -> Pair:
        x = values_of(Job("quantize", "mxfp4_e2m1", options.shape, float))
        return lambda: mxref.quantize(x, "nvfp4"), lambda: mxref.quantize(x, "mxfp4_e2m1")

    def dequantize() -> Pair:
        x = values_of(Job("quantize", "mxfp4_e2m1", options.shape))
        mine, other = mxref.quantize(x, "nvfp4"), mxref.quantize(x, "mxfp4_e2m1")
        return mine.dequantize, other.dequantize

    pairs: dict[str, Callable[[], Pair]] = {
        f"quantize {float}": functools.partial(quantize, float) for float in ("f32", "bf16")
    }
    pairs["dequantize f32"] = dequantize
    yield from _lines("nvfp4", "mxfp4_e2m1", pairs, options.seconds)


def stochastic(options: Options) -> Iterator[Wanted]:
    """Stochastic rounding by given random bits beside rounding to nearest."""

    def pair(op: str, format: str) -> Pair:
        nearest = Job(op, format, options.shape)
        drawn = Job(op, format, options.shape, choices={"rounding": "stochastic_a"})
        return own(drawn).call, own(nearest).call

    pairs = {name: functools.partial(pair, *name.split()) for name in MOST["stochastic"]}
    yield from _lines("stochastic", "to nearest", pairs, options.seconds)


def small(options: Options) -> Iterator[Wanted]:
    """Calls of 32 float32 beside the calls of NumPy that a plain quantizer of a block makes."""
    x = values_of(Job("quantize", "mxfp4_e2m1", (1, 32)))[0]
    blocks, codes, amax = mxref.quantize(x, "mxfp4_e2m1"), mxref.encode(x, "e4m3"), np.abs(x)
    calls: dict[str, Callable[[], object]] = {
        "encode e4m3": lambda: mxref.encode(x, "e4m3"),
        "decode e4m3": lambda: mxref.decode(codes, "e4m3"),
        "shared_scale e4m3": lambda: mxref.shared_scale(amax, "e4m3"),
        "quantize mxfp4_e2m1": lambda: mxref.quantize(x, "mxfp4_e2m1"),
        "quantize nvfp4": lambda: mxref.quantize(x, "nvfp4", tensor_scale=1.5),
        "dequantize mxfp4_e2m1": blocks.dequantize,
    }
    pairs = {
        name: functools.partial(lambda call: (call, lambda: _plain(x)), call)
        for name, call in calls.items()
    }
    yield from _lines("small", "plain NumPy", pairs, options.seconds)


def _plain(x: NDArray[np.float32]) -> tuple[Any, NDArray[Any]]:
    """A block as an exponent and numbers of a grid, as one writes it without a thought."""
    _, exponent = np.frexp(np.abs(x).max())
    scaled = np.ldexp(x, 3 - exponent)
    return exponent, np.clip(np.rint(scaled), -8, 7).astype(np.int8)


def verbs(options: Options) -> Iterator[Wanted]:
    """The processor time of whole processes beside that of ``import numpy``."""

    def pair(words: str) -> Pair:
        verb = functools.partial(python, "-m", "mxref", *words.split())
        return verb, functools.partial(python, "-c", "import numpy")

    pairs = {words: functools.partial(pair, words) for words in MOST["verbs"]}
    # Child processes that have ended; five rounds take longer than most that is asked for.
    yield from _lines("verbs", "import numpy", pairs, options.seconds, lambda: sum(os.times()[2:4]))
