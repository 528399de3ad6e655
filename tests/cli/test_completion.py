"""``mxref --print-completion``: what shells offer after its script is read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers import run, tool

from mxref.cli import main
from mxref.cli.command_line import VERBS

Capture = pytest.CaptureFixture[str]

#: Calls the function that `complete` has for the command as bash does when Tab is pressed.
BASH = """
source ./script
for words in "$@"; do
  IFS=' ' read -r -a COMP_WORDS <<< "$words"
  [[ $words == *' ' ]] && COMP_WORDS+=("")
  COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMPREPLY=()
  [[ $(complete -p mxref) =~ -F\\ ([^ ]+) ]]
  "${BASH_REMATCH[1]}" mxref "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
  echo "${COMPREPLY[*]}"
done
"""
#: What is typed, and words that are offered.
OFFERED = [
    ("mxref ", {*VERBS}),
    ("mxref qu", {"quantize"}),
    ("mxref quantize --pro", {"--profile"}),
    ("mxref quantize x.npy --format mxfp8", {"mxfp8_e5m2", "mxfp8_e4m3"}),
    ("mxref verify k.py --profile torchm", {"torchmx"}),
    ("mxref verify k.py --op decode_", {"decode_scale"}),
    ("mxref sweep k.py --float bf", {"bf16"}),
    ("mxref quantize my-w", {"my-weights.npy"}),
    ("mxref verify my-", {"my-kernel.py", "my-weights.npy", "my-vectors"}),
    ("mxref verify k.py --vectors my-", {"my-vectors"}),
]


def script(shell: str, folder: Path, capsys: Capture) -> None:
    assert main(["--print-completion", shell]) == 0
    (folder / "script").write_text(capsys.readouterr().out)


def test_bash(tmp_path: Path, capsys: Capture) -> None:
    script("bash", tmp_path, capsys)
    for name in ("my-weights.npy", "my-kernel.py"):
        (tmp_path / name).touch()
    (tmp_path / "my-vectors").mkdir()
    typed = [words for words, _ in OFFERED]
    command = [tool("bash"), "--norc", "-c", BASH, "bash", *typed]
    done = run(*command, cwd=tmp_path, check=True)
    for (words, wanted), line in zip(OFFERED, done.stdout.splitlines(), strict=True):
        offered = {*line.split()}
        assert offered >= wanted if words.endswith(" ") else offered == wanted, words


def test_fish(tmp_path: Path, capsys: Capture) -> None:
    script("fish", tmp_path, capsys)
    command = [tool("fish"), "-c", "source ./script; complete -C 'mxref quantize x --format nv'"]
    done = run(*command, cwd=tmp_path, check=True)
    assert done.stdout.split()[0] == "nvfp4"


def test_zsh(tmp_path: Path, capsys: Capture) -> None:
    script("zsh", tmp_path, capsys)
    assert (tmp_path / "script").read_text().startswith("#compdef mxref\n")
    run(tool("zsh"), "-n", "script", cwd=tmp_path, check=True)


def test_without_shtab(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    assert capsys.readouterr().err == (
        "mxref: error: --print-completion needs shtab: pip install shtab\n"
    )
