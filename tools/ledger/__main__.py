"""The ledger: what every implementation does, bit for bit, against its profile and against `ocp`.

Every adapter of tools/adapters that claims a PROFILE and whose library is installed is asked level
1, the block product, every input where they are few, and ten million random elements; what it
answers goes into tools/ledger/records/NAME.json. Adapters of products, which claim a POLICY and no
PROFILE, are asked the vectors of products and random operands; those of integers, which claim
INTEGERS, the vectors of integers and random values. A library is here if it is installed in just
the version that the adapter pins. About half an hour with two processors for all of them.

A record is fresh while four things are as they were when the adapter was run: what the profile
answers, the questions, the adapter's code and the versions that it pins (digest.py). Only a run
makes a stale record fresh again.

    python tools/ledger                   # all adapters whose libraries are here, unless fresh
    python tools/ledger torchao.FLOOR     # one adapter: tools/adapters/torchao_adapter.py:FLOOR
    python tools/ledger --check           # which records are stale, and why
    python tools/ledger --check --here    # the same of adapters whose libraries are here
    python tools/ledger --write           # docs/ledger from the results of all environments
    python tools/ledger --html FOLDER     # docs/ledger and docs/reports as pages (extra report)

The exit status is 1 if an answer is neither its profile's nor listed in
tools/adapters/implementations.json, products.json or integers.json, 2 if an adapter fails; of
`--check` it is 1 if a record is stale whose library is here.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]  # environments of peers need not have mxref

from ledger import html_pages  # noqa: E402
from ledger.claims import (  # noqa: E402
    ADAPTERS,
    Adapter,
    claiming,
    claiming_integers,
    claiming_products,
)
from ledger.digest import PARTS, Digests, said  # noqa: E402
from ledger.examine import examine  # noqa: E402
from ledger.integers import VALUES, examine_integers  # noqa: E402
from ledger.libraries import missing  # noqa: E402
from ledger.pages import Notes, differing, pages  # noqa: E402
from ledger.product_page import INTEGERS, product_page, product_summary  # noqa: E402
from ledger.products import OUTPUTS, examine_products  # noqa: E402
from ledger.residuals import unlisted  # noqa: E402
from mxref.conformance import TargetError, load_target  # noqa: E402
from mxref.reports.summary_pictures import matrix_picture  # noqa: E402
from mxref.support.whole_file import write_file  # noqa: E402

HERE = Path(__file__).resolve().parent
DOCS, RESULTS = ROOT / "docs", HERE / "records"
#: What stands in the sentence of an adapter whose library is not here.
_ABSENT = re.compile(r"pip install|must name a checkout")
_NOT_HERE = 3
#: Adapters of libraries that take blocks one by one, in Python, get a part.
SHARES = {"pychop": 64, "gfloat": 64}
_QUICK = 16


def main() -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("adapters", nargs="*", metavar="NAME", help="default: all that load here")
    parser.add_argument("--again", action="store_true", help="also what has a result")
    about = "where the results are; default: tools/ledger/records, or quick in it"
    parser.add_argument("--quick", action="store_true", help=f"one case in {_QUICK}")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help=about)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--check", action="store_true", help="say what is stale and stop")
    parser.add_argument("--here", action="store_true", help="only those whose libraries are here")
    parser.add_argument("--write", action="store_true", help="write docs/ledger and stop")
    about = "write docs/ledger and docs/reports as HTML and stop"
    parser.add_argument("--html", type=Path, metavar="FOLDER", help=about)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = claiming() | claiming_products() | claiming_integers()
    unknown = sorted({*options.adapters} - {*names})
    if unknown:
        parser.error(f"{unknown[0]} must be an adapter that claims a PROFILE: {', '.join(names)}")
    options.results = options.results or RESULTS / ("quick" * options.quick)
    if options.one:
        return record(names[options.adapters[0]], options)
    if options.html is not None:
        return write_html(options.html)
    if options.write:
        return write([*names.values()], options)
    chosen = [names[name] for name in options.adapters or names]
    chosen = [one for one in chosen if not options.here or not missing(one.path)]
    return check(chosen, options) if options.check else run(chosen, options)


def record(adapter: Adapter, options: argparse.Namespace) -> int:
    """One adapter's result, in this process."""
    if absent := missing(adapter.path):
        print(f"{absent[0]} must be here, {absent[0].here or 'nothing'} is", file=sys.stderr)
        return _NOT_HERE
    try:
        target = load_target(adapter.spec)
    except TargetError as error:
        print(error, file=sys.stderr)
        if _ABSENT.search(str(error)):
            return _NOT_HERE
        raise
    asked = share(adapter.name, options)
    has = said(target)
    found = {"adapter": adapter.name, "of": Digests().parts(adapter, has, asked), "has": has}
    if adapter.profile:
        found |= examine(target, share=asked)
    elif adapter.integers:
        found |= examine_integers(target, adapter.integers, values=max(VALUES // asked, 16))
    else:
        found |= examine_products(target, outputs=OUTPUTS // asked)
    path = options.results / f"{adapter.name}.json"
    write_file(path, (json.dumps(found, indent=1) + "\n").encode("ascii"))
    return 0


def run(adapters: list[Adapter], options: argparse.Namespace) -> int:
    """Every adapter in a process of its own, so that none sees what another has imported."""
    begun, status, done = time.monotonic(), 0, 0
    digests = Digests()
    fresh = [one.name for one in adapters if not options.again and not stale(one, options, digests)]
    todo = [one.name for one in adapters if one.name not in fresh]
    known = every_listed()

    def child(name: str) -> tuple[str, float, subprocess.CompletedProcess[str]]:
        start = time.monotonic()
        command = [sys.executable, str(HERE), "--one", name]
        command += ["--results", str(options.results)]
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
                text, wrong = summary(read(name, options.results), known)
                status = max(status, wrong)
            print(f"[{done}/{len(todo)}] {name}: {text}; {seconds:.0f} s", end="")
            print(f", at most {left / 60:.0f} min left" if done < len(todo) else "", flush=True)
    for name in fresh:
        text, wrong = summary(read(name, options.results), known)
        status = max(status, wrong)
    print(f"{here} adapters run, {len(fresh)} had results, {len(todo) - here} are not here or fail")
    return status


def check(adapters: list[Adapter], options: argparse.Namespace) -> int:
    """Name the stale records, and what has changed; 1 if the library of one is here."""
    digests, here, elsewhere = Digests(), 0, 0
    for one in adapters:
        if why := stale(one, options, digests):
            absent = missing(one.path)
            here, elsewhere = here + (not absent), elsewhere + bool(absent)
            where = f" (not here: {', '.join(map(str, absent))})" * bool(absent)
            print(f"{one.name} is stale{where}: {', '.join(why)}")
    print(
        f"{len(adapters)} records: {here} stale whose libraries are here, {elsewhere} others stale"
    )
    return int(here > 0)


def picture(records: dict[str, Any]) -> str:
    """The picture of the implementations and the clauses in which they differ from `ocp`."""
    implementations = listed()
    bugs = {one["name"]: len(one["reports"]) for one in implementations}
    return matrix_picture(*differing(implementations, records, notes()), bugs)


def write_html(folder: Path) -> int:
    """The pages of docs/ledger and docs/reports as HTML; the index begins with the picture."""
    text = (DOCS / "pictures" / "ledger.svg").read_text("utf-8")
    pages_of = html_pages.write_html(DOCS, folder, {"ledger/README.md": text})
    print(f"{folder}: {pages_of} pages, the first is ledger/index.html")
    return 0


def write(adapters: list[Adapter], options: argparse.Namespace) -> int:
    """The pages of docs/ledger from the results of all adapters.

    Raises:
        SystemExit: an adapter has no result, or one of another state; all are named.
    """
    digests = Digests()
    wanting = [one.name for one in adapters if stale(one, options, digests)]
    if wanting:
        raise SystemExit(
            f"every adapter must have a whole and recent result, not so {', '.join(wanting)}: "
            "run tools/peers.sh, or tools/ledger in the environment of each"
        )
    implementations = listed()
    every = {one.name: read(one.name, options.results) for one in adapters}
    records = {one.name: every[one.name] for one in adapters if one.profile}
    integers = {one.name: every[one.name] for one in adapters if one.integers}
    others = [one.name for one in adapters if not one.profile and not one.integers]
    products = {name: every[name] for name in others}
    texts = pages(implementations, records, notes())
    texts["products.md"] = product_page(listed("products"), products, notes().reports)
    texts["integers.md"] = product_page(listed("integers"), integers, notes().reports, INTEGERS)
    for path in DOCS.glob("ledger/*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        write_file(DOCS / "ledger" / name, text.encode("utf-8"))
    write_file(DOCS / "pictures" / "ledger.svg", picture(records).encode("utf-8"))
    known = every_listed()
    status = max(summary(one, known)[1] for one in every.values())
    print(f"docs/ledger: {len(known)} implementations, {len(every)} adapters")
    return status


def notes() -> Notes:
    """SPEC_NOTES, and the titles of the reports."""
    reports = {
        path.stem: path.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        for path in DOCS.glob("reports/*.md")
    }
    return Notes((ROOT / "SPEC_NOTES.md").read_text("utf-8"), reports)


def summary(one: dict[str, Any], known: list[dict[str, Any]]) -> tuple[str, int]:
    """A result in one line, and 1 if it has answers that are neither the profile's nor listed."""
    if "profile" not in one:
        return product_summary(one, known)
    cases = sum(sum(file["cases"].values()) for file in one["files"])
    count = sum(r["count"] for file in one["files"] for r in file["residuals"])
    others = sum(d["count"] for file in one["files"] for d in file["differences"])
    text = f"{cases:,} cases, {count:,} not as {one['profile']}, {others:,} not as ocp"
    wrong = unlisted(one, known)
    return text + "".join(f"\n    NOT LISTED: {line}" for line in wrong), int(bool(wrong))


def listed(name: str = "implementations") -> list[dict[str, Any]]:
    """The implementations: their adapters, reports and known residuals or differences."""
    found: list[dict[str, Any]] = json.loads((ADAPTERS / f"{name}.json").read_text("utf-8"))
    return found


def every_listed() -> list[dict[str, Any]]:
    """The implementations of all kinds."""
    return listed() + listed("products") + listed("integers")


def read(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """The result of an adapter."""
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("ascii"))
    return found


def share(name: str, options: argparse.Namespace) -> int:
    """One of how many cases an adapter is asked."""
    return SHARES.get(name, 1) * (_QUICK if options.quick else 1)


def stale(adapter: Adapter, options: argparse.Namespace, digests: Digests) -> list[str]:
    """What has changed since an adapter was run; that there is no whole record is one of them."""
    try:
        one = read(adapter.name, options.results)
        is_whole = {*one["of"]} == {*PARTS} and "has" in one
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # absent, cut or another file
        is_whole = False
    if not is_whole:
        return ["no whole record"]
    return digests.changed(adapter, one, share(adapter.name, options))


def last_line(text: str) -> str:
    """What a child says at the end, if anything."""
    return text.strip().splitlines()[-1] if text.strip() else ""


if __name__ == "__main__":
    sys.exit(main())
