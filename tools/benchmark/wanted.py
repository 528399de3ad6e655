"""What a section measures, its limits and settings; and Python in a process of its own."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmark.rows import BenchRow

__all__ = ["ENV", "NO_LIMIT", "Options", "Wanted", "python"]

NO_LIMIT = -math.inf
#: Environment of child processes: they import mxref from this checkout, from bytecode.
ENV = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
ENV.pop("PYTHONDONTWRITEBYTECODE", None)


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of every section: elements of a tensor, seconds per row, threads of `qdq`."""

    elements: int
    seconds: float
    threads: int

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a tensor of `elements` elements."""
        return self.elements // 1024, 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """One measurement and its limits.

    Args:
        what: name of the measurement; a `BenchRow` names itself.
        measure: returns a `BenchRow`, whose median ratio is compared with the limits, or a number,
            or the reason why nothing can be measured.
        least: smallest accepted number.
        most: largest accepted number.
        unit: unit of the number; "x" means times as fast.
    """

    what: str
    measure: Callable[[], BenchRow | float | str]
    least: float = NO_LIMIT
    most: float = math.inf
    unit: str = "x"

    @property
    def limits(self) -> str:
        """The limits in words; "shown" if there are none."""
        parts = [f">= {self.least:.4g}"] if math.isfinite(self.least) else []
        parts += [f"<= {self.most:.4g}"] if math.isfinite(self.most) else []
        return ", ".join(parts) + f" {self.unit}" if parts else "shown"

    def met(self, figure: float | None) -> bool | None:
        """Whether a number is within the limits; None if there are no limits."""
        if not math.isfinite(self.least) and not math.isfinite(self.most):
            return None
        return figure is not None and self.least <= figure <= self.most


def python(*arguments: str) -> None:
    """Run Python in the checkout; a verb that finds something ends with 1."""
    command, folder = [sys.executable, *arguments], ENV["PYTHONPATH"]
    done = subprocess.run(command, env=ENV, cwd=folder, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, command)
