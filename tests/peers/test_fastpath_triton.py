"""The Triton fast path in Triton's interpreter: level 1, every bfloat16, and the museum's bugs.

No GPU takes part; the kernels are compiled for three architectures, and their instructions read.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from planting import Planted
from triton_bugs import LEFT_OUT, PLANTED
from triton_child import RULES
from triton_matrix_bugs import OF_MATRICES, OF_RECIPROCALS
from triton_outsider import OUTSIDER
from triton_process import child

from mxref.cases.read import by_stem, read_manifest
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, OTHER_BLOCK_FORMATS
from mxref.mutants import MUTANTS, Mutant, equivalent

ROOT = Path(__file__).resolve().parents[2]
BY_ID = {mutant.id: mutant for mutant in MUTANTS}
#: What the kernels have.
OPERATIONS = (
    *("encode", "decode", "shared_scale", "quantize", "dequantize"),
    *("pack", "unpack", "pack_scales", "unpack_scales"),
)
NVFP4 = {"nvfp4", "fp4_ue4m3"}
FORMATS = {
    *(fmt.element.name for fmt in BLOCK_FORMATS.values()),
    *BLOCK_FORMATS,
    *NVFP4,
    E8M0.name,
}
FLOATS = ("f32", "bf16", "f16")
POLICIES = {
    "ocp",
    "ocp+overflow=nonsaturating",
    "ocp+scale_layout=tiles_128x4",
    *(f"ocp+scale_rule={rule}" for rule in RULES),
}
#: The classes that the kernels must be able to have: rounding, range, scales, layouts.
CLASSES = "ABCG"


def interpreted(*what: str, **how: Any) -> Any:
    return child(*what, TRITON_INTERPRET="1", **how)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("rule", "overflow"), [*((rule, "saturate") for rule in RULES), ("rceil", "nonsaturating")]
)
def test_level_1(rule: str, overflow: str) -> None:
    stems = by_stem(read_manifest(ROOT / "vectors"))
    wanted = {stem: [file["cases"], 0] for stem, file in stems.items() if is_covered(stem)}
    if rule != "floor":  # which NVFP4 does not read
        wanted = {
            stem: counts
            for stem, counts in wanted.items()
            if not stem.startswith(("quantize/nvfp4", "quantize/fp4_ue4m3"))
        }
    verdict, files = interpreted("level1", rule, overflow)
    assert files == wanted
    policy = "+overflow=nonsaturating" if overflow == "nonsaturating" else ""
    policy += "" if rule == "floor" else f"+scale_rule={rule}"
    assert verdict == f"conforms under ocp{policy}+scale_layout=tiles_128x4"


def is_covered(stem: str) -> bool:
    op, _, name = stem.partition("/")
    format, float = name.rsplit(".", 1)
    layouts = ("bytes", "low_nibble_first", "lsb_first", "tiles_128x4")
    return op in OPERATIONS and format in FORMATS and float in (*FLOATS, *layouts)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block", BLOCK_FORMATS)
def test_every_bfloat16_scale_and_code(block: str) -> None:
    """Without an assumption about the kernels: complete where level 1 needs monotony."""
    counts = {"encode floor": 1 << 16}
    counts["dequantize floor"] = 256 * max(BLOCK_FORMATS[block].element.code_count, 32)
    counts |= {f"shared_scale {rule}": 1 << 15 for rule in RULES}
    assert interpreted("every_input", block) == {
        name: [cases, 0, True] for name, cases in counts.items()
    }


def test_rceil_reciprocal_around_every_threshold() -> None:
    """In every binade, subnormal ones included; and kernels with a bug there are wrong."""
    found = interpreted("reciprocals")
    bugs = {name: found.pop(f"bug: {name}") for name in OF_RECIPROCALS}
    assert len(found) == len(BLOCK_FORMATS)
    assert all(answers > 3000 and wrong == 0 for answers, wrong in found.values())
    assert not {name for name, (answers, wrong) in bugs.items() if not 0 < wrong < answers}


@pytest.mark.sampled(0)
def test_all_that_a_block_may_hold() -> None:
    assert interpreted("block_product") == {"quantize rceil": [7054080, 0, True]}


def test_what_is_packed_at_once() -> None:
    """`quantize` and `dequantize` of packed codes do what the kernels one after the other do."""
    found = interpreted("packed")
    assert found.keys() == {*BLOCK_FORMATS}
    assert all(blocks > 100 and wrong == 0 for blocks, wrong in found.values())


@pytest.mark.sampled(6)
def test_the_parts_of_a_gpu_check() -> None:
    """What `gpu_check.py` asks beside level 1 and sweeps, of few numbers and interpreted."""
    found = interpreted("gpu_parts")
    assert len(found) == 12 + len(BLOCK_FORMATS) + 6 + 1 + 2
    assert not {name: wrong for name, (answers, wrong) in found.items() if wrong or not answers}


def test_stochastic_rounding_by_given_bits() -> None:
    found = interpreted("stochastic")
    stems = {stem for stem in by_stem(read_manifest(ROOT / "vectors")) if stem.endswith(FLOATS)}
    assert found.keys() == {stem for stem in stems if stem.startswith("encode_stochastic/")}
    assert all(cases >= 240 and wrong == 0 for cases, wrong in found.values())


@pytest.mark.sampled(0)
def test_matrices() -> None:
    """Both directions, strides, layouts, float16, and random bits of the CUDA fast path."""
    found = interpreted("matrices")
    assert len(found) == 24 + len(BLOCK_FORMATS) + 2
    assert not {name: wrong for name, (_, wrong) in found.items() if wrong}


def test_bugs_of_matrices() -> None:
    """A few matrices and all sizes of tiles are right, and kernels with a bug are not."""
    found = interpreted("matrix_bugs")
    bugs = {name: found.pop(f"bug: {name}") for name in OF_MATRICES}
    assert len(found) == 6 + 6
    assert not {name: wrong for name, (answers, wrong) in found.items() if wrong or not answers}
    assert not {name for name, (answers, wrong) in bugs.items() if not 0 < wrong <= answers}


def test_offsets_past_2_32() -> None:
    """Offsets have 64 bits; with 32 the interpreter reads and writes outside of the tensor."""
    answers, wrong = interpreted("far_apart")
    assert answers == 2 * (2 * (1024 + 32) + 1024)
    assert wrong == 0


def test_what_kernels_would_read_wrongly_is_refused() -> None:
    found = interpreted("refused")
    assert found.pop("no such scale") == "tensor_scale must be None but for nvfp4, got 1.0"
    no_chance = "seed must be None for nvfp4, which is rounded to nearest, got 1"
    assert found.pop("no chance") == no_chance
    what = "x must be a matrix of whole blocks of 16, got (16, 24)"
    assert found.pop("blocks of 16") == what
    assert found.pop("another out") == "out must be (32,) for these codes, got (16, 32)"
    assert len(found) == 10
    wrong = {name: said for name, said in found.items() if not said.startswith("codes must be")}
    assert not wrong
    assert found["unpack fp6"] == "codes must be uint8, 30 of them or more, got 27 of torch.uint8"
    assert found["decode"] == "codes must be uint8, got 32 of torch.int8"


@pytest.fixture(scope="module")
def museum(request: pytest.FixtureRequest) -> dict[str, dict[str, list[int]]]:
    """What became of the bugs that this run asks for."""
    asked = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    found: dict[str, dict[str, list[int]]] = interpreted(
        "museum", *(one["bug"].ids for one in asked if "bug" in one)
    )
    return found


@pytest.mark.sampled(12)
@pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.ids)
def test_a_planted_bug_is_caught(bug: Planted, museum: dict[str, dict[str, list[int]]]) -> None:
    """In every file of its own in which it can be seen; it is the museum's unless it says not."""
    unlike_museum = 0
    for id in bug.ids.split():
        assert museum[id]
        seen = 0
        for stem, (cases, failed, unlike) in museum[id].items():
            format, float = stem.partition("/")[2].rsplit(".", 1)
            can_be_seen = equivalent(id, format, float) is None
            assert (0 < failed <= cases) == can_be_seen, stem
            seen += can_be_seen
            unlike_museum += unlike
        assert seen
    assert (unlike_museum == 0) == bug.same


