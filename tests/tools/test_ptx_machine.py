"""What the interpreter of PTX refuses where hardware would go on, and how lanes come together."""

from __future__ import annotations

import ast
import io
import tokenize

import numpy as np
import pytest
from helpers import ROOT
from ptx import FaultError, Launch, Memory, parse, run
from ptx.machine import Machine

HEAD = """
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 16 .b8 tile[512];
  .local .align 4 .b8 own[8];
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  shl.b32 %r6, %r1, 2; mov.u32 %r7, tile; add.s32 %r7, %r7, %r6;
"""
SHUFFLE = "shfl.sync.bfly.b32 %r2, %r1, 1, 31, {mask};"


def ran(body: str, threads: int = 64, blocks: int = 1, outside: int = 0) -> list[int]:
    """The words that a kernel of some blocks stores, of which the first ones are its input."""
    (kernel,) = parse(f"{HEAD}{body}\nret;\n}}").values()
    memory = Memory()
    given = memory.add(np.arange(threads, dtype=np.uint32))
    out = memory.add(np.zeros(threads, np.uint32), known=False)
    pointers = [np.array([x], "<u8").tobytes() for x in (given + outside, out)]
    run(kernel, [Launch((blocks, 1, 1), (threads, 1, 1), pointers)], memory)
    return list(map(int, memory.read(out).view(np.uint32)))


#: What a kernel does, and what is said of it; nothing where it is right.
CHECKS = [
    ("ld.global.u32 %r2, [%rd4]; st.global.u32 [%rd5], %r2;", ""),
    ("ld.global.u32 %r2, [%rd4+4];", "out of bounds"),
    ("ld.global.u32 %r2, [%rd4+-4];", "out of bounds"),
    ("ld.global.u32 %r2, [%rd4+2];", "not a multiple of 4"),
    ("ld.global.v2.u32 {%r2, %r3}, [%rd4];", "not a multiple of 8"),
    ("ld.global.u32 %r2, [%rd5];", "has not been written"),
    ("st.global.u32 [%rd5], %r1; ld.global.u32 %r2, [%rd5];", "this launch stores"),
    ("st.global.u32 [%rd2], %r1;", "two lanes store different values"),
    ("mov.u32 %r2, 7; st.global.u32 [%rd2], %r2;", ""),
    ("st.global.u32 [%rd5], %r1; st.global.u32 [%rd5], %r6;", "different values are stored"),
    ("add.s32 %r2, %r3, 1;", "%r3 is read before it is written"),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r3, 1; mov.u32 %r2, %r3;", "before it is written"),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r3, 1; @!%p1 mov.u32 %r3, 2; mov.u32 %r2, %r3;", ""),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 mov.u32 %r3, 1; mov.b64 %rd6, {%r1, %r3};", "before it is"),
    ("ld.local.u32 %r2, [own];", "has not been written"),
    ("st.local.u32 [own+4], %r1; ld.local.u32 %r2, [own+4];", ""),
    ("st.local.u32 [own+8], %r1;", "beyond the 8 bytes of .local"),
    ("st.shared.u32 [tile+512], %r1;", "beyond the 512 bytes of .shared"),
    ("ld.shared.u32 %r2, [%r7];", "has not been written"),
    ("st.shared.u32 [%r7], %r1; ld.shared.u32 %r2, [%r7];", ""),
    ("st.shared.u32 [%r7], %r1; ld.shared.u32 %r2, [tile];", "a race: a load"),
    ("st.shared.u32 [%r7], %r1; bar.sync 0; ld.shared.u32 %r2, [tile];", ""),
    ("st.shared.u32 [%r7], %r1; bar.sync 0; ld.shared.u32 %r2, [tile]; st.shared.u32 [%r7], %r2;",
     "a race: a store"),
    ("st.shared.u32 [tile], %r1;", "two lanes store different values"),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 bra $on; bar.sync 0; $on:", "does not come"),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 bra $on; bar.sync 0; bra $off; $on: bar.sync 0; $off:",
     "does not come"),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 bra.uni $on; $on:", "diverges"),
    (SHUFFLE.format(mask=-1), ""),
    ("redux.sync.max.s32 %r2, %r1, -1;", ""),
    ("redux.sync.max.s32 %r2, %r1, 15;", "lacks a lane"),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 bra $on; redux.sync.max.s32 %r2, %r1, -1; $on:", "not come"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r7];", "not a multiple of 16"),
    ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [tile];", "has not been written"),
    ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [tile], {%r1};", "two lanes store different"),
    (SHUFFLE.format(mask=1), "lacks a lane that executes it"),
    ("setp.lt.u32 %p1, %r1, 5; @%p1 bra $on;" + SHUFFLE.format(mask=-1) + "$on:", "does not come"),
    ("mov.u32 %r2, 3; mov.u32 %r3, %laneid; and.b32 %r3, %r3, 30; shl.b32 %r2, %r2, %r3;"
     "shfl.sync.bfly.b32 %r2, %r1, 2, 31, %r2;", "its mask does not name"),
    ("mov.u32 %r2, 3; mov.u32 %r3, %laneid; and.b32 %r3, %r3, 30; shl.b32 %r2, %r2, %r3;"
     "shfl.sync.bfly.b32 %r2, %r1, 1, 31, %r2;", ""),
    ("div.u32 %r2, %r1, %r1;", "division by zero"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "said"), CHECKS)
