"""What changed between two versions of a library of which both have a profile.

Each change has an input that shows it, so that the two profiles prove it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHANGES", "VersionChange", "changes_of"]


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A change of a library, between the versions of two profiles.

    Args:
        before: the profile of the older version.
        after: the profile of the newer version.
        what: what changed, as a sentence without its end.
        source: the pull request that made it; empty if none is known and both versions were run.
        op: `encode`, `decode` or `quantize`.
        format: the element format or block format.
        given: the input: a number, the first one of a block of otherwise zeros, or a code.
        codes: the outputs of the older and the newer version: codes in hex, of a block behind its
            scale code; or the number that is read.
    """

    before: str
    after: str
    what: str
    source: str
    op: str
    format: str
    given: float
    codes: tuple[str, str]


def _torchao(mode: str, what: str, given: float, codes: tuple[str, str]) -> VersionChange:
    before, after = f"torchao_0_18_{mode}", f"torchao_main_{mode}"
    return VersionChange(
        before, after, what, "pytorch/ao#4725", "quantize", "mxfp8_e4m3", given, codes
    )


_BYTE_00 = "elements under scale byte 00 are divided by 2**-127, not by {}"
_INFINITE = "a block with an infinity has a NaN scale, not a scale for finite numbers"
_MLX = ("mlx_0_31", "mlx_0_32")

#: All changes, those of a library together.
CHANGES = (
    VersionChange(
        "torch_2_12",
        "torch",
        "numbers beyond 448 and infinities are cast to 448, not to NaN",
        "pytorch/pytorch#178817",
        "encode",
        "e4m3",
        512.0,
        ("7f", "7e"),
    ),
    *(
        _torchao(mode, what, given, codes)
        for mode, divisor, code, scale in (
            ("floor", "2**-126", "30", "f7"),
            ("ceil", "2**-126", "30", "f7"),
            ("even", "2**-126", "30", "f7"),
            ("rceil", "1", "00", "fe"),
        )
        for what, given, codes in (
            (_BYTE_00.format(divisor), 2.0**-127, (f"00 {code}", "00 38")),
            (_INFINITE, float("inf"), (f"{scale} 7e", "ff 7f")),
        )
    ),
    _torchao(
        "even",
        "amax that is rounded up to 2**128 gives a NaN scale",
        float.fromhex("0x1.fp127"),
        ("f7 78", "ff 7f"),
    ),
    _torchao(
        "rceil",
        "the scale comes from the bits of fl(amax * fl(1 / max)), not from a float32 logarithm",
        float.fromhex("0x1.c0004p-118"),
        ("01 7e", "02 76"),
    ),
    VersionChange(
        *_MLX,
        "scales are rounded up to a power of two, not to the nearest",
        "ml-explore/mlx#4353",
        "quantize",
        "mxfp8_e4m3",
        1.0,
        ("76 7e", "77 78"),
    ),
    VersionChange(
        *_MLX,
        "codes 7f and ff are read as NaN, not as 480 and -480",
        "",
        "decode",
        "e4m3",
        0x7F,
        ("480.0", "nan"),
    ),
)


def changes_of(name: str) -> list[VersionChange]:
    """The changes before and after the version of a profile.

    >>> [(one.before, one.source) for one in changes_of("torch")]
    [('torch_2_12', 'pytorch/pytorch#178817')]
    >>> changes_of("ocp")
    []
    """
    return [one for one in CHANGES if name in (one.before, one.after)]
