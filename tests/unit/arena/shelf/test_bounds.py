"""Wheels that unpack to too much, or to forbidden entries: refused in time, with nothing left behind."""

from __future__ import annotations

import stat
import struct
import time
import zipfile
from typing import TYPE_CHECKING

import pytest

from arena.content import archives
from arena.errors import PluginError
from arena.shelf import wheel_files
from arena.shelf.install import install
from arena.shelf.wheel_files import Extent, check_bounds, check_sum
from wheels import BOT, Metadata, make_index, make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = "a_bot-1.0-py3-none-any.whl"
MEGABYTE = 1 << 20


def wheel_of(folder: Path) -> Path:
    return make_wheel(folder, "a_bot", {"a-bot": "a_bot"}, {"a_bot.py": BOT})


def add(
    path: Path, name: str, content: bytes = b"", *, mode: int = 0, method: int = zipfile.ZIP_DEFLATED
) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = method
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, content)


def add_zeros(path: Path, name: str, megabytes: int) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as file:
        for _ in range(megabytes):
            file.write(bytes(MEGABYTE))


def test_the_extent_is_what_is_unpacked(tmp_path: Path) -> None:
    path = wheel_of(tmp_path)
    add(path, "deep/er/x.txt", b"12345")
    with zipfile.ZipFile(path) as archive:
        num_bytes = sum(len(archive.read(name)) for name in archive.namelist())
    assert check_bounds(path) == Extent(num_bytes, 6 + 3)


def test_a_bomb_is_refused_in_time(tmp_path: Path, shelf: Path) -> None:
    """600 MB packed into 600 kB; nothing of it reaches the disk."""
    path = wheel_of(tmp_path)
    add_zeros(path, "zeros.bin", 600)
    began = time.process_time()
    with pytest.raises(PluginError, match=r"unpacks to more than 200 times its size \(.* zeros\.bin\)"):
        install(str(path))
    assert time.process_time() - began < 5
    assert list(shelf.iterdir()) == []


def test_what_needs_a_bomb_is_refused(tmp_path: Path, shelf: Path) -> None:
    inner = make_wheel(tmp_path, "inner", {}, {"inner.py": ""})
    add_zeros(inner, "zeros.bin", 20)
    outer = make_wheel(tmp_path, "outer", {"outer": "outer"}, {"outer.py": BOT}, Metadata(requires=["inner"]))
    with pytest.raises(PluginError, match=r"inner-1\.0.* unpacks to more than 200 times its size"):
        install("outer", index=make_index(tmp_path / "index", inner, outer))
    assert list(shelf.iterdir()) == []


def test_a_wheel_and_what_it_needs_share_the_bounds(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = make_wheel(tmp_path, "inner", {}, {"inner.py": ""})
    outer = make_wheel(tmp_path, "outer", {"outer": "outer"}, {"outer.py": BOT}, Metadata(requires=["inner"]))
    assert (check_bounds(inner).num_files, check_bounds(outer).num_files) == (6, 6)
    monkeypatch.setattr(wheel_files, "MAX_FILES", 11)
    with pytest.raises(PluginError, match=r"outer-1\.0.* with all it needs is refused: .* in 12 files"):
        install("outer", index=make_index(tmp_path / "index", inner, outer))
    assert list(shelf.iterdir()) == []


def test_small_wheels_may_be_compressible(tmp_path: Path) -> None:
    path = wheel_of(tmp_path)
    add_zeros(path, "zeros.bin", 9)
    assert path.stat().st_size * 200 < 9 * MEGABYTE
    assert check_bounds(path).num_bytes > 9 * MEGABYTE
    add_zeros(path, "more.bin", 1)
    with pytest.raises(PluginError, match="200 times its size"):
        check_bounds(path)


def test_metadata_may_be_the_bomb(tmp_path: Path, shelf: Path) -> None:
    path = tmp_path / NAME
    add_zeros(path, "a_bot-1.0.dist-info/METADATA", 300)
    with pytest.raises(PluginError, match="200 times its size"):
        install(str(path))
    assert list(shelf.iterdir()) == []


@pytest.mark.parametrize("size", [5, 50 * MEGABYTE, 0xFFFFFFF0])
def test_headers_that_lie_are_found_out(size: int, tmp_path: Path, shelf: Path) -> None:
    """Headers state too little, so that their sum is small, or more than there is."""
    path = wheel_of(tmp_path)
    add_zeros(path, "zeros.bin", 20)
    data = bytearray(path.read_bytes())
    position = data.rindex(b"zeros.bin")
    header = data.rindex(b"PK\x01\x02", 0, position)
    data[header + 24 : header + 28] = struct.pack("<I", size)
    path.write_bytes(data)
    with pytest.raises(PluginError, match=r"a_bot-1\.0-.* is (not a wheel|refused)"):
        install(str(path))
    assert list(shelf.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("link", stat.S_IFLNK | 0o777),
        ("device", stat.S_IFCHR | 0o666),
        ("disk", stat.S_IFBLK | 0o666),
        ("pipe", stat.S_IFIFO | 0o666),
        ("socket", stat.S_IFSOCK | 0o666),
        ("folder", stat.S_IFDIR | 0o755),
        ("file/", stat.S_IFREG | 0o644),
    ],
)
def test_links_and_devices_are_refused(name: str, mode: int, tmp_path: Path) -> None:
    path = wheel_of(tmp_path)
    add(path, name, b"/etc/passwd" * (not name.endswith("/")), mode=mode)
    with pytest.raises(PluginError, match=f"{name} is a link or a device"):
        check_bounds(path)