PLANTED_IDS = {id for bug in PLANTED for id in bug.ids.split()}


def can_be_planted(mutant: Mutant) -> bool:
    """Whether a mutant can be one of the kernels, as far as is known without looking at them."""
    formats = FORMATS.intersection(mutant.formats)
    floats = {*mutant.floats} - {"f16", "f64"}
    offered = mutant.policy in POLICIES or mutant.id in LEFT_OUT
    layout = mutant.op not in ("pack_scales", "unpack_scales") or "tiles" in mutant.policy
    # Blocks go through the function that the first one is planted in, and elements of NVFP4 are
    # counted midpoints, where it has no place; others are C21 with another interval.
    again = mutant.id not in PLANTED_IDS and (mutant.lifted_from or mutant.group == "C21")
    if mutant.op not in OPERATIONS or not offered or not layout or again:
        return False
    return any(equivalent(mutant.id, format, x) is None for format in formats for x in floats)


def test_no_bug_of_these_classes_is_left_out() -> None:
    """Those of rounding, range, scales and layouts are planted, or there is a reason."""
    assert not PLANTED_IDS & LEFT_OUT.keys()
    of_classes = {id for id in BY_ID if id[0] in CLASSES}
    assert LEFT_OUT.keys() <= of_classes
    without_reason = {id for id in of_classes if can_be_planted(BY_ID[id])}
    assert without_reason == (PLANTED_IDS & of_classes) | LEFT_OUT.keys()
    assert len(PLANTED_IDS) == 273


