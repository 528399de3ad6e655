"""Processes of their own for what is asked of Triton, which reads its environment when imported.

Each is a fork of one that has imported all of it, interpreted or not, so that what a question
leaves behind, or an address outside of a tensor, is the end of its own process alone.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

__all__ = ["child"]

ROOT = Path(__file__).resolve().parents[2]


def child(*what: str, script: str = "triton_child", may_end: bool = False, **of: str) -> Any:
    """What a function of a module finds, in a process with these variables; or how that ended."""
    server = _server(of["TRITON_INTERPRET"])
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps([folder, script, what, of]), file=server.stdin, flush=True)
        status = int(server.stdout.readline())
        if may_end and status < 0:
            return f"the process ended by {signal.Signals(-status).name}"
        assert status == 0, Path(folder, "said").read_text()[-2000:]
        return json.loads(Path(folder, "found").read_text())


@functools.cache
def _server(interpreted: str) -> Any:
    folders = (str(ROOT), str(ROOT / "tools" / "gpu"), os.environ.get("PYTHONPATH", ""))
    env = {"PYTHONPATH": os.pathsep.join(folders), "TRITON_INTERPRET": interpreted}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    server: Any = subprocess.Popen([sys.executable, __file__], env=os.environ | env, **pipes)
    atexit.register(server.communicate)  # which ends it
    return server


def _answer(folder: str, script: str, what: list[str], of: dict[str, str]) -> None:
    os.environ.update(of)
    said = os.open(f"{folder}/said", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)  # where compilers write what they refuse
    os.dup2(said, 2)
    found = getattr(importlib.import_module(script), what[0])(*what[1:])
    Path(folder, "found").write_text(json.dumps(found))


def _serve() -> None:
    for line in sys.stdin:
        if not (asked := os.fork()):
            status = 1
            try:
                _answer(*json.loads(line))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1]), flush=True)


if __name__ == "__main__":
    for name in ("torch", "triton", "triton_outsider", "triton_ptx_checks", "triton_ptx"):
        importlib.import_module(name)
    if os.environ["TRITON_INTERPRET"] == "1":
        importlib.import_module("triton_interpreter").made_once()
    _serve()
