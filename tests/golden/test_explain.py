"""``mxref explain``: numbers under every choice, and cases, worked out by hand."""

from __future__ import annotations

import argparse
import json
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, copy_vectors

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.words import FLAGS, rules
from mxref.cli import main
from mxref.cli.explain_choices import explain_members, integer_choices
from mxref.cli.explain_clauses import explain_clause
from mxref.cli.spec_notes import clauses, sections
from mxref.formats.catalog import E2M1, E4M3, E8M0, INT8, UE4M3, UE5M3, CodeFormat
from mxref.golden.explain_number import answers, fraction, neighbours, parse_number
from mxref.numbers.element import encode
from mxref.policy.policy import READS, Policy
from mxref.profiles import PROFILES

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main(["explain", *map(str, arguments)])
        return status, *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    ("text", "float", "bits"),
    [
        ("0.3", "f32", 0x3E99999A),
        ("1.75*2^8", "f32", 0x43E00000),
        ("-1.*2**-126", "f32", 0x80800000),
        ("1", "f16", 0x3C00),
        ("1.", "bf16", 0x3F80),
        ("+1e0", "f64", 0x3FF0000000000000),
        ("0", "f32", 0),
        ("-0", "f32", 0x80000000),
        ("-0.0", "f16", 0x8000),
        ("1e-999999", "f64", 0),
        ("-1e-999999", "f64", 0x8000000000000000),
        ("1e999999", "f64", 0x7FF0000000000000),
        ("65519.99", "f16", 0x7BFF),  # below the midpoint of 65504 and 65536
        ("65520", "f16", 0x7C00),  # the midpoint, to the even one
        ("1.4e-45", "f32", 1),
        # Midpoint of 1 and the float above it, and more: float64 would round to the midpoint.
        ("1.000000059604644775390625", "f32", 0x3F800000),
        ("1.0000000596046447753906250000000000000001", "f32", 0x3F800001),
        ("0x1.000001p0", "f32", 0x3F800000),
        ("0x1.00000100000000000000000000001p0", "f32", 0x3F800001),
        ("0x1p-149", "f32", 1),
        ("0x1p-150", "f32", 0),  # half of it, to the even one
        ("0x1.8p-150", "f32", 1),
        ("-0x.8p1", "f32", 0xBF800000),
        ("0xA.8", "f32", 0x41280000),
        ("0x1p-99999", "f64", 0),
        ("0x1p99999", "f64", 0x7FF0000000000000),
        ("0x3f800000", "f32", 0x3F800000),
        ("0x7FC00001", "f32", 0x7FC00001),
        ("0x00ff", "f16", 0xFF),
        ("inf", "bf16", 0x7F80),
        ("-Infinity", "f32", 0xFF800000),
        ("nan", "f64", 0x7FF8000000000000),
        ("-NaN", "f16", 0xFE00),
        ("1/3", "f32", 0x3EAAAAAB),
        ("-2/6", "f16", 0xB555),
        ("2^-149", "f32", 1),
        ("-2**-126", "f32", 0x80800000),
        ("2^99999", "f64", 0x7FF0000000000000),
    ],
)
def test_numbers_in_words(text: str, float: str, bits: int) -> None:
    assert parse_number(text, LAYOUTS[float]) == bits


@pytest.mark.parametrize(
    "text", ["0.1", "1e22", "123456789.123456789e-300", "2.2250738585072011e-308", "9" * 400]
)
def test_decimals_are_rounded_as_python_rounds_them(text: str) -> None:
    (bits,) = struct.unpack("<Q", struct.pack("<d", float(text)))
    assert parse_number(text, LAYOUTS["f64"]) == bits


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "e", "1e", "--1", "+-1", "0x", "0x.", "0x1p", "0xg", "1_0", "\u0661", "snan"),
        "1 2",
        *("1/0", "1/", "/3", "1/2/3", "2^", "3^2", "2^1.5", "2**123456", "0,3", "3e99999a"),
    ],
)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a (number|pattern of f32) must be .*, got '"):
        parse_number(text, LAYOUTS["f32"])


