"""`mxref identify` of `mma`: the adder in a sentence, its name, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import table

from mxref.cli.command_line import main

KERNEL = table("kernels")["identify_units_kernel"]


@pytest.mark.parametrize("adder", ["volta_f16", "turing_f16"])
def test_the_adder_is_told_and_whether_it_is_the_one_of_the_format(
    adder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.replace("{adder!r}", repr(adder)), "utf-8")
    steps, bits, names = {
        "volta_f16": (4, 23, "volta_f16"),
        "turing_f16": (8, 24, "turing_f16, ampere_f16, not volta_f16"),
    }[adder]
    ask = ["identify", str(path), "--op", "mma", "--format", "volta_f16-f16-f16"]
    assert main(ask) == int(adder != "volta_f16")
    title, said, unseen, named, *rest = capsys.readouterr().out.splitlines()
    assert title.startswith("mma volta_f16-f16-f16: ")
    assert int(title.split()[2].replace(",", "")) <= 4000
    assert said == (
        f"steps of {steps} products with C, aligned to the largest and cut at 2^-{bits} of it; "
        "rounded toward zero to float32"
    )
    assert (unseen, named, rest) == (
        "unobservable: zero_exponent",
        f"confirmed; named adders: {names}",
        [""],
    )
    assert main([*ask, "--json"]) == int(adder != "volta_f16")
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["op"], record["sentence"], record["consistent"]) == ("mma", said, True)
    assert record["names"] == names.split(", not ")[0].split(", ")


def test_an_error_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.replace("{adder!r}", "adder"), "utf-8")
    assert main(["identify", str(path), "--op", "mma", "--format", "hopper_f16-bf16-bf16"]) == 1
    assert capsys.readouterr().out == (
        "mma hopper_f16-bf16-bf16: an error (RuntimeError: no Hopper here (kernel.py:9))\n\n"
    )
