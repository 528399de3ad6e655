"""What `mxref verify`, `fuzz` and `identify` print about planted kernels, byte for byte.

`pytest tests/snapshots --complete --update` writes reports/ anew; `git diff` shows what changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from planting import kernel_texts, written

from mxref.cli import main
from mxref.operations.registry import OPERATIONS

FOLDER = Path(__file__).resolve().parent
TEXTS = FOLDER / "kernels.toml"
KERNELS = sorted(kernel_texts(TEXTS))
REPORTS = FOLDER / "reports"
#: At most 3200 elements in a call: products of more are asked only if the target is fast.
VERBS = {"verify": ["--sizes", "3000"], "fuzz": ["--examples", "60"], "identify": []}
#: Options of single reports in place of those: what is wrong seldom is asked for longer.
OPTIONS = {
    ("verify", "quantize_wrong_in_the_search"): ["--sizes", "70000"],
    ("verify", "tensor_columns_first"): ["--sizes", "17000"],
    ("fuzz", "decode_scale_zero"): ["--examples", "300"],
}
#: What versions of hypothesis find in different ways: they have the first question in common, and
#: what comes after the last one is mxref's own search.
OPTIONS |= {
    ("fuzz", kernel): ["--examples", "1"]
    for kernel in (
        "grid_right_edge",
        "matmul_nan_scale",
        "quantize_neighbours",
        "quantize_not_the_profile",
        "quantize_two_faults",
        "stochastic_width",
        "tensor_tails",
    )
}
#: What a report is made of, which is the same in text and in JSON: asked for once.
FINDINGS = {
    "verify": ["mxref.conformance.check"],
    "fuzz": ["mxref.conformance.fuzzing.fuzz.fuzz"],
    "identify": [
        "mxref.conformance.identify",
        "mxref.conformance.identification.integer_identification.identify_integers",
    ],
}
#: Failures in a JSON report, and characters in a line; what is beyond them is a digest.
FAILURES, LINE = 6, 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernels."""
    return written(TEXTS, tmp_path_factory.mktemp("kernels"))


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is called once, and gives that result again."""
    found: list[Any] = []

    def first(*arguments: Any, **more: Any) -> Any:
        if not found:
            result = function(*arguments, **more)
            found.append(list(result) if hasattr(result, "__next__") else result)
        return found[0]

    return first


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def shortened(value: Any) -> Any:
    """JSON without most failures and the ends of long lines, of which it has digests."""
    if isinstance(value, str) and len(value) > LINE:
        return f"{value[:LINE]} ... {len(value):,} characters, SHA-256 {digest(value)}"
    if isinstance(value, list):
        return [shortened(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: shortened(one) for key, one in value.items()}
    if len(rest := value.get("failures", ())[FAILURES:]) > 0:
        text = f"and {len(rest):,} more, SHA-256 {digest(json.dumps(rest))}"
        found["failures"] = [*found["failures"][:FAILURES], text]
    return found


def as_file(said: str, status: int, ending: str, folder: Path) -> str:
    """What a command has printed, without what differs between machines and versions.

    That is the folder of the kernels; the lines of mxref's own files that raise; and after how many
    questions `fuzz` has found a wrong answer: that is another number with another hypothesis.
    """
    said = said.replace(str(folder), "/kernels")
    said = re.sub(r"\((\w+)\.py:\d+\)", lambda at: at[0] if at[1] in KERNELS else "(mxref)", said)
    if ending == "json" and status < 2:
        told = json.loads(said)
        for row in told["rows"] if isinstance(told, dict) else ():
            if row.get("counterexample"):
                row["examples"] = None
        return json.dumps(shortened(told), indent=1) + "\n"
    said = re.sub(r"\d+ *(?=  WRONG$)", lambda count: "-".ljust(len(count[0])), said, flags=re.M)
    return f"{said}exit status {status}\n"


def expected(verb: str, kernel: str, ending: str) -> Path:
    return REPORTS / f"{kernel}.{verb}.{ending}"


@pytest.mark.sampled(24)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_report_is_as_it_was(
    kernel: str,
    verb: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
) -> None:
    monkeypatch.chdir(folder)
    # Every kernel counts as fast: it is asked the same on every machine.
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    for name in FINDINGS[verb]:
        module, _, function = name.rpartition(".")
        engine = getattr(import_module(module), function)
        monkeypatch.setattr(import_module(module), function, once(engine))
    options = OPTIONS.get((verb, kernel), VERBS[verb])
    for ending in ("txt", "json"):
        status = main([verb, f"{kernel}.py", *options, *["--json"] * (ending == "json")])
        printed = capsys.readouterr()
        said = as_file(printed.err if status == 2 else printed.out, status, ending, folder)
        path = expected(verb, kernel, ending)
        if pytestconfig.getoption("--update"):
            path.write_bytes(said.encode())
        assert said == path.read_bytes().decode(), f"{path.name}: if meant, --update writes it"


@pytest.mark.parametrize("seed", ["0", "1"])
def test_a_cause_does_not_depend_on_the_seed_of_hashes(seed: str, folder: Path) -> None:
    """Of a kernel whose rules were told in the order of a set: seeds 0 and 1 gave two orders."""
    report = expected("verify", "elementwise_exchanged", "txt").read_text()
    cause = next(line for line in report.splitlines() if line.startswith("CAUSE"))
    said = subprocess.run(
        [sys.executable, "-m", "mxref", *["verify", "elementwise_exchanged.py", "--sizes", "3000"]],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert cause in said.stdout.splitlines(), said.stderr


def test_the_reports_are_those_of_the_kernels() -> None:
    endings = [f"{verb}.{ending}" for verb in VERBS for ending in ("txt", "json")]
    assert {path.name for path in REPORTS.iterdir()} == {
        f"{kernel}.{ending}" for kernel in KERNELS for ending in endings
    }


def test_every_operation_is_in_two_kernels_and_more() -> None:
    told = (json.loads(expected("verify", kernel, "json").read_text()) for kernel in KERNELS)
    seen = Counter(op for one in told for op in {row["op"] for row in one["rows"]})
    assert {op for op, kernels in seen.items() if kernels >= 2} == set(OPERATIONS)
