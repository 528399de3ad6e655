"""The threshold table: typed by hand, complete against the slow twin, and used by the files."""

from __future__ import annotations

import json
import random
from bisect import bisect_right

import pytest
from helpers import VECTORS

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import E2M1, E4M3, ELEMENT_FORMATS
from mxref.golden.thresholds import tables, thresholds

F32 = LAYOUTS["f32"]


def of(format: str, float: str, rounding: str, sign: str) -> dict[str, object]:
    path = VECTORS / "thresholds" / f"{format}.json"
    records: list[dict[str, object]] = json.loads(path.read_bytes())["tables"]
    for record in records:
        if [record[key] for key in ("float", "rounding", "sign")] == [float, rounding, sign]:
            return record
    raise AssertionError


def test_steps_typed_by_hand() -> None:
    # E2M1 is 0 .5 1 1.5 2 3 4 6: of ties (0.25 0.75 1.25 1.75 2.5 3.5 5) the even code is taken.
    assert of("e2m1", "f32", "ties_to_even", "+")["from"] == (
        "00000000 3e800001 3f400000 3fa00001 3fe00000 40200001 40600000 40a00001"
    )
    assert of("e2m1", "f32", "ties_to_even", "-")["codes"] == "08 09 0a 0b 0c 0d 0e 0f"
    assert of("e2m1", "bf16", "toward_zero", "+")["from"] == (
        "0000 3f00 3f80 3fc0 4000 4040 4080 40c0"
    )
    assert of("e2m1", "bf16", "toward_negative", "-")["from"] == (
        "0000 0001 3f01 3f81 3fc1 4001 4041 4081"
    )
    # 464 is midway between 448 and 480, which E4M3 lacks: it stays 448, what is above overflows.
    beyond = of("e4m3", "f32", "ties_to_even", "+")["beyond"]
    assert isinstance(beyond, dict)
    assert beyond["nonsaturating"] == {"codes": "7f", "from": "43e80001"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("format", ELEMENT_FORMATS)
@pytest.mark.parametrize("float", LAYOUTS)
def test_the_table_answers_every_input(format: str, float: str) -> None:
    """The last step at or below a magnitude has its code: random floats, and all of float16."""
    fmt, layout = ELEMENT_FORMATS[format], LAYOUTS[float]
    generator = random.Random(f"{format} {float}")
    magnitudes = [generator.randrange(layout.inf_bits + 1) for _ in range(300)]
    near_one = [layout.bias + k << layout.mantissa_bits for k in range(-12, 12)]
    magnitudes += [b + generator.getrandbits(layout.mantissa_bits) for b in near_one]
    for table in tables(fmt, layout):
        sign = layout.sign_bit * table.negative
        for method, more in {"saturate": (), **table.beyond}.items():
            steps = table.steps + tuple(more)
            first = [bits for bits, _ in steps]
            for magnitude in magnitudes:
                if magnitude <= layout.inf_bits:
                    got = steps[bisect_right(first, magnitude) - 1][1]
                    want = exact.encode(
                        magnitude | sign, float, format, rounding=table.rounding, overflow=method
                    )
                    assert got == want, (table.rounding, method, hex(magnitude))


def test_every_code_that_can_be_reached_has_a_step() -> None:
    for table in tables(E4M3, F32):
        codes = {code & 0x7F for _, code in table.steps}
        assert codes == set(range(0x7F)), table.rounding


def test_a_step_elsewhere_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = exact.encoder("f32", "e2m1")

    def wrong(bits: int, random_bits: int, random_width: int) -> int:
        return real(bits, random_bits, random_width) + (bits >= 0x3F000010)

    monkeypatch.setattr(exact, "encoder", lambda *_, **__: wrong)
    with pytest.raises(RuntimeError, match="has a step before"):
        thresholds(E2M1, F32, negative=False)
