"""Targets with a bug each: which file shows it, and what is said of it."""

from __future__ import annotations

import dataclasses

from verify_helpers import RIGHT


@dataclasses.dataclass(frozen=True)
class Bug:
    """A wrong target, and one case that it gets wrong.

    Args:
        stem: vector file that finds it.
        body: what is appended to the right target.
        id: the case.
        want: the word that is right; got: what comes back, or a pattern of the error.
        rule: the clause.
        verdict: the verdict on the target; if it is not given, that it violates the clause.
        word: which word of the output differs first.
    """

    stem: str
    body: str
    id: str
    want: int
    got: int | str
    rule: str
    verdict: str = ""
    word: int = 0


BUGS = {
    "ties away among subnormals only": Bug(
        "encode/e2m1.f32",
        """
def encode(values, format):
    away = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(np.abs(values) < 1, away, mxref.encode(values, format))
""",
        "encode.e2m1.f32.3e800000",  # 0.25, the tie of 0 and 0.5
        want=0x00,
        got=0x01,
        rule="MX-5.3.3",
    ),
    "sign of zero lost": Bug(
        "encode/e4m3.f32",
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return np.where(codes == 0x80, 0, codes).astype(np.uint8)
""",
        "encode.e4m3.f32.80000000",
        want=0x80,
        got=0x00,
        rule="N25",
    ),
    "NaN to the largest number": Bug(
        "encode/e4m3.f32",
        "def encode(v, f): return np.where(np.isnan(v), 0x7E, mxref.encode(v, f))\n",
        "encode.e4m3.f32.7fc00000",
        want=0x7F,
        got=0x7E,
        rule="N13",
    ),
    "saturates to one code lower": Bug(
        "encode/e2m1.f32",
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return codes - (np.abs(values) > 6).astype(np.uint8)
""",
        "encode.e2m1.f32.ff800000",  # -Inf
        want=0x0F,
        got=0x0E,
        rule="MX-5.3.3",
    ),
    "overflow in FP8 to one code lower": Bug(
        "encode/e4m3.f32",
        """
def encode(values, format):  # 416 for all that overflows
    return mxref.encode(values, format) - (np.abs(values) > 464).astype(np.uint8)
""",
        "encode.e4m3.f32.43e80001",  # just above 464
        want=0x7E,
        got=0x7D,
        rule="MX-5.3.1-T3",
    ),
    "NaN to three": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return np.where(np.isnan(v), 5, mxref.encode(v, f)).astype('u1')\n",
        "encode.e2m1.f32.7fc00000",
        want=0x07,
        got=0x05,
        rule="N14",
        verdict="legal but unnamed",
    ),
    "one answer for many cases": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.encode(v, f)[:1]\n",
        "encode.e2m1.f32.40c00000",
        want=0x07,
        got=r"the result must have shape \(\d+,\), got \(1,\)",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "codes below zero": Bug(
        "encode/int8.f32",
        "def encode(v, f): return mxref.encode(v, f).astype('i2') - 1\n",
        "encode.int8.f32.00000000",
        want=0x00,
        got="codes must not be negative, got -1: return them as uint8",
        rule="MX-5.3.4",
        verdict="fails with errors",
    ),
    "truncates": Bug(
        "encode/e3m2.f32",
        'def encode(v, f): return mxref.encode(v, f, rounding="toward_zero")\n',
        "encode.e3m2.f32.41dfffff",  # just below 28, the largest
        want=0x1F,
        got=0x1E,
        rule="MX-5.3.2",
        verdict="conforms under ocp+rounding=toward_zero",
    ),
    "shift count wraps at 32": Bug(
        "encode/e2m1.f32",
        """
def encode(values, format):
    tiny = (np.abs(values) >= 2.0**-40) & (np.abs(values) < 2.0**-31)
    wrapped = np.where(tiny, values * np.float32(2.0**32), values).astype(values.dtype)
    return mxref.encode(wrapped, format)
""",
        "encode.e2m1.f32.2f800000",  # 2**-32
        want=0x00,
        got=0x02,
        rule="MX-5.3.3",
    ),
    "INT8 uses -128": Bug(
        "encode/int8.f32",
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return np.where(values <= -127.5 / 64, 0x80, codes).astype(np.uint8)
""",
        "encode.int8.f32.c0000000",  # -2
        want=0x81,
        got=0x80,
        rule="N15",
        verdict="conforms under ocp+int8_range=full",
    ),
    "float64 through float32": Bug(
        "encode/e4m3.f64",
        "def encode(v, f): return mxref.encode(v.astype(np.float32), f)\n",
        "encode.e4m3.f64.3f50000000000001",  # just above 2**-10, the tie of 0 and 2**-9
        want=0x01,
        got=0x00,
        rule="N36",
        verdict="conforms under ocp+pre_rounding=float32",
    ),
    "raises on NaN": Bug(
        "encode/e4m3.f32",
        """
def encode(values, format):
    if np.isnan(values).any():
        raise ValueError("no NaN here")
    return mxref.encode(values, format)
""",
        "encode.e4m3.f32.7fc00000",
        want=0x7F,
        got=r"ValueError: no NaN here \(target\.py:\d+\)",
        rule="N13",
        verdict="fails with errors",
    ),
    "packed codes": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(v, f):
    blocks = mxref.quantize(v, f)
    return blocks.scale_codes, mxref.pack(blocks.codes, "e2m1")
""",
        "quantize.mxfp4_e2m1.f32.zeros",
        want=0x00,
        got=r"the result must have shape \((\d+), 32\), got \(\1, 16\): one code to a byte, "
        r"unpack it first",
        rule="N6",
        verdict="fails with errors",
    ),
    "wrong shape": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.encode(v, f)[:, None]\n",
        "encode.e2m1.f32.00000000",
        want=0x00,
        got=r"the result must have shape \((\d+),\), got \(\1, 1\)",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "floats instead of codes": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.decode(mxref.encode(v, f), f)\n",
        "encode.e2m1.f32.40c00000",
        want=0x07,
        got="codes must come back as integers, got float32",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "nothing comes back": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): pass\n",
        "encode.e2m1.f32.40c00000",
        want=0x07,
        got="codes must come back as integers, got object",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "float64 comes back": Bug(
        "decode/e2m1.f32",
        "def decode(c, f): return mxref.decode(c, f, np.float64)\n",
        "decode.e2m1.f32.01",
        want=0x3F000000,
        got="numbers must come back as float32, got float64",
        rule="MX-5.3.3",
        verdict="fails with errors",
    ),
    "a code beyond the format": Bug(
        "encode/e2m1.f32",
        "def encode(v, f): return mxref.encode(v, f) | np.uint8(0x10)\n",
        "encode.e2m1.f32.40c00000",  # 6
        want=0x07,
        got=0x17,
        rule="MX-5.3.3",
    ),
    "sign of zero lost on decode": Bug(
        "decode/e4m3.f32",
        "def decode(c, f): return mxref.decode(c, f) + np.float32(0)\n",
        "decode.e4m3.f32.80",
        want=0x80000000,
        got=0x00000000,
        rule="N25",
        verdict="conforms under ocp+decoded_zero=dropped",
    ),
    "E4M3 has an infinity": Bug(
        "decode/e4m3.f32",
        """
def decode(codes, format):
    return np.where(codes == 0x7F, np.float32(np.inf), mxref.decode(codes, format))
""",
        "decode.e4m3.f32.7f",
        want=0x7FC00000,
        got=0x7F800000,
        rule="MX-5.3.1",
    ),
    "INT8 80 as +2": Bug(
        "decode/int8.f32",
        "def decode(c, f): return np.where(c == 0x80, np.float32(2), mxref.decode(c, f))\n",
        "decode.int8.f32.80",
        want=0xC0000000,
        got=0x40000000,
        rule="N15",
    ),
    "negative scales are NaN": Bug(
        "encode_scale/e8m0.f32",
        "def encode_scale(v): return np.where(v < 0, 0xFF, mxref.encode_scale(v))\n",
        "encode_scale.e8m0.f32.ff7fffff",  # the lowest float
        want=0xFE,
        got=0xFF,
        rule="N23",
        verdict="conforms under ocp+scale_of_negative=nan",
    ),
    "scale 00 as zero": Bug(
        "decode_scale/e8m0.f32",
        "def decode_scale(c): return np.where(c == 0, np.float32(0), mxref.decode_scale(c))\n",
        "decode_scale.e8m0.f32.00",
        want=0x00400000,
        got=0x00000000,
        rule="N22",
    ),
    "scale FF as infinity": Bug(
        "decode_scale/e8m0.f32",
        "def decode_scale(c): return np.ldexp(np.float32(1), c.astype(int) - 127)\n",
        "decode_scale.e8m0.f32.ff",
        want=0x7FC00000,
        got=0x7F800000,
        rule="N22",
    ),
    "scale one too large just below a power of two": Bug(
        "shared_scale/e4m3.f32",
        """
def shared_scale(amax, format):
    below = (amax.view(np.uint32) & 0x7FFFFF == 0x7FFFFF) & np.isfinite(amax) & (amax > 2**-100)
    return mxref.shared_scale(amax, format) + below.astype(np.uint8)
""",
        "shared_scale.e4m3.f32.3f7fffff",  # just below 1: 2**(-1 - 8)
        want=0x76,
        got=0x77,
        rule="N2",
        verdict="legal but unnamed",
    ),
    "sign of one position wrong": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    codes = blocks.codes.copy()
    codes[:, 17] ^= 8
    return blocks.scale_codes, codes
