"""Answers of ``mxref explain`` about blocks and members, held against the slow twin."""

from __future__ import annotations

import argparse
import enum
import itertools
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Call, Example, examples

import mxref
from mxref import exact
from mxref.bits.floats import BF16, F32, LAYOUTS
from mxref.cases.answers import exact_answers
from mxref.cases.read import vectors_folder
from mxref.cli.explain_answers import answers
from mxref.cli.explain_blocks import explain_block
from mxref.cli.explain_choices import _comment
from mxref.cli.explain_mutants import explain_mutants
from mxref.cli.explain_numbers import _midway, _past_the_largest
from mxref.cli.explain_topics import TOPICS
from mxref.cli.explain_verb import QUESTIONS
from mxref.cli.explain_worked import _COMPUTED
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS, OTHER_BLOCK_FORMATS, block_format
from mxref.golden.explain_number import fraction, nearest_codes, neighbours, parse_number
from mxref.golden.scale_limits import beside_floor, limits
from mxref.golden.witnesses import witness
from mxref.operations.registry import REGISTRY
from mxref.policy.choice import Standing
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule
from mxref.products.adders import ADDERS
from mxref.profiles import PROFILES, Profile
from mxref.profiles.recipes import RECIPES

DATA = Path(__file__).resolve().parent / "data"
RULES = [rule for rule in ScaleRule if not rule.is_quirk]
#: Members whose first case is soon found.
#: Choices of scales that no vector file has.
QUICK = ("scale_rule=rceil", "zero_block=one", "scale_ff=inf", "scale_byte=signed")


def assert_fits(text: str) -> None:
    lines = text.splitlines()
    assert 0 < len(lines) <= 45, text
    assert max(map(len, lines)) <= 100, text


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "command",
    [
        # `mxref explain A7`, which takes time to find the cases that catch it, is in data/score.txt
        *(one for one in QUESTIONS.values() if one[-2:] != "A7"),
        *(f"mxref explain {format}" for format in (*LAYOUTS, "e8m0", "ue5m3", "e2m1")),
        *(f"mxref explain scale_rule --format {format}" for format in BLOCK_FORMATS),
        *(f"mxref explain {op}" for op in REGISTRY),
        *(f"mxref explain recipe {name}" for name in RECIPES),
        "mxref explain quantize.mxfp4_e2m1.f32.lane_03_minus",  # of many answers
        "mxref explain rescale.int32-int16.bytes.tenth_128_128",  # of many words
    ],
)
def test_every_question_fits_a_screen(command: str, call: Call) -> None:
    _, *words = command.split()
    run = call(*words)
    assert run.status == 0
    assert_fits(run.out)
    dashes = words.index("--") if "--" in words else len(words)
    found = call(*words[:dashes], "--json", *words[dashes:]).json
    assert found.keys() == {"asked", "answers"}
    assert all({"kind", "name", "about"} <= one.keys() for one in found["answers"])


@pytest.mark.parametrize("example", examples(DATA / "explain.txt"))
def test_answers(example: Example, call: Call) -> None:
    example.check(call)


def test_alone_it_lists_what_can_be_asked(call: Call) -> None:
    out, text = call("explain").out, call("explain", "--help").out
    for what, how in QUESTIONS.items():
        assert re.search(rf"^{what} +{re.escape(how)}$", out, re.M)
        assert f"  {how}\n" in text
    assert out.endswith("\na word with several meanings prints them all: mxref explain nan\n")
    assert call("explain", "--json").json == {"questions": QUESTIONS}


def f32(number: Fraction) -> int:
    return parse_number(f"{number.numerator}/{number.denominator}", F32)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.value)
def test_limits_are_those_of_the_slow_twin(rule: ScaleRule) -> None:
    """At the limit and the floats beside it: the scale beside FLOOR's is what the line says."""
    times = {"half": -1, "the same": 0, "twice": 1, "4 times": 2}
    for row in beside_floor(rule):
        format, text = row["format"], row["beside_floor"]
        limit = rule.limit(ELEMENT_FORMATS[format])
        square = limit.limit if limit.root else limit.limit**2
        points = {f32(Fraction(1)), f32(Fraction(2)) - 1}
        low, high = 0x3F800000, 0x40000000  # around p of the limit
        while square >= 4:
            square /= 4
        while square < 1:
            square *= 4
        while high - low > 1:
            middle = (low + high) // 2
            p = fraction(middle, F32)
            assert p is not None
            low, high = (middle, high) if p * p <= square else (low, middle)
        points |= {
            pattern for pattern in (low - 1, low, low + 1) if 0x3F800000 <= pattern < 0x40000000
        }
        for pattern in points:
            p = fraction(pattern, F32)
            assert p is not None
            found = exact.shared_scale(pattern, "f32", format, rule.value)
            floor = exact.shared_scale(pattern, "f32", format, "floor")
            assert found - floor == times[_said(text, p)], (format, hex(pattern))
        if not limit.root:
            at_it = exact.shared_scale(f32(limit.limit), "f32", format, rule.value)
            assert at_it - 127 == {"k stays": 0, "k + 1": 1}[row["at_the_limit"]]