@pytest.mark.parametrize("text", ["0x123456789", "-0x3f800000", "0x7", "0x3f80", "0x03f800000"])
def test_a_pattern_of_another_width_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"f32 must be 0x and 8 hex digits, got .*formats FORMAT`$"
    ):
        parse_number(text, LAYOUTS["f32"])


def test_fractions() -> None:
    assert fraction(0x00000001, LAYOUTS["f32"]) == Fraction(1, 2**149)
    assert fraction(0xC2F60000, LAYOUTS["f32"]) == -123
    assert fraction(0x7F800000, LAYOUTS["f32"]) is None
    assert fraction(0xFFC00000, LAYOUTS["f32"]) is None


@pytest.mark.parametrize(
    ("number", "below", "above"),
    [
        ("0.25", (0x0, "0.25"), (0x1, "0.25")),
        ("-0.75", (0xA, "0.25"), (0x9, "0.25")),
        ("5.5", (0x6, "1.5"), (0x7, "0.5")),
        ("6", (0x7, "0"), (0x7, "0")),
        ("0", (0x0, "0"), (0x0, "0")),
        ("6.5", (0x7, "0.5"), None),
        ("-7", None, (0xF, "1")),
    ],
)
def test_neighbours_in_e2m1(
    number: str, below: tuple[int, str] | None, above: tuple[int, str] | None
) -> None:
    want = tuple(None if each is None else (each[0], Fraction(each[1])) for each in (below, above))
    assert neighbours(Fraction(number), E2M1) == want


def test_neighbours_at_the_ends() -> None:
    assert neighbours(Fraction(-2), INT8) == ((0x80, 0), (0x80, 0))
    assert neighbours(Fraction(449), E4M3) == ((0x7E, 1), None)
    half = Fraction(1, 2**128)
    assert neighbours(half, E8M0) == (None, (0x00, half))


ROUNDINGS = [
    "ties_to_away",
    "ties_to_zero",
    "toward_zero",
    "toward_positive",
    "toward_negative",
    "to_odd",
]


def test_every_rounding_is_named_once() -> None:
    listed = [name for names in answers(0x3F800000, "f32", E2M1).values() for name in names]
    assert listed == ["ocp", *(f"rounding={name}" for name in ROUNDINGS)]


def test_answers_to_a_nan() -> None:
    found = answers(0xFFC00000, "f32", E2M1)
    assert found == {
        7: ["ocp", *(f"rounding={name}" for name in ROUNDINGS)],
        15: ["nan_to_finite=signed_max"],
        0: ["nan_to_finite=zero", "nan_to_finite=opposite_zero"],
        8: ["nan_to_finite=signed_zero"],
        None: ["nan_to_finite=error"],
    }


def test_a_number(explain: Call) -> None:
    status, out, err = explain(0.3, "--format", "e2m1")
    assert (status, err) == (0, "")
    # float32 has 0.3 as 5033165 * 2**-24; 0.5 is 8388608 * 2**-24.
    lines = out.splitlines()
    assert lines[:11] == [
        "0.3 as f32: 3e99999a = 0x1.333334p-2 = 0.30000001",
        "ocp: 01 = 0.5",
        "at or below: 00 = 0, about 0.3 (5033165 * 2^-24) away",
        "at or above: 01 = 0.5, about 0.2 (3355443 * 2^-24) away, nearer",
        "midway: 0.25, a tie goes to 00 by ties_to_even, to 01 by ties_to_away",
        "",
        "09 = -0.5              00 = 0                    01 = 0.5                   02 = 1",
        "|------------+------------|-------------+-x----------|------------+------------|",
        "           -0.25                      0.25                      0.75",
        "                                   x = 0.300000012",
        "",
    ]
    assert lines[11:14] == [
        "e2m1      under",
        "01 = 0.5  ocp rounding=ties_to_away rounding=ties_to_zero rounding=toward_positive",
        "          rounding=to_odd",
    ]
    assert lines[14].startswith("          profiles: ocp, ml_dtypes, cuda,")
    assert lines[-2:] == [
        "00 = 0    rounding=toward_zero rounding=toward_negative",
        "every other choice as ocp",
    ]


