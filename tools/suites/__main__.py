"""Other projects' own test suites, run with mxref in the place of what they test.

Their expectations stay as they are; a shim of a few lines, in tools/suites/shims, answers in
mxref's name. Only tests that ask mxref for a value are counted. suites.json has, for each suite,
where it comes from, the policy, the counts, and the tests that fail, each with its reason.

    python tools/suites                              # all suites whose files are here
    python tools/suites --sources FOLDER             # and those of source distributions
    python tools/suites onnx gfloat                  # these; one that is absent is an error
    python tools/suites --flip gfloat                # how many tests notice a wrong lowest bit
    python tools/suites --write                      # docs/suites.md from suites.json

The exit status is 1 if a test fails that the table does not name, if one that it names passes, or
if a count is another one; 2 if a suite that is named is absent, or no suite is here.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
sys.path[:0] = [str(ROOT), str(TOOLS)]  # environments of peers need not have mxref

from mxref.support.whole_file import write_file  # noqa: E402
from suites.page import page  # noqa: E402
from suites.table import AbsentError, Outcome, Suite, outcome_of, suites  # noqa: E402


def missing(suite: Suite) -> str:
    """What has to be installed first, or nothing."""
    wanted = [*suite.needs, *([f"{suite.package}=={suite.version}"] if suite.package else [])]
    for requirement in wanted:
        name, _, version = requirement.partition("==")
        try:
            found = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            found = ""
        if found != (version or found) or not found:
            return f"pip install {requirement}" + (f", found {found}" if found else "")
    return ""


def run(suite: Suite, sources: Path | None, *, flip: bool, verbose: bool) -> Outcome:
    """Run a suite in a process of its own.

    Raises:
        AbsentError: something of it is not here.
        RuntimeError: it ended without a result.
    """
    if need := missing(suite):
        raise AbsentError(need)
    folder = suite.folder(sources)
    tests = [str(folder / a) if (folder / a).exists() else a for a in suite.arguments]
    own = {"PYTHONPATH": os.pathsep.join(map(str, (TOOLS, ROOT, TOOLS / "adapters"))),
           "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1",
           "CUDA_VISIBLE_DEVICES": "", "MXREF_SUITES_FLIP": "1" if flip else ""}  # fmt: skip
    with tempfile.TemporaryDirectory() as empty:
        result = Path(empty, "result.json")
        words = [f"{suite.name}_shim", str(folder), str(result), *tests]
        done = subprocess.run(
            [sys.executable, "-m", "suites.one", *words],
            env={**os.environ, **own}, cwd=empty, capture_output=True, text=True,
        )  # fmt: skip
        if verbose:
            print(done.stdout, done.stderr, sep="")
        if not result.exists():
            raise RuntimeError((done.stdout + done.stderr).strip()[-2000:])
        return outcome_of(json.loads(result.read_text("utf-8")))


def main() -> int:
    """Run what the arguments name, and print a table."""
    parser = argparse.ArgumentParser(
        prog="python tools/suites", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    table = suites()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(table))
    parser.add_argument("--sources", type=Path, help="folder for source distributions")
    parser.add_argument("--flip", action="store_true", help="flip the lowest bit of each answer")
    parser.add_argument("--verbose", action="store_true", help="print what the suites print")
    parser.add_argument("--write", action="store_true", help="only write docs/suites.md")
    chosen = parser.parse_args()
    if chosen.write:
        write_file(ROOT / "docs" / "suites.md", page().encode())
        return 0
    if unknown := [name for name in chosen.names if name not in table]:
        parser.error(f"NAME must be one of {', '.join(table)}, got {unknown[0]}")
    status, ran = 0, 0
    print(f"{'suite':20} {'tests':>7} {'values':>13} {'known':>6} {'skipped':>8}  result")
    for name in chosen.names or table:
        suite = table[name]
        try:
            outcome = run(suite, chosen.sources, flip=chosen.flip, verbose=chosen.verbose)
        except AbsentError as error:
            print(f"{name:20} {'-':>7} {'-':>13} {'-':>6} {'-':>8}  absent: {error}")
            status = max(status, 2 if chosen.names else 0)
            continue
        ran += 1
        if chosen.flip:
            noticed = len(outcome.failed.keys() - suite.known)
            expected = "" if noticed == suite.notice else f", not {suite.notice}"
            print(f"{name:20} {noticed} tests notice a wrong lowest bit{expected}")
            status = max(status, 1 if expected else 0)
            continue
        wrong = outcome.unexpected(suite)
        counts = f"{outcome.tests:7,} {outcome.values:13,} {len(outcome.failed):6} "
        counts += f"{outcome.skipped:8}"
        print(f"{name:20} {counts}  {'as expected' if not wrong else 'not as expected'}")
        for line in wrong:
            print(f"    {line}")
        status = max(status, 1 if wrong else 0)
    return status if ran else 2


if __name__ == "__main__":
    sys.exit(main())
