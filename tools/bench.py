"""How fast mxref is to be, beside what is measured: ten to thirty minutes for everything.

Every figure is the median of ratios of calls in turns, in one run on the same data, on one core
unless it says otherwise. Libraries that are not installed leave lines that say so; all of them are
in the environment `torch` of tools/peers.sh, and in the checkout that MXREF_MICROXCALING names.

    python tools/bench.py --check                 # exit status 1 if one is missed, or not measured
    python tools/bench.py --only quantize rules   # some sections
    python tools/bench.py --json bench.json       # all figures
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # environments of peers need not have mxref

from mxref.bench.jobs import DATA, Job, own  # noqa: E402
from mxref.bench.measure import in_turns  # noqa: E402
from mxref.bench.peers import PEERS  # noqa: E402
from mxref.bench.rows import Row, beside, cells, other_choices, report, versus  # noqa: E402
from mxref.support.text import unknown_name  # noqa: E402
from mxref.support.whole_file import write_file  # noqa: E402

FP8, FP6_FP4 = ("mxfp8_e5m2", "mxfp8_e4m3"), ("mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1")
ELEMENTS = ("e4m3", "e2m3", "e3m2", "e2m1", "e5m2")
#: Where programs are started.
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
#: The shape of torchao's benchmarks/mx_formats/bench_qdq.py.
QDQ = (1, 4096, 11008)


@dataclass(frozen=True, slots=True)
class Options:
    """What all sections read: elements of a tensor, seconds a row, and threads of bench_qdq."""

    elements: int
    seconds: float
    threads: int

    @property
    def shape(self) -> tuple[int, int]:
        """Of a tensor."""
        return self.elements // 1024, 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """A line: what is measured, and what is wanted of it, if anything is.

    Args:
        what: what it is, if a row does not say so.
        measure: gives a `Row`, whose ratio counts, a number, or a text if it cannot be measured.
        least: the smallest number that will do.
        most: the largest one.
        unit: "x", how many times as fast, or another.
    """

    what: str
    measure: Callable[[], Row | float | str]
    least: float = -math.inf
    most: float = math.inf
    unit: str = "x"

    @property
    def limits(self) -> str:
        """What is wanted, in words."""
        parts = [f">= {self.least:.4g}"] if math.isfinite(self.least) else []
        parts += [f"<= {self.most:.4g}"] if math.isfinite(self.most) else []
        return ", ".join(parts) + f" {self.unit}" if parts else "shown"

    def met(self, figure: float | None) -> bool | None:
        """Whether a figure will do; None if nothing is wanted."""
        if not math.isfinite(self.least) and not math.isfinite(self.most):
            return None
        return figure is not None and self.least <= figure <= self.most


def main() -> int:
    """Measure the sections; with --check 1 if something is missed or not measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    names = ", ".join(SECTIONS)
    add("--only", nargs="+", metavar="SECTION", help=f"of {names} (default: all)")
    add("--elements", type=int, default=1 << 24, metavar="N", help="default: 2**24")
    add("--seconds", type=float, default=1.0, help="for the rounds of a row (default: 1)")
    add("--threads", type=int, default=1, help="of both sides, for bench_qdq (default: 1)")
    add("--check", action="store_true", help="exit with 1 if something is missed")
    add("--json", type=Path, metavar="FILE", help="write all figures, when all are there")
    given = parser.parse_args()
    options = Options(given.elements, given.seconds, given.threads)
    for section in given.only or []:
        if section not in SECTIONS:
            parser.error(unknown_name("--only", section, SECTIONS))
    if options.elements < 1024 or options.elements % 1024:
        parser.error(f"--elements must be a multiple of 1024, got {options.elements}")
    lines = [
        _line(section, wanted)
        for section in given.only or SECTIONS
        for wanted in SECTIONS[section](options)
    ]
    missed = sum(line["met"] is False for line in lines)
    print(f"{missed} of {len(lines)} missed or not measured" if missed else "nothing missed")
    if given.json is not None:
        found = report(line["row"] for line in lines if line["row"] is not None)
        rows = iter(found.pop("rows"))
        found["lines"] = [{**line, "row": line["row"] and next(rows)} for line in lines]
        write_file(given.json, (json.dumps(found, indent=1) + "\n").encode("ascii"))
    return int(given.check and missed > 0)


