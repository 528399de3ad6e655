"""``mxref regen``: generate the golden vectors, or check them against this version."""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

from mxref.cli.own_names import add_formats_argument
from mxref.cli.screen import Verbs, new_parser, vectors_default, vectors_folder
from mxref.support.workers import cores


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    about = "regenerate the golden vectors, byte for byte the same everywhere"
    parser = new_parser(
        verbs,
        "regen",
        _run,
        about,
        "mxref regen --check\n  mxref regen --level 2 --only encode_scale.e8m0.bf16\n"
        "  mxref regen --formats tools/examples/my_format.py --out mine\n"
        "  mxref regen --archive dist",
        formats="vectors",
        exits=("generated; with --check: nothing differs", "a file differs, or the references do"),
    )
    add = parser.add_argument
    add("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    default, checked = vectors_default(writing=True), vectors_default()
    default += f"; for --check {checked}" if checked != default else ""
    add("--out", type=Path, metavar="DIR", help=f"folder (default: {default})")
    about = "write the vectors of --out as zip archives by subject into DIR, and generate nothing"
    add("--archive", type=_folder, metavar="DIR", help=about)
    add("--jobs", type=int, default=cores(), metavar="N", help="processes (default: %(default)s)")
    add_formats_argument(parser)
    about = "2: exhaustive families, whose digests the manifest has (default: 1, the files)"
    add("--level", type=int, choices=(1, 2), default=1, help=about)
    about = "level 2 and stream: names that begin with NAME, such as encode_scale.e8m0.bf16"
    add("--only", metavar="NAME", help=about)
    add("--complete", action="store_true", help="level 2: the slow twin checks every answer")
    add("--stream", action="store_true", help="endless random cases; prints running digests")
    add("--seed", type=int, metavar="N", help="stream: seed, from 0 to 2**64 - 1")
    add("--count", type=int, metavar="N", help="stream: cases per operation, format and type")
    add("--seconds", type=float, metavar="S", help="stream: time limit")
    add("--policy", help="stream: policy (default: ocp)")


def _run(options: argparse.Namespace) -> int:
    from mxref.golden import store
    from mxref.golden.level2 import DisagreementError

    _refuse_unread(options)
    try:
        if options.stream:
            return _stream(options)
        if options.archive is not None:
            return _archives(options.out or vectors_folder(), options.archive)
        folder = options.out or vectors_folder(writing=not options.check)
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"--out must be a folder, {folder} is a file")
        run = _level_2 if options.level == 2 else _level_1
        if options.check:
            return run(options, folder)
        if options.level == 2:
            store.read_manifest(folder)  # refuses a folder without a manifest before the long run
        with store.locked(folder):
            return run(options, folder)
    except DisagreementError as error:
        print(error)
        return 1


def _refuse_unread(options: argparse.Namespace) -> None:
    """Refuse options that this kind of run does not read."""
    if options.formats is not None and options.out is None:
        raise ValueError("--out must be given with --formats: the folder of their vectors")
    kind = "--stream" if options.stream else f"--level {options.level}"
    if options.archive is not None and kind == "--level 1":
        kind = "--archive"
    reads = {
        "--archive": ("archive", "out"),
        "--stream": ("only", "seed", "count", "seconds", "policy"),
        "--level 2": ("check", "out", "only", "complete"),
        "--level 1": ("check", "out", "formats"),
    }[kind]
    every = ("check", "out", "formats", "only", "complete", "seed", "count", "seconds", "policy")
    for name in (*every, "archive"):
        value = getattr(options, name)
        if value is not None and value is not False and name not in reads:
            raise ValueError(f"regen {kind} does not read --{name}: leave it out")


def _level_1(options: argparse.Namespace, folder: Path) -> int:
    from mxref import golden
    from mxref.golden import store

    texts = golden.build(options.jobs)
    size = sum(map(len, texts.values())) / 1e6
    if options.check:
        problems = golden.check(folder, texts)
        for problem in problems:
            print(problem)
        same = "differ" if problems else "are what this version generates"
        print(f"{store.files_there(folder, texts)}, {size:.1f} MB in {folder} {same}")
        return 1 if problems else 0
    changed = golden.write(folder, texts)
    print(f"{len(texts)} files, {size:.1f} MB in {folder}, {changed} changed")
    return 0


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("must be the path of a folder, got ''")
    return Path(text)