def _said(text: str, p: Fraction) -> str:
    """What a line such as `the same for p <= 1.75, twice for p > 1.75` says of p."""
    if " for " not in text:
        return text
    for part in text.split(", "):
        times, sign, number = re.fullmatch(r"(.*) for p (<=|<|>=|>|=) (.*)", part).groups()  # type: ignore[union-attr]
        root = re.fullmatch(r"sqrt\((.*)\)", number)
        side = p * p if root else p
        limit = Fraction(root[1] if root else number)
        signs = {"<": side < limit, "<=": side <= limit, ">": side > limit, ">=": side >= limit}
        if {**signs, "=": side == limit}[sign]:
            return str(times)
    raise AssertionError(text)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("format", BLOCK_FORMATS)
def test_blocks_are_those_of_the_slow_twin(format: str) -> None:
    fmt = block_format(format)
    for asked in ("1.75", "0.3 5 -7.1 1.75", "nan 1", "0, -0", "1e-40 -1e-41", "-3e38 1"):
        data = explain_block(asked, F32, fmt).data
        words = [int(one["bits"], 16) for one in data["in"]]
        rules = [name for one in data["outcomes"] for name in one["choices"]]
        assert sorted(rules) == sorted(f"scale_rule={rule.value}" for rule in ScaleRule)
        profiles = [name for one in data["outcomes"] for name in one["profiles"]]
        speak = [name for name, one in PROFILES.items() if one.speaks_of("quantize", format)]
        assert sorted(profiles + data["profiles_of_other_floats"]) == sorted(speak)
        assert data["outcomes"][0]["choices"][0] == "scale_rule=floor"
        bytes_of: dict[tuple[Any, ...], int] = {}
        for one in data["outcomes"]:
            key = (one["scale"], *one["codes"])
            bytes_of[key] = bytes_of.get(key, 0) + 1
            for name in one["choices"]:
                rule = name.partition("=")[2]
                scale, codes = exact.quantize(words, "f32", fmt.element.name, rule=rule)
                assert key == (f"{scale:02x}", *(f"{code:02x}" for code in codes)), (asked, rule)
            for name in one["profiles"]:
                assert key == _bytes_of(PROFILES[name], words, format), (asked, name)
            if one["scale"] in (None, "ff"):
                continue
            two = Fraction(2) ** (int(one["scale"], 16) - 127)
            for code, value, error, word in zip(
                one["codes"], one["values"], one["errors"], words, strict=True
            ):
                if isinstance(value, str) or fraction(word, F32) is None:
                    continue
                exactly = exact.value(int(code, 16), fmt.element.name) * two
                assert Fraction(value) == exactly
                assert error == float(exactly - (fraction(word, F32) or 0))
        assert set(bytes_of.values()) == {1}  # the same bytes are named once


@pytest.mark.sampled(3)
@pytest.mark.parametrize("format", [*BLOCK_FORMATS, *OTHER_BLOCK_FORMATS])
def test_blocks_fit_a_screen(format: str, call: Call) -> None:
    size = block_format(format).elements_per_block
    many = " ".join(f"{n}.{n}e-{n % 7}" for n in range(size))
    some = ("0", "nan", "inf -inf 0x1p-149", "5.9999995 1e-45 3e38 -7.1", "-1.00000012 " * 4)
    for asked in (*some, *[many] * (size <= 1024)):  # a command line holds no larger block
        run = call("explain", "--format", format, "--", *asked.split())
        assert run.status == 0
        assert_fits(run.out)