def _line(section: str, wanted: Wanted) -> dict[str, Any]:
    """Measure a line and print it."""
    found = wanted.measure()
    row = found if isinstance(found, Row) else None
    figure, text, what = None, str(found), wanted.what
    if isinstance(found, float):
        figure, text = found, ""
    if row is not None:
        figure = None if row.timing is None else row.timing.ratio
        name, mine, theirs, _, worst, *memory, bits = cells(row)[4:]
        what = f"{row.job}: {name}"
        text = f"{mine} and {theirs} ns, worst {worst} x, {' and '.join(memory)} MiB, {bits}"
    met = wanted.met(figure)
    word = {None: "", True: "met", False: "MISSED"}[met]
    if figure is None and met is False:
        word = "NOT MEASURED"
    number = "-" if figure is None else f"{figure:.3g} {wanted.unit}"
    print(f"{section:10} {what:75} {wanted.limits:18} {number:>10} {word:12} {text}", flush=True)
    line = {"section": section, "what": what, "wanted": wanted.limits, "figure": figure}
    return {**line, "unit": wanted.unit, "met": met, "row": row}


def _beside(job: Job, name: str, options: Options, least: float = -math.inf) -> Wanted:
    peer = PEERS[name]
    return Wanted(
        f"{job}: {name}", lambda: peer.absent or beside(job, peer, options.seconds), least
    )


def _versus(
    job: Job, other: Job, name: str, options: Options, least: float, most: float = math.inf
) -> Wanted:
    return Wanted("", lambda: versus(job, other, name, options.seconds), least, most)


def _measured(
    what: str, figure: Row | float | str, unit: str = "x", most: float = math.inf
) -> Wanted:
    return Wanted(what, lambda: figure, most=most, unit=unit)


def encode(options: Options) -> Iterator[Wanted]:
    """`encode` of float32 beside casts."""
    for data in DATA:
        for format in ELEMENTS:
            job = Job("encode", format, options.shape, data=data)
            yield _beside(job, "ml_dtypes", options, least=7)
            yield _beside(job, "gfloat", options, least=25)
            if format == "e4m3":
                yield _beside(job, "torch", options, least=0.5)


def policies(options: Options) -> Iterator[Wanted]:
    """Each choice beside the default; those of `encode` that are deterministic cost no more."""
    for format in ("e4m3", "e2m1", "int8"):
        job = Job("encode", format, options.shape)
        for other in other_choices(job):
            drawn = other.choices.get("rounding", "").startswith("stochastic")
            yield _versus(other, job, "ocp", options, -math.inf if drawn else 1 / 1.1)
    for op in ("quantize", "dequantize"):
        job = Job(op, "mxfp8_e4m3", options.shape)
        for other in other_choices(job):
            yield _versus(other, job, "ocp", options, -math.inf)


def threads(options: Options) -> Iterator[Wanted]:
    """Two threads beside one."""
    for op, formats in (("encode", ELEMENTS), ("quantize", FP8 + FP6_FP4)):
        for format in formats:
            one, two = (Job(op, format, options.shape, threads=count) for count in (1, 2))
            yield _versus(two, one, "one thread", options, 1.6)


def quantize(options: Options) -> Iterator[Wanted]:
    """`quantize` of float32 beside other quantizers."""
    for data in DATA:
        for format in (*FP8, *FP6_FP4, "mxint8"):
            job = Job("quantize", format, options.shape, data=data)
            narrow = format in FP6_FP4
            if format != "mxint8":
                yield _beside(job, "torchao", options, least=6 if narrow else 1)
                least = 1 if narrow else -math.inf
                yield _beside(job, "torchao_compiled", options, least=least)
            for name in ("microxcaling", "gguf", "compressed_tensors"):
                if PEERS[name].measures(job):
                    yield _beside(job, name, options, least=15)


def rules(options: Options) -> Iterator[Wanted]:
    """RCEIL and EVEN take as long as FLOOR."""
    for format in (*FP8, *FP6_FP4, "mxint8"):
        job = Job("quantize", format, options.shape)
        for rule in ("rceil", "even"):
            other = Job("quantize", format, options.shape, choices={"scale_rule": rule})
            yield _versus(other, job, "floor", options, 1 / 1.2, 1.2)


def dequantize(options: Options) -> Iterator[Wanted]:
    """`dequantize` beside decoding and multiplying."""
    for format in FP8 + FP6_FP4:
        for float_type in ("f32", "bf16"):
            job = Job("dequantize", format, options.shape, float_type)
            yield _beside(job, "ml_dtypes", options, least=3)


