"""A process of its own for what is asked of Triton, which reads its environment when imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["child"]

ROOT = Path(__file__).resolve().parents[2]


def child(*what: str, script: str = "triton_child", **environment: str) -> Any:
    """What a script finds, in a process that has not imported Triton yet."""
    command = [sys.executable, str(ROOT / "tests" / "helpers" / f"{script}.py"), *what]
    folders = (str(ROOT), str(ROOT / "tools" / "gpu"), os.environ.get("PYTHONPATH", ""))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | environment
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)