@pytest.mark.parametrize("format", BLOCK_FORMATS)
def test_every_element_of_a_block_is_shown(format: str, call: Call) -> None:
    asked = [*map(str, range(1, 32)), "127.99999"]
    out = call("explain", *asked, "--format", format).out
    assert_fits(out)
    lines = out.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("element")) + 1 : -1]
    assert {*asked} <= {word for line in table for word in line.split()}


def _bytes_of(profile: Profile, words: list[int], format: str) -> tuple[str | None, ...]:
    block = np.zeros(32, np.uint32)
    block[: len(words)] = words
    try:
        blocks = profile.quantize(block.view(np.float32), format)
    except ValueError:
        return (None,)
    codes = [*blocks.scale_codes.tolist(), *blocks.codes[: len(words)].tolist()]
    return tuple(f"{code:02x}" for code in codes)


def test_which_blocks_meet_a_limit() -> None:
    for format in BLOCK_FORMATS:
        fmt = block_format(format)
        for p in range(16, 32):
            for one in limits(Fraction(p, 64), fmt):
                rule = ScaleRule(one.rule)
                if rule.is_quirk:
                    continue
                limit = rule.limit(fmt.element)  # or its square, which no fraction has: 2 * M**2
                wanted = any(
                    (Fraction(p, 16) * Fraction(2) ** k) ** (1 + limit.root) == limit.limit
                    for k in range(-3, 18)
                )
                assert not (wanted and limit.root)
                assert one.meets == wanted, (format, p, rule)


def test_limits_of_all_rules_are_side_by_side(call: Call) -> None:
    """Each cell against the slow twin: at the limit, and at the float after it."""
    out = call("explain", "scale_rule").out
    head = re.search(r"^amax / 2\^k +(.*)$", out, re.M)
    assert head
    formats = head[1].split()
    assert formats == list(ELEMENT_FORMATS)
    for rule in RULES:
        row = re.search(rf"^{rule.value}  +(<.*)$", out, re.M)
        assert row
        cells = re.findall(r"(<=?) ([\d.]+)( sqrt2)?", row[1])
        for format, (sign, number, root) in zip(formats, cells, strict=True):
            limit = Fraction(number)
            at = f32(limit)
            if root:  # the last float32 below it
                at = int(np.float32(limit * np.sqrt(2.0)).view(np.uint32))
                p = fraction(at, F32)
                at -= p is not None and p * p > 2 * limit * limit
            ks = [exact.shared_scale(at + i, "f32", format, rule.value) - 127 for i in (-1, 0, 1)]
            assert ks == [0, int(sign == "<" and not root), 1], (format, rule)
    for format in BLOCK_FORMATS:
        out = call("explain", "scale_rule", "--format", format).out
        for rule in RULES:
            (one,) = (one for one in beside_floor(rule) if format.endswith(one["format"]))
            said = re.search(rf"^{rule.value}  +(\S+ \S+(?: sqrt2)?)  +(.*?)  ", out, re.M)
            assert said
            assert said.groups() == (one["limit"], one["at_the_limit"])


@pytest.mark.parametrize("format", ["e2m1", "e3m2", "e4m3", "int8"])
def test_ties_go_where_the_slow_twin_has_them(format: str) -> None:
    fmt = ELEMENT_FORMATS[format]
    values = sorted({Fraction(fmt.value(c)) for c in range(fmt.code_count) if not fmt.is_nan(c)})
    least = -values[-1]  # INT8 has a code for -2 that encode does not write
    every, values = values, [value for value in values if value >= least]
    for low, high in itertools.pairwise(values):
        middle = (low + high) / 2
        said = _midway(middle, neighbours(middle, fmt), fmt)
        assert said is not None
        assert said["number"] == middle
        for rounding in ("ties_to_even", "ties_to_away", "to_odd"):
            code = exact.encode(f32(abs(middle)) | (middle < 0) << 31, "f32", format, rounding)
            code = 0 if exact.value(code, format) == 0 else code
            assert said[rounding] == f"{code:02x}", (middle, rounding)
        near = [value for _, value in nearest_codes(middle, fmt)]
        i = every.index(low)
        assert near == every[max(i - 1, 0) : i + 3]