def test_a_tie(explain: Call) -> None:
    _, out, _ = explain("2.5", "--format", "e2m1", "--float", "bf16")
    assert out.splitlines()[2:4] == [
        "at or below: 04 = 2, 0.5 away, midway",
        "at or above: 05 = 3, 0.5 away, midway",
    ]


def test_a_number_beyond_the_format(explain: Call) -> None:
    _, out, _ = explain("0x1.ep8", "--format", "e4m3")
    assert "at or below: 7e = 448, 32 away\nat or above: nothing in e4m3\n" in out
    assert "7f = nan  overflow=nonsaturating overflow=nonsaturating_ieee\n" in out


def test_an_infinity_has_no_neighbours(explain: Call) -> None:
    _, out, _ = explain("--format", "e5m2", "--", "-inf")
    assert out.startswith("-inf as f32: ff800000 = -inf\nocp: fb = -57344\n\ne5m2         under\n")
    assert "fc = -inf    overflow=nonsaturating overflow=nonsaturating_ieee overflow=propag" in out


def test_a_scale(explain: Call) -> None:
    _, out, _ = explain("--format", "e8m0", "--", "-1.5")
    assert "at or below: 7f = 2^0, 0.5 away, midway\n" in out
    assert "ff = nan" in out
    assert "scale_of_negative=nan" in out


def test_an_unsigned_float(explain: Call) -> None:
    # Between 1 and 9 / 8, which are 38 and 39; signs are dropped.
    _, out, _ = explain("--format", "ue4m3", "--", "-1.0625")
    assert out.splitlines()[2:4] == [
        "at or below: 38 = 1, 0.0625 away, midway",
        "at or above: 39 = 1.125, 0.0625 away, midway",
    ]
    assert "\n38 = 1      ocp " in out
    _, out, _ = explain("2", "--format", "ue5m3")
    assert "at or below: 80 = 2, exactly\nat or above: 80 = 2, exactly\n" in out


@pytest.mark.parametrize("fmt", [UE4M3, UE5M3], ids=lambda fmt: fmt.name)
def test_unsigned_floats_are_explained_as_they_are_encoded(fmt: CodeFormat) -> None:
    words = [0x3F880000, 0xBF880000, 0xBF8C0001, 0x7F800000, 0xFFC00000, 0x3A800000, 0, 1 << 31]
    for word in words:
        for code, policies in answers(word, "f32", fmt).items():
            for policy in policies:
                name = policy if policy == "ocp" else f"ocp+{policy}"
                value = np.array([word], np.uint32).view(np.float32)
                assert encode(value, fmt, name).tolist() == [code], (hex(word), policy)


def test_what_every_profile_makes_of_a_number(explain: Call) -> None:
    status, out, err = explain(465, "--format", "e4m3", "--profiles")
    assert (status, err) == (0, "")
    assert out.splitlines()[4:] == [
        "overflow: what rounds past the largest number, from 464 on; the tie 464 stays by "
        "ties_to_even",
        "",
        "e4m3      profiles",
        "7e = 448  ocp, cuda, cuda_satfinite, onnx, torch, compressed_tensors, gfloat, mlx_0_31, "
        "mlx_0_32",
        "7f = nan  ml_dtypes, cuda_nosat, onnx_nosat, torch_2_12, openvino_fp8, jax_casts, tosa",
    ]
    _, out, _ = explain("1.6", "--format", "e8m0", "--profiles")
    assert "\n7f = 2^0  ocp, cuda_e8m0_rz, cuda_e8m0_rz_nosat, onnx_down\n" in out
    assert "\n80 = 2^1  ml_dtypes, cuda, cuda_e8m0_rn," in out
    _, out, _ = explain("nan", "--format", "e2m1", "--profiles")
    assert "\nan error  gfloat\n" in out
    _, out, _ = explain("465", "--format", "e4m3", "--float", "f64", "--profiles")
    others = "openvino_fp8, compressed_tensors, mlx_0_31, mlx_0_32, tosa"
    assert out.endswith(f"\nno f64:  {others}\n")


