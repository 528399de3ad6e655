"""The Triton fast path in Triton's interpreter: level 1, every bfloat16, and the museum's bugs.

No GPU takes part; the kernels are compiled for three architectures, and their instructions read.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from triton_bugs import LEFT_OUT, OF_MATRICES, PLANTED
from triton_child import RULES

from mxref.cases.read import by_stem, read_manifest
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ELEMENT_FORMATS
from mxref.mutants import MUTANTS, Mutant, equivalent

ROOT = Path(__file__).resolve().parents[2]
BY_ID = {mutant.id: mutant for mutant in MUTANTS}
#: What the kernels have.
OPERATIONS = (
    *("encode", "decode", "shared_scale", "quantize", "dequantize"),
    *("pack", "unpack", "pack_scales", "unpack_scales"),
)
FORMATS = {*(fmt.element.name for fmt in BLOCK_FORMATS.values()), *BLOCK_FORMATS, E8M0.name}
FLOATS = ("f32", "bf16", "f16")
POLICIES = {"ocp", "ocp+scale_layout=tiles_128x4", *(f"ocp+scale_rule={rule}" for rule in RULES)}
#: The classes that the kernels must be able to have: rounding, range, scales, layouts.
CLASSES = "ABCG"


def child(what: str, **environment: str) -> Any:
    """What `triton_child` finds, in a process that has not imported Triton yet."""
    command = [sys.executable, str(ROOT / "tests" / "helpers" / "triton_child.py"), what]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": path} | environment
    run = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


def interpreted(what: str) -> Any:
    return child(what, TRITON_INTERPRET="1")


def test_level_1_under_every_rule() -> None:
    found = interpreted("level1")
    assert found.keys() == {*RULES}
    stems = by_stem(read_manifest(ROOT / "vectors"))
    wanted = {stem: file["cases"] for stem, file in stems.items() if is_covered(stem)}
    for rule, (verdict, files) in found.items():
        assert files == {stem: [cases, 0] for stem, cases in wanted.items()}
        policy = "" if rule == "floor" else f"+scale_rule={rule}"
        assert verdict == f"conforms under ocp{policy}+scale_layout=tiles_128x4"


def is_covered(stem: str) -> bool:
    op, _, name = stem.partition("/")
    format, float = name.rsplit(".", 1)
    layouts = ("bytes", "low_nibble_first", "lsb_first", "tiles_128x4")
    return op in OPERATIONS and format in FORMATS and float in (*FLOATS, *layouts)


def test_every_bfloat16_scale_and_code() -> None:
    """Without an assumption about the kernels: complete where level 1 needs monotony."""
    found = interpreted("every_input")
    counts = {"encode": 1 << 16, "shared_scale": 1 << 15, "quantize": 7054080}
    for name, (cases, wrong, passed) in found.items():
        op, format, _ = name.split()
        if op == "dequantize":
            counts[op] = 256 * max(BLOCK_FORMATS[format].element.code_count, 32)
        assert (cases, wrong, passed) == (counts[op], 0, True), name
    assert len(found) == len(BLOCK_FORMATS) * (2 + len(RULES)) + 1


def test_what_is_packed_at_once() -> None:
    """`quantize` and `dequantize` of packed codes do what the kernels one after the other do."""
    found = interpreted("packed")
    assert found.keys() == {*BLOCK_FORMATS}
    assert all(blocks > 100 and wrong == 0 for blocks, wrong in found.values())


def test_stochastic_rounding_by_given_bits() -> None:
    found = interpreted("stochastic")
    stems = {stem for stem in by_stem(read_manifest(ROOT / "vectors")) if stem.endswith(FLOATS)}
    assert found.keys() == {stem for stem in stems if stem.startswith("encode_stochastic/")}
    assert all(cases >= 240 and wrong == 0 for cases, wrong in found.values())


def test_matrices() -> None:
    """Both directions, strides, layouts, float16, sizes of a GPU, and bits of the CUDA fast path.

    Kernels with a bug of these kinds are noticed.
    """
    found = interpreted("matrices")
    bugs = {name: found.pop(f"bug: {name}") for name in OF_MATRICES}
    assert len(found) == 24 + len(BLOCK_FORMATS)
    assert not {name: wrong for name, (_, wrong) in found.items() if wrong}
    assert not {name for name, (answers, wrong) in bugs.items() if not 0 < wrong <= answers}


def test_what_kernels_would_read_wrongly_is_refused() -> None:
    found = interpreted("refused")
    assert len(found) == 10
    wrong = {name: said for name, said in found.items() if not said.startswith("codes must be")}
    assert not wrong
    assert found["unpack fp6"] == "codes must be uint8, 30 of them or more, got 27 of torch.uint8"
    assert found["decode"] == "codes must be uint8, got 32 of torch.int8"


@pytest.fixture(scope="module")
def museum() -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = interpreted("museum")
    return found


@pytest.mark.parametrize("id", [id for bug in PLANTED for id in bug.ids.split()])
def test_a_planted_bug_is_caught(id: str, museum: dict[str, dict[str, list[int]]]) -> None:
    """In every file of its own in which it can be seen, and it is the one that the museum has."""
    (bug,) = (bug for bug in PLANTED if id in bug.ids.split())
    assert museum[id]
    seen = 0
    for stem, (cases, failed, unlike) in museum[id].items():
        format, float = stem.partition("/")[2].rsplit(".", 1)
        can_be_seen = equivalent(id, format, float) is None
        assert (0 < failed <= cases) == can_be_seen, stem
        assert unlike == 0 or not bug.same, stem
        seen += can_be_seen
    assert seen


def test_a_bug_that_differs_from_the_museum_says_so(
    museum: dict[str, dict[str, list[int]]],
) -> None:
    for bug in PLANTED:
        unlike = sum(counts[2] for id in bug.ids.split() for counts in museum[id].values())
        assert (unlike == 0) == bug.same, bug.ids


def why_not(mutant: Mutant) -> str | None:
    """Why a mutant cannot be one of the kernels, if that is so without looking at them."""
    if mutant.op not in OPERATIONS:
        return f"the kernels have no {mutant.op}"
    formats = FORMATS.intersection(mutant.formats)
    if not formats:
        return "the kernels have none of its formats"
    if mutant.policy not in POLICIES and mutant.id not in LEFT_OUT:
        return f"the kernels do not offer {mutant.policy}"
    planted = {id for bug in PLANTED for id in bug.ids.split()}
    if mutant.lifted_from and mutant.id not in planted:
        return (
            f"the kernels' blocks go through the function that {mutant.lifted_from} is planted in"
        )
    if mutant.group == "C21" and mutant.id not in planted:
        return "it is C21 with another interval"
    floats = {*mutant.floats} - {"f16", "f64"}
    if not floats:
        return "the kernels have none of its float types"
    if mutant.op in ("pack_scales", "unpack_scales") and "tiles" not in mutant.policy:
        return "the kernels have no such layout"
    if all(equivalent(mutant.id, format, float) for format in formats for float in floats):
        return "it is right on every input"
    return None


def test_no_bug_of_these_classes_is_left_out() -> None:
    """Those of rounding, range, scales and layouts are planted, or there is a reason."""
    planted = {id for bug in PLANTED for id in bug.ids.split()}
    assert not planted & LEFT_OUT.keys()
    of_classes = {id for id in BY_ID if id[0] in CLASSES}
    assert LEFT_OUT.keys() <= of_classes
    without_reason = {id for id in of_classes if why_not(BY_ID[id]) is None}
    assert without_reason == (planted & of_classes) | LEFT_OUT.keys()
    assert len(planted) == 217


def test_compiled_kernels_compute_with_integers_alone(tmp_path: Path) -> None:
    """For each architecture: no float instruction but conversions of integers and of float16."""
    found = child("instructions", TRITON_CACHE_DIR=str(tmp_path), TRITON_INTERPRET="0")
    assert found.keys() == {"sm_80", "sm_90", "sm_100"}
    for instructions in found.values():
        floats = {one for one in instructions if re.search(r"\.(b?f|tf|e\d|ue)\d|ftz", one)}
        # The sign of a float16 may be cleared as such; a NaN stays one.
        halves = {"cvt.f32.f16", "cvt.rn.f16.f32", "abs.f16x2"}
        assert floats
        floats = {re.sub(r"(?<=[su])\d+$", "", one) for one in floats - halves}
        assert floats <= {"cvt.rn.f32.s", "cvt.rn.f32.u"}
        assert "st.global.b32" in " ".join(instructions)


def test_the_formats_are_those_of_mxref() -> None:
    """The kernels' own table, which is copied with them."""
    text = (ROOT / "tools" / "fastpath" / "triton" / "mx_kernels.py").read_text("utf-8")
    rows = re.findall(
        r'"(\w+)": \{"BITS": (\d), "FRACTION": (\d), "EMIN": (-?\d+), "LARGEST": (0x\w\w)\}', text
    )
    assert {name for name, *_ in rows} == {fmt.element.name for fmt in BLOCK_FORMATS.values()}
    for name, bits, fraction, _, largest in rows:
        fmt = ELEMENT_FORMATS[name]
        assert (int(bits), int(fraction)) == (fmt.bits, fmt.mantissa_bits)
        assert int(largest, 16) == fmt.max_code
