"""Reports say the cause first, then what shows it."""

from __future__ import annotations

import re

import pytest
from verify_helpers import RIGHT, Kit

ONE_AND_A_HALF = "in the cases asked, elements wrong exactly where |x| is 1.5"
QUANTIZE = ("quantize/mxfp4_e2m1.f32", "quantize/mxfp8_e4m3.f32")

LAST_LANE = """
def quantize(values, format):  # the last lane's magnitude is not taken
    name = mxref.formats.block_format(format).element.name
    with np.errstate(all="ignore"):
        amax = np.maximum(np.abs(values[:, :-1]).max(axis=1), values[:, -1])
        scales = mxref.shared_scale(amax, name)
        wide = np.ldexp(values.astype(np.float64), 127 - scales.astype(int)[:, None])
        return scales, mxref.encode(wide, name)
"""


@pytest.mark.sampled(12)
def test_a_bug_is_one_cause_whatever_clauses_and_flags_show_it(kit: Kit) -> None:
    run = kit.run(kit.target(RIGHT + LAST_LANE), "--vectors", kit.vectors(*QUANTIZE))
    lines = run.out.splitlines()[3:]
    (total,) = re.findall(r" cases, (\d+) failed: ", run.last_line)
    assert lines[0] == f"BUG: takes no magnitude in lane 31 ({total} of {total})"
    assert lines[1].startswith("  quantize, all 2 formats: your output equals mutant L3.31, ")
    # Evidence: one case for each clause, both formats together.
    kinds = [re.match(r"  (\d+) x (\S+), .*; the first:$", line) for line in lines[2:-1:2]]
    found = [(int(kind[1]), kind[2]) for kind in kinds if kind]
    assert len(found) == len(kinds) == 2
    assert [clause for _, clause in found] == ["MX-6.3", "N5"]
    assert sum(count for count, _ in found) == int(total)
    assert all(line.startswith("    quantize.mxfp8_e4m3.") for line in lines[3:-1:2])
    assert run.last_line.endswith(" failed: has bug L3.31: takes no magnitude in lane 31")
    record = kit.run(
        kit.target(RIGHT + LAST_LANE), "--vectors", kit.vectors(*QUANTIZE), "--json"
    ).json
    assert record["verdict"] == "has bug L3.31: takes no magnitude in lane 31"


ODD_TIES = """
def encode(values, format):
    up = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(np.abs(values) < 1, up, mxref.encode(values, format))
"""


def test_what_violates_a_clause_by_a_known_bug_is_both(kit: Kit) -> None:
    run = kit.run(kit.target(RIGHT + ODD_TIES), "--vectors", kit.vectors("encode/e2m1.f32"))
    bug = "has bug A7 or B3: rounds a tie of two subnormal numbers away from zero"
    assert run.last_line.endswith(f" failed: {bug}; violates MX-5.3.3")


RCEIL = """
def quantize(values, format):  # RCEIL, and the last bit of 1.5 is wrong
    blocks = mxref.quantize(values, format, scale_rule="rceil")
    codes = blocks.codes.copy()
    codes[np.abs(values) == 1.5] ^= 1
    return blocks.scale_codes[:, 0], codes
"""


@pytest.mark.sampled(0)
def test_what_is_left_beside_the_nearest_policy_is_described(kit: Kit) -> None:
    run = kit.run(kit.target(RIGHT + RCEIL), "--vectors", kit.vectors(*QUANTIZE), "--json")
    for row in run.json["rows"]:
        assert row["beside"] == "ocp+scale_rule=rceil"
        text = row["description"]["text"]
        assert text.startswith("in the cases asked, elements wrong exactly where |x| is 1.5 ("), (
            text
        )
    run = kit.run(kit.target(RIGHT + RCEIL), "--vectors", kit.vectors(*QUANTIZE))
    heads = [line for line in run.out.splitlines()[3:] if not line.startswith(" ")]
    assert len(heads) == 2
    (counts,) = re.findall(r"^NEAREST: ocp\+scale_rule=rceil \((\d+) of \d+\)$", run.out, re.M)
    assert int(counts) > 80
    assert f"  quantize mxfp8_e4m3, beside it: {ONE_AND_A_HALF} (" in run.out
    assert "scales wrong" not in run.out
    assert run.last_line.endswith(" failed: violates MX-6.3")


PROFILE = """
def quantize(values, format):  # pychop, and the last bit of 1.5 is wrong
    blocks = mxref.profile("pychop").quantize(values, format)
    codes = blocks.codes.copy()
    codes[np.abs(values) == 1.5] ^= 1
    return blocks.scale_codes[:, 0], codes
"""


@pytest.mark.sampled(0)
def test_what_is_left_beside_the_nearest_profile_is_described(kit: Kit) -> None:
    options = ["--vectors", kit.vectors(QUANTIZE[1])]
    run = kit.run(kit.target(RIGHT + PROFILE), *options)
    assert re.search(r"^NEAREST: profile pychop \(\d+ of \d+\)$", run.out, re.M)
    assert f", beside it: {ONE_AND_A_HALF} (" in run.out
    whole = 'def quantize(v, f):\n    b = mxref.profile("pychop").quantize(v, f)\n'
    run = kit.run(kit.target(f"{RIGHT}{whole}    return b.scale_codes[:, 0], b.codes\n"), *options)
    (total,) = re.findall(r" cases, (\d+) failed: ", run.last_line)
    assert f"\nPROFILE: pychop ({total} of {total})\n" in run.out
    assert ": gives profile pychop, of which " in run.last_line
    assert run.last_line.endswith(" contradicts N2 in quantize mxfp8_e4m3")
