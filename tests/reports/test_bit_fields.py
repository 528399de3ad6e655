"""Words in bits, of every vector file."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import VECTORS

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.read import by_stem, read_manifest
from mxref.cases.records import names_of
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.reports.bit_fields import of_code, of_float, sides
from mxref.reports.points import numbers
from mxref.targets.calls import without_cases


def test_every_file_has_sides_that_are_as_wide_as_its_words() -> None:
    seen = set()
    for stem in by_stem(read_manifest(VECTORS)):
        file = without_cases(*names_of(stem))
        asked, answered = sides(file)
        assert bool(asked) is bool(answered)
        if asked:
            seen.add(file.op)
            widths = [getattr(kind, "width", None) or kind.bits for kind in (*asked, *answered)]
            assert max(widths) <= 4 * max(file.in_digits, file.out_digits)
    assert seen == {
        "encode", "decode", "encode_scale", "decode_scale", "shared_scale", "quantize", "dequantize"
    }  # fmt: skip


@pytest.mark.parametrize("name", ELEMENT_FORMATS)
def test_fields_are_the_bits_of_a_code_and_marks_are_those_that_differ(name: str) -> None:
    fmt = ELEMENT_FORMATS[name]
    values = numbers(np.arange(fmt.code_count + 1, dtype=np.uint64), fmt)
    assert np.isnan(values[-1])
    for code in range(fmt.code_count):
        word = of_code("got", code, fmt, 5)
        bits = [bit for field in word.fields for bit in field.bits]
        assert int("".join(bit for bit, _ in bits), 2) == code
        assert len(bits) == fmt.bits
        assert int("".join(str(int(wrong)) for _, wrong in bits), 2) == code ^ 5
        value = fmt.value(code)
        assert values[code] == value or value != value


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_fields_of_a_float(layout: FloatLayout) -> None:
    word = of_float("input", layout.inf_bits | layout.sign_bit, layout)
    assert ["".join(bit for bit, _ in field.bits) for field in word.fields] == [
        "1",
        "1" * layout.exponent_bits,
        "0" * layout.mantissa_bits,
    ]
