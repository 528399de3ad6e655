"""Every file that the documents name exists, and every link between them leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import ROOT

FOLDERS = (".ci", ".github", "docs", "mxref", "tests", "tools", "vectors")
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "SPEC_NOTES.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")),
    "docs/reports/README.md",
    "vectors/README.md",
)
#: Names of other projects' files, of what a reader makes, and of what is still to be written.
OTHERS = {
    "README.md": {"e4m3.h", "wrong_kernel.py"},
    "SPEC_NOTES.md": {
        "bench_qdq.py",
        "core_nvfp4.cuh",
        "cuda_fp4.h",
        "cuda_fp6.h",
        "cuda_fp8.h",
        "export_executorch.py",
        "fp_format_spec.py",
        "fuse_quantized_ops.py",
        "llama.cpp",
        "mxfp8_quantize.py",
        "nvfp4_tensor.py",
        "quantize_4over6_nvfp4.cuh",
        "reference_nvfp4.py",
        "quantization_utils.cuh",
    },
    "docs/architecture.md": {
        "cli/NAME_verb.py",
        "profiles/LIBRARY.py",
        "tools/adapters/LIBRARY_adapter.py",
        "tools/suites/shims/NAME_shim.py",
    },
    "docs/bits.md": {"weights.npy"},
    "docs/check.md": {"cuda_fp8.h"},
    "docs/ci.md": {"badge.json", ".github/workflows/mx.yml", "test_mx.py", "test_properties.py"},
    "docs/consumers.md": {"e4m3.h"},
    "docs/index.md": {"fp4.py", "fp4_even.py"},
    "docs/profiles.md": {"llama.cpp", "weights.npy"},
    "docs/verdicts.md": {"ties_away.py"},
    "docs/reports/README.md": {"llama.cpp"},
    "vectors/README.md": {"mx_nan.h", "stdint.h", "string.h"},
    "docs/suites.md": {"test/test_encode.py", "test/test_p3109_spec.py"},
}
_SUFFIXES = "c|cpp|cu|cuh|h|hex|json|md|npy|npz|py|sh|toml|txt|v|yml"
_FILE = re.compile(rf"(?<![\w/.*-])((?:\.?[\w-]+/)*\.?[\w-]+\.(?:{_SUFFIXES}))(?![\w/*])")
_FOLDER = re.compile(rf"`((?:{'|'.join(map(re.escape, FOLDERS))})/[\w/.-]*)`")


def ends_of_paths() -> set[str]:
    """Every file of the checkout: its path, and each end of that which begins at a folder."""
    files = [path.name for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        paths = (ROOT / folder).rglob("*.*")
        files += [str(path.relative_to(ROOT)) for path in paths if path.suffix != ".pyc"]
    parts = [file.split("/") for file in files]
    return {"/".join(some[start:]) for some in parts for start in range(len(some))}


@pytest.fixture(scope="module")
def known() -> set[str]:
    return ends_of_paths()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_files_that_a_document_names_exist(name: str, known: set[str]) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    named = set(_FILE.findall(re.sub(r"\]\([^)]*\)", "]", text)))
    assert named - known == OTHERS.get(name, set())
    assert [folder for folder in _FOLDER.findall(text) if not (ROOT / folder).exists()] == [
        folder for folder in _FOLDER.findall(text) if folder in OTHERS.get(name, set())
    ]
    for link in links:
        if "://" not in link:
            assert (ROOT / Path(name).parent / link).exists(), link


def test_the_documents_name_files() -> None:
    assert len(_FILE.findall((ROOT / "docs" / "architecture.md").read_text("utf-8"))) > 40
