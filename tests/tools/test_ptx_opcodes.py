"""Each instruction of the interpreter of PTX, against Python's integers and fractions, or peers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from ptx import Launch, Memory, parse, run
from ptx.opcodes import OPCODES

Array = NDArray[Any]
KINDS = {1: "pred", 8: "b8", 16: "b16", 32: "b32", 64: "b64"}
#: float32 patterns: zeros, subnormal numbers, ones, ties, the largest, infinities and NaN.
FLOATS = [
    sign | x
    for sign in (0, 1 << 31)
    for x in (0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x3F800001, 0x40400000, 0x4B7FFFFF, 0x33800000,
              0x34000001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x1F800000, 0x5F7FFFFF, 0x3EAAAAAB)
]  # fmt: skip


def edges(bits: int) -> list[int]:
    if bits == 1:
        return [0, 1]
    some = {1, 3, 0x5A, 0x80, 0x1234567890ABCDEF} | {1 << k for k in range(0, bits, 7)}
    return sorted({x % (1 << bits) for one in some for x in (one, -one, one - 1)})


def computed(text: str, result: int, columns: list[tuple[int, list[int]]]) -> list[int]:
    """What an instruction gives: a thread for each row of the columns, which have so many bits."""
    names = [f"%x{i}" for i in range(len(columns))]
    lines = [".reg .b64 %a<9>;", ".reg .b32 %t;", ".reg .b64 %w;", "mov.u32 %t, %tid.x;"]
    lines.append("cvt.u64.u32 %w, %t;")
    memory, arguments, store = Memory(), [], max(result, 8)
    for i, (bits, values) in enumerate(columns):
        array = np.array(values, np.uint64).astype(f"u{max(bits, 8) // 8}")
        arguments.append(memory.add(array))
        width = array.itemsize
        lines += [f"ld.param.u64 %a{i}, [p{i}];", f"mad.lo.s64 %a{i}, %w, {width}, %a{i};"]
        if bits == 1:
            lines += [f".reg .b16 %y{i};", f".reg .pred %x{i};", f"ld.global.u8 %y{i}, [%a{i}];"]
            lines.append(f"setp.ne.s16 %x{i}, %y{i}, 0;")
        else:
            kind = "b16" if bits == 8 else KINDS[bits]
            lines += [f".reg .{kind} %x{i};", f"ld.global.u{8 * width} %x{i}, [%a{i}];"]
    lines += [f".reg .{KINDS[result]} %r;", text.format("%r", *names) + ";"]
    count = len(columns[0][1])
    out = memory.add(np.zeros(count * store // 8, np.uint8), known=False)
    lines += ["ld.param.u64 %a8, [out];", f"mad.lo.s64 %a8, %w, {store // 8}, %a8;"]
    if result == 1:
        lines += [".reg .b16 %z;", "selp.b16 %z, 1, 0, %r;", "st.global.u8 [%a8], %z;"]
    else:
        lines.append(f"st.global.u{store} [%a8], %r;")
    parameters = ", ".join([*(f".param .u64 p{i}" for i in range(len(columns))), ".param .u64 out"])
    (kernel,) = parse(
        f".visible .entry k({parameters})\n{{\n{chr(10).join(lines)}\nret;\n}}"
    ).values()
    pointers = [np.array([at], "<u8").tobytes() for at in (*arguments, out)]
    run(kernel, [Launch((1, 1, 1), (count, 1, 1), pointers)], memory)
    return list(map(int, memory.read(out).view(f"u{store // 8}")))


def signed(x: int, bits: int) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def permuted(a: int, b: int, selector: int) -> int:
    pool = (a | b << 32).to_bytes(8, "little")
    chosen = [(pool[selector >> 4 * i & 7], selector >> 4 * i & 8) for i in range(4)]
    return int.from_bytes(bytes(0xFF * (x >> 7) if sign else x for x, sign in chosen), "little")


def inserted(a: int, b: int, at: int, n: int) -> int:
    mask = ((1 << n) - 1) << at if at < 64 else 0
    return b & ~mask | a << at & mask


def half_magnitude(a: int) -> int:
    return 0x7FFF if a & 0x7FFF > 0x7C00 else a & 0x7FFF


def signed_field(a: int, at: int, n: int) -> int:
    """Bits from `at` on; above the last of them, or of all, its copies."""
    if n % 256 == 0:
        return 0
    bits = [a >> min(at % 256 + i, 31) & 1 for i in range(min(n % 256, 32))]
    return signed(sum(bit << i for i, bit in enumerate(bits)), len(bits))


def halves(choose: Callable[[int, int], int], a: int, b: int) -> int:
    return choose(a >> 16, b >> 16) << 16 | choose(a & 0xFFFF, b & 0xFFFF)


#: An instruction, bits of its result and of its operands, and what Python makes of these.
INTEGERS: list[tuple[str, int, tuple[int, ...], Callable[..., int]]] = [
    *((f"{op}.s{n} {{}}, {{}}, {{}}", n, (n, n), f) for n in (16, 32, 64) for op, f in (
        ("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul.lo", lambda a, b: a * b))),
    ("mul.wide.u16 {}, {}, {}", 32, (16, 16), lambda a, b: a * b),
    ("mul.wide.u32 {}, {}, {}", 64, (32, 32), lambda a, b: a * b),
    ("mul.wide.s32 {}, {}, {}", 64, (32, 32), lambda a, b: signed(a, 32) * signed(b, 32)),
    ("mul.hi.u32 {}, {}, {}", 32, (32, 32), lambda a, b: a * b >> 32),
    ("mul.hi.s32 {}, {}, {}", 32, (32, 32), lambda a, b: signed(a, 32) * signed(b, 32) >> 32),
    ("mul.hi.u64 {}, {}, {}", 64, (64, 64), lambda a, b: a * b >> 64),
    *((f"mad.lo.s{n} {{}}, {{}}, {{}}, 7", n, (n, n), lambda a, b: a * b + 7) for n in (32, 64)),
    ("mad.wide.u32 {}, {}, {}, 7", 64, (32, 32), lambda a, b: a * b + 7),
    ("div.u32 {}, 1000003, {}", 32, (32,), lambda b: 1000003 // b if b else -1),
    ("rem.u64 {}, {}, 1000", 64, (64,), lambda a: a % 1000),
    ("div.s32 {}, {}, -7", 32, (32,), lambda a: toward_zero(signed(a, 32), -7)),
    ("rem.s32 {}, {}, 7", 32, (32,), lambda a: signed(a, 32) - 7 * toward_zero(signed(a, 32), 7)),
    *((f"{op}.{s}{n} {{}}, {{}}, {{}}", n, (n, n), f) for n in (16, 32, 64) for op, s, f in (
        ("min", "u", min), ("max", "u", max))),
    ("min.s32 {}, {}, {}", 32, (32, 32), lambda a, b: min(signed(a, 32), signed(b, 32))),
    ("max.s32 {}, {}, {}", 32, (32, 32), lambda a, b: max(signed(a, 32), signed(b, 32))),
    ("max.u16x2 {}, {}, {}", 32, (32, 32), lambda a, b: halves(max, a, b)),
    ("neg.s32 {}, {}", 32, (32,), lambda a: -a),
    ("abs.s32 {}, {}", 32, (32,), lambda a: abs(signed(a, 32))),
    ("abs.f16 {}, {}", 16, (16,), half_magnitude),
    ("abs.f16x2 {}, {}", 32, (32,),
     lambda a: half_magnitude(a >> 16) << 16 | half_magnitude(a & 0xFFFF)),
    ("abs.f32 {}, {}", 32, (32,),
     lambda a: 0x7FFFFFFF if a & 0x7FFFFFFF > 0x7F800000 else a & 0x7FFFFFFF),
    ("clz.b32 {}, {}", 32, (32,), lambda a: 32 - a.bit_length()),
    ("clz.b64 {}, {}", 32, (64,), lambda a: 64 - a.bit_length()),
    ("popc.b32 {}, {}", 32, (32,), int.bit_count),
    *((f"bfe.s32 {{}}, {{}}, {at}, {n}", 32, (32,), partial(signed_field, at=at, n=n))
      for at, n in ((0, 0), (0, 1), (4, 1), (6, 7), (0, 32), (30, 5), (31, 1), (40, 3), (260, 8))),
    *((f"and.b{n} {{}}, {{}}, {{}}", n, (n, n), lambda a, b: a & b) for n in (16, 32, 64)),
    *((f"or.b{n} {{}}, {{}}, {{}}", n, (n, n), lambda a, b: a | b) for n in (16, 32, 64)),
    *((f"xor.b{n} {{}}, {{}}, {{}}", n, (n, n), lambda a, b: a ^ b) for n in (16, 32, 64)),
    ("not.b32 {}, {}", 32, (32,), lambda a: ~a),
    ("and.pred {}, {}, {}", 1, (1, 1), lambda a, b: a & b),
    ("or.pred {}, {}, {}", 1, (1, 1), lambda a, b: a | b),
    ("xor.pred {}, {}, {}", 1, (1, 1), lambda a, b: a ^ b),
    ("not.pred {}, {}", 1, (1,), lambda a: 1 - a),
    *((f"shl.b{n} {{}}, {{}}, {{}}", n, (n, 32), lambda a, b, n=n: a << min(b, n))
      for n in (32, 64)),
    *((f"shr.u{n} {{}}, {{}}, {{}}", n, (n, 32), lambda a, b, n=n: a >> min(b, n))
      for n in (16, 32, 64)),
    *((f"shr.s{n} {{}}, {{}}, {{}}", n, (n, 32), lambda a, b, n=n: signed(a, n) >> min(b, n))
      for n in (16, 32, 64)),
    ("shf.l.wrap.b32 {}, {}, {}, {}", 32, (32, 32, 32),
     lambda a, b, c: (b << 32 | a) << c % 32 >> 32),
    ("shf.r.wrap.b32 {}, {}, {}, {}", 32, (32, 32, 32), lambda a, b, c: (b << 32 | a) >> c % 32),
    ("lop3.b32 {}, {}, {}, {}, 0xca", 32, (32, 32, 32), lambda a, b, c: a & b | ~a & c),
    ("bfe.u32 {}, {}, 8, 8", 32, (32,), lambda a: a >> 8 & 255),
    *((f"bfe.u64 {{}}, {{}}, {at}, {n}", 64, (64,), lambda a, at=at, n=n: a >> at & (1 << n) - 1)
      for at, n in ((0, 0), (29, 32), (0, 64), (60, 9), (64, 1), (70, 3), (3, 200))),
    ("bfe.u32 {}, {}, {}, {}", 32, (32, 32, 32),
     lambda a, b, c: a >> b % 256 & ((1 << c % 256) - 1)),
    ("bfi.b64 {}, {}, {}, 8, 24", 64, (64, 64), lambda a, b: inserted(a, b, 8, 24)),
    ("prmt.b32 {}, {}, {}, {}", 32, (32, 32, 32), permuted),
    ("selp.b32 {}, {}, {}, {}", 32, (32, 32, 1), lambda a, b, p: a if p else b),
    ("copysign.f32 {}, {}, {}", 32, (32, 32), lambda a, b: a & 1 << 31 | b & ~(1 << 31)),
    ("neg.f32 {}, {}", 32, (32,), lambda a: a ^ 1 << 31),
    *((f"selp.{kind} {{}}, {{}}, {{}}, {{}}", n, (n, n, 1), lambda a, b, p: a if p else b)
      for kind, n in (("b16", 16), ("u32", 32), ("f32", 32), ("b64", 64))),
    *((f"mov.{kind} {{}}, {{}}", n, (n,), lambda a: a)
      for kind, n in (("pred", 1), ("u16", 16), ("b16", 16), ("u32", 32), ("f32", 32), ("u64", 64),
                       ("b64", 64))),
    *((f"setp.eq.b{n} {{}}, {{}}, {{}}", 1, (n, n), lambda a, b: a == b) for n in (32, 64)),
    ("cvt.s16.s8 {}, {}", 16, (8,), lambda a: signed(a, 8)),
    ("shl.b16 {}, {}, {}", 16, (16, 32), lambda a, b: a << min(b, 16)),
    ("cvt.u64.u32 {}, {}", 64, (32,), lambda a: a),
    ("mov.b32 {}, {{{}, {}}}", 32, (16, 16), lambda a, b: a | b << 16),
    ("{{ .reg .b16 t; mov.b32 {{t, {}}}, {}; }}", 16, (32,), lambda a: a >> 16),
    ("cvt.u16.u32 {}, {}", 16, (32,), lambda a: a),
    ("cvt.u32.u16 {}, {}", 32, (16,), lambda a: a),
    ("cvt.s32.s16 {}, {}", 32, (16,), lambda a: signed(a, 16)),
    ("cvt.s64.s32 {}, {}", 64, (32,), lambda a: signed(a, 32)),
    ("cvt.u32.u64 {}, {}", 32, (64,), lambda a: a),
    ("cvta.to.global.u64 {}, {}", 64, (64,), lambda a: a),
    *((f"setp.{name}.{s}{n} {{}}, {{}}, {{}}", 1, (n, n),
       lambda a, b, f=f, n=n, s=s: f(signed(a, n), signed(b, n)) if s == "s" else f(a, b))
      for n in (16, 32, 64) for s in "us" for name, f in (
        ("eq", int.__eq__), ("ne", int.__ne__), ("lt", int.__lt__), ("le", int.__le__),
        ("gt", int.__gt__), ("ge", int.__ge__))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "bits", "sources", "want"), INTEGERS)
def test_integers(text: str, bits: int, sources: tuple[int, ...], want: Callable[..., int]) -> None:
    rows = list(itertools.product(*map(edges, sources)))[:: 1 if len(sources) < 3 else 7]
    if text.startswith("div.u32"):
        rows = [row for row in rows if all(row)]
    columns = [(n, [row[i] for row in rows]) for i, n in enumerate(sources)]
    got = computed(text, bits, columns)
    assert got == [int(want(*row)) % (1 << bits) for row in rows]


def exact(bits: int) -> Fraction:
    return Fraction(float(np.uint32(bits).view(np.float32)))


def is_finite(*words: int) -> bool:
    return all(word & 0x7F800000 != 0x7F800000 for word in words)


def magnitude(x: Fraction, rounding: str) -> int:
    """The float32 pattern of a positive number, by comparing it with patterns."""
    low, high = 0, 0x7F800000  # patterns are in the order of their numbers; infinity's is 2**128

    def value(bits: int) -> Fraction:
        return exact(bits) if bits < 0x7F800000 else Fraction(2) ** 128

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) <= x else (low, middle)
    if value(low) == x or x >= value(0x7F800000):
        found = low if value(low) == x else high
        return min(found, 0x7F7FFFFF) if rounding == "down" else found
    if rounding in ("down", "up"):
        return low if rounding == "down" else high
    twice = 2 * x - value(low) - value(high)
    return high if twice > 0 or (twice == 0 and low % 2) else low


def rounded(x: Fraction, how: str) -> int:
    ways = {"rn": "near", "rz": "down", "rp": "up" if x > 0 else "down"}
    return (x < 0) << 31 | magnitude(abs(x), ways[how])


#: What is behind the name of products and of fused products.
PRODUCTS, FUSED = ("rn", "rz"), ("rn", "rp", "rn.sat")


@pytest.mark.parametrize("how", PRODUCTS)
def test_products_of_float32(how: str) -> None:
    rows = [row for row in itertools.product(FLOATS, repeat=2) if is_finite(*row)]
    columns = [(32, [row[i] for row in rows]) for i in (0, 1)]
    got = computed(f"mul.{how}.f32 {{}}, {{}}, {{}}", 32, columns)
    for (a, b), word in zip(rows, got, strict=True):
        product = exact(a) * exact(b)
        assert word == (rounded(product, how) if product else (a ^ b) & 1 << 31), (a, b)


@pytest.mark.parametrize("how", FUSED)
def test_fused_products_of_float32(how: str) -> None:
    rows = [row for row in itertools.product(FLOATS, repeat=3) if is_finite(*row)][::5]
    rows += [(0x3F800001, 0x3F800001, 0xBF800002), (0x3F800001, 0x3F800001, 0x33800000),
             (0x4B7FFFFF, 0x4B7FFFFF, 0xB3800000), (0x3F800001, 0x3F7FFFFE, 1 << 31)]  # fmt: skip
    columns = [(32, [row[i] for row in rows]) for i in range(3)]
    got = computed(f"fma.{how}.f32 {{}}, {{}}, {{}}, {{}}", 32, columns)
    for (a, b, c), word in zip(rows, got, strict=True):
        total = exact(a) * exact(b) + exact(c)
        want = rounded(total, how[:2]) if total else (a ^ b) & c & 1 << 31
        if how.endswith("sat"):
            want = 0 if want >> 31 else min(want, 0x3F800000)
        if total or not exact(a) * exact(b):  # the sum of what cancels is +0
            assert word == want, (a, b, c)
        else:
            assert word == 0, (a, b, c)


#: Instructions, the patterns of their operands, and of the results.
SPECIAL: list[tuple[str, list[tuple[int, int]], list[int]]] = [
    ("mul.rn.f32 {}, {}, {}", [(0x7F800000, 0), (0x7FC00001, 1)], [0x7FFFFFFF] * 2),
    ("mul.rn.f32 {}, {}, {}", [(0xFF800000, 0x3F800000)], [0xFF800000]),
    ("mul.rz.f32 {}, {}, {}", [(0x7F800000, 0xBF800000)], [0xFF800000]),
    ("mul.rn.ftz.f32 {}, {}, {}", [(1, 0x7F000000), (0x800000, 0xBF000000)], [0, 1 << 31]),
    ("fma.rn.f32 {}, {}, {}, 0f7F800000", [(0xFF800000, 0x3F800000)], [0x7FFFFFFF]),
    ("fma.rn.sat.f32 {}, {}, {}, 0f7FC00000", [(0, 0)], [0]),
    ("add.f32 {}, {}, {}", [(0x3F800000, 0x33800000), (0, 1 << 31)], [0x3F800000, 0]),
    ("sub.f32 {}, {}, {}", [(0x3F800000, 0x3F800000), (0, 1)], [0, 0x80000001]),
    ("setp.lt.f32 {}, {}, {}", [(1 << 31, 0), (0xBF800000, 1), (0x7FC00000, 1)], [0, 1, 0]),
    ("setp.ne.f32 {}, {}, {}", [(1 << 31, 0), (1, 2), (0x7FC00000, 1)], [0, 1, 0]),
]


@pytest.mark.parametrize(("text", "rows", "want"), SPECIAL)
def test_special_floats(text: str, rows: list[tuple[int, int]], want: list[int]) -> None:
    bits = 1 if text.startswith("setp") else 32
    assert computed(text, bits, [(32, [row[i] for row in rows]) for i in (0, 1)]) == want


def test_reciprocals_are_within_a_place() -> None:
    make = OPCODES["rcp"].make
    words = np.array([x for x in FLOATS if x & 0x7F800000], np.uint32)
    for side in (-1, 0, 1):
        got = make(("approx", "ftz", "f32"), partial(int, side))(words).tolist()
        for x, word in zip(words.tolist(), got, strict=True):
            if not is_finite(x):
                assert word == (0x7FFFFFFF if x & 0x7FFFFF else x & 1 << 31)
                continue
            want = 1 / exact(x)
            if abs(want) < Fraction(2) ** -126:
                assert word == x & 1 << 31
                continue
            error = exact(word) - want
            place = Fraction(2) ** (math.frexp(abs(float(want)))[1] - 24)
            assert abs(error) < place
            assert side == 0 or error * side >= 0
            assert side != 0 or 2 * abs(error) <= place
    zeros = make(("approx", "ftz", "f32"), int)(np.uint32([0, 1, 0x80000001]))
    assert zeros.tolist() == [0x7F800000, 0x7F800000, 0xFF800000]


@pytest.mark.parametrize("type", ["u32", "s32"])
def test_integers_become_the_nearest_float32(type: str) -> None:
    x = [
        *edges(32),
        *((1 << 24) + k for k in range(-3, 8)),
        *((1 << 31) + k for k in range(64, 400)),
    ]
    got = computed(f"cvt.rn.f32.{type} {{}}, {{}}", 32, [(32, x)])
    assert got == [rounded(Fraction(signed(n, 32) if type == "s32" else n), "rn") for n in x]


def test_pairs_of_float16() -> None:
    x = np.array(
        [0x3F800000, 0x80000001, 0x477FE000, 0x477FF000, 0x33000001, 0x7F800000], np.uint32
    )
    low = np.roll(x, 2)
    got = computed("cvt.rn.f16x2.f32 {}, {}, {}", 32, [(32, x.tolist()), (32, low.tolist())])
    with np.errstate(over="ignore"):
        high, low = (y.view(np.float32).astype(np.float16).view(np.uint16) for y in (x, low))
    assert got == [int(a) << 16 | int(b) for a, b in zip(high, low, strict=True)]
    assert computed("cvt.rn.f16x2.f32 {}, {}, {}", 32, [(32, [0x7FC12345]), (32, [0])]) == [
        0x7FFF << 16
    ]


def test_float16_both_ways() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16)
    wide = np.array(computed("cvt.f32.f16 {}, {}", 32, [(16, halves.tolist())]), np.uint64)
    nan = halves & 0x7FFF > 0x7C00
    assert (wide[nan] == 0x7FFFFFFF).all()
    for half, word in zip(halves[~nan].tolist(), wide[~nan].tolist(), strict=True):
        field, low = half >> 10 & 31, half & 1023
        if field < 31:
            number = Fraction(low + (1024 if field else 0)) * Fraction(2) ** (max(field, 1) - 25)
            assert abs(exact(word)) == number
        assert word >> 31 == half >> 15
    above = np.array([[0], [0xFFF], [0x1000], [0x1001]], np.uint64)
    middle = (wide[~nan] + above).reshape(-1)
    middle = middle[middle & 0x7FFFFFFF <= 0x7F800000]
    got = computed("cvt.rn.f16.f32 {}, {}", 16, [(32, middle.tolist())])
    with np.errstate(over="ignore", under="ignore"):
        want = middle.astype(np.uint32).view(np.float32).astype(np.float16).view(np.uint16)
    assert got == want.tolist()


#: Formats of pairs, the type of ml_dtypes, and the codes of the largest number and of NaN.
PAIRS = [
    ("e5m2", ml_dtypes.float8_e5m2, 0x7B, 0x7F),
    ("e4m3", ml_dtypes.float8_e4m3fn, 0x7E, 0x7F),
    ("e3m2", ml_dtypes.float6_e3m2fn, 0x1F, 0x1F),
    ("e2m3", ml_dtypes.float6_e2m3fn, 0x1F, 0x1F),
    ("e2m1", ml_dtypes.float4_e2m1fn, 0x07, 0x07),
]


@pytest.mark.parametrize(("format", "peer", "largest", "nan"), PAIRS)
def test_conversions_of_pairs(format: str, peer: Any, largest: int, nan: int) -> None:
    """Every bfloat16 number, by the conversion of ml_dtypes where it is in range."""
    low = np.arange(1 << 16, dtype=np.uint32) << 16
    high = np.roll(low, 12345)
    values = (high.tolist(), low.tolist())
    text = f"cvt.rn.satfinite.{format}x2.f32 {{}}, {{}}, {{}}"
    columns = [(32, column) for column in values]
    if format == "e2m1":
        convert = text.replace("{}, {}, {}", "b, {1}, {2}")
        text = f"{{{{ .reg .b8 b; {convert}; mov.b16 {{0}}, {{{{b, 0}}}}; }}}}"
    got = np.array(computed(text, 16, columns))
    width, bits = (4, 4) if format == "e2m1" else (8, 6 if format in ("e3m2", "e2m3") else 8)
    most = float(np.uint8(largest).view(peer))
    for column, codes in ((low, got & (1 << width) - 1), (high, got >> width)):
        x = column.view(np.float32)
        inside = np.clip(np.where(np.isnan(x), 0, x), -most, most)
        want = inside.astype(peer).view(np.uint8) & (1 << bits) - 1
        want = np.where(np.isnan(x), nan, want)
        assert (codes == want).all()


def name_of(text: str) -> str:
    """An instruction with its modifiers, without operands and the variables that it is given."""
    return text.removeprefix("{{ .reg .b16 t; ").split()[0]


#: Every instruction that is computed above, with its modifiers.
TESTED = {name_of(text) for text, *_ in (*INTEGERS, *SPECIAL)}
TESTED |= {f"mul.{how}.f32" for how in PRODUCTS} | {f"fma.{how}.f32" for how in FUSED}
TESTED |= {f"cvt.rn.satfinite.{format}x2.f32" for format, *_ in PAIRS}
TESTED |= {"rcp.approx.ftz.f32", "cvt.f32.f16", "cvt.rn.f16.f32"}


def test_every_opcode_has_a_test() -> None:
    assert set(OPCODES) <= {name.split(".")[0] for name in TESTED}


def test_every_instruction_of_the_kernels_has_a_test() -> None:
    """Those that compute; `test_fastpath_ptx.py` has it that the list is what nvcc makes."""
    listed = (Path(__file__).parent / "data" / "ptx_instructions.txt").read_text("ascii").split()
    computing = {name for name in listed if name.split(".")[0] in {*OPCODES, "mov"}}
    assert " ".join(sorted(computing - TESTED)) == ""
