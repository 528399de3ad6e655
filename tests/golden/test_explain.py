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
from commands import Example, caller, examples
from helpers import ROOT, ROUNDINGS, copy_vectors
from tables import rows

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.words import FLAGS, rules
from mxref.cli import main
from mxref.cli.explain_choices import explain_members, integer_choices
from mxref.cli.explain_clauses import explain_clause
from mxref.cli.spec_notes import clauses, sections
from mxref.formats.catalog import E2M1, ELEMENT_FORMATS, SCALE_FORMATS, UE4M3, UE5M3, CodeFormat
from mxref.golden.explain_number import answers, fraction, neighbours, parse_number
from mxref.numbers.element import encode
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import READS, Policy
from mxref.profiles import PROFILES

Explain = Callable[..., str]
DATA = Path(__file__).parent / "data"
CODED = ELEMENT_FORMATS | SCALE_FORMATS


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Explain:
    """What is said of some words; it must fit a screen's width."""

    def call(*arguments: object) -> str:
        status = main(["explain", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        assert "--json" in arguments or max(map(len, out.splitlines())) <= 100
        return out

    return call


@pytest.mark.parametrize("example", examples(DATA / "explain.txt"))
def test_the_transcript(example: Example, capsys: pytest.CaptureFixture[str]) -> None:
    example.check(caller(capsys))


@pytest.mark.parametrize(("text", "float", "bits"), rows("golden", "numbers"))
def test_numbers_in_words(text: str, float: str, bits: str) -> None:
    assert parse_number(text, LAYOUTS[float]) == int(bits, 16)


@pytest.mark.parametrize(
    "text", ["0.1", "1e22", "123456789.123456789e-300", "2.2250738585072011e-308", "9" * 400]
)
def test_decimals_are_rounded_as_python_rounds_them(text: str) -> None:
    (bits,) = struct.unpack("<Q", struct.pack("<d", float(text)))
    assert parse_number(text, LAYOUTS["f64"]) == bits


NONE = "- e 1e --1 +-1 0x 0x. 0x1p 0xg 1_0 \u0661 snan 1/0 1/ /3 1/2/3 2^ 3^2 2^1.5 2**123456 0,3"


@pytest.mark.parametrize("text", ["", "1 2", *NONE.split(), "3e99999a"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a (number|pattern of f32) must be .*, got '"):
        parse_number(text, LAYOUTS["f32"])


@pytest.mark.parametrize("text", ["0x123456789", "-0x3f800000", "0x7", "0x3f80", "0x03f800000"])
def test_a_pattern_of_another_width_is_refused(text: str) -> None:
    reason = r"f32 must be 0x and 8 hex digits, got .*formats FORMAT`$"
    with pytest.raises(ValueError, match=reason):
        parse_number(text, LAYOUTS["f32"])


def test_fractions() -> None:
    f32 = LAYOUTS["f32"]
    assert (fraction(1, f32), fraction(0xC2F60000, f32)) == (Fraction(1, 2**149), -123)
    assert [fraction(bits, f32) for bits in (0x7F800000, 0xFFC00000)] == [None, None]


@pytest.mark.parametrize(("format", "number", "below", "above"), rows("golden", "neighbours"))
def test_neighbours(format: str, number: str, below: str, above: str) -> None:
    want = []
    for each in (below, above):
        code, _, distance = each.partition(" ")
        want.append((int(code, 16), Fraction(distance)) if distance else None)
    assert neighbours(Fraction(number), CODED[format]) == tuple(want)


OTHERS = [f"rounding={name}" for name in ROUNDINGS[1:]]


def test_every_rounding_is_named_once() -> None:
    listed = [name for names in answers(0x3F800000, "f32", E2M1).values() for name in names]
    assert listed == ["ocp", *OTHERS]


def test_answers_to_a_nan() -> None:
    assert answers(0xFFC00000, "f32", E2M1) == {
        7: ["ocp", *OTHERS],
        15: ["nan_to_finite=signed_max"],
        0: ["nan_to_finite=zero", "nan_to_finite=opposite_zero"],
        8: ["nan_to_finite=signed_zero"],
        None: ["nan_to_finite=error"],
    }


@pytest.mark.parametrize("fmt", [UE4M3, UE5M3], ids=lambda fmt: fmt.name)
def test_unsigned_floats_are_explained_as_they_are_encoded(fmt: CodeFormat) -> None:
    some = (0x3F880000, 0xBF880000, 0xBF8C0001, 0x7F800000, 0xFFC00000, 0x3A800000, 0, 1 << 31)
    for word in some:
        for code, policies in answers(word, "f32", fmt).items():
            for policy in policies:
                name = policy if policy == "ocp" else f"ocp+{policy}"
                value = np.array([word], np.uint32).view(np.float32)
                assert encode(value, fmt, name).tolist() == [code], (hex(word), policy)


def test_every_clause_of_spec_notes(explain: Explain) -> None:
    notes = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
    headings = dict(re.findall(r"^### ([NQ]\d+) · (.*)$", notes, re.MULTILINE))
    assert len(headings) >= 57
    listed = []
    for name, about in headings.items():
        out = explain(name)
        assert out.startswith(f"clause {name}: {about}\nin SPEC_NOTES.md\n\n")
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
    kinds = [(name, Policy.members(name)) for name in Policy().choices()]
    kinds += integer_choices().items()
    wanted = [f"{name}={one.value}" for name, kind in kinds for one in kind]
    assert sorted(listed) == sorted(wanted)


def test_every_section_of_mx_that_is_named(explain: Explain) -> None:
    assert {"MX-5.1", "MX-5.3.1", "MX-5.3.4", "MX-6.3"} <= {f"MX-{one}" for one in sections()}
    for name in {*(f"MX-{one}" for one in sections()), *(r for r in rules() if r[0] == "M")}:
        out = explain(name)
        about = f": {rules()[name]}" if name in rules() else ""
        where = name[3:].replace("-T", ", Table ")
        assert out.startswith(f"clause {name}{about}\nin OCP MX v1.0, {where}\n")
        assert re.search(r"\nN\d+: .*\n  - Text\. ", out), name
        assert len(out.splitlines()) <= 45, name


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


def test_standings_of_a_choice_on_which_the_standard_speaks_of_fp8_alone(explain: Explain) -> None:
    standings = {
        "kept": "required for FP8, silent for FP6 and FP4",
        "dropped": "contradicts for FP8, silent for FP6 and FP4",
    }
    for name in ("zero_sign", "underflow_sign"):
        (answer,) = json.loads(explain(name, "--json"))["answers"]
        assert {one["name"]: one["standing"] for one in answer["members"]} == {
            f"{name}={member}": standing for member, standing in standings.items()
        }
    (answer,) = json.loads(explain("N25", "--json"))["answers"]
    (dropped,) = (one for one in answer["members"] if one["name"] == "zero_sign=dropped")
    assert dropped["standing"] == standings["dropped"]
    assert dropped["standing_in"] == {"FP8": "contradicts", "FP6, FP4": "silent"}


def test_every_word_is_explained(explain: Explain) -> None:
    for name in (*FLAGS, *Policy().choices()):
        assert re.search(rf"(flag|choice) +{name}\b", explain(name)), name
    for op in READS.keys() & REGISTRY.keys():
        assert explain(op).startswith(f"operation {op} reads these choices:\n")


def test_a_number_fits_a_screen(explain: Explain) -> None:
    for text in ("0.3", "1e-300", "nan", "-inf", "0x1.23456789abcdep-1022"):
        for format in ("e2m1", "e5m2", "int8", "e8m0", "e4m3fnuz", "ue4m3"):
            out = explain("--format", format, "--float", "f64", "--", text)
            assert len(out.splitlines()) <= 45


def test_another_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy_vectors(tmp_path / "few", "decode/e2m1.f32.jsonl")
    assert main(["explain", "decode.e2m1.f32.09", "--vectors", str(folder)]) == 0
    answer = f"mxref: error: there is no case 'decode.e2m1.f32.90' in {folder}\n"
    capsys.readouterr()
    Example(f"explain decode.e2m1.f32.90 --vectors {folder}", 2, answer, []).check(caller(capsys))


def test_stages_have_their_rows_in_spec_notes(explain: Explain) -> None:
    notes = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
    assert "## Stages that profiles replace" in notes
    stages = re.findall(r"^(\w+) +((?:stages|torchao)\.\w+) ", explain("torchao_0_18_rceil"), re.M)
    assert len(stages) == 6
    assert all(f"| `{name}` | {stage} |" in notes for stage, name in stages)


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_explained(explain: Explain, name: str) -> None:
    out = explain(name)
    if " meanings\n" in out:
        assert re.search(rf"^profile +{name} ", out, re.M)
        out = explain("profile", name)
    source = f"profile {name} source {PROFILES[name].source} version "
    assert " ".join(out.split()).startswith(source)


def test_every_member_is_explained_in_all_its_choices() -> None:
    members: dict[str, list[str]] = {}
    for choice in Policy().choices():
        for member in Policy.members(choice):
            members.setdefault(member.value, []).append(choice)
    kept = ["zero_sign", "underflow_sign", "subnormal_inputs", "decoded_zero", "activations"]
    assert members["kept"] == kept
    for value, choices in members.items():
        found = explain_members(argparse.Namespace(vectors=None, format=None, name=value))
        own = [one.data for one in found if one.data["kind"] == "member"]
        assert [one["choice"] for one in own] == choices
        assert all(one["about"] and one["source"] and one["clause"] for one in own), value


@pytest.mark.parametrize(("typed", "name"), rows("golden", "names"))
def test_names_as_typed(typed: str, name: str, explain: Explain) -> None:
    assert explain(*typed.split()) == explain(*name.split())


@pytest.mark.parametrize("text", ["-inf", "-0x1.8p-3", "-1e-3", "-.5", "-2^-3", "-NaN"])
def test_negative_numbers_are_no_options(text: str, explain: Explain) -> None:
    for words in ((text, "--format", "e4m3"), ("--format", "E4M3", text)):
        assert explain(*words).startswith(f"{text} as f32: ")
