"""The kernels are data: not imported by pytest, and read once for each process."""

import pytest

from mxref.cases.records import VectorFile

collect_ignore_glob = ["first/*.py", "second/*.py", "products/*.py", "nvfp4/*.py"]


@pytest.fixture(scope="session")
def read_once() -> dict[str, VectorFile]:
    """Vector files that were read, by their stems."""
    return {}
