"""Every adapter answers as the profile that it claims: level 1, every input where they are few,
and some random blocks. `tools/ledger` asks a hundred times as much.

An adapter whose library is absent is skipped by name; `test_adapters.py` says which must be there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mxref.conformance import TargetError, load_target

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "tools" / "adapters"
LISTED = json.loads((ADAPTERS / "implementations.json").read_text("utf-8"))
ABSENT = re.compile("pip install|must name a checkout")
#: What must be the first to import its library.
ALONE = ("quark_triton",)
ELEMENTS, SLOW = 100_000, {"gfloat": 10_000, "pychop": 10_000}

sys.path.insert(0, str(ROOT / "tools"))
from ledger.claims import claiming  # noqa: E402
from ledger.examine import examine  # noqa: E402
from ledger.residuals import unlisted  # noqa: E402


@pytest.mark.parametrize("name", claiming())
@pytest.mark.filterwarnings("ignore")
def test_adapters_equal_their_profiles(name: str, tmp_path: Path) -> None:
    if name.startswith(ALONE):
        record = examined_alone(name, tmp_path)
    else:
        try:
            target = load_target(claiming()[name].spec)
        except TargetError as error:
            if not ABSENT.search(str(error)):
                raise
            pytest.skip(str(error))
        record = examine(target, elements=SLOW.get(name, ELEMENTS), product=False)
    assert record["files"]
    assert unlisted({"adapter": name, **record, "share": 0}, LISTED) == []


def examined_alone(name: str, folder: Path) -> dict[str, object]:
    command = [sys.executable, str(ROOT / "tools" / "ledger"), "--one", name, "--quick"]
    command += ["--results", str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode and ABSENT.search(run.stderr):
        pytest.skip(run.stderr.splitlines()[-1])
    assert run.returncode == 0, run.stderr
    found: dict[str, object] = json.loads((folder / f"{name}.json").read_text())
    return found
