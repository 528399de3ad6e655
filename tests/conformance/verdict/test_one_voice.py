"""Every output of a report carries one verdict, which names the causes."""

from __future__ import annotations

import json
import re
from html import unescape
from xml.etree import ElementTree

import pytest
from verify_helpers import Kit

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

HEAD = "import numpy as np\nimport mxref\n"
BY_POLICY = """
def {op}(values, format):
    found = mxref.{op}(values, format, policy="{policy}")
    return {result}
"""


def by_policy(op: str, policy: str, format: str) -> str:
    result = "(found.scale_codes, found.codes)" if op == "quantize" else "found"
    return BY_POLICY.format(op=op, policy=policy, result=result) + f"FORMATS = ['{format}']\n"


#: Kernels with the stems of the vectors that they are asked, and what the verdict must say.
KERNELS: dict[str, tuple[str, str, str]] = {
    "policy": (
        by_policy("encode", "ocp+zero_sign=dropped", "e2m1"),
        "encode/e2m1.f32",
        "conforms under ocp+zero_sign=dropped (zero_sign=dropped: silent for e2m1)",
    ),
    "policy that contradicts a clause": (
        by_policy(
            "quantize", "ocp+pre_rounding=float32+scale_rule=floor_log2_float32", "mxfp8_e4m3"
        ),
        "quantize/mxfp8_e4m3.f32 quantize/mxfp8_e4m3.f64",
        "gives scale_rule=floor_log2_float32 everywhere, which contradicts N2; "
        "else conforms under ocp+pre_rounding=float32",
    ),
    "bug": (
        "def quantize(values, format):\n"
        "    blocks = mxref.quantize(values, format)\n"
        "    last = np.arange(32) == 31\n"
        "    return blocks.scale_codes, np.where(last, blocks.codes & 0x7F, blocks.codes)\n"
        "FORMATS = ['mxfp8_e4m3']\n",
        "quantize/mxfp8_e4m3.f32",
        "has bug L7.31: loses the sign in lane 31; violates MX-6.3",
    ),
    "two deviations": (
        by_policy("encode", "ocp+zero_sign=dropped+overflow=nonsaturating", "e4m3"),
        "encode/e4m3.f32",
        "lacks overflow=saturate (required); gives nonsaturating everywhere; "
        "gives zero_sign=dropped everywhere, which contradicts N25 "
        "(zero_sign=dropped: contradicts for e4m3)",
    ),
    "policy in one row, unknown in another": (
        by_policy("encode", "ocp+zero_sign=dropped", "e2m1") + "def decode(codes, format):\n"
        "    return np.where(codes == 5, 0, mxref.decode(codes, format))\n",
        "encode/e2m1.f32 decode/e2m1.f32",
        "violates MX-5.3.3; in the cases asked, wrong exactly where the code is 05 (1 of 1): "
        "becomes 0; "
        "elsewhere conforms under ocp+zero_sign=dropped in encode e2m1",
    ),
    "unknown": (
        "def decode(codes, format):\n"
        "    return np.where(codes == 0x3B, 3, mxref.decode(codes, format))\n"
        "FORMATS = ['e4m3']\n",
        "decode/e4m3.f32",
        "violates MX-5.3.1; in the cases asked, wrong exactly where the code is 3b (1 of 1): "
        "becomes 40400000",
    ),
    "errors": (
        "def decode(codes, format):\n"
        "    if (codes == 3).any():\n"
        "        raise ValueError('no three')\n"
        "    return mxref.decode(codes, format)\n"
        "FORMATS = ['e2m1']\n",
        "decode/e2m1.f32",
        "fails with errors: ValueError: no three (target.py:5)",
    ),
    "no answer": (
        "def decode(codes, format):\n    raise ValueError('none')\nFORMATS = ['e2m1', 'e4m3']\n",
        "decode/e2m1.f32 decode/e4m3.f32",
        "no question was answered: ValueError: none (target.py:4)",
    ),
    "right": (
        "def decode(codes, format):\n    return mxref.decode(codes, format)\nFORMATS = ['e2m1']\n",
        "decode/e2m1.f32",
        "conforms",
    ),
}


@pytest.mark.parametrize(("source", "stems", "verdict"), KERNELS.values(), ids=KERNELS)
def test_every_output_carries_the_same_verdict(
    source: str,
    stems: str,
    verdict: str,
    kit: Kit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summary, page = kit.folder / "summary", kit.folder / "page.html"
    junit, badge = kit.folder / "junit", kit.folder / "badge"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    asked = (kit.target(HEAD + source), "--vectors", kit.vectors(*stems.split()))
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
