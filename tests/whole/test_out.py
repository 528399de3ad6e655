"""Memory that is given and threads, of every operation on arrays: neither changes a bit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence

import mxref
from mxref.support.threads import CHUNK

Arrays = tuple[np.ndarray, ...]
Call = Callable[..., Any]

GGUF = {"scale_place": "before", "fp4_packing": "halves"}
GENERATOR = np.random.default_rng(11)
X = GENERATOR.integers(0, 1 << 32, (3, CHUNK + 37), np.uint32).view(np.float32)
AMAX = np.abs(np.where(np.isnan(X), np.float32(1), X))
CODES = GENERATOR.integers(0, 16, (5, 3 * CHUNK + 32), np.uint8)
SIXES = GENERATOR.integers(0, 64, (3, 2 * CHUNK + 31), np.uint8)
SCALES = GENERATOR.integers(0, 255, (3, CHUNK // 2 + 1), np.uint8)


def unpack_fp4(packed: np.ndarray, **choices: Any) -> Any:
    return mxref.unpack(packed, "e2m1", 2 * packed.shape[-1] - (packed.size > 0), **choices)


NARROW = GENERATOR.standard_normal((3, CHUNK + 5))
#: Name, input, call with further keywords.
OPERATIONS: dict[str, tuple[np.ndarray, Call]] = {
    "encode": (X, partial(mxref.encode, format="e4m3")),
    "encode float64": (NARROW, partial(mxref.encode, format="e2m1", pre_rounding="float32")),
    "encode integers": (CODES.view(np.int8), partial(mxref.encode, format="e3m2")),
    "decode": (CODES, partial(mxref.decode, format="e2m1")),
    "decode bfloat16": (SIXES, partial(mxref.decode, format="e2m3", dtype=ml_dtypes.bfloat16)),
    "encode_scale": (X, mxref.encode_scale),
    "decode_scale": (SCALES, partial(mxref.decode_scale, dtype=np.float64)),
    "shared_scale": (AMAX, partial(mxref.shared_scale, format="e4m3", rule="rceil")),
    "pack FP4": (CODES, partial(mxref.pack, format="e2m1")),
    "pack FP4 halves": (CODES, partial(mxref.pack, format="e2m1", fp4_packing="halves")),
    "pack FP6": (SIXES, partial(mxref.pack, format="e2m3")),
    "pack FP6 planar": (SIXES, partial(mxref.pack, format="e2m3", fp6_packing="torchao_planar")),
    "pack FP8": (SIXES, partial(mxref.pack, format="e4m3")),
    "unpack FP4": (CODES, unpack_fp4),
    "pack_scales": (SCALES, mxref.pack_scales),
    "pack_scales tiles": (SCALES, partial(mxref.pack_scales, scale_layout="tiles_128x4")),
}
THREADED = [name for name in OPERATIONS if not name.startswith("pack_scales")]


def patterns(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


def same(got: np.ndarray, want: np.ndarray) -> bool:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    return bool((patterns(got) == patterns(want)).all())


def in_slices(call: Call, x: np.ndarray) -> np.ndarray:
    """The result of each row by itself, in calls too small to be cut."""
    width = 32 * (CHUNK // 64)
    parts = [[call(row[i : i + width]) for i in range(0, row.size, width)] for row in x]
    return np.stack([np.concatenate(row) for row in parts])


@pytest.mark.parametrize("name", OPERATIONS)
def test_memory_that_is_given_is_written_whole(name: str) -> None:
    x, call = OPERATIONS[name]
    want = call(x)
    out = want.copy()
    patterns(out)[...] ^= patterns(out).dtype.type(0xFF)
    assert call(x, out=out) is out
    assert same(out, want)


@pytest.mark.parametrize("name", [n for n in THREADED if n != "unpack FP4"])
def test_parts_of_a_call_are_parts_of_the_result(name: str) -> None:
    x, call = OPERATIONS[name]
    assert same(call(x), in_slices(call, x))


@pytest.mark.parametrize("name", THREADED)
def test_threads_are_started_and_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []

    class Counted(threading.Thread):
        def start(self) -> None:
            started.append(self)
            super().start()

    x, call = OPERATIONS[name]
    want = call(x)
    out = np.empty_like(want)
    monkeypatch.setattr(threading, "Thread", Counted)
    assert same(call(x, threads=2), want)
    assert len(started) == 1  # and the one that calls
    assert same(call(x, threads=3, out=out), want)
    monkeypatch.setenv("MXREF_THREADS", "2")
    assert same(call(x), want)
    monkeypatch.setenv("MXREF_THREADS", "none")
    assert sentence(ValueError, partial(call, x)).endswith("got 'none'")
    for some in (x, x[:, :3]):
        wrong = sentence(ValueError, partial(call, some, threads=0))
        assert wrong == "threads must be at least 1, got 0"


@pytest.mark.parametrize("name", OPERATIONS)
def test_memory_orders(name: str) -> None:
    """Inputs that are transposed, cut, reversed or without elements."""
    x, call = OPERATIONS[name]
    repeated = np.broadcast_to(x[0], (4, x.shape[1]))
    for some in (x.T, x[:, ::3], x[::-1, ::-1], x[:, :0], x[:0], repeated):
        want = call(some.copy(order="C"))
        assert same(call(some), want)
        assert same(call(some, out=np.empty_like(want, order="C")), want)
    cube = x[:3, :1200].reshape(3, 4, 300)
    assert same(call(cube.transpose(1, 0, 2)), call(cube.transpose(1, 0, 2).copy(order="C")))


@pytest.mark.parametrize("name", [n for n in OPERATIONS if "pack" not in n])
def test_scalars(name: str) -> None:
    x, call = OPERATIONS[name]
    out = np.empty_like(call(x[0, 0]))
    assert out.shape == ()
    assert call(x[0, 0], out=out) is out
    assert patterns(out[np.newaxis]) == patterns(call(x[0, :1]))


@pytest.mark.parametrize("name", OPERATIONS)
def test_memory_that_does_not_fit(name: str) -> None:
    x, call = OPERATIONS[name]
    x = x[:, :64].copy()
    good = call(x)
    fits = f"out must be a writable C-contiguous {good.dtype} array of shape {good.shape}"
    read_only = np.empty_like(good)
    read_only.flags.writeable = False
    wrong: list[tuple[type[Exception], Any, str]] = [
        (TypeError, good.tolist(), "got list"),
        (ValueError, np.empty(good.shape, np.int16), f"got int16 of shape {good.shape}"),
        (ValueError, good[np.newaxis], f"got {good.dtype} of shape {(1, *good.shape)}"),
        (ValueError, read_only, "got a read-only one"),
        (ValueError, np.repeat(good, 2, axis=-1)[..., ::2], "got one with strides"),
    ]
    for kind, out, got in wrong:
        text = sentence(kind, partial(call, x, out=out))
        assert text.startswith(fits), text
        assert f", {got}" in text, text


@pytest.mark.parametrize("name", OPERATIONS)
def test_memory_of_the_input_is_refused(name: str) -> None:
    x, call = OPERATIONS[name]
    good = call(x[:, :64].copy())
    memory = np.zeros(max(x.itemsize * x[:, :64].size, good.nbytes), np.uint8)
    some = memory[: x[:, :64].nbytes].view(x.dtype).reshape(x[:, :64].shape)
    some[...] = x[:, :64]
    out = memory[: good.nbytes].view(good.dtype).reshape(good.shape)
    assert "share no memory" in sentence(ValueError, partial(call, some, out=out))
    assert (patterns(some) == patterns(x[:, :64])).all()


@pytest.mark.parametrize(("format", "codes"), [("e2m1", CODES), ("e3m2", SIXES), ("int8", SIXES)])
def test_codes_of_long_rows_come_back(format: str, codes: np.ndarray) -> None:
    choice = {"e2m1": "fp4_packing", "e3m2": "fp6_packing"}.get(format, "")
    for choices in [{choice: one} for one in mxref.Policy.members(choice)] if choice else [{}]:
        packed = mxref.pack(codes, format, **choices)
        for threads in (1, 2):
            back = mxref.unpack(packed, format, codes.shape[1], threads=threads, **choices)
            assert same(back, codes)


# What takes or gives two arrays.


def blocks(rows: int, columns: int) -> Arrays:
    codes = GENERATOR.integers(0, 16, (rows, columns * 32), np.uint8)
    return GENERATOR.integers(0, 255, (rows, columns), np.uint8), codes


@pytest.mark.parametrize(
    "choices", [GGUF, {"scale_place": "after"}, {**GGUF, "scale_byte": "signed"}]
)
def test_stored_blocks(choices: dict[str, str]) -> None:
    scales, codes = blocks(3, CHUNK // 16)
    alone = [
        [
            mxref.pack_blocks([s], c, "mxfp4_e2m1", **choices)[0]
            for s, c in zip(row, some.reshape(-1, 32), strict=True)
        ]
        for row, some in zip(scales[:, :40], codes[:, :1280], strict=True)
    ]
    want = mxref.pack_blocks(scales, codes, "mxfp4_e2m1", **choices)
    assert (want[:, :40] == alone).all()
    out = ~want
    assert mxref.pack_blocks(scales, codes, "mxfp4_e2m1", out=out, threads=2, **choices) is out
    assert same(out, want)
    into = ~scales, ~codes
    back = mxref.unpack_blocks(want, "mxfp4_e2m1", out=into, threads=2, **choices)
    assert [got is given for got, given in zip(back, into, strict=True)] == [True, True]
    assert same(into[0], scales)
    assert same(into[1], codes)
    found = mxref.unpack_blocks(want[:, ::-1], "mxfp4_e2m1", **choices)
    assert same(found[0][:, ::-1], scales)
    assert same(found[1].reshape(3, -1, 32)[:, ::-1].reshape(3, -1), codes)


def test_errors_of_stored_blocks() -> None:
    scales, codes = blocks(2, 3)
    packed = mxref.pack_blocks(scales, codes, "mxfp4_e2m1", **GGUF)

    def unpack(out: Any) -> Callable[[], object]:
        return partial(mxref.unpack_blocks, packed, "mxfp4_e2m1", out=out, **GGUF)

    wanted = "out must be a tuple of scale codes and codes, got "
    assert sentence(TypeError, unpack(scales)) == wanted + "ndarray"
    assert sentence(TypeError, unpack((scales,))) == wanted + "tuple"
    assert "uint8 array of shape (2, 96), got" in sentence(ValueError, unpack((scales, codes[:1])))
    both = np.empty((2, 96), np.uint8)
    shared = both.reshape(-1)[:6].reshape(2, 3), both
    assert "share no memory" in sentence(ValueError, unpack(shared))
    inside = packed.reshape(-1)[:6].reshape(2, 3), codes
    assert "share no memory" in sentence(ValueError, unpack(inside))
    given = partial(mxref.pack_blocks, scales, codes, "mxfp4_e2m1", **GGUF)
    text = sentence(ValueError, partial(given, out=scales.reshape(-1)[:6]))
    assert text.endswith("of shape (2, 3, 17), got uint8 of shape (6,)")


@pytest.mark.parametrize("layout", ["row_major", "tiles_128x4"])
@pytest.mark.parametrize("shape", [(130, 9), (2, 128, 4), (0, 4), (3, 0, 7)])
def test_scales_and_back(shape: tuple[int, ...], layout: str) -> None:
    scales = GENERATOR.integers(0, 255, shape, np.uint8)
    packed = mxref.pack_scales(scales, scale_layout=layout)

    unpack = partial(mxref.unpack_scales, packed, shape, scale_layout=layout)

    out = ~scales
    assert unpack(out=out) is out
    assert same(out, scales)
    other = sentence(ValueError, partial(unpack, out=out[np.newaxis]))
    assert other.endswith(f"array of shape {shape}, got uint8 of shape {(1, *shape)}")
    if scales.size:
        inside = packed.reshape(-1)[: scales.size].reshape(shape)
        assert "share no memory" in sentence(ValueError, partial(unpack, out=inside))


@pytest.mark.parametrize("layout", ["row_major", "tiles_128x4"])
def test_tiles_of_scales_that_are_transposed(layout: str) -> None:
    packed = mxref.pack_scales(SCALES.T, scale_layout=layout)
    assert same(packed, mxref.pack_scales(SCALES.T.copy(), scale_layout=layout))
    strided = np.repeat(packed, 2)[::2]
    assert same(mxref.unpack_scales(strided, SCALES.T.shape, scale_layout=layout), SCALES.T.copy())
