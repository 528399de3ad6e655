"""The complete encoder of a deterministic policy as one table, with a two-line lookup.

A float rounded to odd in its top bits is a key, and all floats of one key have the same code: see
`mxref.bits.floats.to_odd` for the proof. So a table by key is the encoder, bit for bit, for every
input, and a lookup needs no arithmetic on floats.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np

from mxref._version import __version__
from mxref.bits.floats import LAYOUTS, U8, FloatLayout, floats_from
from mxref.formats.catalog import CodeFormat, code_format
from mxref.golden.export.arrays import c_words, npy, readmemh
from mxref.numbers.element import encode
from mxref.numbers.table import key_layout
from mxref.policy.choices import NaNToFinite
from mxref.policy.policy import Policy, resolve
from mxref.support.text import unknown_name

__all__ = ["EncodeTable", "encode_table"]

#: The most bits of a key: a table of 4 MiB.
_WIDEST = 22


@dataclass(frozen=True, slots=True)
class EncodeTable:
    """Codes by odd-rounded key: ``codes[(x | ((x & m) + m)) >> drop]`` with m = 2**drop - 1.

    Args:
        format: the format of the codes.
        layout: type of the float whose pattern is x.
        policy: the policy.
        drop: number of low bits of the pattern that a key leaves out.
        codes: 2**(width - drop) uint8 codes.
    """

    format: CodeFormat
    layout: FloatLayout
    policy: Policy
    drop: int
    codes: U8

    @property
    def name(self) -> str:
        """Name of the lookup function.

        >>> encode_table("e4m3", "ocp+overflow=nonsaturating").name
        'mxref_encode_e4m3_f32_overflow_nonsaturating'
        """
        choices = re.sub(r"\W", "_", str(self.policy).removeprefix("ocp"))
        return f"mxref_encode_{self.format.name}_{self.layout.name}{choices}"

    def about(self) -> str:
        """One line without line end: the table's origin, and how to index it."""
        mask = (1 << self.drop) - 1
        digest = hashlib.sha256(self.codes.tobytes()).hexdigest()
        return (
            f"mxref {__version__}: {self.codes.size} codes of {self.format.name} under "
            f"{self.policy}; code of the {self.layout.name} pattern x: "
            f"table[(x | ((x & 0x{mask:x}) + 0x{mask:x})) >> {self.drop}]; table sha256 {digest}"
        )

    def files(self, kind: str, file: str) -> dict[str, bytes]:
        """The table in a language: content by file name.

        Args:
            kind: `c`, `cuda`, `verilog` (the module, and its ROM beside it), `npy`, `bin` or
                `readmemh`.
            file: name of the file.

        Raises:
            ValueError: unknown kind, or a file name that cannot stand in a Verilog string.
        """
        match kind:
            case "npy":
                return {file: npy(self.codes)}
            case "bin":
                return {file: self.codes.tobytes()}
            case "readmemh":
                return {file: self._rom()}
            case "c" | "cuda":
                return {file: self._c(cuda=kind == "cuda").encode("ascii")}
            case "verilog":
                rom = f"{file.removesuffix('.v')}.hex"
                if not re.fullmatch(r"[\w.+=-]+", rom, re.ASCII):
                    raise ValueError(
                        "--out must be a name of letters, digits and . + = - for the module to "
                        f"name its ROM, got {file!r}"
                    )
                return {rom: self._rom(), file: self._verilog(rom).encode("ascii")}
        raise ValueError(unknown_name("--as", kind, dict.fromkeys(TABLE_KINDS)))

    def _rom(self) -> bytes:
        return readmemh(self.codes, (self.format.bits + 3) // 4, self.about())

    def _c(self, *, cuda: bool) -> str:
        mask = f"0x{(1 << self.drop) - 1:x}u"
        integer = "uint64_t" if self.layout.width == 64 else "uint32_t"
        where = "static __device__ const" if cuda else "static const"
        inline = "static __device__ __forceinline__" if cuda else "static inline"
        found = f"{self.name}_table[key >> {self.drop}]"
        guard = f"{self.name.upper()}_H"
        return f"""/* {self.about()}
   The bits of a float: {"__float_as_uint(f)" if cuda else "memcpy"}. */
#ifndef {guard}
#define {guard}
#include <stdint.h>
{where} uint8_t {self.name}_table[{self.codes.size}] = {{
{c_words(self.codes, 2)}
}};
{inline} uint8_t {self.name}(uint{self.layout.width}_t x)
{{
    {integer} key = x | ((x & {mask}) + {mask});
    return {f"__ldg(&{found})" if cuda else found};
}}
#endif
"""

    def _verilog(self, rom: str) -> str:
        width, drop = self.layout.width, self.drop
        key = "x" if not drop else f"{{x[{width - 1}:{drop + 1}], |x[{drop}:0]}}"
        return f"""// {self.about()}
module {self.name} #(parameter ROM = "{rom}") (
    input wire [{width - 1}:0] x,
    output wire [{self.format.bits - 1}:0] code
);
    reg [{self.format.bits - 1}:0] rom [0:{self.codes.size - 1}];
    wire [{width - drop - 1}:0] key;
    initial $readmemh(ROM, rom);
    assign key = {key};
    assign code = rom[key];
endmodule
"""


#: The ways to write a table.
TABLE_KINDS = ("c", "cuda", "verilog", "npy", "bin", "readmemh")


def encode_table(
    format: str | CodeFormat, policy: str | Policy = "ocp", float: str = "f32"
) -> EncodeTable:
    """The table that encodes every float of a type as `mxref.encode` does.

    Args:
        format: element format (or unsigned float format) or its name.
        policy: a policy or its spelling. The key is wide enough for its pre-rounding, too.
        float: `f32`, `bf16`, `f16` or `f64`.

    Raises:
        ValueError: unknown format, policy or float; a policy that is no function of the input
            (stochastic rounding), has no code for a NaN, or needs a table of more than 4 MiB.

    Source: SPEC_NOTES N9, N36.

    >>> table = encode_table("e2m1")
    >>> x = 0x40A00000  # 5.0
    >>> m = (1 << table.drop) - 1
    >>> table.codes.size, table.codes[(x | ((x & m) + m)) >> table.drop].item()
    (4096, 6)
    """
    fmt, chosen = code_format(format), resolve("encode", policy, {})
    if float not in LAYOUTS:
        raise ValueError(unknown_name("float", float, LAYOUTS))
    layout, element = LAYOUTS[float], chosen.element
    if element.rounding.stochastic:
        raise ValueError(
            f"policy must be deterministic to be a table, got rounding={element.rounding.value}"
        )
    if element.nan_to_finite is NaNToFinite.ERROR and fmt.nan_code is None:
        raise ValueError(
            f"policy must have a code for NaN to be a table, got nan_to_finite=error for {fmt.name}"
        )
    key = key_layout(fmt, layout, element.pre_rounding)
    if key.width > _WIDEST:
        raise ValueError(
            f"policy must fit into a table of at most 2**{_WIDEST} codes, {chosen} from {float} "
            f"needs 2**{key.width}: leave out pre_rounding, or use a narrower float"
        )
    drop = layout.mantissa_bits - key.mantissa_bits
    # The float with zeros in the dropped bits represents its key: an odd key is an open interval.
    patterns = np.arange(1 << key.width, dtype=np.uint64) << np.uint64(drop)
    codes = encode(floats_from(patterns, layout), fmt, chosen)
    return EncodeTable(fmt, layout, chosen, drop, codes)