@pytest.mark.parametrize(
    ("format", "number", "tie"), [("e5m2", 61440, "is past it"), ("e4m3", 464, "stays")]
)
def test_where_overflow_begins(format: str, number: int, tie: str) -> None:
    fmt = ELEMENT_FORMATS[format]
    said = {"number": number, "tie": tie}
    assert _past_the_largest(neighbours(Fraction(1 << 20), fmt), fmt) == said
    assert _past_the_largest(neighbours(Fraction(1), fmt), fmt) is None
    how = {"rounding": "ties_to_even", "overflow": "nonsaturating"}
    codes = [exact.encode(f32(Fraction(number)) + ulp, "f32", format, **how) for ulp in (-1, 0, 1)]
    assert [code == fmt.max_code for code in codes] == [True, tie == "stays", False]


def check_witness(choice: str, member: str) -> None:
    found = witness(vectors_folder(), choice, member)
    if f"{choice}={member}" in _COMPUTED:
        assert found is None
        return
    assert found is not None
    file, words = found.file, [found.case.inputs]
    base = Policy.parse(found.under)
    policy = base.replace(**{choice: member})
    where = (file.op, file.format, file.float)
    assert found.first != found.other
    assert exact_answers(*where, words, base) == [found.first]
    if member == "error":
        assert found.other == ()
    else:
        assert exact_answers(*where, words, policy) == [found.other]
    assert 0 < found.count <= len(file.cases)


def test_members_are_shown_by_a_case() -> None:
    for name in QUICK:
        choice, _, member = name.partition("=")
        check_witness(choice, member)
    assert witness(vectors_folder(), "zero_point", "before", integer=True) is not None
    assert witness(vectors_folder(), "zero_block", "one", "e4m3") is not None
    assert witness(vectors_folder(), "zero_block", "one", "no_format") is None


def example_of(name: str, call: Call, *more: str) -> dict[str, str]:
    found: dict[str, str] = call("explain", name, "--json", *more).json["answers"][0]["example"]
    out = " ".join(call("explain", name, *more).out.split())
    assert all(" ".join(text.split()) in out for text in found.values() if isinstance(text, str))
    return found


@pytest.mark.sampled(3)
def test_members_without_a_case_say_why(call: Call) -> None:
    one = example_of("tail=refused", call)
    scale, codes = exact.quantize([0x3F800000, *[0] * 31], "f32", "e2m1")
    assert one["first"] == f"scale {scale:02x}, code {codes[0]:02x}"
    with pytest.raises(ValueError, match="tail=refused") as refused:
        mxref.quantize([np.float32(1)], "mxfp4_e2m1", tail="refused")
    assert one["other"] == f"an error: {refused.value}"
    one = example_of("scale_place=before", call)
    assert one["first"] == "80 in an array of scales, and 16 bytes: 02 00 00 00..."
    assert one["other"] == "17 bytes: 80 02 00 00 00..."
    one = example_of("scale_rounding=toward_negative", call)
    assert one.keys() == {"no_case"}
    assert one["no_case"].startswith("the same as ocp's toward_zero for every number: ")
    patterns = np.arange(1 << 16, dtype=np.uint16)
    for member in Policy.members("scale_of_negative"):
        both = [
            Policy().replace(scale_of_negative=member.value, scale_rounding=way)
            for way in ("toward_zero", "toward_negative")
        ]
        codes_of = [mxref.encode_scale(patterns.view(BF16.dtype), one) for one in both]
        assert np.array_equal(*codes_of)
        some = [(int(pattern),) for pattern in patterns[::509]]
        answers = [exact_answers("encode_scale", "e8m0", "bf16", some, one) for one in both]
        assert answers[0] == answers[1] == [(int(code),) for code in codes_of[0][::509]]
    one = example_of("overflow=nonsaturating", call, "--format", "mxint8")
    assert one["no_case"] == "no case of mxint8 in the vectors has another answer"


@pytest.mark.sampled(28)
@pytest.mark.parametrize(
    ("choice", "member"),
    [
        (choice, one.value)
        for choice, default in Policy().choices().items()
        for one in Policy.members(choice)
        if one.value != default and f"{choice}={one.value}" not in QUICK
    ],
)
def test_every_member_is_shown_by_a_case(choice: str, member: str) -> None:
    check_witness(choice, member)


def test_numbers_with_brackets_and_commas(call: Call) -> None:
    some = (["0.3", "5"], ["0.3,5"], ["[0.3,", "5]"], ["[0.3", "5"])
    assert len({call("explain", *words, "--format", "mxfp4_e2m1") for words in some}) == 1


@pytest.mark.parametrize("standing", Standing)
def test_standings(standing: Standing, call: Call) -> None:
    out = call("explain", standing.value).out
    assert out.startswith(f"standing {standing.value}: ")


