"""The ledger: what every implementation does, bit for bit, against its profile and against `ocp`.

Every adapter of tools/adapters that claims a PROFILE and whose library is installed is asked level
1, the block product, every input where they are few, and ten million random elements; what it
answers goes into ledger/NAME.json. A result is kept while the adapter, the profiles and the ledger
itself are the same. About ten minutes with two processors for all that there is.

    python tools/ledger.py                   # whatever is installed here
    python tools/ledger.py torchao_floor     # one adapter
    python tools/ledger.py --write           # LEDGER.md from the results of all environments

The exit status is 1 if an answer is neither its profile's nor listed in
tools/adapters/implementations.json, 2 if an adapter fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # environments of peers need not have mxref

from ledger_page import page, unlisted  # noqa: E402

from mxref.conformance import TargetError, load_target  # noqa: E402
from mxref.conformance.ledger.run import examine  # noqa: E402
from mxref.profiles import registry  # noqa: E402
from mxref.support.whole_file import write_file  # noqa: E402

ADAPTERS = ROOT / "tools" / "adapters"
PROFILES = ROOT / "mxref" / "profiles"
RESULTS = ROOT / "ledger"
#: What stands in the sentence of an adapter whose library is not here.
_ABSENT = re.compile(r"pip install|must name a checkout")
_NOT_HERE = 3
#: Adapters of libraries that take blocks one by one, in Python, get a part.
SHARES = {"pychop_adapter": 64, "gfloat_adapter": 64}
_QUICK = 16


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("adapters", nargs="*", metavar="NAME", help="default: all that load here")
    parser.add_argument("--again", action="store_true", help="also what has a result")
    about = "where the results are; default: ledger, or ledger/quick"
    parser.add_argument("--quick", action="store_true", help=f"one case in {_QUICK}")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help=about)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--write", action="store_true", help="write LEDGER.md and stop")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = claiming()
    unknown = sorted({*options.adapters} - {*names})
    if unknown:
        parser.error(f"{unknown[0]} must be an adapter that claims a PROFILE: {', '.join(names)}")
    options.results = options.results or RESULTS / ("quick" * options.quick)
    if options.one:
        return record(options.adapters[0], options)
    if options.write:
        return write(names, options)
    return run(options.adapters or names, options)


def claiming() -> list[str]:
    """The adapters that claim a profile."""
    claims = re.compile(r"^PROFILE = ", re.M)
    return sorted(p.stem for p in ADAPTERS.glob("*.py") if claims.search(p.read_text("utf-8")))


def record(name: str, options: argparse.Namespace) -> int:
    """One adapter's result, in this process."""
    try:
        target = load_target(str(ADAPTERS / f"{name}.py"))
    except TargetError as error:
        print(error, file=sys.stderr)
        if _ABSENT.search(str(error)):
            return _NOT_HERE
        raise
    found = {"adapter": name, "of": digest(name, options)}  # before a change of any file
    found |= examine(target, share=share(name, options))
    write_file(
        options.results / f"{name}.json", (json.dumps(found, indent=1) + "\n").encode("ascii")
    )
    return 0


def run(names: list[str], options: argparse.Namespace) -> int:
    """Every adapter in a process of its own, so that none sees what another has imported."""
    begun, status, done = time.monotonic(), 0, 0
    fresh = [name for name in names if not options.again and is_fresh(name, options)]
    todo = [name for name in names if name not in fresh]
    known = listed()

    def child(name: str) -> tuple[str, float, subprocess.CompletedProcess[str]]:
        start = time.monotonic()
        command = [sys.executable, __file__, "--one", name, "--results", str(options.results)]
        command += ["--quick"] * options.quick
        limits = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        ended = subprocess.run(
            command, env=os.environ | limits, capture_output=True, text=True, check=False
        )
        return name, time.monotonic() - start, ended

    here = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for future in as_completed([pool.submit(child, name) for name in todo]):
            name, seconds, ended = future.result()
            done += 1
            passed = time.monotonic() - begun
            left = passed / done * (len(todo) - done)
            if ended.returncode == _NOT_HERE:
                text = "not here: " + last_line(ended.stderr)
            elif ended.returncode:
                said = last_line(ended.stderr) or f"no word, exit status {ended.returncode}"
                text, status = "FAILED: " + said, 2
            else:
                here += 1
                text, wrong = summary(read(name, options), known)
                status = max(status, wrong)
            print(f"[{done}/{len(todo)}] {name}: {text}; {seconds:.0f} s", end="")
            print(f", at most {left / 60:.0f} min left" if done < len(todo) else "", flush=True)
    for name in fresh:
        text, wrong = summary(read(name, options), known)
        status = max(status, wrong)
    print(f"{here} adapters run, {len(fresh)} had results, {len(todo) - here} are not here or fail")
    return status


