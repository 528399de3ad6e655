"""Measure mxref of another checkout and of this one in turns, each in a process of its own.

    git worktree add ../before 845216e
    python tools/benchmark/versions.py ../before                    # the speed of a commit
    python tools/benchmark/versions.py ../before "quantize .* f32"  # some lines

Each line has the processor time of both, medians of all rounds, and the median of the ratios.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
#: Elements of a tensor, and of a small call.
MANY, FEW = 1 << 22, 32
ROUNDS = 7
#: Seconds of processor time that a sample takes at least.
SAMPLE = 0.05


def calls() -> dict[str, Callable[[], object]]:
    """What is measured, with the mxref that can be imported."""
    import mxref  # of the checkout that PYTHONPATH names

    draws = np.random.default_rng(1)
    tensor = draws.standard_normal((MANY // 1024, 1024)).astype(np.float32)
    found: dict[str, Callable[[], object]] = {}

    def add(op: str, name: str, values: Any, label: str, **how: Any) -> None:
        function = getattr(mxref, op)
        found[f"{op} {name} {label}"] = lambda: function(values, name, **how)

    for format in ("e4m3", "e2m1", "int8"):
        narrow = tensor.astype(ml_dtypes.bfloat16)
        add("encode", format, tensor, "f32")
        add("encode", format, narrow, "bf16")
        add("decode", format, mxref.encode(tensor, format), "f32")
        add("decode", format, mxref.encode(tensor, format), "bf16", dtype=ml_dtypes.bfloat16)
    given: dict[str, dict[str, Any]] = {"nvfp4": {"tensor_scale": 1.5}}
    for format in ("mxfp8_e4m3", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8", "nvfp4"):
        for label, dtype in (("f32", np.float32), ("bf16", ml_dtypes.bfloat16), ("f64", float)):
            values, how = tensor.astype(dtype), given.get(format, {})
            add("quantize", format, values, label, **how)
            if label != "f64":
                blocks = mxref.quantize(values, format, **how)
                found[f"dequantize {format} {label}"] = blocks.to_dtype
    bits = draws.integers(0, 1 << 8, tensor.shape, np.uint8)
    for variant in "abc":
        drawn: dict[str, Any] = {
            "rounding": f"stochastic_{variant}",
            "random_bits": bits,
            "random_width": 8,
        }
        add("encode", "e4m3", tensor, f"f32 stochastic_{variant}", **drawn)
        add("quantize", "mxfp4_e2m1", tensor, f"f32 stochastic_{variant}", **drawn)
    few, codes = tensor[0, :FEW], mxref.encode(tensor[0, :FEW], "e4m3")
    drawn = {"rounding": "stochastic_a", "random_bits": bits[0, :FEW], "random_width": 8}
    add("encode", "e4m3", few, "small")
    add("decode", "e4m3", codes, "small")
    add("quantize", "mxfp4_e2m1", few, "small")
    add("quantize", "mxfp4_e2m1", few, "small stochastic_a", **drawn)
    add("quantize", "nvfp4", few, "small", **given["nvfp4"])
    found["dequantize mxfp4_e2m1 small"] = mxref.quantize(few, "mxfp4_e2m1").dequantize
    return found


def serve(lines: IO[str]) -> None:
    """Answer each line, a name and a number of calls, with the seconds of a call."""
    found = calls()
    print("\t".join(found), flush=True)
    for line in lines:
        name, many = line.rstrip("\n").split("\t")
        begin = time.process_time()
        for _ in range(int(many)):
            found[name]()
        print((time.process_time() - begin) / int(many), flush=True)


class Version:
    """A checkout's mxref in a process that runs only while it is asked."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdin=-1, stdout=-1
        )
        self.names = self._read().split("\t")

    def seconds(self, name: str, many: int = 1) -> float:
        """Processor time of a call."""
        assert self.process.stdin is not None
        print(name, many, sep="\t", file=self.process.stdin, flush=True)
        return float(self._read())

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")


def measured(name: str, versions: Sequence[Version]) -> str:
    """A line of figures."""
    many = []
    for version in versions:
        version.seconds(name)  # tables are made once
        many.append(max(1, round(SAMPLE / max(version.seconds(name), 1e-6))))
    rounds = []
    for turn in range(ROUNDS):
        pair = [0.0, 0.0]
        for side in (0, 1) if turn % 2 else (1, 0):
            pair[side] = versions[side].seconds(name, many[side])
        rounds.append(pair)
    unit, scale = ("us", 1e6) if " small" in name else ("ns", 1e9 / MANY)
    before, now = (statistics.median(pair[side] for pair in rounds) * scale for side in (0, 1))
    ratio = statistics.median(pair[0] / pair[1] for pair in rounds)
    return f"{name:38} {before:8.2f} -> {now:7.2f} {unit}  {ratio:6.2f} x"


def main(arguments: Sequence[str]) -> None:
    """Print a line for each call whose name the pattern, the second argument, is found in."""
    if arguments == ["--serve"]:
        serve(sys.stdin)
        return
    folder, *patterns = arguments
    pattern = patterns[0] if patterns else ""
    versions = [Version(Path(folder).resolve()), Version(ROOT)]
    for name in versions[0].names:
        if re.search(pattern, name):
            print(measured(name, versions), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
