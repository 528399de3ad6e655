"""All kernels of all architectures, each text once: what was asked, and what was wrong.

    python tools/gpu/ptx/report.py             # the table
    python tools/gpu/ptx/report.py sm_90a      # of some targets alone, also others of nvcc's
    python tools/gpu/ptx/report.py --save DIR  # writes what `mx_check replay DIR/TARGET` compares
    python tools/gpu/ptx/report.py --complete  # all of level 2 by each kernel that has an answer

Nothing runs on a GPU. nvcc compiles the kernels to PTX, which `ptx` interprets on this processor:
it shows what the compiler made of the source, and nothing of ptxas, a driver or a device. The exit
status is 1 if an answer is wrong or a kernel does what it must not do, 2 if nvcc is missing.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[i]) for i in (1, 3)]

from ptx.cases import answers
from ptx.fastpath import FLAGS, KERNELS, Row
from ptx.functions import FUNCTIONS
from ptx.memory import FaultError
from ptx.nvcc import compiled, name_of
from ptx.parse import Kernel
from ptx.saved import save

__all__ = ["ROWS", "Found", "asked", "found_of", "table"]

#: All kernels and functions.
ROWS = (*KERNELS, *FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Found:
    """What a kernel of some targets gave.

    Args:
        row: the kernel.
        targets: the targets that have the same text of it.
        cases, wrong: how many cases it was asked, and how many of the answers are wrong.
        first: the first wrong one, or what the kernel must not do.
    """

    row: Row
    targets: tuple[str, ...]
    cases: int
    wrong: int
    first: str = ""


@contextmanager
def _few_collections() -> Iterator[None]:
    """Garbage is looked for seldom: the many small functions of a kernel stay until it is done."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def found_of(
    kernel: Kernel,
    row: Row,
    targets: tuple[str, ...] = (),
    turn: int | None = 0,
    folder: Path | None = None,
) -> Found:
    """All that a kernel is asked; what it must not do, or is not known, is one wrong case."""
    cases = wrong = 0
    first = ""
    keep = partial(save, folder, row, targets) if folder else None
    try:
        with _few_collections():
            for one in answers(kernel, row, turn, keep):
                cases, wrong, first = cases + one.cases, wrong + one.wrong, first or one.first
    except (FaultError, ValueError) as error:
        return Found(row, targets, cases + 1, wrong + 1, first or str(error))
    return Found(row, targets, cases, wrong, first)


def asked(
    modules: dict[str, dict[Row, Kernel]], *, complete: bool = False, folder: Path | None = None
) -> Iterator[Found]:
    """What all kernels of the modules give; those of one text are run once.

    Args:
        modules: the kernels of each target.
        complete: whether each is asked all of level 2; a fixed part, if not.
        folder: where launches are written; kernels of blocks are asked no more than these.
    """
    for row in dict.fromkeys(row for module in modules.values() for row in module):
        texts: dict[str, list[str]] = {}
        for target, module in modules.items():
            if row in module:
                texts.setdefault(module[row].body, []).append(target)
        for turn, targets in enumerate(texts.values(), ROWS.index(row)):
            kernel = modules[targets[0]][row]
            yield found_of(kernel, row, tuple(targets), None if complete else turn, folder)


def table(found: Iterable[Found]) -> str:
    """Cases by kind of kernel and target; a text that more targets have counts for each."""
    cells: dict[str, dict[str, list[int]]] = {}
    for one in found:
        for target in one.targets:
            cell = cells.setdefault(one.row[0], {}).setdefault(target, [0, 0, 0])
            for i, more in enumerate((1, one.cases, one.wrong)):
                cell[i] += more
    targets = list(dict.fromkeys(target for row in cells.values() for target in row))
    lines = ["| kernels | " + " | ".join(targets) + " |", "|---|" + "--:|" * len(targets)]
    for kind, row in cells.items():
        texts = [
            f"{row[t][0]}: {row[t][1]:,} cases, {row[t][2]} wrong" if t in row else ""
            for t in targets
        ]
        lines.append(f"| {kind} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def flags_of(target: str) -> tuple[str, ...]:
    """What nvcc is asked for a target."""
    return FLAGS.get(target, (f"-arch={target}",))


def main() -> int:
    """Compile, run, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(FLAGS)}, which are all")
    parser.add_argument("--complete", action="store_true", help="all of level 2, not a part")
    parser.add_argument("--save", type=Path, metavar="DIR", help="write what `replay` reads")
    options = parser.parse_args()
    targets = options.targets or [*FLAGS]
    if shutil.which("nvcc") is None:
        print("nvcc is not installed", file=sys.stderr)
        return 2
    begun, rows = time.monotonic(), KERNELS if options.save else ROWS
    modules = {target: compiled(flags_of(target), kernels=rows) for target in targets}
    print(f"compiled in {time.monotonic() - begun:.0f} s")
    found = []
    for one in asked(modules, complete=options.complete, folder=options.save):
        found.append(one)
        if one.wrong:
            print(f"FAIL  {name_of(one.row)} {', '.join(one.targets)}: {one.first}")
    print(table(found))
    cases = sum(one.cases for one in found)
    print(
        f"{len(found)} texts of kernels, {cases:,} cases run, "
        f"{sum(one.wrong for one in found)} wrong, {time.monotonic() - begun:.0f} s, on a CPU"
    )
    return 1 if any(one.wrong for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
