"""Subjects of archives of the vectors, and the README of each."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mxref.golden.archive_texts import BEGIN, BLOCKS, EACH, LIBRARIES, READERS
from mxref.golden.contract import case_words
from mxref.operands.kinds import Codes
from mxref.operations.registry import CALL_OPERATIONS, PRODUCT_OPERATIONS, REGISTRY

__all__ = ["SUBJECTS", "Subject", "page"]

_PRODUCTS = (*PRODUCT_OPERATIONS, "mma", "addmm")
_RECIPES = ("recipe_linear", "recipe_gradients")
_INTEGERS = tuple(op for op in CALL_OPERATIONS if op not in (*_PRODUCTS, *_RECIPES))
_SCALES = ("encode_scale", "decode_scale", "pack_scales", "unpack_scales")
_CALLS = (*_INTEGERS, *_PRODUCTS, *_RECIPES, *_SCALES)
#: What the column ocp of MX formats is, where the standard leaves a choice.
_OCP = (
    "Where the standard leaves a choice, `ocp` is: the scale is 2^(floor(log2 A) - emax) of the "
    "largest magnitude A, at least 2^-127; a NaN or an infinity in a block makes its scale NaN; a "
    "block of zeros has the scale 00; elements are rounded to nearest, ties to even; what is "
    "beyond the largest number saturates, infinities in `encode`, too; zeros keep their sign, also "
    "those that a number is rounded to. CHOICES.md has the other readings."
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an archive is about.

    Args:
        name: the end of its name.
        about: sentences about it.
        formats: its formats of elements and blocks.
        operations: operations that it has of every format.
        main: the file that the readers of its README read, without ending.
        whole: whether it has everything.
    """

    name: str
    about: str
    main: str
    formats: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    whole: bool = False

    def has(self, file: str) -> bool:
        """Whether the archive has a file of the vectors.

        >>> SUBJECTS[0].name, SUBJECTS[0].has("encode/e5m2.f32.jsonl")
        ('mxfp8_e5m2', True)
        """
        if file == "schema.json":
            return True
        *folders, name = file.removeprefix("plain/").split("/")
        op, format = "".join(folders), name.split(".")[0]
        if self.whole:
            return not (file.startswith("plain/") and op in CALL_OPERATIONS)
        return op in self.operations or (op not in _CALLS and format in self.formats)


def _of_mx(name: str, element: str, block: str) -> Subject:
    about = (
        f"{block.split('_')[0].upper()} of OCP MX 1.0: elements in {element.upper()}, and blocks "
        f"of 32 under a power of two (E8M0).\n\n{_OCP}"
    )
    return Subject(name, about, f"quantize/{block}.f32", (element, block))


