"""The machine code of the CUDA kernels: what it costs an element stays what is committed."""

from __future__ import annotations

import json
from itertools import product

import pytest
from helpers import ROOT
from needs import absent
from sass_counts import COUNTS, MOST_SLOTS, count, disassembled, grown, missing, with_stacks
from sass_kernels import KERNELS
from sass_path import cheapest_path, counted, kernels
from sass_table import GPUS, LEAST_SHARES, TURNS, predicted_share, table

SHARES = 6

#: A loop whose rare way is cheaper but stores nothing, and a reconvergence.
LISTING = (ROOT / "tests" / "tools" / "data" / "listing.sass").read_text("ascii")


def test_what_is_counted() -> None:
    (kernel,) = kernels(LISTING)
    path = cheapest_path(kernel, (1, 128), (1, 128))
    assert [code.address // 16 for code in path] == [1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    # SHFL 2, F2FP 1, LOP3 1.
    assert counted(path, 2) == {
        **{"issued": 6, "slots": 2, "conversion": 0.5, "multiplier": 1, "memory": 1},
        **{"constants": 0, "uniform": 0, "branches": 3},
    }
    whole = cheapest_path(kernel, (1, 128), (1, 128), whole=True)
    assert (whole[0].name, whole[-1].name, len(whole)) == ("LDC", "EXIT", 14)
    with pytest.raises(ValueError, match="2 loads of 128 bits, 1 stores of 128 and 0 of a byte"):
        cheapest_path(kernel, (2, 128), (1, 128))


def test_a_warp_stores_the_scales_that_half_of_its_threads_have() -> None:
    store = "        /*00c8*/                   STG.E.U8 desc[UR4][R2.64], R8 ;\n"
    skips = "        /*00c4*/              @P3  BRA `(.L_x_9) ;\n"
    before, at, after = LISTING.partition("        /*00d0*/")
    (kernel,) = kernels(f"{before}{skips}{store}.L_x_9:\n{at}{after}")
    without, with_it = (cheapest_path(kernel, (1, 128), (1, 128), scales) for scales in (0, 1))
    assert len(with_it) == len(without) + 1
    assert [code.bits for code in with_it if code.name == "STG"] == [8, 128]
    with pytest.raises(ValueError, match="and 2 of a byte"):
        cheapest_path(kernel, (1, 128), (1, 128), 2)


def test_what_a_share_is() -> None:
    """Of an H100, which copies 13.4 bytes a clock: 128 instructions or 64 slots in that time."""
    watched, gpu = KERNELS[1], GPUS["H100"]
    assert (watched.name, watched.bytes) == ("quantize e4m3 bf16 conversions sm_90", 3 + 1 / 32)
    most = 128 * watched.bytes / (3.0e12 / 132 / 1.7e9)
    issued = {"issued": 2 * most, "issued_once": 2 * most, "slots": 1, "slots_once": 1}
    assert predicted_share(watched, issued, gpu) == pytest.approx(0.5)
    once = {"issued": most, "issued_once": most * (1 + TURNS), "slots": 1, "slots_once": 1}
    assert predicted_share(watched, once, gpu) == pytest.approx(0.5)
    slots = {"issued": 1, "issued_once": 1, "slots": most, "slots_once": most}
    assert predicted_share(watched, slots, gpu) == pytest.approx(0.5)
    (both,) = [one for one in KERNELS if one.name == "both nvfp4 packed bf16 conversions sm_100a"]
    assert both.bytes == 2 + 2 * (1 / 2 + 1 / 16)


def test_what_has_grown() -> None:
    before = {"a": {"slots": 10.0, "spills": 0.0}}
    assert grown({"a": {"slots": 11.0, "spills": 0.0}}, before) == []
    assert grown({"a": {"slots": 11.1, "spills": 8.0}}, before) == [
        "a spills 8 bytes",
        "a: slots has grown from 10.0 to 11.1",
        "a: spills has grown from 0.0 to 8.0",
    ]
    assert grown({"b": {"spills": 0.0}}, before) == ["a is not in both", "b is not in both"]


def test_the_budget() -> None:
    """Slots for an element of which the kernels may have at most so many."""
    committed = json.loads(COUNTS.read_text())
    assert list(committed) == [kernel.name for kernel in KERNELS]
    for name, counts in committed.items():
        words = name.split()
        if words[0] != "quantize":
            continue
        how = "conversions" if "conversions" in words else "integers"
        most = MOST_SLOTS["float32" if "f32" in words else "16 bits", how]
        assert counts["slots_once"] <= most, name
        assert counts["spills"] == 0, name


def test_the_shares() -> None:
    """NVFP4 on a B200, which instructions bind."""
    committed = json.loads(COUNTS.read_text())
    named = {kernel.name: kernel for kernel in KERNELS}
    for (name, gpu), least in LEAST_SHARES.items():
        assert predicted_share(named[name], committed[name], GPUS[gpu]) >= least, name


def need_tools() -> None:
    if (name := missing()) is not None:
        absent(f"{name} must be installed")


def test_the_page_has_the_counts() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    assert table(json.loads(COUNTS.read_text())) in page


@pytest.mark.sampled(SHARES)
@pytest.mark.parametrize("share", range(SHARES))
def test_no_kernel_has_grown(share: int) -> None:
    need_tools()
    watched = KERNELS[share::SHARES]
    committed = json.loads(COUNTS.read_text())
    assert grown(count(watched), {kernel.name: committed[kernel.name] for kernel in watched}) == []


#: By format how many kernels it has: three float types, for each encoder both kinds, and back; by
#: chance but for NVFP4; packed or not below eight bits.
FORMATS = {"E5M2": 18, "E4M3": 18, "Int8": 18, "E3M2": 36, "E2M3": 36, "E2M1": 36, "NVFP4": 30}


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    ("element", "target"),
    [*product(FORMATS, ["sm_90", "sm_100f", "sm_120a"]), *product(["E2M3"], ["sm_80", "sm_89"])],
)
def test_no_kernel_has_a_stack(element: str, target: str) -> None:
    """Arrays that a loop indexes lie there where it is not unrolled: packed FP6 once did."""
    need_tools()
    assert with_stacks(element, target) == (FORMATS[element], [])


