"""`mxref sweep` of all float32 inputs of `encode`, six formats, and the digests of all codes.

About fifteen seconds a format.

    python tools/sweep_float32.py            # all formats
    python tools/sweep_float32.py e2m1
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from mxref.conformance.sweeping.report import finding_lines, summary
from mxref.conformance.sweeping.sweep import OwnTarget, sweep
from mxref.formats import ELEMENT_FORMATS
from mxref.policy import Policy

RECORDED = Path(__file__).with_suffix(".json")


def main() -> int:
    """Sweep the formats named on the command line, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="default: all six")
    parser.add_argument("--record", action="store_true", help="write the digests")
    options = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    failed = False
    for format in options.formats or ELEMENT_FORMATS:
        swept = sweep(OwnTarget(Policy()), "encode", format, digest=True)
        known = recorded.get(format)
        state = "not recorded" if known is None else "CHANGED"
        state = "as recorded" if swept.digest == known else state
        failed |= not swept.passed or state == "CHANGED"
        for line in finding_lines(swept):
            print(line)
        print(f"{summary(swept)}, {swept.digest} {state}", flush=True)
        recorded[format] = swept.digest
    if options.record and not failed:
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
