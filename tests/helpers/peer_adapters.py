"""Adapters of tools/adapters, asked where their libraries are: a file, and how many cases fail."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from helpers import table
from ledger import recording
from ledger.claims import ADAPTERS, Adapter, claiming, claiming_integers, claiming_products
from ledger.examine import examine
from ledger.product_page import product_summary
from ledger.products import examine_products
from ledger.residuals import unlisted
from needs import absent, checkout

from mxref.cases.read import read_vectors
from mxref.conformance import Report, TargetError, load_target, verify
from mxref.operations.registry import CALL_OPERATIONS
from mxref.targets.asked_files import read_for

ROOT = Path(__file__).resolve().parents[2]
_TABLES = table("peer_adapters")
#: Of `current`, of `older`, and of originals that no registry has, in `current`.
CURRENT, OLDER, ORIGINALS = _TABLES["CURRENT"], _TABLES["OLDER"], _TABLES["ORIGINALS"]
FILES = CURRENT | OLDER | ORIGINALS
#: Those of products in each.
CURRENT_PRODUCTS = (
    *("mmasim.ALIGNED_13", "mmasim.ALIGNED_25", "mmasim.ALIGNED_35", "microxcaling_products"),
    *("torchao_products.MATMUL", "torchao_products.FLOOR", "torchao_products.RCEIL"),
)
OLDER_PRODUCTS = (
    *("torchao_0_6_products.TRAINING", "torchao_0_6_products.INFERENCE"),
    *("torchmx_products", "tosa_matmul"),
)
#: Those of integer operations in `older`: how the report ends.
OLDER_INTEGERS = _TABLES["OLDER_INTEGERS"]
#: The checkouts of originals.
CHECKOUTS = {
    "microxcaling": "MXREF_MICROXCALING",
    "torchao_main": "MXREF_TORCHAO_MAIN",
    "transformer_engine": "MXREF_TRANSFORMER_ENGINE",
}
#: What must be the first to import its library.
ALONE = ("quark_triton", *CHECKOUTS)
#: Elements of `examined`, and of those that take blocks one by one, in Python.
ELEMENTS, SLOW = 100_000, {"gfloat": 10_000, "pychop": 10_000}

Found = TypeVar("Found")


def every() -> dict[str, Adapter]:
    """All adapters by their names."""
    return claiming() | claiming_integers() | claiming_products()


def failed(name: str) -> int:
    """How many cases of the adapter's file it fails under its POLICY."""
    stem, _ = FILES[name]
    files = read_vectors(ROOT / "vectors", lambda path: path == stem)
    target = load_target(every()[name].spec)
    report = verify(target, files, target.policy)
    assert report.compared == len(files[0].cases)
    return len(report.failures)


def unexplained(name: str) -> list[str]:
    """What an adapter answers that is neither its profile's or policy's nor listed."""
    record = asked(examined, name)
    assert record["files"]
    if "profile" in record:
        return unlisted({"adapter": name, **record, "share": 0}, listed("implementations"))
    lines = product_summary({"adapter": name, **record}, listed("products"))[0].splitlines()[1:]
    return [line for line in lines if "listed, but not found" not in line]  # of so few outputs


def examined(name: str) -> dict[str, Any]:
    """A record of the ledger, of few elements or outputs; its examples are not the simplest."""
    target = load_target(every()[name].spec)
    if name in claiming_products():
        return examine_products(target, outputs=1)
    with patch.object(recording, "simplest", lambda _wrong, _file, row: row):
        return examine(target, elements=SLOW.get(name, ELEMENTS), product=False)


def integer_report(name: str) -> Report:
    """What `verify` finds in integer operations."""
    target = load_target(every()[name].spec)
    files = read_for(
        ROOT / "vectors", target, target.policy, only=lambda op, *_: op in CALL_OPERATIONS
    )
    return verify(target, [file for file in files if file.cases])


def listed(kind: str) -> list[dict[str, Any]]:
    """What is known to differ."""
    found: list[dict[str, Any]] = json.loads((ADAPTERS / f"{kind}.json").read_text("utf-8"))
    return found


def asked(function: Callable[..., Found], name: str, *words: str) -> Found:
    """What a function of this module finds of an adapter, if its library or checkout is here."""
    for original, variable in CHECKOUTS.items():
        if name.startswith(original):
            checkout(variable)
    if name.startswith(ALONE):
        found: Found = alone(name.partition(".")[0])[name][function.__name__]
        return found
    try:
        return function(name, *words)
    except TargetError as error:
        if "pip install" in str(error):
            absent(str(error))
        raise


@functools.cache
def alone(file: str) -> dict[str, dict[str, Any]]:
    """What `failed` and `examined` find of all adapters of a file, in a process of its own.

    That has not yet imported what they set up, and some take long to import.
    """
    folders = [ROOT, ROOT / "tools", ROOT / "tests" / "helpers"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-c", "import peer_adapters as p, sys; p.answer(sys.argv[1])", file]
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if run.returncode and "pip install" in (last := run.stderr.splitlines()[-1]):
        absent(last)
    assert run.returncode == 0, run.stderr
    found: dict[str, dict[str, Any]] = json.loads(run.stdout.splitlines()[-1])
    return found


def answer(file: str) -> None:
    """Print what `alone` reads."""
    names = [name for name in every() if name.partition(".")[0] == file]
    functions = (failed, examined)
    found = {
        name: {f.__name__: f(name) for f in functions if f is examined or name in FILES}
        for name in names
    }
    print(json.dumps(found))
