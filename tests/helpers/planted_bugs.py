"""Targets with a bug each: which file shows it, and what is said of it."""

from __future__ import annotations

import dataclasses

from verify_helpers import RIGHT


@dataclasses.dataclass(frozen=True)
class Case:
    """A case that a wrong target fails.

    Args:
        id: the case.
        want: the word that is right.
        got: the wrong word, or a pattern of the error.
        rule: the clause.
        verdict: the verdict on the target, where neither an error nor a violated clause is it.
        word: which word of the output differs first.
    """

    id: str
    want: int
    got: int | str
    rule: str
    verdict: str = ""
    word: int = 0


@dataclasses.dataclass(frozen=True)
class Bug:
    """A case, and the code that fails it: appended to the right target."""

    case: Case
    body: str

    @property
    def stem(self) -> str:
        """The vector file of the case."""
        op, rest = self.case.id.split(".", 1)
        return f"{op}/{rest.rpartition('.')[0]}"


OPEN = "unexplained"


def under(choice: str) -> str:
    return f"conforms under ocp+{choice}"


BUGS = {
    "ties away among subnormals only": Bug(
        Case(  # 0.25, the tie of 0 and 0.5
            "encode.e2m1.f32.3e800000",
            0x00,
            0x01,
            "MX-5.3.3",
            "has bug A7 or B3: rounds a tie of two subnormal numbers away from zero; "
            "violates MX-5.3.3",
        ),
        """
def encode(values, format):
    away = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(np.abs(values) < 1, away, mxref.encode(values, format))
""",
    ),
    "sign of zero lost": Bug(
        Case("encode.e4m3.f32.80000000", 0x80, 0x00, "N25"),
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return np.where(codes == 0x80, 0, codes).astype(np.uint8)
""",
    ),
    "NaN to the largest number": Bug(
        Case(
            "encode.e4m3.f32.7fc00000",
            0x7F,
            0x7E,
            "N13",
            "has bug B14: saturates NaN; violates N13",
        ),
        "def encode(v, f): return np.where(np.isnan(v), 0x7E, mxref.encode(v, f))\n",
    ),
    "saturates to one code lower": Bug(
        Case("encode.e2m1.f32.ff800000", 0x0F, 0x0E, "MX-5.3.3"),  # -Inf
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return codes - (np.abs(values) > 6).astype(np.uint8)
""",
    ),
    "overflow in FP8 to one code lower": Bug(
        Case("encode.e4m3.f32.43e80001", 0x7E, 0x7D, "MX-5.3.1-T3"),  # just above 464
        """
def encode(values, format):  # 416 for all that overflows
    return mxref.encode(values, format) - (np.abs(values) > 464).astype(np.uint8)
""",
    ),
    "NaN to three": Bug(
        Case("encode.e2m1.f32.7fc00000", 0x07, 0x05, "N14", OPEN),
        "def encode(v, f): return np.where(np.isnan(v), 5, mxref.encode(v, f)).astype('u1')\n",
    ),
    "one answer for many cases": Bug(
        Case(
            "encode.e2m1.f32.40c00000",
            0x07,
            r"the result must have shape \(\d+,\), got \(1,\)",
            "MX-5.3.3",
        ),
        "def encode(v, f): return mxref.encode(v, f)[:1]\n",
    ),
    "codes below zero": Bug(
        Case(
            "encode.int8.f32.00000000",
            0x00,
            "codes must not be negative, got -1: return them as uint8",
            "MX-5.3.4",
        ),
        "def encode(v, f): return mxref.encode(v, f).astype('i2') - 1\n",
    ),
    "truncates": Bug(
        # just below 28, the largest
        Case(
            "encode.e3m2.f32.41dfffff",
            0x1F,
            0x1E,
            "MX-5.3.2",
            "lacks rounding=ties_to_even (required); gives toward_zero everywhere",
        ),
        'def encode(v, f): return mxref.encode(v, f, rounding="toward_zero")\n',
    ),
    "shift count wraps at 32": Bug(
        Case("encode.e2m1.f32.2f800000", 0x00, 0x02, "MX-5.3.3"),  # 2**-32
        """
def encode(values, format):
    tiny = (np.abs(values) >= 2.0**-40) & (np.abs(values) < 2.0**-31)
    wrapped = np.where(tiny, values * np.float32(2.0**32), values).astype(values.dtype)
    return mxref.encode(wrapped, format)
""",
    ),
    "INT8 uses -128": Bug(
        Case("encode.int8.f32.c0000000", 0x81, 0x80, "N15", under("int8_range=full")),  # -2
        """
def encode(values, format):
    codes = mxref.encode(values, format)
    return np.where(values <= -127.5 / 64, 0x80, codes).astype(np.uint8)
""",
    ),
    "float64 through float32": Bug(
        # just above 2**-10, the tie of 0 and 2**-9
        Case("encode.e4m3.f64.3f50000000000001", 0x01, 0x00, "N36", under("pre_rounding=float32")),
        "def encode(v, f): return mxref.encode(v.astype(np.float32), f)\n",
    ),
    "raises on NaN": Bug(
        Case(
            "encode.e4m3.f32.7fc00000", 0x7F, r"ValueError: no NaN here \(target\.py:\d+\)", "N13"
        ),
        """
def encode(values, format):
    if np.isnan(values).any():
        raise ValueError("no NaN here")
    return mxref.encode(values, format)
""",
    ),
    "packed codes": Bug(
        Case(
            "quantize.mxfp4_e2m1.f32.zeros",
            0x00,
            r"the result must have shape \((\d+), 32\), got \(\1, 16\): one code to a byte, "
            r"unpack it first",
            "N6",
        ),
        """
def quantize(v, f):
    blocks = mxref.quantize(v, f)
    return blocks.scale_codes, mxref.pack(blocks.codes, "e2m1")
""",
    ),
    "wrong shape": Bug(
        Case(
            "encode.e2m1.f32.00000000",
            0x00,
            r"the result must have shape \((\d+),\), got \(\1, 1\)",
            "MX-5.3.3",
        ),
        "def encode(v, f): return mxref.encode(v, f)[:, None]\n",
    ),
    "floats instead of codes": Bug(
        Case(
            "encode.e2m1.f32.40c00000",
            0x07,
            "codes must come back as integers, got float32",
            "MX-5.3.3",
        ),
        "def encode(v, f): return mxref.decode(mxref.encode(v, f), f)\n",
    ),
    "nothing comes back": Bug(
        Case(
            "encode.e2m1.f32.40c00000",
            0x07,
            "codes must come back as integers, got object",
            "MX-5.3.3",
        ),
        "def encode(v, f): pass\n",
    ),
    "float64 comes back": Bug(
        Case(
            "decode.e2m1.f32.01",
            0x3F000000,
            "numbers must come back as float32, got float64",
            "MX-5.3.3",
        ),
        "def decode(c, f): return mxref.decode(c, f, np.float64)\n",
    ),
    "a code beyond the format": Bug(
        Case("encode.e2m1.f32.40c00000", 0x07, 0x17, "MX-5.3.3"),  # 6
        "def encode(v, f): return mxref.encode(v, f) | np.uint8(0x10)\n",
    ),
    "sign of zero lost on decode": Bug(
        Case("decode.e4m3.f32.80", 0x80000000, 0x00000000, "N25", under("decoded_zero=dropped")),
        "def decode(c, f): return mxref.decode(c, f) + np.float32(0)\n",
    ),
    "E4M3 has an infinity": Bug(
        Case("decode.e4m3.f32.7f", 0x7FC00000, 0x7F800000, "MX-5.3.1"),
        """
def decode(codes, format):
    return np.where(codes == 0x7F, np.float32(np.inf), mxref.decode(codes, format))
""",
    ),
    "INT8 80 as +2": Bug(
        Case("decode.int8.f32.80", 0xC0000000, 0x40000000, "N15"),
        "def decode(c, f): return np.where(c == 0x80, np.float32(2), mxref.decode(c, f))\n",
    ),
    "negative scales are NaN": Bug(
        # the lowest float
        Case("encode_scale.e8m0.f32.ff7fffff", 0xFE, 0xFF, "N23", under("scale_of_negative=nan")),
        "def encode_scale(v): return np.where(v < 0, 0xFF, mxref.encode_scale(v))\n",
    ),
    "scale 00 as zero": Bug(
        Case("decode_scale.e8m0.f32.00", 0x00400000, 0x00000000, "N22"),
        "def decode_scale(c): return np.where(c == 0, np.float32(0), mxref.decode_scale(c))\n",
    ),
    "scale FF as infinity": Bug(
        Case("decode_scale.e8m0.f32.ff", 0x7FC00000, 0x7F800000, "N22"),
        "def decode_scale(c): return np.ldexp(np.float32(1), c.astype(int) - 127)\n",
    ),
    "scale one too large just below a power of two": Bug(
        # just below 1: 2**(-1 - 8)
        Case("shared_scale.e4m3.f32.3f7fffff", 0x76, 0x77, "N2", OPEN),
        """
def shared_scale(amax, format):
    below = (amax.view(np.uint32) & 0x7FFFFF == 0x7FFFFF) & np.isfinite(amax) & (amax > 2**-100)
    return mxref.shared_scale(amax, format) + below.astype(np.uint8)
""",
    ),
    "sign of one position wrong": Bug(
        Case("quantize.mxfp4_e2m1.f32.ones", 0x06, 0x0E, "MX-6.3", word=18),  # 1 is 4 * 2**-2
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    codes = blocks.codes.copy()
    codes[:, 17] ^= 8
    return blocks.scale_codes, codes
""",
    ),
    "zero block with scale one": Bug(
        Case("quantize.mxfp4_e2m1.f32.zeros", 0x00, 0x7F, "N6", under("zero_block=one")),
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = blocks.scale_codes.copy()
    scales[(values == 0).all(axis=1)] = 0x7F
    return scales, blocks.codes
""",
    ),
    "scales of twice the size": Bug(
        Case("quantize.mxfp4_e2m1.f32.ones", 0x7D, 0x7E, "MX-6.3", OPEN),
        """
def quantize(values, format):  # a scale is free, and the elements are right under it
    scales = mxref.quantize(values, format).scale_codes
    scales = np.where(scales < 0xF0, scales + 1, scales).astype(np.uint8)
    wide = np.ldexp(values.astype(np.float64), 127 - scales.astype(int))
    return scales, mxref.encode(wide, "e2m1")
""",
    ),
    "NaN block without a reason": Bug(
        Case("quantize.mxfp4_e2m1.f32.ones", 0x7D, 0xFF, "MX-6.3"),
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = blocks.scale_codes.copy()
    scales[(values == 1).all(axis=1)] = 0xFF
    return scales, blocks.codes
""",
    ),
    "largest element taken with its sign": Bug(
        # -11 at 15; the largest of the others is 31/64
        Case("quantize.mxfp4_e2m1.f32.largest_15", 0x80, 0x7B, "MX-6.3"),
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    scales = mxref.shared_scale(np.maximum(values.max(axis=1), 0), "e2m1")
    return scales, blocks.codes
""",
    ),
    "NaN block with a finite scale": Bug(
        Case("quantize.mxfp8_e4m3.f32.nan_00", 0xFF, 0xFE, "N4", OPEN),
        """
def quantize(values, format):
    blocks = mxref.quantize(values, format)
    return np.minimum(blocks.scale_codes, 0xFE), blocks.codes
""",
    ),
    "subnormal products flushed": Bug(
        # 0.5 * 2**-127
        Case("dequantize.mxfp4_e2m1.f32.00_00", 0x00200000, 0x00000000, "MX-5.1", word=1),
        """
right = dequantize
def dequantize(*arguments):
    result = right(*arguments)
    return np.where(np.abs(result) < 2.0**-126, np.float32(0), result)
""",
    ),
    "products clamped": Bug(
        # 2 * 2**127
        Case(
            "dequantize.mxfp8_e4m3.f32.fe_40",
            0x7F800000,
            0x7F7FFFFF,
            "N20",
            under("product_overflow=saturate"),
        ),
        """
right = dequantize
def dequantize(*arguments):
    largest = np.float32(np.finfo(np.float32).max)
    return np.clip(right(*arguments), -largest, largest)
""",
    ),
    "scale NaN ignored": Bug(
        # code 00 of a NaN block
        Case("dequantize.mxint8.f32.ff_00", 0x7FC00000, 0x00000000, "MX-5.1"),
        """
right = dequantize
def dequantize(scales, *others):
    return right(np.minimum(scales, 0xFE), *others)
""",
    ),
}


def line_of(name: str, text: str) -> int:
    """The line of a target with a bug that has a text."""
    lines = (RIGHT + BUGS[name].body).splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if text in line]
    return number