def test_every_clause_of_spec_notes(explain: Call) -> None:
    notes = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
    headings = dict(re.findall(r"^### ([NQ]\d+) · (.*)$", notes, re.MULTILINE))
    assert len(headings) >= 57
    listed = []
    for name, about in headings.items():
        status, out, err = explain(name)
        assert (status, err) == (0, "")
        assert out.startswith(f"clause {name}: {about}\nin SPEC_NOTES.md\n\n")
        assert max(map(len, out.splitlines())) <= 100, name
        assert len(out.splitlines()) <= 45, name
        text, _, table = out.rpartition("\n\n")
        assert not re.search(r"`|\*\*|^\|", text, re.MULTILINE), name
        _, *words = notes.partition(f"### {name} · {about}\n")[2].split("\n### ")[0].split()
        assert words[0].strip("*") in out
        asked = explain_clause(argparse.Namespace(name=name))[0].data["members"]
        for one in asked:  # each has a row with what it does; a long name is folded
            choice, _, member = one["name"].partition("=")
            row = rf"^(?:{choice}=)?{member[:12]}.*  {one.get('standing', '')[:8]}"
            assert re.search(row, table, re.MULTILINE), one["name"]
            assert f"{one['about'].split()[0]}" in table
        listed += [one["name"] for one in asked]
    kinds = {name: Policy.members(name) for name in Policy().choices()}
    wanted = [f"{name}={one.value}" for name, kind in kinds.items() for one in kind]
    wanted += [f"{name}={one.value}" for name, kind in integer_choices().items() for one in kind]
    assert sorted(listed) == sorted(wanted)


def test_a_clause_says_who_does_what(explain: Call) -> None:
    _, out, _ = explain("N22")
    assert re.search(
        r"\nscale_ff=nan +required +NaN, and so every element +ocp, ml_dtypes and", out
    )
    assert re.search(r"\nscale_ff=inf +contradicts +infinity: .* compressed_tensors, mlx_0_31", out)
    # 2**-128 for FF, which no member says.
    assert "by stages scale_ff: fbgemm_mx4_nearest" in out
    (answer,) = json.loads(explain("N25", "--json")[1])["answers"]
    (dropped,) = (one for one in answer["members"] if one["name"] == "zero_sign=dropped")
    assert dropped["standing"] == "contradicts for FP8, silent for FP6 and FP4"
    assert dropped["standing_in"] == {"FP8": "contradicts", "FP6, FP4": "silent"}
    assert re.search(r"\nzero_point .*\nafter .*\nbefore ", explain("Q3")[1])


def test_every_section_of_mx_that_is_named(explain: Call) -> None:
    assert {"MX-5.1", "MX-5.3.1", "MX-5.3.4", "MX-6.3"} <= {f"MX-{one}" for one in sections()}
    for name in {*(f"MX-{one}" for one in sections()), *(r for r in rules() if r[0] == "M")}:
        status, out, err = explain(name)
        assert (status, err) == (0, "")
        about = f": {rules()[name]}" if name in rules() else ""
        where = name[3:].replace("-T", ", Table ")
        assert out.startswith(f"clause {name}{about}\nin OCP MX v1.0, {where}\n")
        assert re.search(r"\nN\d+: .*\n  - Text\. ", out), name
        assert len(out.splitlines()) <= 45, name
        assert max(map(len, out.splitlines())) <= 100, name
    _, out, _ = explain("MX-6.3")
    assert "\nN16: emax of INT8\n  - Text. MX §6.3 divides by" in out
    assert "\n  int8_emax: recommended zero; contradicts one\n" in out


