from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from arena.sandbox.readable import Readable, python_readable


def make(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("text")


def make_distribution(site: Path, name: str, *entries: str) -> None:
    make(site, f"{name}-1.dist-info/METADATA", f"{name}-1.dist-info/entry_points.txt")
    info = site / f"{name}-1.dist-info"
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[arena.bots]\n" + "".join(f"{entry}\n" for entry in entries))


def shown(readable: Readable, path: Path) -> bool:
    real = os.path.realpath(path)
    return any(Path(real).is_relative_to(os.path.realpath(part)) for part in readable.paths)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ARENA_DB", raising=False)
    site = tmp_path / "site-packages"
    make_distribution(site, "ours", "one = pack.one", "two = pack.two:Bot", "three = pack.three")
    make_distribution(site, "theirs", "four = four")
    make(
        site, "pack/__init__.py", "pack/one.py", "pack/two/w.onnx", "pack/two/__init__.py", "pack/shared/x.py"
    )
    make(site, "pack/three.py", "four/__init__.py", "four/w.onnx", "library/x.so", "module.py")
    return site


def test_no_bots_are_shown(site: Path) -> None:
    readable = python_readable((str(site),))
    for file in ("pack/__init__.py", "pack/shared/x.py", "library/x.so", "module.py"):
        assert shown(readable, site / file), file
    for file in ("pack/one.py", "pack/two/w.onnx", "pack/three.py", "four/w.onnx", "four/__init__.py"):
        assert not shown(readable, site / file), file
    # A partly visible folder must be listable, or nothing in it could be imported.
    assert {str(site), str(site / "pack")} <= set(readable.names)
    # A container shows the whole folder, and hides these entries.
    assert str(site) in readable.shown
    hidden = ("pack/one.py", "pack/two", "pack/three.py", "four")
    assert set(readable.hidden) == {os.path.realpath(site / file) for file in hidden}


def test_a_link_to_a_module_of_a_bot_is_not_shown(site: Path) -> None:
    (site / "alias.py").symlink_to(site / "four" / "__init__.py")
    (site / "other.py").symlink_to(site / "module.py")
    readable = python_readable((str(site),))
    assert not shown(readable, site / "alias.py")
    assert shown(readable, site / "other.py")


def test_a_link_to_a_folder_with_modules_of_bots_shows_the_rest(site: Path) -> None:
    (site / "alias").symlink_to("pack")
    (site / "pack" / "again").symlink_to(site / "four")
    granted = set(python_readable((str(site),)).paths)
    for folder in ("pack", "alias"):
        assert {str(site / folder / name) for name in ("__init__.py", "shared")} <= granted
        assert (
            not {str(site / folder / name) for name in ("", "one.py", "two", "three.py", "again")} & granted
        )


def test_a_name_that_only_begins_like_a_bots_is_shown(site: Path) -> None:
    make(site, "fourth.py", "four_more/x.py", "pack/one.pyi", "pack/two.py.txt")
    readable = python_readable((f"{site}/",))
    for file in ("fourth.py", "four_more/x.py", "pack/one.pyi", "pack/two.py.txt"):
        assert shown(readable, site / file), file


def test_without_anything_hidden_a_folder_is_one_entry(site: Path) -> None:
    for info in site.glob("*.dist-info"):
        (info / "entry_points.txt").unlink()
    readable = python_readable((str(site),))
    assert str(site) in readable.paths
    assert readable.names == ()


def test_the_arenas_files_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "checkout"
    make(
        root,
        "bot/__init__.py",
        "bot/home/arena.db",
        "tool.py",
        "arena.db",
        "notes/list.txt",
        "m.so",
        "bot/c/x",
    )
    monkeypatch.setenv("ARENA_HOME", str(root / "bot" / "home"))
    monkeypatch.setenv("ARENA_CACHE", str(root / "bot" / "c"))
    monkeypatch.setenv("ARENA_DB", "postgresql://nowhere/x")
    readable = python_readable((str(root), str(tmp_path / "missing")))
    assert shown(readable, root / "bot" / "__init__.py")
    assert shown(readable, root / "tool.py")
    assert shown(readable, root / "m.so")
    for file in ("arena.db", "notes/list.txt", "bot/home/arena.db", "bot/c/x"):
        assert not shown(readable, root / file), file
    assert str(root) in readable.names


def test_scripts_get_their_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "engine"
    for line in ("#!/usr/bin/env sh", "#! /bin/sh -e"):
        script.write_text(f"{line}\n")
        script.chmod(0o755)
        readable = Readable(()).with_runtime(str(script))
        assert shown(readable, Path("/bin/sh"))
        assert shown(readable, script)


def test_a_script_gets_no_program_that_is_not_installed(tmp_path: Path) -> None:
    make(tmp_path, "prefix/bin/java", "prefix/lib/modules")
    other = tmp_path / "prefix" / "bin" / "java"
    other.chmod(0o755)
    script = tmp_path / "engine"
    script.write_text(f"#!/usr/bin/env {other}\n")
    readable = Readable(()).with_runtime(str(script))
    assert not shown(readable, other)
    assert not shown(readable, tmp_path / "prefix" / "lib" / "modules")


def test_an_environment_shows_nothing_of_the_host_by_its_links(tmp_path: Path) -> None:
    """The author of an environment could create its links, and the line `home` in its pyvenv.cfg."""
    make(
        tmp_path,
        "secret/x",
        "other/bin/y",
        "other/lib/z",
        "env/bin/_",
        "honest/bin/_",
        "honest/lib/package.py",
    )
    for name in ("env", "honest"):
        (tmp_path / name / "bin" / "python").symlink_to(shutil.which("sh") or "/bin/sh")
        (tmp_path / name / "pyvenv.cfg").write_text(f"home = {tmp_path}/other/bin\n")
    for name in ("lib", "lib64"):
        (tmp_path / "env" / name).symlink_to(tmp_path / "secret")
    (tmp_path / "honest" / "lib64").symlink_to("lib")
    environment = Readable(()).with_runtime(str(tmp_path / "env" / "bin" / "python"))
    honest = Readable(()).with_runtime(str(tmp_path / "honest" / "bin" / "python"))
    kept = {str(tmp_path / "honest" / name) for name in ("lib", "lib64", "pyvenv.cfg")}
    assert kept <= set(honest.paths)
    for readable in (environment, honest):
        shown_here = {os.path.realpath(path) for path in readable.paths}
        assert not shown_here & {str(tmp_path / "secret"), str(tmp_path / "other" / "lib")}


def test_what_lies_beside_a_program_is_not_shown(tmp_path: Path) -> None:
    make(tmp_path, "engine/run", "engine/weights.bin", "prefix/bin/tool", "prefix/bin/other", "prefix/lib/x")
    engine = Readable(()).with_runtime(str(tmp_path / "engine" / "run"))
    assert shown(engine, tmp_path / "engine" / "run")
    assert not shown(engine, tmp_path / "engine" / "weights.bin")
    tool = Readable(()).with_runtime(str(tmp_path / "prefix" / "bin" / "tool"))
    assert shown(tool, tmp_path / "prefix" / "lib" / "x")
    assert not shown(tool, tmp_path / "prefix" / "bin" / "other")


def test_the_content_of_a_bot_is_shown(tmp_path: Path) -> None:
    readable = Readable(()).with_content(str(tmp_path))
    assert shown(readable, tmp_path)
    assert readable.content == str(tmp_path)


def test_files_of_options_are_added(tmp_path: Path) -> None:
    make(tmp_path, "agent.py")
    agent = str(tmp_path / "agent.py")
    readable = python_readable(()).with_files([agent, "agent.py", "/nowhere/x", "100", "a\0b"])
    assert readable.paths[-1] == agent
    assert os.path.realpath(sys.executable) in readable.paths
