"""Recorded digests of all codes, which show a change of any code, NaN included."""

from __future__ import annotations

from mxref.conformance.sweeping.account import Swept

__all__ = ["recorded_digest"]

#: Of `encode` under `ocp` in every format, for all 2**32 float32 inputs in order.
_ENCODE_F32 = {
    "e5m2": "4559d42906bb7b7f1348be07981abb3c3e206a7a2b4d8f7b29f450a2aafbb8fd",
    "e4m3": "9d7653f5afbe9034906208b15d2b1e9e21a762aeee82e64f569003902ccfb150",
    "e3m2": "ebe44503d8e09c5a31ed44728d1efddc578574f7dbdb1e90df6b94fa2995f196",
    "e2m3": "d3f456ffb89e412380ad8469185cfbe7ad01a668eaa536c72427b0d12b393ea0",
    "e2m1": "ce1d60d1408cc7f99b9f2c1b0b8794629935442e1c6c51bb84ca6f468471b1bb",
    "int8": "ed738b7334000257616ed67a659bf3b4b028da4c1c79938a170f4ccfa5dcd3e9",
    "e4m3fnuz": "4d318fe650c66cd916a546f85b9b968d8b36a3f3c39ddb48729837c4940dabd3",
    "e5m2fnuz": "7045d1f2c32be585db434875ddcfcbcb4f90e89d6052b28ebd005da6cc87c88b",
    "e4m3b11fnuz": "2f5f8f0d6c851f508716215df2dc8b8d31c1795e2f26b721f920e11bc5dca4ab",
    "e3m4": "0fd43f831faeff6456ccb6cf2a07a2c96419da0cf988ffc974084b6b3e3fb76d",
    "e4m3_ieee": "911dfa472c93ac9f7b18e56308c86d5beeb95f5bff85568260fbc8a27828b813",
    "e1m2": "3a1ad84be940212203089436a48691307228fb458afc67f583d30bc9a98e5d52",
    "binary8p3": "cba80a44a70c3ddad6566e3284f00d445e23d106d6ec8bed3a2cba0714e160ad",
    "binary8p4": "d04accb54bbb412106755346b9569922d12fe439d399397848a9d0cfaadb5b66",
    "ue4m3": "5ffafa4ad05bac17a16ec12eb4b18b67e0d081570653cf88677e8ae26d2db1a0",
    "ue5m3": "ddb8498bd2db900a8c9af745dfcffcdd9fd0f263ef852ddbf24ce951775eb1ff",
    "binary8p1uf": "d8348148013c00ca4382db3400c6d18f011827e7fa36968d25aec4545b77c135",
    "binary8p3ue": "2ae5ae037a38ea033c241721a91b8e4c9bee48eb514579d7a700441a6a305b6f",
    "binary8p4ue": "e7d50c3970650b608600f8874835d90ddb12a116f212c4e2ca9c147f073b8602",
}


def recorded_digest(swept: Swept) -> str:
    """The recorded digest of a sweep; empty if there is none."""
    file, is_whole = swept.file, swept.cases == 1 << 32
    if not is_whole or (file.op, file.float, swept.policy) != ("encode", "f32", "ocp"):
        return ""
    return _ENCODE_F32.get(file.format, "")
