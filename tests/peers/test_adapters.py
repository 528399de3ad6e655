"""Every adapter of tools/adapters loads and answers one file as it is known to.

What needs a checkout is skipped where no variable names one.
"""

from __future__ import annotations

import peer_adapters as peers
import pytest
from ledger.claims import ADAPTERS, claiming, claiming_products

from mxref.conformance import TargetError, load_target

#: What adapters are made of.
PARTS = {
    "_integers",
    "_layers",
    "_microxcaling",
    "_mlx",
    "_peer",
    "_torchao",
    "_values",
    "torchmx_order",
}


def test_no_adapter_is_left_out() -> None:
    assert {*claiming()} == {*peers.CURRENT, *peers.OLDER, *peers.ORIGINALS}
    assert {*claiming_products()} == {*peers.CURRENT_PRODUCTS, *peers.OLDER_PRODUCTS}
    files = {path.stem for path in ADAPTERS.glob("*.py")}
    claiming_files = {one.path.stem for one in peers.every().values()}
    assert files == claiming_files | PARTS | {"torch_matmul_adapter"}  # which needs a GPU


@pytest.mark.parametrize("name", [*peers.CURRENT, *peers.ORIGINALS])
@pytest.mark.filterwarnings("ignore")
def test_one_file(name: str) -> None:
    assert peers.asked(peers.failed, name) == peers.FILES[name][1]


@pytest.mark.parametrize("value", [None, "", "no/absolute/path", "/no/such/folder"])
def test_what_a_checkout_is(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("MXREF_MICROXCALING", raising=False)
    if value is not None:
        monkeypatch.setenv("MXREF_MICROXCALING", value)
    wanted = "MXREF_MICROXCALING must name a checkout of github.com/microsoft/microxcaling at 7bc4"
    for name in ("microxcaling.EVEN", "microxcaling_cuda.EVEN"):
        with pytest.raises(TargetError, match=wanted):
            load_target(claiming()[name].spec)
