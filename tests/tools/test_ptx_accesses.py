"""Loads and stores of the interpreter of PTX, and moves between memories, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ptx import Launch, Memory, parse, run
from ptx.opcodes import OPCODES

THREADS = 16
#: Memory, how many words, whether they have a sign, and the bits of one.
ACCESSES = [
    (space, count, sign, bits)
    for space in ("global", "shared", "local")
    for bits in (8, 16, 32, 64)
    for count in (1, 2, 4)
    for sign in "us"
    if count * bits <= 128
]
LISTED = (Path(__file__).parent / "data" / "ptx_instructions.txt").read_text("ascii").split()


def names(space: str, count: int, sign: str, bits: int) -> tuple[str, str]:
    """A load and a store; a store has no sign."""
    vector = "" if count == 1 else f"v{count}."
    return f"ld.{space}.{vector}{sign}{bits}", f"st.{space}.{vector}u{bits}"


def address(x: int) -> bytes:
    return np.array([x], "<u8").tobytes()


@pytest.mark.parametrize(("space", "count", "sign", "bits"), ACCESSES)
def test_what_is_loaded_is_what_was_stored(space: str, count: int, sign: str, bits: int) -> None:
    """Words go from global memory to another place, and from there to registers of 64 bits."""
    size, (load, store) = count * bits // 8, names(space, count, sign, bits)
    first, _ = names("global", count, sign, bits)
    registers = ", ".join(f"%y{i}" for i in range(count))
    some = registers if count == 1 else f"{{{registers}}}"
    place = "%a4" if space == "global" else "%a5"
    lines = [
        ".reg .b64 %a<7>; .reg .b64 %y<4>; .reg .b32 %t;",
        f".shared .align 16 .b8 there[{THREADS * size}]; .local .align 16 .b8 mine[{size}];",
        "ld.param.u64 %a1, [in]; ld.param.u64 %a2, [out]; ld.param.u64 %a4, [to];",
        f"mov.u32 %t, %tid.x; mul.wide.u32 %a3, %t, {size}; add.s64 %a1, %a1, %a3;",
        "add.s64 %a4, %a4, %a3;",
        "mov.u64 %a5, mine;" if space == "local" else "mov.u64 %a5, there; add.s64 %a5, %a5, %a3;",
        f"{first} {some}, [%a1]; {store} [{place}], {some};",
        f"mul.wide.u32 %a3, %t, {8 * count}; add.s64 %a2, %a2, %a3;",
        "" if space == "global" else f"{load} {some}, [{place}];",
        *(f"st.global.u64 [%a2+{8 * i}], %y{i};" for i in range(count)),
    ]
    head = ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 to)"
    (kernel,) = parse(f"{head} {{ {' '.join(lines)} ret; }}").values()
    given = np.random.default_rng(bits).integers(0, 256, THREADS * size, np.uint8)
    memory = Memory()
    source, to = memory.add(given), memory.add(np.zeros(len(given), np.uint8), known=False)
    out = memory.add(np.zeros(THREADS * count, np.uint64), known=False)
    arguments = [address(x) for x in (source, out, to)]
    run(kernel, [Launch((1, 1, 1), (THREADS, 1, 1), arguments)], memory)
    kind = np.dtype(f"{'i' if sign == 's' else 'u'}{bits // 8}")
    want = given.view(kind).astype(np.int64).view(np.uint64)
    assert memory.read(out).view(np.uint64).tolist() == want.tolist()
    if space == "global":
        assert memory.read(to).tolist() == given.tolist()


def test_parameters_of_each_width() -> None:
    """Each lies where its alignment puts it; what is loaded is not extended."""
    head = ".visible .entry k(.param .u8 a, .param .u32 b, .param .u64 c, .param .u64 out)"
    body = (
        ".reg .b16 %x; .reg .b32 %y; .reg .b64 %z<3>; ld.param.u8 %x, [a]; ld.param.u32 %y, [b];"
        "ld.param.u64 %z1, [c]; ld.param.u64 %z2, [out]; st.global.u8 [%z2], %x;"
        "st.global.u32 [%z2+4], %y; st.global.u64 [%z2+8], %z1; ret;"
    )
    (kernel,) = parse(f"{head} {{ {body} }}").values()
    memory = Memory()
    out = memory.add(np.zeros(16, np.uint8), known=False)
    parts = [b"\xf1", b"\x01\x02\x03\x84", bytes(range(200, 208))]
    run(kernel, [Launch((1, 1, 1), (1, 1, 1), [*parts, address(out)])], memory)
    assert bytes(memory.read(out)) == parts[0] + bytes(3) + parts[1] + parts[2]


#: What `test_ptx_machine.py` has: the ways of lanes, and what they wait for.
WAYS = {"bra", "bra.uni", "ret", "bar.sync", "shfl.sync.bfly.b32"}


def test_every_access_of_the_kernels_has_a_test() -> None:
    tested = {name for one in ACCESSES for name in names(*one)}
    tested |= WAYS | {f"ld.param.u{bits}" for bits in (8, 32, 64)}
    others = {name for name in LISTED if name.split(".")[0] not in {*OPCODES, "mov"}}
    assert " ".join(sorted(others - tested)) == ""
