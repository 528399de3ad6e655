"""Questions, answers and contradictions in words, and which questions are asked."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from tables import codes, rows

from mxref.conformance.identification.asking import Probe
from mxref.conformance.identification.equal_members import because
from mxref.conformance.identification.identified_text import show_clash, show_probe
from mxref.conformance.identification.identify import Clash, Identified
from mxref.conformance.identification.integer_identification import _shown
from mxref.conformance.identification.policy_sets import PolicySet
from mxref.conformance.identification.pools import Maker, Pool
from mxref.conformance.identification.questions import pools
from mxref.conformance.identification.setting import Setting
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy


@pytest.mark.parametrize(
    ("setting", "question", "answer", "word", "text"),
    rows("conformance/identification", "probes"),
)
def test_a_question_and_a_word_of_its_answer(
    setting: str, question: str, answer: str, word: str, text: str
) -> None:
    if answer.startswith("error"):
        probe = Probe(tuple(codes(question)), None, answer.removeprefix("error").strip())
    else:
        probe = Probe(tuple(codes(question)), tuple(codes(answer)))
    found = Identified(Setting(*setting.split()), (probe,), PolicySet(()), (), ())
    assert show_probe(found, 0, int(word), probe.answer) == text


def test_a_contradiction_of_one_answer() -> None:
    """2.5, the tie of 2 and 3, as 3."""
    clash = Clash(0, 0, (4,), ())
    for answer, text in (
        ((5,), "05 = 3; the nearest policy wants 04 = 2"),
        (None, "an error (off)"),
    ):
        probe = Probe((0x40200000,), answer, "off")
        found = Identified(Setting("encode", "e2m1", "f32"), (probe,), PolicySet(()), (), (clash,))
        assert show_clash(found, clash) == f"40200000 = 0x1.4p+1 = 2.5 -> {text}"


# --- integers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("format", "probe", "choice", "policy", "answer", "shown"),
    rows("conformance/identification", "shown"),
)
def test_what_shows_a_choice_is_the_value_whose_answer_it_changes(
    format: str, probe: str, choice: str, policy: str, answer: str, shown: str
) -> None:
    found = None if answer == "error" else tuple(codes(answer))
    said = _shown(
        CALL_OPERATIONS["quantize_affine"], format, choice, policy, [tuple(codes(probe))], [found]
    )
    assert said == shown.strip("-")


# --- what is asked --------------------------------------------------------------------------------


@functools.cache
def every_pool(*setting: str) -> tuple[Maker, ...]:
    return pools(Setting(*setting))


def pool(about: str, *setting: str) -> Pool:
    """The first pool about something, for a target that follows `ocp`."""
    made = (make(Policy()) for make in every_pool(*setting))
    return next(one for one in made if one.about == about)


@pytest.mark.parametrize(
    ("format", "amax"),
    [
        ("mxint8", 2 * 127 / 64),
        ("mxfp4_e2m1", 2 * 6),
        ("mxfp6_e2m3", 2 * 7.5),
        ("mxfp6_e3m2", 2 * 28),
        ("mxfp8_e4m3", 2 * 448),
        ("mxfp8_e5m2", 57344 / 2),  # below float16's last binade
    ],
)
def test_elements_whose_rounding_is_asked_are_normal_in_float16(format: str, amax: float) -> None:
    """The scale is 2, so that small elements are, too; of E5M2 1/2, so that large ones are."""
    words = pool("rounding", "quantize", format, "f16").words
    numbers = np.abs(words.astype(np.uint16).view(np.float16).astype(np.float64))
    assert (numbers.max(axis=1) == amax).all()
    assert numbers[numbers > 0].min() >= 2.0**-14


def test_numbers_are_drawn_for_at_32nds_of_a_unit_and_of_the_smallest_number() -> None:
    def drawn(about: str) -> set[float]:
        words = pool(about, "encode_stochastic", "e2m1", "bf16").words
        some = words[(words[:, 1:] == (7, 4)).all(axis=1), 0]  # under four random bits, 7
        return set((some << 16).astype(np.uint32).view(np.float32).tolist())

    small = drawn("small numbers and zeros")  # E2M1's smallest is 1/2
    assert small >= {i / 64 for i in range(33)}
    assert 33 / 64 not in small
    ordinary = drawn("rounding")  # above 1 the tie 1.25 and the number 1.5, in a unit of 1/2
    assert ordinary >= {1.25 + i / 64 for i in range(16 + 33)}


@pytest.mark.parametrize(
    ("about", "always"),
    [
        ("rounding", [3 * 2.0**e for e in (-9, -4, -1, 2, 7, 12)]),  # ties of powers of two
        ("small numbers", [0.0]),
        ("large numbers", [np.inf]),
    ],
)
def test_what_is_always_asked_about_encoding_a_scale(about: str, always: list[float]) -> None:
    asked = pool(about, "encode_scale", "e8m0", "f32")
    words = asked.words[list(asked.always), 0].astype(np.uint32)
    assert words.view(np.float32).tolist() == always


@pytest.mark.parametrize(
    ("setting", "choice", "values", "text"),
    [
        ("quantize mxfp8_e4m3 f32", "scale_rule", "rceil even", "none of 60 f32 questions tells"),
        ("decode e4m3 f32", "decoded_zero", "kept dropped", "no input tells them apart"),
        ("linear mxfp8_e4m3 f32", "overflow", "saturate propagate", "none of 60 questions about"),
    ],
)
def test_what_is_no_proof_says_how_much_was_looked_at(
    setting: str, choice: str, values: str, text: str
) -> None:
    """It said "no input tells them apart" where other inputs than those looked at did.

    Of `decode` all codes are looked at, so it holds of all.
    """
    assert because(Setting(*setting.split()), choice, values.split(), {}, 60).startswith(text)
