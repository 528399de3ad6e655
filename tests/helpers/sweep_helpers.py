"""What tests of sweeps share: planted bugs, a range of parts, and findings without their times."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from helpers import table

import mxref
from mxref.conformance import target_of
from mxref.conformance.sweeping.plan import OwnTarget
from mxref.conformance.sweeping.sweep import Swept
from mxref.conformance.sweeping.sweep_text import swept_json
from mxref.policy.policy import Policy

Array = Any
OWN = OwnTarget(Policy())
PLANTED = table("kernels")["sweep_planted"]


def parts(count: int) -> dict[str, int]:
    """The range of some parts of float32, from 1/8 on."""
    return {"first": 0x3E000000, "end": 0x3E000000 + (count << 22)}


def target(**operations: Callable[..., Any]) -> Any:
    return target_of(SimpleNamespace(**operations), "planted")


def wrong_where(is_wrong: Callable[[Array], Array], code: int = 3) -> Any:
    """Gives a code where the pattern of the input is a certain one, else what is right."""

    def encode(values: Array, format: str) -> Array:
        codes = mxref.encode(values, format)
        codes[is_wrong(values.view(f"u{values.dtype.itemsize}"))] = code
        return codes

    return target(encode=encode)


def findings(swept: Swept) -> dict[str, Any]:
    """What does not depend on when and how a sweep was made."""
    record = swept_json(swept)
    for name in ("seconds", "target_share", "state_date"):
        record.pop(name, None)
    return record
