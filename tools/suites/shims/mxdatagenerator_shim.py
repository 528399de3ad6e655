"""mxDataGenerator: its C++ tests, in whose headers mxref converts, reads and unpacks.

The headers are copied to a temporary folder. There the functions that give numbers and codes become
calls of mxref; the tests are compiled as they are, with what they need of GoogleTest.
"""

from __future__ import annotations

import ctypes
import dataclasses
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mxref
from suites.asked import TALLY, mx

TYPES = {"ocp_e5m2_mxfp8": "e5m2", "ocp_e4m3_mxfp8": "e4m3", "ocp_e3m2_mxfp6": "e3m2",
         "ocp_e2m3_mxfp6": "e2m3", "ocp_e2m1_mxfp4": "e2m1"}  # fmt: skip
BLOCKS = {fmt.element.name: fmt for fmt in mxref.formats.BLOCK_FORMATS.values()}
CALLS = """
inline double (*mxref_read)(int scale, const uint8_t *data, long index, int packed);
inline uint32_t (*mxref_encode)(float value, int saturate, int stochastic, uint32_t seed);
inline long mxref_left;  // how often a test may still ask
inline uint32_t mxref_write(float value, int saturate, int stochastic, uint32_t seed) {
  if (--mxref_left < 0) throw "too many";
  return mxref_encode(value, saturate, stochastic, seed);
}
extern "C" inline __attribute__((used)) void set_calls(decltype(mxref_read) read,
                                                       decltype(mxref_encode) encode) {
  mxref_read = read;
  mxref_encode = encode;
}
extern "C" inline __attribute__((used)) void set_left(long left) { mxref_left = left; }
"""
MOST = 20_000  # numbers that a test may ask to be converted, one by one
READS = {
    "toFloat": "x", "toDouble": "x", "isNaN": "std::isnan(x)", "isInf": "std::isinf(x)",
    "isZero": "x == 0", "isOne": "x == 1",
}  # fmt: skip
WRITES = {"satConvertToType": 1, "nonSatConvertToType": 0}


def _replaced(match: re.Match[str]) -> str:
    """The definition of a function of the headers, its body a call of mxref."""
    head, name = match["head"], match["name"]
    if name.removesuffix("Packed") in READS:
        packed, result = int(name.endswith("Packed")), READS[name.removesuffix("Packed")]
        call = f"double x = mxref_read(scale[i], data, j, {packed}); return {result};"
        arguments = "(uint8_t const* scale, uint8_t const* data, index_t i, index_t j)"
    elif name.removesuffix("SR") in WRITES and (
        match["type"][4:8] in ("e5m2", "e4m3") or WRITES[name.removesuffix("SR")]
    ):
        stochastic, saturate = int(name.endswith("SR")), WRITES[name.removesuffix("SR")]
        seed = "seed" if stochastic else "0"
        call = f"return mxref_write(value, {saturate}, {stochastic}, {seed});"
        arguments = "(float value, uint seed)" if stochastic else "(float value)"
    else:
        return match[0]
    return f"{head}{arguments} {{ {call} }}\n"


_FUNCTION = re.compile(
    r"(?P<head>template <>\ninline \w+\s+(?P<name>\w+)<(?P<type>ocp_\w+)>)\(.*?\n\}\n", re.DOTALL
)


def headers(folder: Path, into: Path) -> None:
    """The headers with mxref in them, and a part of GoogleTest."""
    for path in (folder / "lib" / "include").glob("*.hpp"):
        text = _FUNCTION.sub(_replaced, path.read_text("utf-8"))
        if path.name == "data_generation_utils.hpp":
            text = text.replace("#pragma once", "#pragma once\n#include <cstdint>\n" + CALLS, 1)
        (into / path.name).write_text(text, "utf-8")
    (into / "gtest").mkdir()
    shutil.copy(Path(__file__).with_name("gtest_small.h"), into / "gtest" / "gtest.h")


def calls(name: str) -> tuple[Any, Any]:
    """The functions that a test's headers call, for an element format."""
    block = BLOCKS[name]
    codes = np.tile((np.arange(256) % block.element.code_count).astype(np.uint8), 256)
    scales = np.arange(256, dtype=np.uint8).repeat(256)
    of_one = dataclasses.replace(block, block_size=1)
    blocks = mxref.Blocks(codes, scales, of_one, 0, codes.shape)
    table = mx.dequantize(blocks, np.float64).reshape(256, 256).tolist()

    def read(scale: int, data: int, index: int, packed: int) -> float:
        if packed:
            stored = ctypes.string_at(data, mxref.packed_size(index + 1, name))
            code = int(mx.unpack(np.frombuffer(stored, np.uint8), name, index + 1)[index])
        else:
            code = ctypes.string_at(data + index, 1)[0]
        TALLY.values += 1
        number: float = table[scale][code]
        return number

    def write(value: float, saturate: int, stochastic: int, seed: int) -> int:
        choices: dict[str, Any] = {"overflow": "saturate" if saturate else "nonsaturating"}
        choices["nan_to_finite"] = "signed_max"
        if stochastic:  # the dropped bits of a float32, of the top of a seed of 32
            width = 23 - block.element.mantissa_bits
            choices |= {"rounding": "stochastic_a", "random_width": width}
            choices |= {"random_bits": seed >> (32 - width)}
        return int(mx.encode(np.float32(value), name, **choices))

    reading = ctypes.CFUNCTYPE(
        ctypes.c_double, ctypes.c_int, ctypes.c_void_p, ctypes.c_long, ctypes.c_int
    )
    arguments = (ctypes.c_float, ctypes.c_int, ctypes.c_int, ctypes.c_uint32)
    return reading(read), ctypes.CFUNCTYPE(ctypes.c_uint32, *arguments)(write)


def cases(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Each test of the five element formats of MX; those that ask a million times are skipped."""
    with tempfile.TemporaryDirectory() as temporary:
        into = Path(temporary)
        headers(folder, into)
        for type_name, name in TYPES.items():
            library = into / f"{type_name}.so"
            source = folder / "test" / f"{type_name}_test.cpp"
            flags = [
                "-std=c++20",
                "-O0",
                "-w",
                "-shared",
                "-fPIC",
                "-fno-gnu-unique",
                "-I",
                str(into),
            ]
            subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
            tests, functions = ctypes.CDLL(str(library)), calls(name)
            tests.test_name.restype = tests.run_test.restype = ctypes.c_char_p
            tests.set_calls(*functions)
            for i in range(tests.test_count()):
                tests.set_left(MOST)
                wrong = tests.run_test(i).decode()
                yield tests.test_name(i).decode(), None if wrong.startswith("too many") else wrong