def test_a_block_that_all_refuse(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(self: Profile, values: object, *_: object) -> None:
        raise ValueError("values must be positive")

    monkeypatch.setattr(Profile, "quantize", refusing)
    asked = ("explain", "-1 2", "--format", "mxfp4_e2m1")
    made = call(*asked, "--json").json["answers"][0]["outcomes"]
    said = [{*one["refusals"]} for one in made if one["scale"] is None]
    assert said == [{"values must be positive"}]
    out = call(*asked).out
    assert re.search(r"^  an error  ocp, .* more: values must be positive$", out, re.M)
    assert "NaN" not in out


class Kind(enum.Enum):
    #: Above it,
    #: in two lines.
    ABOVE = "above"
    BESIDE = "beside"  #: Beside it.
    #: Above,
    BOTH = "both"  #: and beside.
    NEITHER = "neither"


def test_what_the_comment_of_a_member_says() -> None:
    said = ["Above it, in two lines.", "Beside it.", "Above, and beside.", ""]
    assert [_comment(member) for member in Kind] == said


def test_codes_of_a_number_by_who_gives_them(call: Call) -> None:
    """0.3 is between 0 and 0.5, the first two numbers of E2M1, which has no NaN."""
    codes = {}
    for number in ("0.3", "nan"):
        every = call("explain", number, "--format", "e2m1", "--json").json["answers"]
        (answer,) = [one for one in every if one["kind"] == "number"]
        codes[number] = {one["code"]: one for one in answer["codes"]}
    assert codes["0.3"].keys() == {"00", "01"}
    assert codes["0.3"]["01"]["choices"][0] == codes["0.3"]["01"]["profiles"][0] == "ocp"
    assert codes["0.3"]["00"]["choices"] == ["rounding=toward_zero", "rounding=toward_negative"]
    assert codes["nan"][None]["is"] == "an error"
    assert codes["nan"][None]["profiles"] == ["gfloat"]


def test_a_mutant_or_its_class() -> None:
    one = {"kind": "mutant", "name": "A17a", "about": "shifts by a count modulo 32"}
    some = {"kind": "mutant", "name": "A17", "about": "4 wrong implementations (encode)"}
    for name, want in (("A17a", one), ("shift_modulo_32", one), ("A17", some)):
        (answer,) = explain_mutants(argparse.Namespace(name=name, vectors=None))
        assert answer.data == want
    assert explain_mutants(argparse.Namespace(name="A0", vectors=None)) == []


@pytest.mark.parametrize("word", sorted(TOPICS))
def test_a_word_of_the_field_leads_to_what_mxref_calls_it(call: Call, word: str) -> None:
    found = call("explain", word, "--json").json["answers"]
    (answer,) = [one for one in found if one["kind"] == "word"]
    for one in answer["see"]:
        options = argparse.Namespace(name=one["name"], format=None, float=None, vectors=None)
        assert answers(one["name"], options), one


def test_words_that_a_newcomer_tried(call: Call) -> None:
    for asked in ("double rounding", "stochastic rounding", "random hadamard", "swizzle", "ftz"):
        assert "mxref explain " in call("explain", asked).out


def test_all_of_a_kind(call: Call) -> None:
    (adders,) = call("explain", "adders", "--json").json["answers"]
    assert {one["name"] for one in adders["of"]} == {*ADDERS}
    (recipes,) = call("explain", "recipes", "--json").json["answers"]
    assert [one["name"] for one in recipes["of"]] == [*RECIPES]
    (operations,) = call("explain", "operations", "--json").json["answers"]
    assert {one["name"] for one in operations["of"]} == {*REGISTRY}
    for kind in ("choices", "clauses", "profiles"):
        assert len(call("explain", kind, "--json").json["answers"][0]["of"]) > 20


def test_a_recipe(call: Call) -> None:
    """Transformer Engine has tiles for weights alone, and no transform of the weight."""
    (answer,) = call("explain", "nvfp4_transformer_engine", "--json").json["answers"]
    how = answer["operands"]
    assert [name for name in how if "16x16 tiles" in how[name]] == ["y_w", "dx_w"]
    assert [name for name in how if "Hadamard of 16" in how[name]] == ["dw_grad", "dw_x"]
    assert [name for name in how if "stochastic" in how[name]] == ["dx_grad", "dw_grad"]
    assert "called    mxref.linear(x, w, recipe)" in call("explain", "deepgemm").out