""",
        "quantize.mxfp4_e2m1.f32.ones",  # 1 is 4 * 2**-2
        want=0x06,
        got=0x0E,
        rule="MX-6.3",
        word=18,
    ),
    "zero block with scale one": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = blocks.scale_codes.copy()
    scales[(values == 0).all(axis=1)] = 0x7F
    return scales, blocks.codes
""",
        "quantize.mxfp4_e2m1.f32.zeros",
        want=0x00,
        got=0x7F,
        rule="N6",
        verdict="conforms under ocp+zero_block=one",
    ),
    "scales of twice the size": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):  # a scale is free, and the elements are right under it
    scales = mxref.quantize(values, format).scale_codes
    scales = np.where(scales < 0xF0, scales + 1, scales).astype(np.uint8)
    wide = np.ldexp(values.astype(np.float64), 127 - scales.astype(int))
    return scales, mxref.encode(wide, "e2m1")
""",
        "quantize.mxfp4_e2m1.f32.ones",
        want=0x7D,
        got=0x7E,
        rule="MX-6.3",
        verdict="legal but unnamed",
    ),
    "NaN block without a reason": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = blocks.scale_codes.copy()
    scales[(values == 1).all(axis=1)] = 0xFF
    return scales, blocks.codes
""",
        "quantize.mxfp4_e2m1.f32.ones",
        want=0x7D,
        got=0xFF,
        rule="MX-6.3",
    ),
    "largest element taken with its sign": Bug(
        "quantize/mxfp4_e2m1.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = mxref.shared_scale(np.maximum(values.max(axis=1), 0), "e2m1")
    return scales, blocks.codes
""",
        "quantize.mxfp4_e2m1.f32.largest_01",  # -11 at 1; the largest of the others is 31/64
        want=0x80,
        got=0x7B,
        rule="MX-6.3",
    ),
    "NaN block with a finite scale": Bug(
        "quantize/mxfp8_e4m3.f32",
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    return np.minimum(blocks.scale_codes, 0xFE), blocks.codes
""",
        "quantize.mxfp8_e4m3.f32.nan_00",
        want=0xFF,
        got=0xFE,
        rule="N4",
        verdict="legal but unnamed",
    ),
    "subnormal products flushed": Bug(
        "dequantize/mxfp4_e2m1.f32",
        """
right = dequantize
def dequantize(*arguments):
    result = right(*arguments)
    return np.where(np.abs(result) < 2.0**-126, np.float32(0), result)
""",
        "dequantize.mxfp4_e2m1.f32.00_00",  # 0.5 * 2**-127
        want=0x00200000,
        got=0x00000000,
        rule="MX-5.1",
        word=1,
    ),
    "products clamped": Bug(
        "dequantize/mxfp8_e4m3.f32",
        """
right = dequantize
def dequantize(*arguments):
    largest = np.float32(np.finfo(np.float32).max)
    return np.clip(right(*arguments), -largest, largest)
""",
        "dequantize.mxfp8_e4m3.f32.fe_40",  # 2 * 2**127
        want=0x7F800000,
        got=0x7F7FFFFF,
        rule="N20",
        verdict="conforms under ocp+product_overflow=saturate",
    ),
    "scale NaN ignored": Bug(
        "dequantize/mxint8.f32",
        """
right = dequantize
def dequantize(scales, *others):
    return right(np.minimum(scales, 0xFE), *others)
""",
        "dequantize.mxint8.f32.ff_00",  # code 00 of a NaN block
        want=0x7FC00000,
        got=0x00000000,
        rule="MX-5.1",
    ),
}


def line_of(name: str, text: str) -> int:
    """The line of a target with a bug that has a text."""
    lines = (RIGHT + BUGS[name].body).splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number
