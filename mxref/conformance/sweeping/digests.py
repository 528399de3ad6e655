"""Recorded digests of all codes, which show a change of any code, NaN included."""

from __future__ import annotations

from mxref.conformance.sweeping.account import Swept

__all__ = ["recorded_digest"]

#: Of `encode` under `ocp`, for all 2**32 float32 inputs in order.
_ENCODE_F32 = {
    "e5m2": "4559d42906bb7b7f1348be07981abb3c3e206a7a2b4d8f7b29f450a2aafbb8fd",
    "e4m3": "9d7653f5afbe9034906208b15d2b1e9e21a762aeee82e64f569003902ccfb150",
    "e3m2": "ebe44503d8e09c5a31ed44728d1efddc578574f7dbdb1e90df6b94fa2995f196",
    "e2m3": "d3f456ffb89e412380ad8469185cfbe7ad01a668eaa536c72427b0d12b393ea0",
    "e2m1": "ce1d60d1408cc7f99b9f2c1b0b8794629935442e1c6c51bb84ca6f468471b1bb",
    "int8": "ed738b7334000257616ed67a659bf3b4b028da4c1c79938a170f4ccfa5dcd3e9",
}


def recorded_digest(swept: Swept) -> str:
    """The recorded digest of a sweep; empty if there is none."""
    file, is_whole = swept.file, swept.cases == 1 << 32
    if not is_whole or (file.op, file.float, swept.policy) != ("encode", "f32", "ocp"):
        return ""
    return _ENCODE_F32.get(file.format, "")
