"""Peak memory of quantizing a file larger than memory: `python tools/memory_check.py --mib 4096`.

It writes a `.npy` file of float32 to a temporary folder and quantizes it in child processes: by
`mxref.quantize` with mapped outputs, and by the command line, which also writes the blocks to a
file. It prints the peak resident memory of each, with file pages; above the limit it exits with 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

_PEAK = """
import sys

def peak():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    except FileNotFoundError:  # no Linux
        import resource
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)
"""
#: Programs of the child processes, by name; each prints its peak memory on stderr.
_CHILDREN = {
    "import only": """
import mxref.cli
""",
    "mxref.quantize": """
import numpy as np, mxref
path, codes, scales = sys.argv[1] + "/x.npy", sys.argv[1] + "/codes", sys.argv[1] + "/scales"
values = np.load(path, mmap_mode="r")
out = (
    np.memmap(codes, np.uint8, "w+", shape=values.shape),
    np.memmap(scales, np.uint8, "w+", shape=(values.shape[0], values.shape[1] // 32)),
)
mxref.quantize(values, "mxfp4_e2m1", out=out)
""",
    "mxref quantize": """
from mxref.cli import main
x, out = sys.argv[1] + "/x.npy", sys.argv[1] + "/x.safetensors"
if main(["quantize", x, "--format", "mxfp4_e2m1", "-o", out]) != 0:
    sys.exit(1)
""",
}


def main() -> int:
    """Measure every child; 1 if one needed more than the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mib", type=int, default=4096, help="size of the file (default 4096)")
    parser.add_argument("--limit", type=float, default=300, help="MiB (default 300)")
    options = parser.parse_args()
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        _write_tensor(Path(folder, "x.npy"), options.mib)
        for name, code in _CHILDREN.items():
            start = time.perf_counter()
            peak = _peak(code, folder)
            seconds = time.perf_counter() - start
            passed &= peak <= options.limit
            print(f"{name:16} {peak:8.1f} MiB at most, {seconds:.1f} s", flush=True)
    word = "PASS" if passed else "FAIL"
    print(f"{word}: a file of {options.mib} MiB within {options.limit:g} MiB")
    return 0 if passed else 1


def _write_tensor(path: Path, mib: int) -> None:
    """Write a tensor with rows of 8192 numbers: one MiB of random numbers, repeated."""
    generator = np.random.default_rng(0)
    part = generator.standard_normal((32, 8192), np.float32)
    tensor = np.lib.format.header_data_from_array_1_0(part)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {**tensor, "shape": (32 * mib, 8192)})
        data = part.tobytes()
        for _ in range(mib):
            file.write(data)


def _peak(code: str, folder: str) -> float:
    """Peak resident memory of a child process, in MiB."""
    script = f"{_PEAK}{code}\nprint(peak(), file=sys.stderr)\n"
    done = subprocess.run(
        [sys.executable, "-c", script, folder], check=True, capture_output=True, text=True
    )
    return float(done.stderr.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
