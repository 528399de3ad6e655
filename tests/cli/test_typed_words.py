"""Words of a command line that are nearly right and understood; others: data/refusals.txt."""

from __future__ import annotations

import io

import pytest
from commands import Call
from verify_helpers import ENCODE, Kit


def test_options_that_are_lists_are_given_again(kit: Kit) -> None:
    stems = ["encode/e2m1.f32", "encode/e4m3.f32"]
    options = ["--format", "e2m1", "--format", "E4M3", "--vectors", kit.vectors(*stems)]
    assert kit.run(kit.target(ENCODE), *options).status == 0


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("op", "format"),
    [("quantize_affine", "uint8"), ("pack_int4", "int4"), ("linear_qcs4w", "int4_groups")],
)
def test_formats_of_integer_operations_are_names(
    op: str, format: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = call("gen", op, format)
    assert run.status == 0
    lines = run.out.splitlines()
    assert lines[1].split()[1:3] == [op, format]
    # Answers to these questions are compared, here wrong ones.
    text = "\n".join([lines[0], *(f"{line.split()[0]} 00" for line in lines[1:]), ""])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    run = call("check", op, format)
    assert (run.status, f": {len(lines) - 1} cases, " in run.out) == (1, True)
