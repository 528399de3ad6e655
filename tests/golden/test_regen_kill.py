"""`regen` writes what differs; a killed one leaves the old set of vectors or the new one, whole.

A copy of the process is killed before its n-th change to the file system, for every n: so no moment
between two changes is left out, on any machine. It is killed in the middle of a file, too, and the
command itself after some time.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers import VECTORS, run
from shares import Share

from mxref import golden
from mxref.cases.read import STAGED, file_bytes
from mxref.cli import main
from mxref.golden import store
from mxref.support.whole_file import write_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and fork")
Texts = dict[str, bytes]
DATA = Path(__file__).parent / "data"
#: For every n: a copy of the folder, in which a copy of this process is killed at its n-th change.
_KILLER = (DATA / "killed_at_each_change.txt").read_text("ascii")


STALE = ("decode_scale/e8m0.f32.jsonl", "plain/decode_scale/e8m0.f32.txt")
#: What is somebody's.
OTHERS = {"README.md": b"for people\n", "decode/notes.md": b"somebody's\n"}


def small_sets() -> tuple[Texts, Texts]:
    """Two whole sets: of the new one files are new, others are changed or as they were."""
    stems = ["decode/e2m1.f32", "decode/e3m2.f32", "decode_scale/e8m0.f32", "dequantize/mxint8.f32"]
    paths = [path for stem in stems for path in (f"{stem}.jsonl", f"plain/{stem}.txt")]
    old = {path: (VECTORS / path).read_bytes() for path in paths}
    new = dict(old)
    for path in ("decode/e2m1.f32.jsonl", "dequantize/mxint8.f32.jsonl"):
        header, *lines = new[path].decode("ascii").splitlines()
        fewer = json.dumps({**json.loads(header), "cases": len(lines) - 1}, separators=(",", ":"))
        new[path] = "\n".join([fewer, *lines[:-1]]).encode("ascii") + b"\n"
        plain = f"plain/{path.removesuffix('.jsonl')}.txt"
        new[plain] = b"".join(new[plain].splitlines(keepends=True)[:-1])
    for path in STALE:
        del new[path]
    for path in ("decode/e4m3.f32.jsonl", "shared_scale/int8.f32.jsonl"):
        new[path] = (VECTORS / path).read_bytes()
    return with_manifest(old), with_manifest(new)


def with_manifest(files: Texts) -> Texts:
    version = json.loads((VECTORS / "manifest.json").read_bytes())["mxref_vectors"]
    entries = [
        {
            "file": path,
            "sha256": hashlib.sha256(data).hexdigest(),
            "cases": data.count(b"\n") - path.endswith(".jsonl"),
        }
        for path, data in files.items()
    ]
    manifest = {"mxref_vectors": version, "spec": "OCP MX v1.0", "files": entries}
    return {**files, "manifest.json": store.manifest_bytes(manifest)}


def lay_out(folder: Path, texts: Texts) -> None:
    for path, data in (texts | OTHERS).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def contents(folder: Path) -> Texts:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


# --- what is written ------------------------------------------------------------------------------


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    texts, _ = small_sets()
    folder = tmp_path / "new" / "vectors"
    assert golden.write(folder, texts) == len(texts)
    assert contents(folder) == texts
    found = [path for path in folder.rglob("*") if path.is_file()]
    before = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in found]
    assert golden.write(folder, texts) == 0
    assert before == [(path.stat().st_ino, path.stat().st_mtime_ns) for path in found]


def test_the_command_changes_only_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = small_sets()
    lay_out(tmp_path, old)
    kept = tmp_path / "decode/e3m2.f32.jsonl"
    inode = kept.stat().st_ino
    monkeypatch.setattr(golden, "build", lambda *_, **__: new)
    files = f"{len(new)} files, {sum(map(len, new.values())) / 1e6:.1f} MB in {tmp_path}"
    assert main(["regen", "--check", "--out", str(tmp_path)]) == 1
    *problems, last = capsys.readouterr().out.splitlines()
    there = f"{len(new) - 2}{files.removeprefix(str(len(new)))}"  # 2 are not there yet
    assert (problems, last) == (golden.check(tmp_path, new), f"{there} differ")
    assert contents(tmp_path) == old | OTHERS
    assert main(["regen", "--out", str(tmp_path)]) == 0
    # 4 changed, 2 new, 2 removed, and the manifest.
    assert capsys.readouterr().out == f"{files}, 9 changed\n"
    assert contents(tmp_path) == new | OTHERS
    assert kept.stat().st_ino == inode
    (tmp_path / "decode/notes.md").unlink()
    assert main(["regen", "--check", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{files} are what this version generates\n"


def test_check_names_every_difference(tmp_path: Path) -> None:
    names = ("a/flipped", "a/shorter", "b/longer", "b/missing", "b/right")
    texts = {f"{name}.txt": b"1\n2\n3\n" for name in names}
    assert golden.check(tmp_path, texts) == [f"{path} is missing" for path in texts]
    found = {**texts, "a/flipped.txt": b"1\n0\n3\n", "a/shorter.txt": b"1\n2\n"}
    found |= {"b/longer.txt": b"1\n2\n3\n4\n", "b/extra.txt": b"", "b/README.md": b"for people\n"}
    del found["b/missing.txt"]
    lay_out(tmp_path, found)
    (tmp_path / "decode/notes.md").unlink()
    assert golden.check(tmp_path, texts) == [
        "a/flipped.txt differs, first in line 2",
        "a/shorter.txt differs, first in line 3",
        "b/longer.txt differs, first in line 4",
        "b/missing.txt is missing",
        "b/extra.txt is not a vector file",
    ]


# --- killed before any change ---------------------------------------------------------------------

Killed = tuple[list[Path], Texts, Texts]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    root = tmp_path_factory.mktemp("kill")
    old, new = small_sets()
    lay_out(root / "old", old)
    (root / "texts").write_bytes(pickle.dumps(new))
    done = run(sys.executable, "-W", "ignore", "-c", _KILLER, root)
    assert (done.returncode, done.stderr) == (0, "")
    return sorted(root.glob("killed_*")), old, new


def is_read(folder: Path, texts: Texts) -> bool:
    """Whether a reader finds a set; `read_vectors` refuses what has not the manifest's digest."""
    stems = {file.stem for file in golden.read_vectors(folder)}
    whole = stems == {path.removesuffix(".jsonl") for path in texts if path.endswith(".jsonl")}
    return whole and all(file_bytes(folder, path) == data for path, data in texts.items())


