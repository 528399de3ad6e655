"""`mxref explain` with a code, a flag or a layout of scales, and the precision of formats."""

from __future__ import annotations

import itertools
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from pages import output_of
from tables import rows

import mxref
from mxref.cli.explain_codes import code_data, code_of
from mxref.cli.formats_verb import precision_of
from mxref.formats.catalog import ELEMENT_FORMATS, MX_ELEMENTS, ElementFormat, element_format


@pytest.mark.parametrize("name", MX_ELEMENTS)
def test_numbers_that_become_a_code_are_those_that_encode_makes_it(name: str) -> None:
    """At both ends and beside them; whether a tie belongs to it, too."""
    fmt, count = element_format(name), 0
    for code in range(fmt.code_count):
        text = code_data(code, fmt)["numbers"]
        match = re.fullmatch(r"from (\S+) to (\S+), ties (\w+)(, inf.*)?, to .*", text)
        if match is None:
            assert not math.isfinite(fmt.value(code)) or code == fmt.sign_bit, hex(code)
            continue
        count += 1
        low, high = np.float64([match[1], match[2]])
        assert code or low == (-(2.0**-7) if name == "int8" else 0)
        inside = np.nextafter([low, high], [high, low])
        assert mxref.encode(inside, name).tolist() == [code, code] or fmt.value(code) == 0
        assert mxref.encode([inside[1]], name).tolist() == [code]
        for end in (low, high):
            if math.isinf(end):
                assert (mxref.encode([end], name)[0] == code) == (match[4] is None)
            elif end != fmt.value(code):
                belongs = mxref.encode([end], name)[0] == code
                assert belongs == (match[3] == "included") or fmt.value(code) == 0
                beyond = np.nextafter(end, end + (end - fmt.value(code)))
                assert mxref.encode([beyond], name)[0] != code
    assert count > fmt.code_count - 10


def test_values_are_made_of_fields() -> None:
    """What is written, computed in fractions, is the value by ml_dtypes' definition."""
    for name in ("e4m3", "e5m2", "e2m1", "e3m2", "e2m3", "int8"):
        fmt = ELEMENT_FORMATS[name]
        for code in range(fmt.code_count):
            made = code_data(code, fmt)["made"].partition(",")[0].replace("^", "**")
            if made:
                made = re.sub(r"(\d+)", r"Fraction(\1)", made)
                assert eval(made, {"Fraction": Fraction}) == Fraction(fmt.value(code))
            else:
                assert not math.isfinite(fmt.value(code)) or fmt.value(code) == 0


@pytest.mark.parametrize(("asked", "first"), rows("cli", "codes"))
def test_a_code_or_a_number(asked: str, first: str) -> None:
    status, output = output_of(f"mxref explain {asked}")
    assert (status, output.splitlines()[0]) == (0, first)


def test_json_of_a_code() -> None:
    _, output = output_of("mxref explain 0x7e --format e4m3 --json")
    (answer,) = json.loads(output)["answers"]
    assert (answer["kind"], answer["bits"], answer["value"]) == ("code", "0 1111 110", "448")
    assert answer["beside"] == "7d = 416 below, no number above"
    assert answer["numbers"] == "from 432 to inf, ties included, to nearest with ties to even"


@pytest.mark.parametrize("text", ["0x10", "0b10000", "0x7e"])
def test_a_code_that_a_format_has_not(text: str) -> None:
    with pytest.raises(ValueError, match=r"a code of e2m1 must have 4 bits and be at most f, got"):
        code_of(text, element_format("e2m1"))


def test_a_code_alone() -> None:
    status, output = output_of("mxref explain 0x7E")
    assert status == 2
    assert "--format must be given with a code, as in `mxref explain 0x7E --format e4m3`" in output


def test_a_flag_names_choices_and_who_does_what() -> None:
    _, output = output_of("mxref explain underflow")
    assert "underflow_sign=kept" in output
    assert "microxcaling_cuda" in output
    assert "more of one: mxref explain choice underflow_sign" in output


@pytest.mark.parametrize(
    ("name", "error", "ulp"),
    [
        ("e2m1", "1/5 of a normal number, to nearest: 20 %", "2^-1 from 0, 2^0 from 2^1"),
        ("e4m3", "1/17 of", "2^-9 from 0, 2^-8 from 2^-5, ..., 2^5 from 2^8"),
        ("int8", None, "2^-6 throughout"),
    ],
)  # fmt: skip
def test_precision(name: str, error: str | None, ulp: str) -> None:
    _, output = output_of(f"mxref formats {name}")
    assert f"ulp            {ulp}" in output
    assert ("largest error" in output) == (error is not None)
    assert error is None or f"largest error  {error}" in output


@pytest.mark.parametrize(
    ("bias", "ulp"),
    [
        (2, "2^-4 from 0, 2^-3 from 2^0, ..., 2^10 from 2^13"),
        (15, "2^-17 from 0, 2^-16 from 2^-13, ..., 2^-3 from 2^0"),
    ],
)
def test_ulps_of_formats_whose_second_or_last_binade_begins_at_1(bias: int, ulp: str) -> None:
    fmt = ElementFormat(f"of_bias_{bias}", exponent_bits=4, mantissa_bits=3, bias=bias)
    assert precision_of(fmt)["ulp"] == ulp


@pytest.mark.parametrize("name", ["e2m1", "e3m2", "e2m3", "e4m3", "e5m2"])
def test_the_largest_relative_error(name: str) -> None:
    """Of all midpoints between normal numbers, which are where errors are largest."""
    fmt = element_format(name)
    numbers = sorted(
        Fraction(fmt.value(c)) for c in range(fmt.max_code + 1) if fmt.value(c) >= fmt.min_normal
    )
    errors = [(b - a) / (a + b) for a, b in itertools.pairwise(numbers)]
    _, output = output_of(f"mxref formats {name} --json")
    fraction = json.loads(output)["largest error"].partition(" ")[0]
    assert Fraction(fraction) == max(errors)


@pytest.mark.parametrize("name", ["tiles_128x4", "row_major"])
def test_addresses_of_a_layout(name: str) -> None:
    """The rows that are shown, by what `pack_scales` does with 256 x 8 scales that tell places."""
    _, output = output_of(f"mxref explain {name}")
    places = np.arange(256 * 8).reshape(256, 8)
    byte = np.zeros(256 * 8, np.int64)
    for digit in (0, 8):
        packed = mxref.pack_scales((places >> digit & 0xFF).astype(np.uint8), scale_layout=name)
        byte |= np.asarray(packed).reshape(-1).astype(np.int64) << digit
    where = np.argsort(byte).reshape(256, 8)
    shown = re.findall(r"^ {12}( *\d+(?: +\d+){8})$", output, re.MULTILINE)
    assert len(shown) == 9
    for line in shown:
        row, *found = map(int, line.split())
        assert found == where[row].tolist()
