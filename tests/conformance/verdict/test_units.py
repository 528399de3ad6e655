"""Units of compared cases: their features are those that `features_by_hand` works out."""

from __future__ import annotations

import numpy as np
import pytest
from facts_by_hand import facts
from feature_tables import assert_feature
from features_by_hand import VALUES
from helpers import ocp_files

from mxref.bits.floats import F32
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.describe.features import UNKNOWN
from mxref.conformance.verdict.describe.tables import block_tables
from mxref.conformance.verdict.describe.units import units_of
from mxref.formats.catalog import block_format
from mxref.policy.policy import Policy

EVERY_KIND = (
    ("encode", "e5m2"),
    ("encode", "int8"),
    ("encode_scale", "e8m0"),
    ("shared_scale", "e3m2"),
    ("encode_stochastic", "e2m1"),
    ("decode", "e5m2"),
    ("decode_scale", "e8m0"),
    ("quantize", "mxfp8_e4m3"),
    ("quantize", "mxint8"),
    ("dequantize", "mxfp8_e5m2"),
    ("quantize_tensor", "mxfp6_e2m3"),
    ("pack", "e3m2"),
    ("unpack", "e2m1"),
    ("pack_scales", "e8m0"),
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("op", "format"), EVERY_KIND)
def test_features_are_what_they_are_called(op: str, format: str) -> None:
    policy = Policy.parse("ocp+rounding=stochastic_a" if op == "encode_stochastic" else "ocp")
    answered, by_hand = [], {}
    for file in ocp_files(op, format):
        column = file.columns.index(str(policy))
        answers = file.outputs(column)
        answered.append(Outcome(file, str(policy), file.input_words(), answers, ()))
        for case in file.cases:
            found = facts(op, format, file.float, list(case.inputs), list(case.output(column)))
            for kind, i, unit in found:
                by_hand[case.id, kind, -1 if kind == "answer" else i] = unit
    for units in units_of(answered, policy):
        if units.kind == "count":
            continue
        names = set(units.table)
        assert len(names) > 2
        for i in range(0, len(units.failed), len(units.failed) // 300 + 1):
            unit = by_hand[str(units.ids[i]), units.kind, int(units.words[i])]
            for name in names:
                assert_feature(name, int(units.table[name][i]), VALUES[name](unit))


@pytest.mark.parametrize(
    ("numbers", "positions", "infinities"),
    [
        # A NaN is not the largest number, and among zeros there is none.
        ((0.0, np.nan), (UNKNOWN, 1), UNKNOWN),
        ((np.nan, 1.0, -2.0), (2, 0), UNKNOWN),
        ((np.nan, np.nan, 3.0), (2, UNKNOWN), UNKNOWN),
        # Which infinities: 0 plus, 1 minus, 2 both; whatever the signs of others.
        ((-1.0, np.inf), (1, UNKNOWN), 0),
        ((1.0, -np.inf), (1, UNKNOWN), 1),
        ((-np.inf, np.inf), (0, UNKNOWN), 2),
        ((1.0, -1.0), (0, UNKNOWN), UNKNOWN),
    ],
)
def test_features_of_blocks_with_special_numbers(
    numbers: tuple[float, ...], positions: tuple[int, int], infinities: int
) -> None:
    """Where the largest magnitude and the one NaN stand, and which infinities there are."""
    block = np.array([[*numbers, *[0.0] * (32 - len(numbers))]], np.float32)
    codes = np.zeros((1, 32), np.int64)
    fmt = block_format("mxfp4_e2m1")
    table, _ = block_tables(block.view(np.uint32), F32, fmt, codes[:, :1], codes)
    assert (table["amax position"].item(), table["nan position"].item()) == positions
    assert table["infinities"].item() == infinities