@pytest.mark.parametrize(
    "name",
    ["/etc/x", "../x", "a/../../x", "a//x", "./x", "a/./x", "..", "a\\..\\x", "C:x", "a\nb", "\x1b[2J"],
)
def test_paths_out_of_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    path = wheel_of(tmp_path)
    add(path, name)
    with pytest.raises(PluginError, match="is refused: it contains the invalid name"):
        check_bounds(path)


def test_a_name_is_not_cut_at_a_nul(tmp_path: Path) -> None:
    path = wheel_of(tmp_path)
    add(path, "abcdef")
    path.write_bytes(path.read_bytes().replace(b"abcdef", b"ab\0def"))
    with pytest.raises(PluginError, match="it contains the invalid name"):
        check_bounds(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("x", "x"), "x is in it twice"),
        (("x", "x/y"), "x is both a file and a folder"),
        (("x/y", "x"), "x is both a file and a folder"),
    ],
)
def test_names_are_there_once(names: tuple[str, ...], message: str, tmp_path: Path) -> None:
    path = wheel_of(tmp_path)
    for name in names:
        add(path, name)
    with pytest.raises(PluginError, match=message):
        check_bounds(path)


def test_depth_and_number_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = wheel_of(tmp_path)
    add(path, "/".join("d" * 32))
    num_files = check_bounds(path).num_files
    assert num_files == 6 + 32
    monkeypatch.setattr(wheel_files, "MAX_FILES", num_files - 1)
    with pytest.raises(PluginError, match="more than 37 files and folders"):
        check_bounds(path)
    monkeypatch.setattr(wheel_files, "MAX_FILES", num_files)
    add(path, "/".join("e" * 33))
    with pytest.raises(PluginError, match="33 folders deep; at most 32 are allowed"):
        check_bounds(path)


def test_a_long_list_of_files_is_refused_in_time(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(20_100):
            archive.writestr(f"{number}", b"")
    began = time.process_time()
    with pytest.raises(PluginError, match="more than 20000 files and folders"):
        check_bounds(path)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("after", [b"", b"a comment", b"-" * 0xFFFF, b"-" * 0x10000])
def test_the_list_of_files_is_not_read_where_it_is_too_long(
    after: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even after 64 KiB, one byte more than the format allows, which zipfile of Python 3.11 accepts."""
    path = wheel_of(tmp_path)
    check_bounds(path)
    path.write_bytes(path.read_bytes() + after)
    monkeypatch.setattr(archives, "_MAX_DIRECTORY", 100)
    with pytest.raises(PluginError, match=r"its list of files has [0-9]{3} bytes"):
        check_bounds(path)


@pytest.mark.parametrize("after", [b"", b"-" * 0xFFFF])
def test_the_form_for_huge_archives_is_refused(
    after: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its locator is before the end record, which a long comment moves far from the end of the file."""
    path = tmp_path / NAME
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    wheel_of(tmp_path)
    path.write_bytes(path.read_bytes() + after)
    with pytest.raises(PluginError, match=r"for more than 65,535 files or 4 GiB"):
        check_bounds(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method: int, tmp_path: Path) -> None:
    """Other compression methods use as much memory as the wheel chooses."""
    path = wheel_of(tmp_path)
    add(path, "x.bin", b"x", method=method)
    with pytest.raises(PluginError, match=r"x\.bin uses an unsupported compression method"):
        check_bounds(path)


def test_a_wheel_that_is_itself_too_large(
    tmp_path: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse file, whose holes a copy would fill."""
    path = tmp_path / NAME
    with path.open("wb") as file:
        file.truncate((2 << 30) + 1)
    for act in (lambda: install(str(path)), lambda: check_bounds(path)):
        with pytest.raises(PluginError, match="is larger than 2147483648 bytes"):
            act()
    assert list(shelf.iterdir()) == []
    monkeypatch.setattr(wheel_files, "MAX_BYTES", 11 << 20)
    other = wheel_of(tmp_path / "other")
    with zipfile.ZipFile(other, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr("x", bytes(6 * MEGABYTE))
        archive.writestr("y", bytes(4 * MEGABYTE))
    assert check_bounds(other).num_bytes > 10 * MEGABYTE
    add_zeros(other, "z", 1)
    with pytest.raises(PluginError, match=r"more than 11534336 bytes \(its largest file is x\)"):
        check_bounds(other)


@pytest.mark.parametrize(
    ("extents", "good"),
    [
        ([(1 << 30, 10_000), (1 << 30, 10_000)], True),
        ([(1 << 30, 1), ((1 << 30) + 1, 1)], False),
        ([(1, 10_001), (1, 10_000)], False),
    ],
)
def test_wheels_in_one_folder_share_the_bounds(extents: list[tuple[int, int]], *, good: bool) -> None:
    act: Callable[[], None] = lambda: check_sum("x.whl", [Extent(*extent) for extent in extents])  # noqa: E731
    if good:
        act()
    else:
        with pytest.raises(PluginError, match=r"x\.whl with all it needs is refused: "):
            act()