def test_clauses_come_from_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '"SPEC_NOTES.md" = "mxref/_notes/SPEC_NOTES.md"' in project
    package = tmp_path / "site" / "mxref"
    monkeypatch.setattr(mxref, "__file__", str(package / "__init__.py"))
    with pytest.raises(ValueError, match=r"^SPEC_NOTES.md must be at .*_notes.* or .*got neither"):
        clauses.__wrapped__()
    (package / "_notes").mkdir(parents=True)
    (package / "_notes" / "SPEC_NOTES.md").write_text("### N1 · One\ntext\n\n## End\n", "utf-8")
    assert clauses.__wrapped__() == {"N1": ("N1", "One", "text")}


def test_a_model(explain: Call) -> None:
    text = "model M6: walking sticky bit: a tie with one lower bit set, for each such bit\n"
    assert explain("M6") == (0, text, "")


def test_a_choice(explain: Call) -> None:
    status, out, err = explain("scale_ff")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:4] == [
        "choice scale_ff",
        "  is        The value of scale code FF. Source: SPEC_NOTES N22.",
        "  read by   decode_scale, dequantize; the first is ocp's",
        "member  standing     what it does                            profiles",
    ]
    assert [line.split()[:2] for line in lines[4:] if line[:1].isalpha()] == [
        ["nan", "required"],
        ["inf", "contradicts"],
        ["power", "contradicts"],
        ["more", "of"],
    ]


def test_a_choice_on_which_the_standard_speaks_of_fp8_alone(explain: Call) -> None:
    for name in ("zero_sign", "underflow_sign"):
        _, out, _ = explain(name)
        text = " ".join(out.split())
        assert " kept required for FP8, " in text
        (answer,) = json.loads(explain(name, "--json")[1])["answers"]
        assert {one["name"]: one["standing"] for one in answer["members"]} == {
            f"{name}=kept": "required for FP8, silent for FP6 and FP4",
            f"{name}=dropped": "contradicts for FP8, silent for FP6 and FP4",
        }


def test_every_word_is_explained(explain: Call) -> None:
    for name in (*FLAGS, *Policy().choices()):
        status, out, _ = explain(name)
        assert status == 0
        assert re.search(rf"(flag|choice) +{name}\b", out), name


def test_a_word_with_several_meanings(explain: Call) -> None:
    _, out, _ = explain("nan")
    kinds = [tuple(line.split()[:2]) for line in out.splitlines()[2:] if line[0] != " "]
    members = [
        f"{choice}=nan"
        for choice in Policy().choices()
        for one in Policy.members(choice)
        if one.value == "nan"
    ]
    assert len(members) == 8
    words = [("flag", "nan"), ("choice", "nan"), ("integer", "choice")]
    assert kinds == [*words, *(("member", name) for name in members), ("more", "of")]
    # Each alone, by its kind.
    assert explain("flag", "nan")[1].startswith("flag nan: NaN input or result")
    assert explain("choice", "nan")[1].startswith("choice nan\n")
    assert explain("integer choice nan")[1].startswith("integer choice nan\n")
    # Two that fit a screen are shown in full; parts of other names are named.
    _, out, _ = explain("ignore")
    assert re.findall(r"^(\w+=\w+), ", out, re.M) == ["block_nan=ignore", "block_inf=ignore"]
    assert (
        "\n  see also  rounding=ties_to_even, scale_rounding=ties_to_even\n" in explain("even")[1]
    )
    assert explain("none")[1].startswith("pre_rounding=none, silent: the input is rounded once\n")


def test_a_number_fits_a_screen(explain: Call) -> None:
    for text in ("0.3", "1e-300", "nan", "-inf", "0x1.23456789abcdep-1022"):
        for format in ("e2m1", "e5m2", "int8", "e8m0", "e4m3fnuz", "ue4m3"):
            status, out, _ = explain("--format", format, "--float", "f64", "--", text)
            assert status == 0
            assert len(out.splitlines()) <= 45
            assert max(map(len, out.splitlines())) <= 100


