from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from arena.sandbox import compiled
from arena.sandbox.compiled import folder_for, keep, take


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "arena"))
    return tmp_path / "arena" / "numba"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    write(folder := tmp_path / "scratch", {"a/f-1.py311.nbi": b"index", "a/f-1.py311.1.nbc": b"code"})
    return folder


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_was_kept_is_taken(scratch: Path, tmp_path: Path, cache: Path) -> None:
    folder = folder_for("bot", "1")
    keep(scratch, folder)
    before = folder.stat().st_ino
    keep(scratch, folder)
    assert folder.stat().st_ino == before
    (tmp_path / "next").mkdir()
    take(folder, tmp_path / "next")
    assert files(tmp_path / "next") == files(scratch)
    assert [path.name for path in cache.iterdir()] == [folder.name]


def test_a_copy_is_no_way_back(scratch: Path, tmp_path: Path) -> None:
    keep(scratch, folder := folder_for("bot"))
    (tmp_path / "next").mkdir()
    take(folder, tmp_path / "next")
    write(tmp_path / "next", {"a/f-1.py311.nbi": b"poison"})
    assert files(folder) == files(scratch)


def test_later_code_takes_the_place_of_earlier(scratch: Path) -> None:
    keep(scratch, folder := folder_for("bot"))
    write(scratch, {"a/f-1.py311.2.nbc": b"more code"})
    keep(scratch, folder)
    assert files(folder) == files(scratch)
    assert len(files(folder)) == 3


def test_identities_share_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = compiled._machine.__wrapped__  # noqa: SLF001 - the uncached one  # pyright: ignore[reportPrivateUsage]
    names = [folder_for("bot", "1"), folder_for("bot", "2"), folder_for("bot1", ""), folder_for("bot\n1")]
    here = machine()
    monkeypatch.setattr(compiled, "_machine", lambda: (*here, "another processor"))
    assert len({*names, folder_for("bot", "1")}) == 5


def test_what_a_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = compiled._machine.__wrapped__  # noqa: SLF001 - as above  # pyright: ignore[reportPrivateUsage]
    assert "numba" not in machine()[1]
    assert len(machine()[1]) > 0

    def refuse(*_: object, **__: object) -> str:
        raise OSError

    def lack(_: str) -> str:
        raise compiled.importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr("importlib.metadata.distribution", lack)
    assert machine()[1:] == ("", compiled.platform.machine(), compiled.platform.processor())


def test_whatever_else_is_there_is_passed_over(scratch: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    good = files(scratch)
    write(scratch, {"a/notes.txt": b"", "top.nbi": b"", "a/deep/f.nbi": b""})
    (scratch / "a" / "link.nbi").symlink_to(secret)
    (scratch / "b").symlink_to(tmp_path)
    os.link(secret, scratch / "a" / "second-name.nbi")
    os.mkfifo(scratch / "a" / "pipe.nbc")
    keep(scratch, folder := folder_for("bot"))
    assert files(folder) == good


@pytest.mark.parametrize(
    "left", [{"a/large.nbc": b"x" * 100}, {f"a/{i}.nbc": b"" for i in range(6)}], ids=["large", "many"]
)
def test_too_much_is_not_kept_at_all(
    left: dict[str, bytes], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(scratch, folder := folder_for("bot"))
    good = files(folder)
    monkeypatch.setattr(compiled, "MAX_BYTES", 100)
    monkeypatch.setattr(compiled, "_MAX_FILES", 5)
    write(scratch, left)
    keep(scratch, folder)
    assert files(folder) == good


def test_a_folder_without_end_is_not_read_to_its_end(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_MAX_FILES", 3)
    write(scratch, {f"a/{i}.txt": b"" for i in range(20)})
    keep(scratch, folder := folder_for("bot"))
    assert len(files(folder)) <= 2


def test_nothing_is_made_of_nothing(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "scratch").mkdir()
    keep(tmp_path / "scratch", folder_for("bot"))
    keep(tmp_path / "gone", folder_for("bot"))
    take(folder_for("bot"), tmp_path)
    assert not cache.exists()


def test_where_nothing_can_be_written_nothing_is_kept(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_CACHE", os.devnull)
    keep(scratch, folder_for("bot"))


def test_bots_used_last_stay(
    scratch: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "_MAX_FOLDERS", 2)
    first, second, third = (folder_for(name) for name in ("first", "second", "third"))
    for age, folder in ((200, first), (100, second)):
        keep(scratch, folder)
        os.utime(folder, (0, time.time() - age))
    take(first, tmp_path)
    killed, busy = cache / ".work-killed", cache / ".work-busy"
    for work in (killed, busy):
        work.mkdir()
    os.utime(killed, (0, 0))
    keep(scratch, third)
    assert set(cache.iterdir()) == {first, third, busy}