#: Every archive; a file may be in several.
SUBJECTS = (
    _of_mx("mxfp8_e5m2", "e5m2", "mxfp8_e5m2"),
    _of_mx("mxfp8_e4m3", "e4m3", "mxfp8_e4m3"),
    _of_mx("mxfp6_e3m2", "e3m2", "mxfp6_e3m2"),
    _of_mx("mxfp6_e2m3", "e2m3", "mxfp6_e2m3"),
    _of_mx("mxfp4", "e2m1", "mxfp4_e2m1"),
    _of_mx("mxint8", "int8", "mxint8"),
    Subject(
        "nvfp4",
        "NVFP4 and its relatives: E2M1 elements in blocks of 16; elements alone are in the archive "
        "of `mxfp4`. The scale of `fp4_ue4m3` is a "
        "UE4M3, that of `fp4_ue5m3` a UE5M3, that of `fp4_e8m0` an E8M0. `nvfp4` is `fp4_ue4m3` "
        "under a float32 scale of the tensor, which is the first input word; `nvfp4_16x16` has "
        "tiles of 256 elements, row by row. So where the table says 32, it is 16 here, or 256.\n\n"
        "NVFP4 is not MX, and `ocp` is its exact arithmetic. T is the scale of the tensor, 1 where "
        "there is none; A is the largest magnitude of a block, s its scale. Then s is A / (6 T), "
        "each element x / (T s): exact quotients, rounded to nearest, ties to even, and saturated. "
        "Where s is 00, every element is a zero with the sign of x. A NaN or an infinity makes s a "
        "NaN (7f). `dequantize` gives T times s times the element, rounded once. T is finite and "
        "not 0 in all cases. Blocks of `fp4_e8m0` are as in MX.",
        "quantize/nvfp4.f32",
        ("fp4_ue4m3", "fp4_ue5m3", "fp4_e8m0", "nvfp4", "nvfp4_16x16"),
    ),
    Subject(
        "fp8",
        "FP8 outside of MX: elements in E4M3, E5M2 and the FNUZ formats, and blocks of 128 E4M3 "
        "elements under a float32 scale (`fp8_e4m3_f32`; where the table says 32, it is 128 of "
        "this format, and all words beside its elements have eight digits).",
        "encode/e4m3.f32",
        ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz", "fp8_e4m3_f32"),
    ),
    Subject(
        "scales",
        "E8M0 scales: numbers to codes and back, and the layouts of matrices of scales.",
        "encode_scale/e8m0.f32",
        operations=_SCALES,
    ),
    Subject(
        "products",
        "Dot products, linear layers and their gradients, and matrix units. The column `ocp` is "
        "the exact sum, rounded once; hardly any kernel has its bits. What every order of float32 "
        "additions gives lies between `lo` and `hi` (CONTRACT.md, Products); `overflow` is one "
        "more right answer.",
        "matmul/mxfp8_e4m3-mxfp8_e4m3.f32",
        operations=_PRODUCTS,
    ),
    Subject(
        "recipes",
        "Linear layers by recipes of training: the output, and the gradients of the input and of "
        "the weight, from bfloat16. The column `default` is the exact sum, rounded once; what "
        "every order of float32 additions gives lies between `lo` and `hi` (CONTRACT.md, "
        "Products). A case is one call: lines of a file have different lengths. An answer has a "
        "word for each number of the result.\n\nBeside them are the blocks of 128 E4M3 elements "
        "under a float32 scale that most of them quantize to (`fp8_e4m3_f32`; where the table says "
        "32, it is 128); readers below read these.",
        "dequantize/fp8_e4m3_f32.f32",
        ("fp8_e4m3_f32",),
        operations=_RECIPES,
    ),
    Subject(
        "integers",
        "Integers: affine quantization, int4, RESCALE, QLinear operations, grid sampling, "
        "weight-only layers. No standard says which column is right: one of them should give all "
        "answers of an implementation, and there is no column `ocp`. CHOICES.md has the definition "
        "of each operation, and what each column means. A case is one call: lines of a file have "
        "different lengths. An answer has a word for each number of the result.",
        "dequantize_affine/int8.f32",
        operations=_INTEGERS,
    ),
    Subject(
        "all",
        "All of the vectors, of integers and matrix units as JSON alone: their plain files, which "
        "have the same columns, are in the archives of these.",
        "encode/e4m3.f32",
        whole=True,
    ),
)