CASE = """\
encode.e2m1.f32.3fa00000
in    3fa00000 = 0x1.4p+0 = 1.25
rule  MX-5.3.3, FP4 encoding, rounding and clamping: required of everyone
model M7, both sides of every step of every rounding and overflow method: each number of the format
      and each midpoint between two, and 1 ulp to both sides
flag  tie: exactly midway between two neighbouring numbers of the format

out   02 = 1
      ocp rounding=ties_to_zero rounding=toward_zero rounding=toward_negative
      nan_to_finite=signed_max nan_to_finite=zero nan_to_finite=signed_zero
      nan_to_finite=opposite_zero zero_sign=dropped underflow_sign=dropped
      pre_rounding=bfloat16 pre_rounding=float16

out   03 = 1.5
      rounding=ties_to_away rounding=toward_positive rounding=to_odd
"""


def test_a_case(explain: Call) -> None:
    assert explain("encode.e2m1.f32.3fa00000") == (0, CASE, "")


def test_a_case_of_one_answer(explain: Call) -> None:
    status, out, _ = explain("decode_scale.e8m0.f32.fe")
    assert status == 0
    assert "in    fe = 2^127\nrule  MX-5.4.1, E8M0 encoding: required of everyone\n" in out
    everyone = "ocp scale_00=zero scale_ff=inf scale_ff=power"
    assert out.endswith(f"\nout   7f000000 = 0x1p+127 = 1.7014118e+38\n      {everyone}\n")


