"""Every output of a report carries one verdict, which names the causes."""

from __future__ import annotations

import json
import re
import tomllib
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from verify_helpers import Kit

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

HEAD = "import numpy as np\nimport mxref\n"
#: Kernels with the files of vectors that they are asked, and what the verdict must say.
KERNELS = tomllib.loads((Path(__file__).parent / "data" / "one_voice.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", KERNELS)
def test_every_output_carries_the_same_verdict(
    name: str, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, verdict = KERNELS[name]["source"], KERNELS[name]["verdict"]
    summary, page = kit.folder / "summary", kit.folder / "page.html"
    junit, badge = kit.folder / "junit", kit.folder / "badge"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    asked = (kit.target(HEAD + source), "--vectors", kit.vectors(*KERNELS[name]["files"].split()))
    files = ("--html", page, "--junit", junit, "--badge", badge)
    run = kit.run(*asked, *files, "--github")
    record = kit.run(*asked, "--json").json
    assert record["verdict"] == verdict
    assert re.search(
        rf": \d+ cases, \d+ failed: {re.escape(verdict)}(?:; it passes |$)", run.last_line
    )
    assert ElementTree.fromstring(junit.read_bytes()).findtext("system-out") == verdict
    annotation = run.out.splitlines()[0]
    assert annotation.rpartition("::")[2].replace("%25", "%") == verdict.rpartition("::")[2]
    assert unescape(summary.read_text("utf-8")).count(f"**{verdict}**") == 1
    headline = re.search(r"<p><strong>(.*?)</strong></p>", page.read_text("utf-8"))
    assert headline is not None
    assert unescape(headline[1]).partition("; it passes ")[0] == verdict
    message = json.loads(badge.read_bytes())["message"]
    assert verdict.startswith(message.removesuffix("…"))
    assert len(message) > min(len(verdict), 40) - 1
