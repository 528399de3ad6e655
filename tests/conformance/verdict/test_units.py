"""Units of compared cases: their features are those that `features_by_hand` works out."""

from __future__ import annotations

import pytest
from facts_by_hand import facts
from features_by_hand import VALUES, real
from helpers import ocp_files

from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.describe.features import FEATURES, UNKNOWN
from mxref.conformance.verdict.describe.units import units_of
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
                got, want = int(units.table[name][i]), VALUES[name](unit)
                assert (got == UNKNOWN) == (want is None), (name, unit)
                if want is not None:
                    plain = FEATURES[name].plain(got)
                    is_real = FEATURES[name].kind == "real" and not FEATURES[name].names
                    assert (real(str(plain)) if is_real else plain) == want, (name, unit)