def test_what_is_refused(body: str, said: str) -> None:
    if not said:
        ran(body)
        return
    with pytest.raises((FaultError, ValueError), match=said):
        ran(body)


def test_an_address_beside_all_windows_is_refused() -> None:
    with pytest.raises(FaultError, match="out of bounds"):
        ran("ld.global.u32 %r2, [%rd4];", outside=1 << 32)


@pytest.mark.parametrize(
    ("mode", "by", "clamp", "want"),
    [
        ("bfly", 1, 31, lambda i: i ^ 1),
        ("bfly", 16, 31, lambda i: i ^ 16),
        ("up", 3, 0, lambda i: i - 3 if i % 32 >= 3 else i),
        ("down", 3, 31, lambda i: i + 3 if i % 32 < 29 else i),
        ("down", 3, 0x181F & 0x1807 | 0x1800, lambda i: i + 3 if i % 8 < 5 else i),
        ("idx", 5, 31, lambda i: i // 32 * 32 + 5),
    ],
)
def test_shuffles(mode: str, by: int, clamp: int, want: object) -> None:
    body = f"shfl.sync.{mode}.b32 %r2|%p1, %r1, {by}, {clamp}, -1; st.global.u32 [%rd5], %r2;"
    assert ran(body) == [want(i) for i in range(64)]  # type: ignore[operator]


def test_the_largest_of_a_warp() -> None:
    """Signed: 5 - lane goes below zero."""
    body = "sub.s32 %r3, 5, %r1; redux.sync.max.s32 %r2, %r3, -1; st.global.u32 [%rd5], %r2;"
    assert ran(body) == [5] * 32 + [2**32 - 27] * 32


@pytest.mark.parametrize("turned", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_of_a_warp(count: int, turned: str) -> None:
    """ISA, figures of the fragments: lane l has row l / 4 and columns 2 (l mod 4) and one more."""
    names = ", ".join(["%r2", "%r3", "%r4", "%r5"][:count])
    kind = f"sync.aligned.m8n8.x{count}{turned}.shared.b16"
    # Word i of the tile is i, so number k of row r of matrix m is in word 4 (8 m + r) + k / 2.
    fill = "".join(
        f"add.s32 %r8, %r1, {32 * i}; st.shared.u32 [%r7+{128 * i}], %r8;" for i in range(4)
    )
    at = "and.b32 %r8, %r1, 31; shl.b32 %r8, %r8, 4; mov.u32 %r6, tile; add.s32 %r8, %r8, %r6;"
    load = f"ldmatrix.{kind} {{{names}}}, [%r8];"
    for m in range(count):
        store = f"st.global.u32 [%rd5], %r{2 + m};"
        got = ran(f"{fill} bar.sync 0; {at} {load} {store}", threads=32)
        want = np.zeros((8, 8), np.uint16)
        want[:, ::2] = np.arange(32).reshape(8, 4) + 32 * m
        want = want.T if turned else want
        assert got == np.ascontiguousarray(want).view(np.uint32).reshape(-1).tolist()
    words = [f"%r{i}" for i in range(2, 2 + count)]
    give = "".join(
        f"mad.lo.s32 {word}, %r1, 65537, {131072 * i + 1};" for i, word in enumerate(words)
    )
    for m in range(count):
        read = f"bar.sync 0; ld.shared.u32 %r8, [%r7+{128 * m}]; st.global.u32 [%rd5], %r8;"
        got = ran(f"{give} {at} stmatrix.{kind} [%r8], {{{names}}}; {read}", threads=32)
        held = np.array([i * 65537 + 131072 * m + 1 for i in range(32)], np.uint32)
        lines = held.view(np.uint16).reshape(8, 8)
        assert (
            got
            == np.ascontiguousarray(lines.T if turned else lines).view(np.uint32).ravel().tolist()
        )


def test_half_of_a_register_may_be_nothing() -> None:
    """LLVM joins what it needs with a register that nothing writes; its bits are none of zero."""
    join = "mov.b64 %rd6, {%r1, %r3}; mov.b64 {%r4, %r5}, %rd6;"
    assert ran(f"{join} st.global.u32 [%rd5], %r4;") == [*range(64)]
    assert ran(f"{join} st.global.u32 [%rd5], %r5;") == [0xA5A5A5A5] * 64


def test_lanes_that_come_late_are_waited_for() -> None:
    """Half of each warp takes a way that lies behind the shuffle in the text."""
    body = (
        "and.b32 %r3, %r1, 1; setp.eq.s32 %p1, %r3, 0; mov.u32 %r4, %r1; @%p1 bra $late;"
        f"$on: {SHUFFLE.format(mask=-1)} st.global.u32 [%rd5], %r2; ret;"
        "$late: add.s32 %r4, %r4, 100; bra $on;"
    )
    assert ran(body) == [i ^ 1 for i in range(64)]


def test_a_loop_goes_round_as_often_as_each_lane_asks() -> None:
    body = (
        "mov.u32 %r2, 0; mov.u32 %r3, 0; $again: add.s32 %r2, %r2, %r1; add.s32 %r3, %r3, 1;"
        "setp.lt.u32 %p1, %r3, %r1; @%p1 bra $again; st.global.u32 [%rd5], %r2;"
    )
    assert ran(body) == [i * max(i, 1) for i in range(64)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("foo.b32 %r1, %r1;", "foo"),
        ("add.sat.s32 %r1, %r1, 1;", "modifiers"),
        ("cvt.rz.f16.f32 %r1, %r1;", "not known"),
        ("ld.global.cg.foo.u32 %r1, [%rd4];", "modifiers"),
        ("mov.u64 %rd1, %r1;", "too narrow"),
    ],
)
def test_what_is_not_known_is_refused_and_not_guessed(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ran(text)


@pytest.mark.parametrize(
    ("write", "read"),
    [
        ("mov.u32 %r3, 1;", "mov.u32 %r2, %r3;"),
        ("st.shared.u32 [%r7], %r1;", "ld.shared.u32 %r2, [%r7];"),
        ("st.local.u32 [own], %r1;", "ld.local.u32 %r2, [own];"),
    ],
)
def test_nothing_is_left_of_the_run_before(write: str, read: str) -> None:
    body = f"ld.global.u32 %r4, [%rd4]; setp.eq.u32 %p1, %r4, 0; @%p1 {write} {read}"
    (kernel,) = parse(f"{HEAD}{body}\nret;\n}}").values()
    machine = Machine(kernel)

    def runs(word: int) -> None:
        memory = Memory()
        given = memory.add(np.full(32, word, np.uint32))
        pointers = [np.array([given], "<u8").tobytes()] * 2
        machine.run([Launch((1, 1, 1), (32, 1, 1), pointers)], memory)

    runs(0)
    with pytest.raises(FaultError, match=r"read before it is written|has not been written"):
        runs(1)


#: Tokens that are no code.
IGNORED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
#: What is the interpreter; the rest of the folder are kernels, and what they are asked.
INTERPRETER = ("parse", "memory", "access", "operands", "floats", "opcodes", "warps", "machine")


def test_the_interpreter_is_small_enough_to_be_read() -> None:
    """At most 1,200 lines of code: without empty lines, comments and docstrings."""
    lines = set()
    for name in INTERPRETER:
        text = (ROOT / "tools" / "gpu" / "ptx" / f"{name}.py").read_text("utf-8")
        documented = {
            line
            for one in ast.walk(ast.parse(text))
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            for line in range(one.lineno, (one.end_lineno or 0) + 1)
        }
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in IGNORED and token.start[0] not in documented:
                lines |= {(name, line) for line in range(token.start[0], token.end[0] + 1)}
    assert len(lines) <= 1200