@pytest.mark.sampled(12)
def test_a_kill_before_any_change_leaves_one_whole_set(killed: Killed) -> None:
    (*folders, whole), old, new = killed  # the last one was not killed
    states = [(is_read(folder, old), is_read(folder, new)) for folder in folders]
    # Old up to one moment, and new from there on; many moments on both sides of it.
    first = states.index((False, True))
    assert states == [(True, False)] * first + [(False, True)] * (len(states) - first)
    assert first >= 8
    assert len(states) - first >= 12
    assert contents(whole) == new | OTHERS


def test_a_new_manifest_is_in_its_place_only_when_all_files_are(killed: Killed) -> None:
    """So that a reader that knows nothing of staged files is told by the digests."""
    folders, _, new = killed
    for folder in folders:
        if (folder / "manifest.json").read_bytes() == new["manifest.json"]:
            found = contents(folder)
            assert {path: found.get(path) for path in new} == new, folder


@pytest.mark.sampled(6)
def test_the_next_regen_cleans_up(killed: Killed, tmp_path: Path) -> None:
    folders, old, new = killed
    for folder in folders:
        for number, texts in enumerate((new, old)):  # forward, or back again
            copy = tmp_path / f"{folder.name}_{number}"
            shutil.copytree(folder, copy)
            golden.write(copy, texts)
            assert contents(copy) == texts | OTHERS
            assert not (copy / STAGED).exists()
            assert list(copy.rglob("*.tmp")) == []
            shutil.rmtree(copy)


def test_check_tells_of_an_interrupted_regen(killed: Killed) -> None:
    folders, _, new = killed
    staged = [folder for folder in folders if (folder / STAGED).exists()]
    assert staged
    for folder in staged:
        first, *others = golden.check(folder, new)
        assert first == f"{STAGED} is what a killed `mxref regen` left: run it again"
        strays = ["decode/notes.md", *(path for path in STALE if (folder / path).exists())]
        assert others == [f"{path} is not a vector file" for path in strays]


def test_a_staging_folder_of_a_reused_process_number_is_not_mixed_in(tmp_path: Path) -> None:
    old, new = small_sets()
    lay_out(tmp_path, old)
    stale = tmp_path / f"{STAGED}.{os.getpid()}.tmp" / "decode" / "e9m9.f32.jsonl"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"stale\n")
    golden.write(tmp_path, new)
    assert contents(tmp_path) == new | OTHERS


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "encode.h"
    path.mkdir()  # a folder stands where the file should
    with pytest.raises(OSError, match=r"encode\.h"):
        write_file(path, b"new\n")
    assert list(tmp_path.rglob("*")) == [path]