def _archives(folder: Path, where: Path) -> int:
    from mxref.cases.read import STAGED
    from mxref.cli.archive_choices import choices_page
    from mxref.cli.archive_profiles import extras
    from mxref.cli.spec_notes import document
    from mxref.golden.archives import archives, read_all, write_archives

    there = next(one for one in (where, *where.absolute().parents) if one.exists())
    if not there.is_dir():
        raise ValueError(f"--archive must be a folder, {there} is a file")
    if not os.access(there, os.W_OK):
        raise ValueError(f"--archive must be a folder that can be written, {there} cannot")
    if not any((folder / some / "manifest.json").is_file() for some in ("", STAGED)):
        raise ValueError(
            f"--out must be a folder of vectors where --archive is given, {folder} has none: make "
            f"them there with `mxref regen --out {folder}` first"
        )
    licence = document("LICENSE", "LICENSE")
    contract = document("../_vectors/README.md", "vectors/README.md")
    files = read_all(folder)
    # All are made before the first is written: an error on the way changes no file.
    made = list(archives(files, licence, contract, choices_page, extras(files)))
    written = write_archives(where, made)
    for name, size in written:
        print(f"{name} {size}")
    print(f"{len(written)} files, {sum(size for _, size in written) / 1e6:.1f} MB in {where}")
    return 0


def _level_2(options: argparse.Namespace, folder: Path) -> int:
    from mxref.golden import level2, store

    chosen = level2.select(options.only)
    old = store.read_level2(folder)
    known = {entry["name"]: entry["sha256"] for entry in old}
    found = []
    runs = level2.compute_all(chosen, complete=options.complete, jobs=options.jobs)
    for number, one in enumerate(runs, 1):
        found.append(one)
        state = "as recorded" if known.get(one.name) == one.sha256 else "CHANGED"
        state = state if one.name in known else "new"
        print(f"{number}/{len(chosen)} {one.name} {one.sha256} {one.cases} {state}", flush=True)
    cases, checked = sum(one.cases for one in found), sum(one.checked for one in found)
    total = f"{len(found)} families, {cases} cases, {checked} of them by both references"
    if options.check:
        problems = [one.name for one in found if known.get(one.name) != one.sha256]
        if options.only is None:
            problems += sorted(known.keys() - {one.name for one in found})
        for name in problems:
            print(f"{name} is not what the manifest of {folder} says")
        print(f"{total}: {len(problems)} differ from the manifest")
        return 1 if problems else 0
    changed = store.write_level2(
        folder, level2.manifest_entries(found, old if options.only else ())
    )
    print(f"{total}: the manifest of {folder} {'has changed' if changed else 'is as it was'}")
    return 0


def _stream(options: argparse.Namespace) -> int:
    from mxref.golden.case_streams import every_stream
    from mxref.policy.policy import Policy

    if options.seed is None or (options.count is None) == (options.seconds is None):
        raise ValueError("regen --stream needs --seed and either --count or --seconds")
    if options.seconds is not None and not 0 < options.seconds < math.inf:
        raise ValueError(f"--seconds must be positive and finite, got {options.seconds:g}")
    policy = str(Policy.parse(options.policy or "ocp"))
    every = every_stream(options.seed, policy)
    chosen = [one for one in every if one.name.startswith(options.only or "")]
    if not chosen:
        got = f"got {options.only!r}: such as {every[0].name}"
        raise ValueError(f"--only must be the beginning of a stream's name, {got}")
    end = time.monotonic() + (options.seconds or 0)
    chains = [(one.name, one.chain(options.count)) for one in chosen]
    while chains:  # streams take turns, so that each has its share of the time
        for name, chain in list(chains):
            if options.seconds is not None and time.monotonic() >= end:
                return 0
            step = next(chain, None)
            if step is None:
                chains.remove((name, chain))
            else:
                print(f"{name} {step[0]} {step[1]}", flush=True)
    return 0
