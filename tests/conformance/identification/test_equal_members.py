"""Members that are one function before any question, by facts about the float types."""

from __future__ import annotations

import numpy as np
import pytest
from data_tables import table

from mxref.cases.answers import exact_answers
from mxref.conformance.identification.equal_members import equal_members
from mxref.conformance.identification.setting import Setting
from mxref.policy.policy import Policy


@pytest.mark.parametrize(("where", "choice", "group"), table(__file__, "equal_members.txt"))
def test_what_is_one_function_whatever_else_is_chosen(where: str, choice: str, group: str) -> None:
    groups = [
        " ".join(some) for some, _ in equal_members(Setting(*where.split()), choice) if some[1:]
    ]
    assert groups == [group] * bool(group)


def test_the_largest_float16_is_beyond_it_once_it_is_rounded_to_bfloat16() -> None:
    """65504 becomes 65536: of scale 2**(16 - 8) for E4M3, or an infinity."""
    block = tuple(np.float16([65504, *[0] * 31]).view(np.uint16).tolist())

    def scale(amax_type: str) -> int:
        policy = Policy().replace(pre_rounding="bfloat16", amax_type=amax_type)
        return exact_answers("quantize", "mxfp8_e4m3", "f16", [block], policy)[0][0]

    assert scale("source") == scale("float32") == 127 + 8
    assert scale("float16") == 0xFE