@pytest.mark.sampled(0)
@pytest.mark.parametrize("target", ["sm_90", "sm_100a"])
def test_fast_math_changes_nothing(target: str) -> None:
    """No number is flushed to zero, not even by a minus sign: the same machine code."""
    need_tools()
    some = [kernel for kernel in KERNELS if kernel.target == target]
    code, _ = disassembled(target, some)
    assert "FMUL" in code
    assert ".FTZ" not in code.replace("MUFU.RCP.FTZ", "")
    fast, _ = disassembled(target, some, "-use_fast_math")
    assert [one.code for one in kernels(fast)] == [one.code for one in kernels(code)]


@pytest.mark.sampled(0)
@pytest.mark.parametrize("target", ["sm_90", "sm_100a"])
def test_warps_do_not_part(target: str) -> None:
    """All lanes come to a shuffle; blocks of zeros, and ties of their scales, go the common way.

    What is left is whether a thread is inside, and in both directions once for each.
    """
    need_tools()
    some = [one for one in KERNELS if one.target == target and "e4m3 bf16" in one.name]
    some += [one for one in KERNELS if one.target == target and " nvfp4 " in one.name]
    some = [one for one in some if not one.name.startswith("dequantize")]
    code = kernels(disassembled(target, some)[0])
    assert len(code) == len(some) > 3
    for kernel in code:
        assert not any(one.name == "WARPSYNC" for one in kernel.code), kernel.name
        if "NVFP4" in kernel.name:
            parts = sum(one.name == "BSSY" for one in kernel.code)
            assert parts <= (3 if "both" in kernel.name else 1), kernel.name


@pytest.mark.sampled(0)
def test_conversions_are_used_where_the_architecture_has_them() -> None:
    need_tools()
    used = {}
    for name in ("quantize e4m3 bf16 conversions sm_90", "quantize e2m1 packed bf16 conversions"):
        (some, *_) = [kernel for kernel in KERNELS if kernel.name.startswith(name)]
        for target in ("sm_80", "sm_89", "sm_90a", "sm_100", "sm_100f", "sm_120a"):
            code = disassembled(target, [some])[0]
            used[name.split()[1], target] = "F2FP.SATFINITE" in code or "F2FP.S" in code
    assert [target for (name, target), is_used in used.items() if name == "e4m3" and is_used] == [
        *("sm_89", "sm_90a", "sm_100", "sm_100f", "sm_120a")
    ]
    assert [target for (name, target), is_used in used.items() if name == "e2m1" and is_used] == [
        *("sm_100f", "sm_120a")
    ]