def bfloat16(options: Options) -> Iterator[Wanted]:
    """bfloat16 sources beside float32."""
    for op, formats in (("encode", ELEMENTS), ("quantize", FP8 + FP6_FP4)):
        for format in formats:
            job, wide = (Job(op, format, options.shape, name) for name in ("bf16", "f32"))
            yield _versus(job, wide, "f32", options, 1)


def qdq(options: Options) -> Iterator[Wanted]:
    """The shape of torchao's bench_qdq, and its GB/s.

    Bytes are those of its model: elements as torchao stores them (FP4 two to a byte, all others one
    each), one byte a block for the scale, two for a bfloat16.
    """
    for format in FP8 + FP6_FP4:
        moved = math.prod(QDQ) * ((0.5 if "fp4" in format else 1) + 1 / 32 + 2)
        for op in ("quantize", "dequantize"):
            job = Job(op, format, QDQ, "bf16", threads=options.threads)
            for name in ("torchao", "torchao_compiled"):
                line = _beside(job, name, options)
                found = line.measure()
                yield _measured(line.what, found)
                if isinstance(found, Row) and found.timing is not None:
                    for who, times in (("mxref", found.timing.mine), (name, found.timing.theirs)):
                        rate = moved / statistics.median(times) / 1e9
                        yield _measured(f"{job}: {who}", rate, "GB/s")


def linear(options: Options) -> Iterator[Wanted]:
    """Nanoseconds an element of tensors of 2**16 to 2**24."""
    for op, format in (
        ("encode", "e4m3"),
        ("quantize", "mxfp4_e2m1"),
        ("dequantize", "mxfp4_e2m1"),
    ):
        for power in range(16, 25, 2):
            job = Job(op, format, (1 << (power - 10), 1024))

            def measure(job: Job = job) -> float:
                call = own(job).call
                timing = in_turns(call, call, options.seconds / 2, time.process_time)
                return statistics.median(timing.mine) / job.elements * 1e9

            yield Wanted(f"{op} {format} f32 normal 2**{power}", measure, unit="ns")


def start(_: Options) -> Iterator[Wanted]:
    """Importing, beside NumPy alone; the golden vectors of level 1."""

    def importing() -> float:
        timing = in_turns(
            lambda: _python("-c", "import numpy; import mxref; mxref.encode"),
            lambda: _python("-c", "import numpy"),
            5,
            lambda: sum(os.times()[2:4]),  # of the processes that have ended
        )
        return min(timing.mine) - min(timing.theirs)

    yield Wanted("import mxref, over numpy, processor time", importing, most=0.2, unit="s")

    def regenerate() -> float:
        def once() -> float:
            with tempfile.TemporaryDirectory() as folder:
                begin = time.perf_counter()
                _python("-m", "mxref", "regen", "--out", folder)
                return time.perf_counter() - begin

        return min(once() for _ in range(3))

    yield Wanted("mxref regen, level 1", regenerate, most=5, unit="s")


def sweep(_: Options) -> Iterator[Wanted]:
    """All 2**32 float32 patterns of six formats, with all processors."""
    begin, most = time.perf_counter(), 0
    command, quiet = [sys.executable, "-m", "mxref", "sweep"], subprocess.DEVNULL
    with subprocess.Popen(command, env=ENV, stdout=quiet, start_new_session=True) as process:
        while process.poll() is None:
            most = max(most, _resident(process.pid))
            time.sleep(0.1)
    seconds: float | str = time.perf_counter() - begin
    memory: float | str = most / (1 << 20)
    if process.returncode != 0:
        seconds = memory = f"mxref sweep ends with {process.returncode}"
    yield _measured("mxref sweep, six formats", seconds, "s", 60)
    yield _measured("the same, all processes", memory, "MiB", 500)


def _resident(session: int) -> int:
    """Bytes that the processes of a session hold."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if (folder / "stat").read_text().rpartition(")")[2].split()[3] == str(session):
                total += int((folder / "statm").read_text().split()[1])
    return total * os.sysconf("SC_PAGE_SIZE")


def _python(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, env=ENV, stdout=subprocess.DEVNULL)


#: Sections by name.
SECTIONS: Mapping[str, Callable[[Options], Iterator[Wanted]]] = {
    each.__name__: each
    for each in (
        encode, policies, threads, quantize, rules, dequantize, bfloat16, qdq, linear, start, sweep
    )
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
