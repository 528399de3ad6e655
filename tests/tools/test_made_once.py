"""What tests make once for all workers, and programs that they compile once for all runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import run
from made_once import compiled, texts_once

SOURCE = (
    '#include <cstdio>\n#include "a.h"\n#include "b.h"\nint main() { std::printf("%d", A + B); }'
)


def test_a_program_is_compiled_again_if_anything_of_it_has_changed(tmp_path: Path) -> None:
    code, tables, cache = (tmp_path / name for name in ("code", "tables", "cache"))
    texts = {code / "x.cpp": SOURCE, code / "a.h": "#define A 1", tables / "b.h": "#define B 2"}
    for path, text in texts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def made(*options: str) -> Path:
        return compiled(code / "x.cpp", options, tables, cache)

    first = made()
    assert run(first).stdout == "3"
    first.write_text("kept")
    assert (made(), first.read_text()) == (first, "kept")
    assert run(made("-DNDEBUG")).stdout == "3"
    for header, stdout in ((code / "a.h", "7"), (tables / "b.h", "10")):
        header.write_text(f"#define {header.stem.upper()} 5")
        assert run(made()).stdout == stdout
    assert sorted(path.suffix for path in cache.iterdir()) == [*[""] * 4, *[".lock"] * 4]


def test_texts_are_made_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    made = []

    def make(folder: Path) -> dict[str, str]:
        made.append(folder)
        return {"text": "é"}

    both = [texts_once(tmp_path_factory, "once", make) for _ in range(2)]
    assert (both, len(made)) == ([{"text": "é"}] * 2, 1)
