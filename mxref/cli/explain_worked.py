"""A worked case of a member of a choice, for `mxref explain`: input, answer of ocp, its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.cli.answer import print_part
from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS, block_format

#: Elements and characters of words that are shown.
_SHOWN, _LONGEST = 4, 80


def worked(
    folder: Path, choice: str, member: str, format: str | None, *, integer: bool = False
) -> dict[str, Any] | None:
    """The simplest case of the vectors that a member changes, as JSON values; None without one."""
    from mxref.golden.witnesses import witness

    found = witness(folder, choice, member, format, integer=integer)
    if found is None and format in (blocks := {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}):
        found = witness(folder, choice, member, blocks[format].element.name, integer=integer)
    if found is None:
        return None
    file, words = found.file, found.case.inputs
    data = {
        "file": file.stem,
        "cases": len(file.cases),
        "differing": found.count,
        "flags": dict(found.flags),
        "case": found.case.id,
        "under": found.under,
    }
    both = {"first": found.first, "other": found.other}
    if file.op == "quantize" and not block_format(file.format).tensor_scale:
        changed = {i for i, (a, b) in enumerate(zip(*both.values(), strict=True), -1) if a != b}
        first = [i for i in range(len(words)) if i in changed]  # where the answers differ
        zeros = (0, LAYOUTS[file.float].sign_bit)
        first += [i for i, word in enumerate(words) if word not in zeros and i not in changed]
        some = sorted(first[:_SHOWN]) or [0]
        data["in"] = _elements(file, words, some)
        return data | {name: _block(file, answer, some) for name, answer in both.items()}
    data["in"] = _words(file, words, given=True)
    return data | {name: _words(file, answer, given=False) for name, answer in both.items()}


def show_worked(data: dict[str, Any]) -> None:
    """Print what `worked` found."""
    op, _, rest = data["file"].partition("/")
    flags = ", ".join(f"{flag} {count}" for flag, count in [*data["flags"].items()][:5])
    of = f"; of these {flags}" if flags else ""
    where = f"{op} {rest.replace('.', ' ')}"
    under = "" if data["under"] in ("ocp", "default") else f" under {data['under']}"
    text = f"in {data['differing']} of {data['cases']} cases of {where} in the vectors{under}{of}"
    print_part("differs", text)
    print_part("such as", f"{data['case']} (`mxref explain {data['case']}`)")
    print_part("in", data["in"])
    print_part("default", data["first"])
    print_part("it gives", data["other"])


def _elements(file: VectorFile, words: tuple[int, ...], some: list[int]) -> str:
    """Elements of a block, each with its number: `1.75 at 31`."""
    from mxref.conformance.compare.failure_text import show_float

    layout = LAYOUTS[file.float]
    texts = [f"{show_float(words[i], layout).split(' = ')[-1]} at {i}" for i in some]
    zeros = (0, layout.sign_bit)
    left = sum(word not in zeros for i, word in enumerate(words) if i not in some)
    more = f", and {left} more" if left else ""
    rest = "" if left or len(some) == len(words) else ", all else 0"
    return f"{', '.join(texts)}{more}{rest}"


def _block(file: VectorFile, answer: tuple[int, ...], some: list[int]) -> str:
    """A block's scale and some of its elements, with their codes and values."""
    from mxref.conformance.compare.failure_text import show_code

    if not answer:
        return "an error"
    fmt = block_format(file.format)
    scale, *codes = answer
    size = fmt.scale.value(scale)
    texts = [f"{codes[i]:02x} = {fmt.element.value(codes[i]) * size:.6g}" for i in some]
    return f"scale {show_code(scale, fmt.scale)}; {', '.join(texts)}"


def _words(file: VectorFile, words: tuple[int, ...], *, given: bool) -> str:
    """Words in hexadecimal, one alone with its value; many are cut."""
    from mxref.cases.records import words as spelled
    from mxref.cases.words import INTEGER_OPERATIONS
    from mxref.conformance.compare.failure_text import show_input, show_output

    if not words:
        return "an error"
    if len(words) == 1 and file.op not in INTEGER_OPERATIONS:
        return show_input(file, words[0]) if given else show_output(file, words[0])
    text = spelled(words, file.in_digits if given else file.out_digits)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