def test_a_block(explain: Call) -> None:
    status, out, _ = explain("quantize.mxfp4_e2m1.f32.zeros")
    assert status == 0
    assert "rule  N6, scale of a block of zeros: the standard leaves the answer open\n" in out
    zeros = f"{'00 ' * 24}00\n      {'00 ' * 7}00"
    assert f"in    {('00000000 ' * 8).strip()}\n" in out
    assert f"\nout   {zeros}\n      ocp rounding=" in out
    assert f"\nout   7d{zeros[2:]}\n      zero_block=minus_emax\n" in out
    _, out, _ = explain("quantize.mxfp4_e2m1.f32.grid_0_00")
    assert ": the standard leaves the scale open, not the elements under it " in " ".join(
        out.split()
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["foo"], "NAME must be the id of a case .* or a number with --format, got 'foo'"),
        (["N0"], "NAME must be .*a clause such as N14 or MX-6.3, .*, got 'N0'"),
        (["MX-9.9"], "NAME must be .*a clause such as N14 or MX-6.3, .*, got 'MX-9.9'$"),
        (["1", "--format", "ue4m3", "--profiles"], "--profiles must be .*, got ue4m3$"),
        (["N14", "--profiles"], "--profiles must be given with a number and --format, got 'N14'"),
        (["MX-6.3-T3"], "NAME must be .*, got 'MX-6.3-T3'$"),
        (["0.3"], "--format must be given with a number, as in .* --format e2m1`, got '0.3'"),
        (["0,3", "--format", "e2m1"], "got '0,3' \\(did you mean '0.3'\\?\\)"),
        (["3e99999a", "--format", "e2m1"], "got '3e99999a' \\(did you mean '0x3e99999a'\\?\\)"),
        (["1", "--format", "mxfp4", "--profiles"], "--profiles must be absent with a block"),
        (["1 " * 33, "--format", "mxfp4"], "mxfp4_e2m1 must have at most 32 numbers, got 33: "),
        (["rceil", "--format", "mxfp9"], "--format must be one of .*, got 'mxfp9'"),
        (["verify"], "NAME must be no verb, got 'verify': `mxref verify --help` explains it"),
        (["1.75*3^8", "--format", "e4m3"], "a number must be a decimal, .* got '1.75\\*3\\^8'"),
        (["rcel"], "got 'rcel' \\(did you mean 'rceil'\\?\\)"),
        (["0.3.4", "--format", "e2m1"], "a number must be a decimal, .* got '0.3.4'"),
        (["1", "--format", "e2m2"], "--format must be one of .* \\(did you mean 'e5m2'\\?\\)"),
        (["1", "--format", "e2m1", "--float", "f8"], "--float must be one of .*, got 'f8'"),
        (["encode.e2m1.f32.0000beef"], "there is no case 'encode.e2m1.f32.0000beef' in "),
        (["encode.e2m1.f8.00"], "there is no case .encode.e2m1.f8.00. in"),
        (["encode.e2m1.f32.3fa00000", "--format", "e2m1"], "--format and --float must be absent"),
    ],
)
def test_what_cannot_be_explained(explain: Call, arguments: list[str], reason: str) -> None:
    status, out, err = explain(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("mxref: error: ")
    assert err.count("\n") == 1
    assert re.search(reason, err), err


def test_another_folder(explain: Call, tmp_path: Path) -> None:
    folder = copy_vectors(tmp_path / "few", "decode/e2m1.f32.jsonl")
    assert explain("decode.e2m1.f32.09", "--vectors", folder)[0] == 0
    status, _, err = explain("decode.e2m1.f32.90", "--vectors", folder)
    assert (status, err) == (
        2,
        f"mxref: error: there is no case 'decode.e2m1.f32.90' in {folder}\n",
    )


def test_a_profile(explain: Call) -> None:
    status, out, err = explain("torchao_0_18_rceil")
    assert (status, err) == (0, "")
    lines = [re.split(r" {2,}", line) for line in out.splitlines()]
    assert ["version", "0.18.0, torch 2.13.0"] in lines
    assert ["policy", "ocp+nan=signed+scale_rule=rceil"] in lines
    (checked,) = [line for line in lines if line[0] == "checked"]
    assert checked[1].startswith("tools/adapters/torchao_adapter.py:RCEIL")
    assert "unpack e2m1; floats f32, bf16 policy " in " ".join(out.split())
    choices = [tuple(line[:3]) for line in lines if line[0] in ("nan", "scale_rule")]
    assert choices == [("nan", "signed", "permitted"), ("scale_rule", "rceil", "permitted")]
    stages = [
        line[:2] for line in lines if len(line) == 3 and line[1].startswith(("stages.", "torchao."))
    ]
    assert stages == [
        ["amax", "stages.largest_or_nan"],
        ["scale", "torchao.rceil_scale"],
        ["divide", "torchao.rceil_quotients"],
        ["element", "torchao.element"],
        ["nonfinite", "stages.unchanged"],
        ["pack", "torchao.packed"],
    ]
    # The functions have their rows where the last line says.
    notes = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
    assert 'SPEC_NOTES.md, "Stages that profiles replace"' in out
    assert "## Stages that profiles replace" in notes
    assert all(f"| `{name}` | {stage} |" in notes for stage, name in stages)
    assert "no stage is replaced: it is its policy" in explain("torch_e5m2")[1]


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_explained(explain: Call, name: str) -> None:
    status, out, err = explain(name)
    assert (status, err) == (0, "")
    if " meanings\n" in out:
        assert re.search(rf"^profile +{name} ", out, re.M)
        status, out, _ = explain("profile", name)
    source = f"profile {name} source {PROFILES[name].source} version "
    assert " ".join(out.split()).startswith(source)
    assert max(map(len, out.splitlines())) <= 100


def test_profiles_that_cannot_be_explained(explain: Call) -> None:
    status, _, err = explain("torchao_0_18_rcel")
    assert (status, err.endswith("(did you mean 'torchao_0_18_rceil'?)\n")) == (2, True)
    status, _, err = explain("torch", "--float", "f32")
    assert (status, "must be absent where NAME is a profile" in err) == (2, True)


def test_a_member_of_a_choice(explain: Call) -> None:
    status, out, err = explain("rceil")
    assert (status, err) == (0, "")
    assert out == explain("RCEIL")[1] == explain("scale_rule=rceil")[1]
    lines = out.splitlines()
    assert lines[0] == (
        "scale_rule=rceil, permitted: amax / scale <= max: no element is beyond the largest number"
    )
    read = "shared_scale, quantize, linear, linear_gradients"
    assert f"  policy    ocp+scale_rule=rceil; read by {read}" in lines
    limit = "e4m3    <= 448              k stays   the same for p <= 1.75, twice for p > 1.75"
    assert limit in lines
    # A block whose amax is 1.75: 7 * 2**-2, which is above 6 * 2**-2.
    assert lines[-3:] == [
        "  in        -1.75 at 31, all else 0",
        "  default   scale 7d = 2^-2; 0f = -1.5",
        "  it gives  scale 7e = 2^-1; 0e = -2",
    ]
    assert any(re.search(r"^  profiles  .*torchao_0_18_rceil", line) for line in lines)


def test_every_member_is_explained_in_all_its_choices(explain: Call) -> None:
    members: dict[str, list[str]] = {}
    for choice in Policy().choices():
        for member in Policy.members(choice):
            members.setdefault(member.value, []).append(choice)
    kept = ["zero_sign", "underflow_sign", "subnormal_inputs", "decoded_zero", "activations"]
    assert members["kept"] == kept
    options = argparse.Namespace(vectors=None, format=None)
    for value, choices in members.items():
        found = explain_members(argparse.Namespace(**vars(options), name=value))
        own = [one.data for one in found if one.data["kind"] == "member"]
        assert [one["choice"] for one in own] == choices
        assert all(one["about"] and one["source"] and one["clause"] for one in own), value


def test_a_word_that_is_a_member_and_a_mutant(explain: Call) -> None:
    _, out, _ = explain("ceil")
    assert out.startswith("scale_rule=ceil, permitted: ")
    assert "\n\nC3 ceil (shared_scale): takes the next power of two up\n" in out


def test_a_policy(explain: Call) -> None:
    _, out, _ = explain("ocp+scale_rule=rceil+nan=signed")
    assert [line.split(",")[0] for line in out.splitlines() if line[0] != " "] == [
        "policy ocp+nan=signed+scale_rule=rceil: ocp",
        "nan=signed",
        "scale_rule=rceil",
    ]
    assert explain("ocp+scale_rule=rceil+nan=signd")[0] == 2


def test_a_format(explain: Call) -> None:
    for name in ("e2m1", "E2M1", "float4_e2m1fn"):
        status, out, _ = explain(name)
        assert (status, out.splitlines()[0]) == (0, "format         e2m1")
    assert explain("MXFP4")[1].startswith("block format   mxfp4_e2m1\n")


def test_names_in_another_case(explain: Call) -> None:
    for typed, name in (("n14", "N14"), ("Rounding", "rounding"), ("mx-6.3", "MX-6.3")):
        assert explain(typed) == explain(name)
        assert explain(typed)[0] == 0


@pytest.mark.parametrize("text", ["-inf", "-0x1.8p-3", "-1e-3", "-.5", "-2^-3", "-NaN"])
def test_negative_numbers_are_no_options(text: str, explain: Call) -> None:
    for words in ((text, "--format", "e4m3"), ("--format", "E4M3", text)):
        status, out, err = explain(*words)
        assert (status, err) == (0, "")
        assert out.startswith(f"{text} as f32: ")


def test_an_operation(explain: Call) -> None:
    status, out, err = explain("decode_scale")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "operation decode_scale reads these choices:",
        "choice    ocp has  of",
        "scale_00  power    The value of scale code 00. Source: SPEC_NOTES N22.",
        "scale_ff  nan      The value of scale code FF. Source: SPEC_NOTES N22.",
    ]
    for op in READS:
        assert explain(op)[1].startswith(f"operation {op} reads these choices:\n")


def test_float_types_as_typed(explain: Call) -> None:
    for typed, own in (("float32", "f32"), ("torch.bfloat16", "bf16"), ("FP16", "f16")):
        assert explain("0.3", "--format", "e2m1", "--float", typed) == (
            explain("0.3", "--format", "e2m1", "--float", own)
        )
