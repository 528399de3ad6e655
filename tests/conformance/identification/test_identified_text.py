"""Questions, answers and contradictions in words."""

from __future__ import annotations

import pytest

from mxref.conformance.identification.asking import Probe
from mxref.conformance.identification.identified_text import lines, show_clash, show_probe
from mxref.conformance.identification.identify import ChoiceFinding, Clash, Identified
from mxref.conformance.identification.setting import Setting
from mxref.conformance.identification.space import Space
from mxref.policy.policy import Policy

ENCODE = Setting("encode", "e2m1", "f32")
#: 2.5, the tie of 2 and 3, as 3; the tie of 1.5 and 2 as 2; 0.
TIE = Probe((0x40200000,), (5,))
PROBES = (TIE, Probe((0x3FE00000,), (4,)), Probe((0,), (0,)))
#: A block of 1, -6 and zeros, its scale and codes; scale 2 and the codes 0, 1, 2, 3, and so on.
BLOCK = (0x3F800000, 0xC0C00000, *[0] * 30)
CODES = (0x80, *range(16), *range(16))


@pytest.mark.parametrize(
    ("setting", "probe", "word", "text"),
    [
        ("encode e2m1 f32", TIE, 0, "40200000 = 0x1.4p+1 = 2.5 -> 05 = 3"),
        (
            "encode_stochastic e2m1 f32",
            Probe((0x3E800000, 5, 3), (1,)),
            0,
            "3e800000 = 0x1p-2 = 0.25, random bits 5 of 3 -> 01 = 0.5",
        ),
        ("shared_scale e2m1 f32", Probe((BLOCK[0],), (0x7D,)), 0, "{one} -> 7d = 2^-2"),
        ("decode e2m1 f32", Probe((5,), (0x40400000,)), 0, "05 = 3 -> 40400000 = 0x1.8p+1 = 3"),
        ("decode e2m1 f32", Probe((5,), ()), 0, "05 = 3 -> 0 words"),
        ("encode e2m1 f32", Probe((BLOCK[0],), None), 0, "{one} -> an error"),
        ("encode e2m1 f32", Probe((BLOCK[0],), None, "off"), 0, "{one} -> an error (off)"),
        (
            "dequantize mxfp4_e2m1 f32",  # 3 is the code of 1.5, in element 3 and element 19
            Probe(CODES, (*[0] * 19, 0x40400000)),
            19,
            "scale 80 = 2^1, code 03 = 1.5 -> 40400000 = 0x1.8p+1 = 3",
        ),
        (
            "quantize mxfp4_e2m1 f32",
            Probe(BLOCK, (0x7F, 2, 0xF)),
            0,
            "block of amax 40c00000 = 0x1.8p+2 = 6 -> scale 7f = 2^0",
        ),
        (
            "quantize mxfp4_e2m1 f32",
            Probe(BLOCK, (0x7F, 2, 0xF)),
            2,
            "element 1, c0c00000 = -0x1.8p+2 = -6 under scale 7f = 2^0 -> 0f = -6",
        ),
        (
            "quantize_tensor mxfp4_e2m1 f32",
            Probe((1, 32, 1, *BLOCK), None, "off"),
            0,
            "block of amax 40c00000 = 0x1.8p+2 = 6 -> an error (off)",
        ),
        (
            "quantize_tensor mxfp4_e2m1 f32",
            Probe((2, 3, 0, *BLOCK[:6]), (0x7F, 2)),
            1,
            "2 x 3, axis 0 -> word 1 is 02, of 2",
        ),
        (
            "pack e2m1 bytes",
            Probe(tuple(range(8)), (0x10, 0x32)),
            1,
            "8 words 00 01 02 03 04 05 ... -> word 1 is 32, of 2",
        ),
    ],
)
def test_a_question_and_a_word_of_its_answer(
    setting: str, probe: Probe, word: int, text: str
) -> None:
    found = Identified(Setting(*setting.split()), (probe,), Space(()), (), ())
    shown = show_probe(found, 0, word, probe.answer)
    assert shown == text.format(one="3f800000 = 0x1p+0 = 1")


OTHERS = ("rounding=ties_to_away", "rounding=ties_to_odd", "a=1", "b=2", "c=3")


@pytest.mark.parametrize(
    ("probes", "otherwise", "text"),
    [
        (PROBES, (), "05 = 3; the other answers want 04 = 2"),
        (PROBES, OTHERS[:1], f"05 = 3, as under {OTHERS[0]}; the other answers want 04 = 2"),
        (
            PROBES,
            OTHERS,
            f"05 = 3, as under {' or '.join(OTHERS[:4])} or others; the other answers want 04 = 2",
        ),
        (PROBES[:1], (), "05 = 3; the nearest policy wants 04 = 2"),
        ([Probe(TIE.words, None, "off")], (), "an error (off)"),
    ],
)
def test_a_contradiction(probes: tuple[Probe, ...], otherwise: tuple[str, ...], text: str) -> None:
    clash = Clash(0, 0, (4,), otherwise)
    found = Identified(ENCODE, tuple(probes), Space(()), (), (clash,))
    assert show_clash(found, clash) == f"40200000 = 0x1.4p+1 = 2.5 -> {text}"


def test_a_choice_is_shown_with_the_two_first_probes_that_exclude_more() -> None:
    chosen = {name: Policy().choices()[name] for name in ENCODE.choices}
    chosen["rounding"] = "ties_to_away"
    shown = {"to_odd": (1, 0), "ties_to_even": (0, 0), "toward_zero": (0, 0), "away": (2, 0)}
    findings = tuple(
        ChoiceFinding(name, (member,), shown if name == "rounding" else {}, "")
        for name, member in chosen.items()
    )
    space = Space.of({name: [member] for name, member in chosen.items()})
    title, rows, rest = lines([Identified(ENCODE, PROBES, space, findings, ())])
    assert title == "encode e2m1 (f32): 3 probes"
    assert rows == [
        ("rounding", "ties_to_away", "3fe00000 = 0x1.cp+0 = 1.75 -> 04 = 2"),
        ("", "", "40200000 = 0x1.4p+1 = 2.5 -> 05 = 3"),
    ]
    assert rest == ["equals on 3 probes: ocp+rounding=ties_to_away; profiles: none"]