#: Writes a set under a limit to the size of a file; beyond it the kernel kills the process, or
#: write fails.
_LIMITED = (DATA / "limited_size.txt").read_text("ascii")


@pytest.mark.parametrize("limit", [1, 3000, 9000])
@pytest.mark.parametrize("handler", ["SIG_DFL", "SIG_IGN"])
def test_a_write_that_ends_within_a_file_changes_nothing(
    handler: str, limit: int, tmp_path: Path
) -> None:
    """Killed there, or of a full disk; the next one clears the folder that was left."""
    old, new = small_sets()
    folder, texts = tmp_path / "vectors", tmp_path / "texts"
    lay_out(folder, old)
    texts.write_bytes(pickle.dumps(new))
    done = run(sys.executable, "-c", _LIMITED, folder, texts, handler, limit)
    is_killed = handler == "SIG_DFL"
    assert done.returncode == (-signal.SIGXFSZ if is_killed else 0), done.stderr
    assert is_killed or done.stdout.startswith(str(folder))
    assert len(list(folder.glob(f"{STAGED}.*.tmp"))) == is_killed
    assert is_read(folder, old)
    golden.write(folder, new)
    assert contents(folder) == new | OTHERS


def test_what_killed_runs_left_inside_one_another_is_removed(tmp_path: Path) -> None:
    left = tmp_path / ".a.99999999.tmp"  # more than any process number
    left.mkdir()
    (left / ".b.99999998.tmp").write_bytes(b"")
    texts = {"manifest.json": store.manifest_bytes({"files": []}), "one.txt": b"1\n"}
    assert store.write(tmp_path, texts) == 2
    assert contents(tmp_path) == texts


@pytest.mark.parametrize("more", [{"of a later version": 1}, {"cases": "0"}])
def test_files_stay_where_a_new_manifest_cannot_be_read(
    more: dict[str, object], tmp_path: Path
) -> None:
    old = with_manifest({"one.txt": b"1\n"})
    manifest = json.loads(old["manifest.json"])
    manifest["files"][0] |= more
    new = store.manifest_bytes(manifest)
    lay_out(tmp_path, {**old, f"{STAGED}/manifest.json": new})
    store.finish(tmp_path)
    assert contents(tmp_path) == {**old, "manifest.json": new, **OTHERS}


# --- the command itself ---------------------------------------------------------------------------


#: The command, with the committed files as what it has built.
_BUILT = (DATA / "built_before.txt").read_text("ascii")


def start(folder: Path, jobs: int, *, built: bool = False) -> subprocess.Popen[str]:
    begin = ["-c", _BUILT, str(VECTORS)] if built else ["-m", "mxref"]
    command = [sys.executable, *begin, "regen", "--out", str(folder), "--jobs", str(jobs)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip


def group_ended(group: int) -> bool:
    """Whether every process of a group has ended; waits up to two minutes for that."""
    for _ in range(1200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.sampled(12)
@pytest.mark.complete
def test_the_command_killed_over_its_run_leaves_a_whole_set(share: Share, tmp_path: Path) -> None:
    """Twelve moments if complete, else three early ones; then once while it writes."""
    old, _ = small_sets()
    delays = [0.3, 1.0, 2.0] if not share.complete else [0.3 * 1.4**i for i in range(12)]
    for number, delay in enumerate(delays):
        folder = tmp_path / str(number)
        lay_out(folder, old)
        with start(folder, jobs=1 + number % 2) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        assert group_ended(process.pid), "a worker has outlived its parent"
        ours = {path: data for path, data in contents(folder).items() if path not in OTHERS}
        if process.returncode == -signal.SIGKILL and ours == old:
            assert is_read(folder, old)
        else:
            assert len(golden.read_vectors(folder)) > 70
        shutil.rmtree(folder)


def test_command_killed_while_it_writes_leaves_a_whole_set(tmp_path: Path) -> None:
    old, _ = small_sets()
    folder = tmp_path / "vectors"
    lay_out(folder, old)
    with start(folder, jobs=2, built=True) as process:
        while process.poll() is None and not list(folder.glob(f"{STAGED}*")):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert group_ended(process.pid)
    read = {file.stem for file in golden.read_vectors(folder)}
    old_stems = {path.removesuffix(".jsonl") for path in old if path.endswith(".jsonl")}
    assert read == old_stems or len(read) > 70
