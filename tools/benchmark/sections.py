"""The sections of `python tools/bench.py --check`: measurements with their limits."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmark.jobs import DATA, Job, own
from benchmark.measure import in_turns
from benchmark.peers import PEERS
from benchmark.ratios import nvfp4, small, stochastic, verbs
from benchmark.rows import BenchRow, beside, other_choices, versus
from benchmark.sides_integer import exact_linear, quantize_affine
from benchmark.wanted import ENV, NO_LIMIT, Options, Wanted, python
from mxref.products.adders import ADDERS

__all__ = ["SECTIONS", "Options", "Wanted"]

FP8, FP6_FP4 = ("mxfp8_e5m2", "mxfp8_e4m3"), ("mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1")
ELEMENTS = ("e4m3", "e2m3", "e3m2", "e2m1", "e5m2")
#: The program that measures `matmul`, and its environment.
CHILD = Path(__file__).parent / "product_child.py"
ONE_CORE = {
    **ENV,
    "PYTHONPATH": os.pathsep.join((ENV["PYTHONPATH"], str(CHILD.parents[1]))),
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
}
#: The program that measures `mma`.
ADDER_CHILD = CHILD.with_name("adder_child.py")
#: How many times as fast as MMA-Sim an adder is, where it is not 15 times: MMA-Sim itself is
#: compiled C there.
LEAST_ADDERS = {"fma_f32": 0.5}
#: Shape of the tensor in torchao's benchmarks/mx_formats/bench_qdq.py.
QDQ = (1, 4096, 11008)


def _beside(job: Job, name: str, options: Options, least: float = NO_LIMIT) -> Wanted:
    peer = PEERS[name]
    return Wanted(
        f"{job}: {name}", lambda: peer.absent or beside(job, peer, options.seconds), least
    )


def _versus(
    job: Job, other: Job, name: str, options: Options, least: float, most: float = math.inf
) -> Wanted:
    return Wanted("", lambda: versus(job, other, name, options.seconds), least, most)


def _measured(
    what: str, figure: BenchRow | float | str, unit: str = "x", most: float = math.inf
) -> Wanted:
    return Wanted(what, lambda: figure, most=most, unit=unit)


def encode(options: Options) -> Iterator[Wanted]:
    """`encode` of float32 beside casts of other libraries."""
    for data in DATA:
        for format in ELEMENTS:
            job = Job("encode", format, options.shape, data=data)
            yield _beside(job, "ml_dtypes", options, least=4)  # 4.4 to 12 times, by processor
            yield _beside(job, "gfloat", options, least=25)
            if format == "e4m3":
                yield _beside(job, "torch", options, least=0.35)


def policies(options: Options) -> Iterator[Wanted]:
    """Each choice beside the default; deterministic choices of `encode` cost at most 20 % more."""
    for format in ("e4m3", "e2m1", "int8"):
        job = Job("encode", format, options.shape)
        for other in other_choices(job):
            drawn = other.choices.get("rounding", "").startswith("stochastic")
            yield _versus(other, job, "ocp", options, NO_LIMIT if drawn else 1 / 1.2)
    for op in ("quantize", "dequantize"):
        job = Job(op, "mxfp8_e4m3", options.shape)
        for other in other_choices(job):
            yield _versus(other, job, "ocp", options, NO_LIMIT)


def threads(options: Options) -> Iterator[Wanted]:
    """Two threads beside one."""
    for op, formats, least in (("encode", ELEMENTS, 1.6), ("quantize", FP8 + FP6_FP4, 1.4)):
        for format in formats:
            one, two = (Job(op, format, options.shape, threads=count) for count in (1, 2))
            yield _versus(two, one, "one thread", options, least)


def quantize(options: Options) -> Iterator[Wanted]:
    """`quantize` of float32 beside other quantizers."""
    for data in DATA:
        for format in (*FP8, *FP6_FP4, "mxint8"):
            job = Job("quantize", format, options.shape, data=data)
            narrow = format in FP6_FP4
            if format != "mxint8":
                yield _beside(job, "torchao", options, least=6 if narrow else 1)
                compiled = 1 if narrow else NO_LIMIT
                yield _beside(job, "torchao_compiled", options, least=compiled)
            for name in ("microxcaling", "gguf", "compressed_tensors"):
                # To FP8 compressed-tensors casts with torch's vector instructions.
                least = 3 if name == "compressed_tensors" and not narrow else 15
                if PEERS[name].measures(job):
                    yield _beside(job, name, options, least=least)


def rules(options: Options) -> Iterator[Wanted]:
    """RCEIL and EVEN beside FLOOR: within 20 %."""
    for format in (*FP8, *FP6_FP4, "mxint8"):
        job = Job("quantize", format, options.shape)
        for rule in ("rceil", "even"):
            other = Job("quantize", format, options.shape, choices={"scale_rule": rule})
            yield _versus(other, job, "floor", options, 1 / 1.2, 1.2)


def dequantize(options: Options) -> Iterator[Wanted]:
    """`dequantize` beside decoding and multiplying with ml_dtypes."""
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
    """The tensor of torchao's bench_qdq, and its GB/s.

    Bytes are counted as bench_qdq counts them: elements as torchao stores them (two FP4 per byte,
    one byte for every other element), one byte per block for the scale, two per bfloat16.
    """
    for format in FP8 + FP6_FP4:
        moved = math.prod(QDQ) * ((0.5 if "fp4" in format else 1) + 1 / 32 + 2)
        for op in ("quantize", "dequantize"):
            job = Job(op, format, QDQ, "bf16", threads=options.threads)
            for name in ("torchao", "torchao_compiled"):
                line = _beside(job, name, options)
                found = line.measure()
                yield _measured(line.what, found)
                if isinstance(found, BenchRow) and found.timing is not None:
                    for who, times in (("mxref", found.timing.mine), (name, found.timing.theirs)):
                        rate = moved / statistics.median(times) / 1e9
                        yield _measured(f"{job}: {who}", rate, "GB/s")


def linear(options: Options) -> Iterator[Wanted]:
    """Nanoseconds per element of tensors of 2**16 to 2**24 elements."""
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


def products(options: Options) -> Iterator[Wanted]:
    """`matmul` of 256 x 2048 x 256, exact, beside NumPy's float64 product, on one core."""
    for format in (*FP8, *FP6_FP4, "mxint8"):

        def measure(format: str = format) -> float:
            command = [sys.executable, str(CHILD), format, str(options.seconds)]
            done = subprocess.run(command, check=True, env=ONE_CORE, stdout=subprocess.PIPE)
            return float(done.stdout)

        most = 100 if format == "mxfp8_e5m2" else 25
        yield Wanted(f"matmul {format}", measure, most=most, unit="times as long as NumPy")