#: Types that have a NaN: sign bit, and the last word without it that is no NaN.
_NANS = {
    "e5m2": (0x80, 0x7C),
    "e4m3": (0x80, 0x7E),
    "ue4m3": (0, 0x7E),
    "ue5m3": (0, 0xFE),
    "e8m0": (0, 0xFE),
    "f16": (0x8000, 0x7C00),
    "bf16": (0x8000, 0x7F80),
    "f32": (0x80000000, 0x7F800000),
    "f64": (0x8000000000000000, 0x7FF0000000000000),
}
_FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def page(
    subject: Subject, manifest: dict[str, Any], files: Mapping[str, bytes], contract: str
) -> str:
    """The README of an archive.

    Args:
        subject: what it is about.
        manifest: its manifest.
        files: its files by their names.
        contract: the text of ``vectors/README.md``, whose table has the words of operations.
    """
    cases = {e["file"]: e["cases"] for e in manifest["files"] if e["file"].endswith(".jsonl")}
    profiles = [file.split("/")[2] for file in files if file.startswith("plain/profiles/")]
    header = json.loads(files[f"{subject.main}.jsonl"].split(b"\n", 1)[0])
    plain = files[f"plain/{subject.main}.txt"].decode("ascii").splitlines()
    line = plain[len(plain) // 2]
    example = line if len(line) < 100 else f"{line[:60]} ... {line[-30:]}"
    outputs = json.loads(files[f"{subject.main}.jsonl"].split(b"\n")[1])["out"]
    outputs = outputs if isinstance(outputs, str) else outputs[0]
    has = _type_of_answers(header) in _NANS
    sign, last = _NANS.get(_type_of_answers(header), (0, 0xFFFFFFFFFFFFFFFF))
    values = {
        "MAIN": subject.main,
        "COLUMNS": str(header["plain"]),
        "OUT": str(len(outputs.split())),
        "NONE": "" if has else "  # the type has no NaN",
        "NONEC": "" if has else " /* the type has no NaN */",
        "SIGN": f"{sign:#x}",
        "LAST": f"{last:#x}",
        "CASES": str(header["cases"]),
        "COLUMN": header["columns"][0],
        **(BLOCKS if header["op"] == "quantize" else EACH),
    }
    return (
        _filled(
            BEGIN,
            {
                "VERSION": manifest["mxref_vectors"],
                "NAME": subject.name,
                "ABOUT": "\n\n".join(map(_wrapped, subject.about.split("\n\n"))),
                "ALL": f"{sum(cases.values()):,}",
                "FILES": str(len(cases)),
                "TABLE": _table(cases, contract),
                "EXAMPLE": example,
                "NAMES": ", ".join(f"`{c}`" for c in header["columns"][: header["plain"]]),
                **values,
            },
        )
        + _nans(cases)
        + (_filled(LIBRARIES, {"PROFILES": _listed(profiles)}) if profiles else "")
        + _filled(READERS, values)
    )


def _type_of_answers(header: dict[str, Any]) -> str:
    """The type of the first output word of a file, for its NaN."""
    op, format, float_type = str(header["op"]), str(header["format"]), str(header["float"])
    (kind,) = REGISTRY[op].kinds_out(format, float_type, (), 1)
    return kind.fmt.name if isinstance(kind, Codes) else float_type


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"@([A-Z]+)@", lambda match: values[match[1]], text)


def _listed(names: list[str]) -> str:
    return _wrapped(", ".join(sorted(dict.fromkeys(names))))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_on_hyphens=False)


def _table(cases: Mapping[str, int], contract: str) -> str:
    """What each operation has: its words, from the contract's table, and its files."""
    words = case_words(contract)
    operations: dict[str, dict[str, list[str]]] = {}
    for file in cases:
        op, name = file.removesuffix(".jsonl").split("/")
        format, float_type = name.split(".")
        operations.setdefault(op, {}).setdefault(format, []).append(float_type)
    lines = []
    for op, formats in operations.items():
        if op not in words:
            raise ValueError(f"the table of vectors/README.md must have {op}, it has no such row")
        inputs, outputs, of = words[op]
        has = "; ".join(f"`{format}` {' '.join(floats)}" for format, floats in formats.items())
        count = sum(n for file, n in cases.items() if file.startswith(f"{op}/"))
        lines.append(f"| `{op}` | {inputs} | {outputs} | {of} | {has} | {count} |")
    return "\n".join(lines)


def _nans(cases: Mapping[str, int]) -> str:
    """The words of NaN of the types in these files."""
    named = " ".join(cases)
    types = [one for one in _NANS if re.search(rf"(?<![a-z0-9]){one}(?![a-z0-9])", named)]
    if "quantize/mx" in named or "fp4_e8m0" in named:
        types = [*types, *({"e8m0"} - {*types})]
    return "\n".join(
        f"| {_FLOATS.get(one, one.upper())} | {f'`{sign:x}`' if sign else 'none'} | `{last:x}` |"
        for one in types
        for sign, last in [_NANS[one]]
    )
