"""Level 2 of the vectors through `mx_check raw`: exhaustive families, compared by their digests.

    python level2.py ./mx_check                              # all: half a minute on a CPU
    python level2.py ./mx_check --only dequantize
    python level2.py './mx_check --device --conversions' --json

It needs mxref installed, and no GPU unless the program does. The exit status is 0 if all are equal.
"""

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from mxref.cases.folder import vectors_folder
from mxref.golden.level2 import Family, select

#: What the header has.
CHOICES = {
    *("ocp", "overflow=nonsaturating", "scale_rule=ceil", "scale_rule=rceil", "scale_rule=even"),
    *("scale_rule=rceil_reciprocal", "scale_rounding=toward_positive"),
    "scale_rounding=ties_to_away",
}
#: Operations that read codes, and give numbers.
READ = ("decode", "decode_scale", "dequantize")
FORMATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8", "e8m0")


def covered(family: Family) -> bool:
    """Whether the header has the format, the float type and every choice of a family."""
    element = family.format.rpartition("_")[2].removeprefix("mx")
    return (
        element in FORMATS
        and family.float in ("f32", "bf16", "f16", "bytes")
        and set(family.policy.split("+")) <= CHOICES
    )


def words_of(family: Family) -> np.ndarray:
    """All cases of a family, a row each, as words of the width that they have."""
    floats = {"f32": "<u4", "bf16": "<u2", "f16": "<u2"}
    is_codes = family.op in READ or family.op == "pack"
    words = np.concatenate(list(family.chunks()))
    return words.astype("u1" if is_codes else floats[family.float])


def digest(answers: bytes, family: Family) -> str:
    """The SHA-256 of the answers to all cases of a family."""
    if family.op in READ and family.float == "f16":  # a GPU's conversion has another NaN
        numbers = np.frombuffer(answers, "<f2")
        answers = np.where(np.isnan(numbers), np.uint16(0x7E00), numbers.view("<u2")).tobytes()
    return hashlib.sha256(answers).hexdigest()


def answered(command: list[str], family: Family) -> bytes:
    """What the program answers to all cases of a family.

    Raises:
        RuntimeError: it ends with another status than 0.
    """
    whole = [*command, "raw", family.op, family.format, family.float, "--policy", family.policy]
    result = subprocess.run(whole, input=words_of(family).tobytes(), capture_output=True)
    if result.returncode:
        raise RuntimeError(f"{shlex.join(whole)}: {result.stderr.decode(errors='replace')}")
    return result.stdout


def published() -> dict[str, dict[str, object]]:
    """What the manifest says of each family, by its name."""
    manifest = json.loads((vectors_folder() / "manifest.json").read_bytes())
    return {entry["name"]: entry for entry in manifest["level2"]}


def compared(command: list[str], beginning: str | None) -> Iterator[dict[str, object]]:
    """The families that the header has, each with whether the digest is the published one."""
    entries = published()
    for family in select(beginning):
        if covered(family):
            entry = entries[family.name]
            same = digest(answered(command, family), family) == entry["sha256"]
            yield {"family": family.name, "cases": entry["cases"], "pass": same}


def main() -> int:
    """Compare, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", help="the program, with options")
    parser.add_argument("--only", help="families whose names begin so, such as quantize.mxfp4")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for row in compared(shlex.split(options.command), options.only):
        rows.append(row)
        if not options.json:
            print("ok  " if row["pass"] else "FAIL", row["family"], row["cases"], "cases")
    status = 0 if rows and all(row["pass"] for row in rows) else 1
    if options.json:
        print(json.dumps({"pass": status == 0, "rows": rows}))
    else:
        print("PASS" if status == 0 else "FAIL", len(rows), "families")
    return status


if __name__ == "__main__":
    sys.exit(main())
