"""tools/bench.py beside libraries that are not in the extra `test`: they do what mxref does."""

from __future__ import annotations

import pytest
from bench_helpers import rows_beside, take_no_time
from benchmark.jobs import DATA
from needs import checkout

no_time = pytest.fixture(take_no_time)


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["torch", "torchao", "compressed_tensors", "mlx", "microxcaling"])
def test_a_peer_does_what_mxref_does_or_what_its_profile_does(name: str, data: str) -> None:
    if name == "microxcaling":
        checkout("MXREF_MICROXCALING")
    for row in rows_beside(name, data):
        assert row.timing is not None, row
        assert not row.differing or row.note.startswith("as profile "), row
