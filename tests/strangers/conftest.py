"""The kernels are data: written as modules, and the vectors read once for each process."""

from pathlib import Path

import pytest
from planting import written

from mxref.cases.records import VectorFile

FOLDER = Path(__file__).parent
collect_ignore_glob = ["bases/*.py", "products/*.py"]


@pytest.fixture(scope="session")
def read_once() -> dict[str, VectorFile]:
    """Vector files that were read, by their stems."""
    return {}


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each set, with a module for each of its kernels."""
    folder = tmp_path_factory.mktemp("strangers")
    for texts in FOLDER.glob("*.toml"):
        (folder / texts.stem).mkdir()
        base = (FOLDER / "bases").glob(f"{texts.stem}_base.py")
        written(texts, folder / texts.stem, *base)
    return folder