def adders(options: Options) -> Iterator[Wanted]:
    """Named adders of plain arrays beside MMA-Sim, 128 x 128 x 1024, both on one core."""
    for name, adder in ADDERS.items():
        if adder.blocks or adder.scaling:  # which MMA-Sim has not for plain arrays
            continue
        time, ratio = (
            functools.partial(_beside_mmasim, name, options.seconds, which) for which in (0, 1)
        )
        yield Wanted(f"mma {name}", time, most=3.2, unit="ns a product")
        yield Wanted(f"mma {name}: mmasim", ratio, least=LEAST_ADDERS.get(name, 15))


def _beside_mmasim(name: str, seconds: float, which: int) -> float | str:
    """Nanoseconds a product of an adder, or how many times as long MMA-Sim takes."""
    if importlib.util.find_spec("mmasim") is None:
        return "mmasim is not installed"
    return _adder(name, seconds)[which]


@functools.cache
def _adder(name: str, seconds: float) -> tuple[float, float]:
    command = [sys.executable, str(ADDER_CHILD), name, str(seconds)]
    done = subprocess.run(command, check=True, env=ONE_CORE, stdout=subprocess.PIPE)
    time, ratio = map(float, done.stdout.split())
    return time, ratio


def integers(options: Options) -> Iterator[Wanted]:
    """`quantize_affine` beside torch's eager operator, and an exact weight-only linear layer."""
    for dtype in ("int8", "int16"):
        what = f"quantize_affine {dtype} {options.elements}: torch"
        figure = functools.partial(quantize_affine, options.elements, options.seconds, dtype)
        yield Wanted(what, figure, least=1)
    yield Wanted("exact linear_qcs8w 512x4096x512", exact_linear, most=30, unit="s")


def start(_: Options) -> Iterator[Wanted]:
    """Time of the import beyond NumPy's, and of regenerating the level 1 vectors."""

    def importing() -> float:
        timing = in_turns(
            lambda: python("-c", "import numpy; import mxref; mxref.encode"),
            lambda: python("-c", "import numpy"),
            5,
            lambda: sum(os.times()[2:4]),  # of child processes that have ended
        )
        return min(timing.mine) - min(timing.theirs)

    yield Wanted("import mxref, over numpy, processor time", importing, most=0.2, unit="s")

    def regenerate() -> float:
        def once() -> float:
            with tempfile.TemporaryDirectory() as folder:
                begin = time.perf_counter()
                python("-m", "mxref", "regen", "--out", folder)
                return time.perf_counter() - begin

        return min(once() for _ in range(3))

    yield Wanted("mxref regen, level 1", regenerate, most=60, unit="s")


def sweep(_: Options) -> Iterator[Wanted]:
    """A sweep of all 2**32 float32 patterns of all formats on all processors."""
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
    yield _measured("mxref sweep, all formats", seconds, "s", 200)
    yield _measured("the same, all processes", memory, "MiB", 500)


def _resident(session: int) -> int:
    """Resident bytes of all processes of a session."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            if (folder / "stat").read_text().rpartition(")")[2].split()[3] == str(session):
                total += int((folder / "statm").read_text().split()[1])
    return total * os.sysconf("SC_PAGE_SIZE")


#: The sections, by name.
SECTIONS: Mapping[str, Callable[[Options], Iterator[Wanted]]] = {
    each.__name__: each
    for each in (
        encode, policies, threads, quantize, rules, dequantize, bfloat16, nvfp4, stochastic, small,
        qdq, linear, products, adders, integers, verbs, start, sweep
    )
}  # fmt: skip
