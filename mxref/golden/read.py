"""Reading vector files: parsed strictly, so that a damaged file is refused with line and reason."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mxref._bits import LAYOUTS
from mxref._version import VECTORS_VERSION
from mxref.formats import (
    BLOCK_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    block_format,
)
from mxref.golden.layout_answers import SLOTS, sizes
from mxref.golden.records import DIGITS, SPEC, Case, VectorFile
from mxref.golden.words import FLAGS, LAYOUT_OPERATIONS, MODELS, OPERATIONS, RULES
from mxref.policy import Policy

__all__ = [
    "STAGED",
    "VectorError",
    "file_bytes",
    "parse",
    "read_manifest",
    "read_vectors",
]

#: Folder with the files of a newer set that are not yet in their places; see `mxref.golden.store`.
STAGED = ".next"

_HEADER = {
    "mxref_vectors": str,
    "spec": str,
    "op": str,
    "format": str,
    "float": str,
    "columns": list,
    "plain": int,
    "in_digits": int,
    "out_digits": int,
    "cases": int,
    "rule": str,
    "required": list,
    "rules": dict,
    "models": dict,
    "flags": dict,
}
_CASE = {
    "name": str,
    "in": str,
    "out": (str, list),
    "by": str,
    "rule": str,
    "model": str,
    "flags": list,
}
#: One object for each spelling: a file names its columns on every line.
_policy = functools.cache(Policy.parse)
_ENTRY = {"file": str, "sha256": str, "cases": int}
_ENDINGS = (".jsonl", ".txt", ".h", ".json")
_FORMATS = (*ELEMENT_FORMATS, *BLOCK_FORMATS, *OTHER_BLOCK_FORMATS, E8M0.name)


class VectorError(ValueError):
    """A vector file or manifest that is damaged, or not what this version reads."""


def read_vectors(folder: Path, wanted: Callable[[str], bool] | None = None) -> list[VectorFile]:
    """Every vector file that a folder's manifest lists, checked.

    Args:
        folder: where the manifest is.
        wanted: whether to read a file, by its path below the folder without the ending; all if
            None, and then the digests of the other files are checked, too.

    Raises:
        VectorError: no manifest, or a file that is missing, damaged, not canonical or not listed;
            the sentence names file, line and reason.
    """
    entries = read_manifest(folder)
    listed = {folder / name for name in ("manifest.json", *(entry["file"] for entry in entries))}
    files = [
        _read_listed(folder, entry)
        for entry in entries
        if wanted is None or (entry["file"].endswith(".jsonl") and wanted(entry["file"][:-6]))
    ]
    if (folder / STAGED).exists():  # the files of the older set go last
        with contextlib.suppress(VectorError):
            listed |= {folder / old["file"] for old in read_manifest(folder, staged=False)}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts[0]
        staged = inside == STAGED or inside.startswith(f"{STAGED}.")
        if path.suffix in _ENDINGS and path not in listed and not staged:
            raise VectorError(f"{path} is not listed in the manifest of its folder")
    return [file for file in files if file is not None]


def file_bytes(folder: Path, path: str) -> bytes:
    """A file of a folder's set, which a killed `regen` may have left in another place."""
    try:
        return (folder / STAGED / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return (folder / path).read_bytes()


def read_manifest(folder: Path, *, staged: bool = True) -> list[dict[str, Any]]:
    """The entries of a folder's manifest: file, sha256 and number of cases.

    Args:
        folder: the folder.
        staged: whether a newer manifest that has not yet been moved to its place counts.
    """
    path = folder / "manifest.json"
    try:
        data = file_bytes(folder, path.name) if staged else path.read_bytes()
        manifest = json.loads(data.decode("ascii"), object_pairs_hook=_unique)
        entries = manifest["files"]
        version = manifest["mxref_vectors"]
    except FileNotFoundError:
        raise VectorError(
            f"no vectors in {folder.absolute()}: pass --vectors DIR, or make them there with "
            "`mxref regen --out DIR` (15 MB, half a minute)"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise VectorError(f"{path} cannot be read: {error!r}") from None
    if not isinstance(version, str) or version.split(".")[0] != VECTORS_VERSION.split(".")[0]:
        raise VectorError(f"{path} has vectors version {version!r}, this is {VECTORS_VERSION}")
    if not isinstance(entries, list) or not isinstance(version, str):
        raise VectorError(f"{path} must hold a version and a list of files")
    seen: set[str] = set()
    for entry in entries:
        _check_keys(entry, _ENTRY, str(path))
        if entry["file"] in seen:
            raise VectorError(f"{path} lists {entry['file']!r} twice")
        seen.add(entry["file"])
        name = PurePosixPath(entry["file"])
        plain = re.fullmatch(r"[\w.-]+(/[\w.-]+)*", entry["file"], re.ASCII)
        if ".." in name.parts or not plain or name.suffix not in _ENDINGS:
            raise VectorError(f"{path} lists {entry['file']!r}, which is no file of its folder")
    if not entries:
        raise VectorError(f"{path} lists no files")
    return list(entries)


def _read_listed(folder: Path, entry: dict[str, Any]) -> VectorFile | None:
    """A vector file; None for another file, of which only the digest is checked."""
    path = folder / entry["file"]
    text = _ascii(folder, entry["file"])
    same = hashlib.sha256(text.encode("ascii")).hexdigest() == entry["sha256"]
    file = None
    if path.suffix == ".jsonl":
        # A damaged line explains more than a wrong digest does, so the text is parsed first; where
        # the digest is right, the spelling is that of `regen`.
        file = parse(text, str(path), canonical=not same)
        if len(file.cases) != entry["cases"] or f"{file.stem}.jsonl" != entry["file"]:
            raise VectorError(
                f"{path} must hold the {entry['cases']} cases that the manifest says, "
                f"got {len(file.cases)} of {file.stem}"
            )
    if not same:
        raise VectorError(f"{path} does not have the sha256 that the manifest lists")
    return file


def _ascii(folder: Path, file: str) -> str:
    path = folder / file
    try:
        return file_bytes(folder, file).decode("ascii")
    except OSError as error:
        raise VectorError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise VectorError(f"{path} is not ASCII text at byte {error.start}") from None


def parse(text: str, name: str, *, canonical: bool = True) -> VectorFile:
    """The vector file that a text spells.

    Args:
        text: the text.
        name: what errors call it.
        canonical: whether it must be the one spelling that `regen` gives to the file.

    Raises:
        VectorError: the text is not; the sentence names the line and the reason.
    """
    if "\r" in text:
        raise VectorError(
            f"{name}: has CR line ends instead of LF: check it out as binary, not as text"
        )
    lines = text.split("\n")
    if lines.pop() != "":
        raise VectorError(f"{name}:{len(lines) + 1}: must end with a line end, is it cut off?")
    header = _object(lines[0] if lines else "", _HEADER, f"{name}:1")
    file = _file(header, _cases(header, lines[1:], name), f"{name}:1")
    spelled = file.lines() if canonical else lines
    for number, (got, want) in enumerate(zip(lines, spelled, strict=True), 1):
        if got != want:
            raise VectorError(f"{name}:{number}: is not in canonical form, expected {want[:200]}")
    return file


def _file(header: dict[str, Any], cases: tuple[Case, ...], where: str) -> VectorFile:
    if header["mxref_vectors"] != VECTORS_VERSION or header["spec"] != SPEC:
        raise VectorError(
            f"{where}: must be for vectors version {VECTORS_VERSION} of {SPEC}, "
            f"got {header['mxref_vectors']!r} of {header['spec']!r}"
        )
    if header["op"] not in OPERATIONS:
        raise VectorError(f"{where}: op must be one of {', '.join(OPERATIONS)}")
    if header["cases"] != len(cases) or not cases:
        raise VectorError(f"{where}: says {header['cases']} cases, the file has {len(cases)}")
    if header["format"] not in _FORMATS or header["float"] not in (*LAYOUTS, *SLOTS):
        raise VectorError(
            f"{where}: format and float must be known ones, "
            f"got {header['format']!r} and {header['float']!r}"
        )
    if not 1 <= header["plain"] <= len(header["columns"]):
        raise VectorError(f"{where}: plain must count columns, got {header['plain']}")
    for key in ("in_digits", "out_digits"):
        if not 1 <= header[key] <= 16:
            raise VectorError(f"{where}: {key} must be from 1 to 16, got {header[key]}")
    return VectorFile(
        op=header["op"],
        format=header["format"],
        float=header["float"],
        columns=_columns(header["columns"], where),
        plain=header["plain"],
        in_digits=header["in_digits"],
        out_digits=header["out_digits"],
        cases=cases,
    )


def _columns(columns: list[Any], where: str) -> tuple[str, ...]:
    for column in columns:
        try:
            canonical = str(Policy.parse(column))
        except (ValueError, TypeError) as error:
            raise VectorError(f"{where}: column {column!r} is no policy: {error}") from None
        if canonical != column:
            raise VectorError(f"{where}: column {column!r} must be spelled {canonical!r}")
    if not columns or len(set(columns)) != len(columns):
        raise VectorError(f"{where}: columns must be different policies, at least one")
    return tuple(columns)


def _cases(header: dict[str, Any], lines: list[str], name: str) -> tuple[Case, ...]:
    cases: list[Case] = []
    seen: set[str] = set()
    for number, line in enumerate(lines, 2):
        where = f"{name}:{number}"
        record = _object(line, _CASE, where, optional=("name", "by", "rule", "flags"))
        case = _case(header, record, where)
        if case.id in seen:
            raise VectorError(f"{where}: name {case.name!r} must be new")
        seen.add(case.id)
        cases.append(case)
    return tuple(cases)


def _case(header: dict[str, Any], record: dict[str, Any], where: str) -> Case:
    by, several = _indices(header, record, where)
    rule = record.get("rule", header["rule"])
    name = record.get("name", record["in"])
    if not re.fullmatch(r"[\w-]+", name, re.ASCII):
        raise VectorError(f"{where}: must have a name that is a word, got {name!r}")
    if "name" in record and " " not in record["in"]:
        raise VectorError(f"{where}: must have no name, since its input is its name, got {name!r}")
    flags = [str(flag) for flag in record.get("flags", [])]
    unknown = [flag for flag in flags if flag not in FLAGS]
    unknown += [record["model"]] if record["model"] not in MODELS else []
    unknown += [rule] if rule not in RULES else []
    if unknown:
        raise VectorError(f"{where}: {unknown[0]!r} is no known flag, model or rule")
    answers = tuple(_words(words, header["out_digits"], where) for words in several)
    inputs = _words(record["in"], header["in_digits"], where)
    _check_words(header, inputs, answers, by, where)
    return Case(
        id=f"{header['op']}.{header['format']}.{header['float']}.{name}",
        inputs=inputs,
        answers=answers,
        by=by,
        required=rule in header["required"],
        rule=rule,
        model=record["model"],
        flags=tuple(flags),
    )


def _indices(
    header: dict[str, Any], record: dict[str, Any], where: str
) -> tuple[tuple[int, ...], list[str]]:
    """Which answer each column has, and the answers."""
    if isinstance(record["out"], str):
        if "by" in record:
            raise VectorError(f"{where}: by must be absent where out is one string")
        return (), [record["out"]]
    width, by = len(header["columns"]), record.get("by", "")
    used = "".join(dict.fromkeys(by))
    # Answers are listed in the order in which columns first have them.
    if len(by) != width or len(used) < 2 or used != DIGITS[: len(record["out"])]:
        raise VectorError(
            f"{where}: by must name an answer of out for each of {width} columns and every answer "
            f"in order, got {by!r} for {len(record['out'])} answers"
        )
    if not all(isinstance(words, str) for words in record["out"]):
        raise VectorError(f"{where}: out must hold strings")
    if len(set(record["out"])) != len(record["out"]):
        raise VectorError(f"{where}: out must hold different answers")
    return tuple(DIGITS.index(digit) for digit in by), record["out"]


def _check_words(
    header: dict[str, Any],
    inputs: tuple[int, ...],
    outputs: tuple[tuple[int, ...], ...],
    by: tuple[int, ...],
    where: str,
) -> None:
    """Refuse words that the operation does not have, and codes that the format does not have."""
    op, name = header["op"], header["format"]
    for index, output in enumerate(outputs):
        column = header["columns"][by.index(index) if by else 0]
        try:
            counts = _counts(op, name, inputs, _policy(column))
        except ValueError as error:
            raise VectorError(f"{where}: is no case of {op} {name}: {error}") from None
        if (len(inputs), len(output)) != counts:
            raise VectorError(f"{where}: {op} must have {counts[0]} words in and {counts[1]} out")
    block = {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}.get(name)
    element = ELEMENT_FORMATS.get(name) if block is None else block.element
    if element is None or op == "shared_scale":
        return
    first = 0  # of the words of a block or tensor that are element codes
    if block is not None:
        tensor = op == "dequantize" and block.tensor_scale
        scales = inputs[0] * -(-inputs[1] // 32) if op == "quantize_tensor" else 1
        if op == "quantize_tensor" and inputs[2] == 0:
            scales = -(-inputs[0] // 32) * inputs[1]
        first = scales + tensor
    given = op in ("decode", "dequantize", "pack", "pack_blocks")
    codes = [side[first:] for side in ([inputs] if given else outputs)]
    if any(code >= element.code_count for side in codes for code in side):
        raise VectorError(f"{where}: holds what is no code of {element.name}")


def _counts(op: str, name: str, inputs: tuple[int, ...], policy: Policy) -> tuple[int, int]:
    """How many words a case must have in and out."""
    if op in LAYOUT_OPERATIONS:
        return sizes(op, name, inputs, policy)
    if op not in ("quantize", "dequantize"):
        return (3 if op == "encode_stochastic" else 1), 1
    fmt = block_format(name)
    size, tensor = fmt.elements_per_block, int(fmt.tensor_scale)
    return (size + tensor, size + 1) if op == "quantize" else (size + 1 + tensor, size)


def _words(text: object, digits: int, where: str) -> tuple[int, ...]:
    words = text.split(" ") if isinstance(text, str) else [repr(text)]
    if not isinstance(text, str) or not _hex_words(digits).fullmatch(text):
        one = re.compile(f"[0-9a-f]{{{digits}}}")
        wrong = next(word for word in words if not one.fullmatch(word))
        raise VectorError(f"{where}: a word must be {digits} lower-case hex digits, got {wrong!r}")
    return tuple([int(word, 16) for word in words])


@functools.cache
def _hex_words(digits: int) -> re.Pattern[str]:
    return re.compile(f"[0-9a-f]{{{digits}}}( [0-9a-f]{{{digits}}})*")


def _object(
    line: str, keys: dict[str, Any], where: str, optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise VectorError(f"{where}: is not a JSON object: {error}") from None
    _check_keys(record, keys, where, optional)
    result: dict[str, Any] = record
    return result


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key stands twice")
    return record


def _check_keys(
    record: object, keys: dict[str, Any], where: str, optional: tuple[str, ...] = ()
) -> None:
    if not isinstance(record, dict):
        raise VectorError(f"{where}: must be a JSON object")
    missing: Iterator[str] = (k for k in keys if k not in record and k not in optional)
    wrong = [f"lacks {key!r}" for key in missing]
    wrong += [f"has the unknown key {key!r}" for key in record if key not in keys]
    wrong += [
        f"has {value!r} as {key!r}"
        for key, value in record.items()
        if key in keys and (not isinstance(value, keys[key]) or isinstance(value, bool))
    ]
    if wrong:
        raise VectorError(f"{where}: {wrong[0]}")
