"""The files of the machine that a runtime can read, on simulated trees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from arena.sandbox.runtimes import runtime_files, script_programs

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def make(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_virtual_environment_needs_its_packages_and_the_interpreter_it_was_made_from(
    tmp_path: Path,
) -> None:
    base, env = tmp_path / "base", tmp_path / "env"
    real = make(base / "bin" / "python3.11")
    make(base / "lib" / "python3.11" / "os.py")
    make(base / "secret")
    make(env / "lib" / "python3.11" / "site-packages" / "x.py")
    make(env / "notes.txt")
    make(env / "pyvenv.cfg", f"home = {base}/bin\nversion = 3.11\n")
    (env / "bin").mkdir()
    python = env / "bin" / "python"
    python.symlink_to(real)
    assert set(runtime_files(str(python))) == {
        *(str(python), str(env / "pyvenv.cfg"), str(env / "lib")),
        str(base / "lib"),
    }


def test_java_needs_its_home_and_what_links_in_it_name(tmp_path: Path) -> None:
    home, etc = tmp_path / "jvm", tmp_path / "etc"
    java = make(home / "bin" / "java")
    make(home / "lib" / "modules")
    policy, folder = make(etc / "java.policy"), make(etc / "security" / "java.security").parent
    (home / "conf").mkdir()
    (home / "conf" / "policy").symlink_to(policy)
    (home / "conf" / "security").symlink_to(folder)
    (home / "conf" / "inside").symlink_to(home / "lib" / "modules")
    (home / "conf" / "broken").symlink_to(tmp_path / "nowhere")
    make(etc / "shadow")
    found = set(runtime_files(str(java)))
    assert found == {str(java), str(home), str(policy), str(folder)}
    link = tmp_path / "alternatives" / "java"
    link.parent.mkdir()
    link.symlink_to(java)
    assert set(runtime_files(str(link))) == {str(link), str(home), str(policy), str(folder)}


def test_a_program_of_a_prefix_needs_its_libraries_and_no_more(tmp_path: Path) -> None:
    tool = make(tmp_path / "opt" / "bin" / "tool")
    for name in ("lib", "share", "etc"):
        make(tmp_path / "opt" / name / "file")
    prefix = tmp_path / "opt"
    assert set(runtime_files(str(tool))) == {str(tool), str(prefix / "lib"), str(prefix / "share")}


def test_a_program_outside_a_bin_folder_needs_itself_alone(tmp_path: Path) -> None:
    tool = make(tmp_path / "opt" / "tool")
    make(tmp_path / "lib" / "file")
    assert runtime_files(str(tool)) == (str(tool),)


def test_what_is_not_there_is_not_shown(tmp_path: Path) -> None:
    assert runtime_files(str(tmp_path / "bin" / "tool")) == ()


def test_the_first_line_names_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node, env = make(tmp_path / "bin" / "node"), make(tmp_path / "bin" / "env")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def of(text: str) -> tuple[str, ...]:
        return script_programs(str(make(tmp_path / "script", text)))

    assert of(f"#!{env} node\ncode") == (str(env), str(node))
    assert of(f"#! {env} -S node --x") == (str(env), str(node))
    assert of("#!/no/such/program\n") == ()
    assert of(f"#!{env} node\r\n") == (str(env),)
    assert of("node\n") == ()
    assert of("") == ()
    assert script_programs(str(tmp_path / "nothing")) == ()
    assert script_programs(str(tmp_path)) == ()
    assert of(f"#!{'/' * 300}{os.fspath(node)}\n") == ()
