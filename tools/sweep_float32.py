"""All 2**32 float32 patterns, encoded to each format under `ocp`, against exact thresholds.

The thresholds are the inputs at which the slow twin's code changes, found by bisection for each
sign; between two of them every code must be the same. Prints the digest of all codes in order of
the patterns and compares it with the recorded one. About ten seconds a format.

    python tools/sweep_float32.py            # all formats
    python tools/sweep_float32.py e2m1 --policy ocp+rounding=toward_zero
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np

import mxref
from mxref import exact
from mxref.formats import ELEMENT_FORMATS
from mxref.golden.answers import choices_read

RECORDED = Path(__file__).with_suffix(".json")
CHUNK = 1 << 24


def steps(format: str, policy: mxref.Policy) -> list[tuple[int, int]]:
    """Every pattern at which the exact code changes, with the code from there on."""
    choices = choices_read("encode", policy)

    def code(bits: int) -> int:
        return exact.encode(bits, "f32", format, **choices)  # type: ignore[arg-type]

    found: list[tuple[int, int]] = []

    def between(low: int, low_code: int, high: int, high_code: int) -> None:
        """Steps in (low, high]; the code is monotone there, so equal ends mean no step."""
        if low_code == high_code:
            return
        if high - low == 1:
            found.append((high, high_code))
            return
        middle = (low + high) // 2
        middle_code = code(middle)
        between(low, low_code, middle, middle_code)
        between(middle, middle_code, high, high_code)

    for sign in (0, 1 << 31):
        infinity, last = sign | 0x7F800000, sign | 0x7FFFFFFF
        found.append((sign, code(sign)))
        between(sign, code(sign), infinity, code(infinity))
        between(infinity, code(infinity), infinity + 1, code(infinity + 1))
        between(infinity + 1, code(infinity + 1), last, code(last))
    return found


def sweep(format: str, policy: mxref.Policy) -> tuple[str, int, int]:
    """The digest of all codes, the number of wrong ones, and the number of steps."""
    marks = steps(format, policy)
    starts = [start for start, _ in marks] + [1 << 32]
    digest, wrong = hashlib.sha256(), 0
    expected = np.empty(CHUNK, np.uint8)
    offsets = np.arange(CHUNK, dtype=np.uint32)
    for first in range(0, 1 << 32, CHUNK):
        for (start, code), end in zip(marks, starts[1:], strict=True):
            if start < first + CHUNK and end > first:
                expected[max(start - first, 0) : end - first] = code
        values = (offsets + np.uint32(first)).view(np.float32)
        codes = mxref.encode(values, format, policy)
        wrong += int(np.count_nonzero(codes != expected))
        digest.update(codes.data)
    return digest.hexdigest(), wrong, len(marks)


def main() -> int:
    """Sweep the formats named on the command line, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all six")
    parser.add_argument("--policy", default="ocp")
    parser.add_argument("--record", action="store_true", help="write the digests of ocp")
    options = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    failed = False
    for format in options.formats or ELEMENT_FORMATS:
        began = time.perf_counter()
        digest, wrong, count = sweep(format, mxref.Policy.parse(options.policy))
        seconds = time.perf_counter() - began
        known = recorded.get(format) if options.policy == "ocp" else None
        state = "as recorded" if digest == known else "not recorded" if known is None else "CHANGED"
        failed |= wrong > 0 or state == "CHANGED"
        print(f"{format} {digest} {count} steps, {wrong} wrong of 2**32, {state}, {seconds:.0f} s")
        recorded[format] = digest
    if options.record and options.policy == "ocp" and not failed:
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