def write(names: list[str], options: argparse.Namespace) -> int:
    """LEDGER.md from the results of all adapters.

    Raises:
        SystemExit: an adapter has no result, or one of another state; all are named.
    """
    missing = [name for name in names if not is_fresh(name, options)]
    if missing:
        raise SystemExit(
            f"every adapter must have a whole and recent result, not so {', '.join(missing)}: "
            "run tools/peers.sh, or tools/ledger.py in the environment of each"
        )
    implementations = listed()
    records = {name: read(name, options) for name in names}
    text = page(implementations, records, (ROOT / "SPEC_NOTES.md").read_text("utf-8"))
    write_file(ROOT / "LEDGER.md", text.encode("utf-8"))
    status = max(summary(one, implementations)[1] for one in records.values())
    print(f"LEDGER.md: {len(implementations)} implementations, {len(records)} adapters")
    return status


def summary(one: dict[str, Any], known: list[dict[str, Any]]) -> tuple[str, int]:
    """A result in one line, and 1 if it has answers that are neither the profile's nor listed."""
    cases = sum(sum(file["cases"].values()) for file in one["files"])
    count = sum(r["count"] for file in one["files"] for r in file["residuals"])
    others = sum(d["count"] for file in one["files"] for d in file["differences"])
    text = f"{cases:,} cases, {count:,} not as {one['profile']}, {others:,} not as ocp"
    wrong = unlisted(one, known)
    return text + "".join(f"\n    NOT LISTED: {line}" for line in wrong), int(bool(wrong))


def listed() -> list[dict[str, Any]]:
    """The implementations: their adapters, reports and known residuals."""
    found: list[dict[str, Any]] = json.loads((ADAPTERS / "implementations.json").read_text("utf-8"))
    return found


def read(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The result of an adapter."""
    found: dict[str, Any] = json.loads((options.results / f"{name}.json").read_text("ascii"))
    return found


def share(name: str, options: argparse.Namespace) -> int:
    """One of how many cases an adapter is asked."""
    return SHARES.get(name, 1) * (_QUICK if options.quick else 1)


def is_fresh(name: str, options: argparse.Namespace) -> bool:
    """Whether there is a whole result of just this adapter, these profiles and this ledger."""
    try:
        of = read(name, options)["of"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # absent, cut or another file
        return False
    return bool(of == digest(name, options))


def digest(name: str, options: argparse.Namespace) -> str:
    """Of everything that a result depends on: adapter, profile, ledger, and how much is asked."""
    paths = [*(ROOT / "mxref" / "conformance" / "ledger").glob("*.py")]
    for path in with_imports(ADAPTERS / f"{name}.py"):
        paths.append(path)
        claimed = re.findall(r'^PROFILE = "(\w+)"', path.read_text("utf-8"), re.M)
        for family in map(family_of, claimed):
            paths += with_imports(PROFILES / f"{family}.py")
    hashed = hashlib.sha256(str(share(name, options)).encode())
    for path in sorted({*paths}):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


def family_of(profile: str) -> str:
    """The module of mxref.profiles that has a profile."""
    for family in registry.FAMILIES:
        if any(one.name == profile for one in family.PROFILES):
            return family.__name__.rpartition(".")[2]
    return "registry"


def with_imports(path: Path) -> set[Path]:
    """A module and what it imports of its folder."""
    found, todo = set[Path](), [path]
    while todo:
        found.add(todo[-1])
        text = todo.pop().read_text("utf-8")
        names = re.findall(r"^\s*(?:from|import) (?:mxref\.profiles\.)?(\w+)", text, re.M)
        todo += {path.with_name(f"{one}.py") for one in names} - found
        todo = [one for one in todo if one.exists()]
    return found


def last_line(text: str) -> str:
    """What a child says at the end, if anything."""
    return text.strip().splitlines()[-1] if text.strip() else ""


if __name__ == "__main__":
    sys.exit(main())