@pytest.mark.sampled(8)
@pytest.mark.parametrize("edit", OUTSIDER, ids=lambda edit: edit["id"])
def test_a_bug_by_somebody_else_is_caught(edit: dict[str, str]) -> None:
    """Who had not seen the checks: some check finds each, a process that ends included."""
    assert interpreted("found_by", edit["id"], script="triton_outsider", may_end=True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("architecture", ["80", "90", "100"])
def test_float_instructions_of_compiled_kernels(architecture: str, tmp_path: Path) -> None:
    """Conversions of integers and of float16; and to codes with products before, where it has."""
    environment = {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    found = child("instructions", architecture, **environment)
    assert found.pop("tried") == {"kinds": 2}
    every = {one for counts in found.values() for one in counts}
    floats = {one for one in every if re.search(r"\.(b?f|tf|e\d|ue)\d|ftz", one)}
    # The sign of what was a float16 may be cleared as such; a NaN stays one.
    halves = {"cvt.f32.f16", "cvt.rn.f16.f32", "cvt.rn.f16x2.f32"}
    halves |= {"abs.f16", "abs.f16x2", "abs.f32"}
    assert floats
    to_codes = {"90": {"e4m3", "e5m2"}, "100": {"e4m3", "e5m2", "e3m2", "e2m1"}}
    codes = {f"cvt.rn.satfinite.{one}x2.f32" for one in to_codes.get(architecture, ())}
    codes |= {"mul.rn.f32"} if codes else set()
    assert codes <= floats
    floats -= codes
    floats = {re.sub(r"(?<=[su])\d+$", "", one) for one in floats - halves}
    assert floats <= {"cvt.rn.f32.s", "cvt.rn.f32.u"}
    for name, counts in found.items():
        is_wide = {what for what in ("ld", "st") if f"{what}.global.v4.b32" in counts}
        if name.startswith(("e4m3", "e2m1")) and "odd" not in name:
            # Of columns a thread of such a tile has two neighbours, and all 16 below each.
            assert is_wide | ({"ld"} if "columns" in name else set()) == {"ld", "st"}, name
        elif "odd" in name:  # where the tensor's address is not of 16 bytes
            assert "ld.global.v4.b32" not in counts


def test_the_formats_are_those_of_mxref() -> None:
    """The kernels' own table, which is copied with them."""
    text = (ROOT / "tools" / "fastpath" / "triton" / "mx_kernels.py").read_text("utf-8")
    number = r"(-?(?:0x)?[\dA-F]+)"
    rows = re.findall(
        rf'"(\w+)": Kind\(BITS={number}, FRACTION={number}, EMIN={number}, LARGEST={number}\)', text
    )
    blocks = {fmt.element.name: fmt for fmt in BLOCK_FORMATS.values()}
    assert {name for name, *_ in rows} == blocks.keys()
    for name, bits, fraction, emin, largest in rows:
        fmt = blocks[name].element
        assert blocks[name].elements_per_block == 32
        assert (int(bits), int(fraction)) == (fmt.bits, fmt.mantissa_bits)
        assert name == "int8" or int(emin) == fmt.emin
        assert int(largest, 16) == fmt.max_code
    four = OTHER_BLOCK_FORMATS["nvfp4"]
    assert (four.element.name, four.elements_per_block) == ("e2m1", 16)
    assert 'FORMATS["e2m1"]._replace(SIZE=16, SCALE=FORMATS["e4m3"])' in text
