"""The files that belong to a plugin or a program, for each way of installing it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.content.packages import linked_bots
from arena.entrants import resolve
from arena.errors import OptionError, PluginError
from arena.executor.preflight import Candidate, preflight
from arena.executor.sandboxed import load_statuses, strongest_usual_tier
from arena.referee.timecontrol import TimeControl
from arena.shelf.listing import find_bot
from arena_plugins import load_game
from arena_plugins.command import host_path
from arena_plugins.entries import BOTS
from wheels import BOT

if TYPE_CHECKING:
    from arena.entrants import Competitor

GAME = load_game("tic-tac-toe")
LIMIT = TimeControl(mode="move", move_ms=30_000)
BODY = f"import ed_helper\n{BOT}"


def one(spec: str) -> Competitor:
    return resolve([spec], margin_ms=0)[0]


def files(bot: Competitor) -> set[str]:
    place = Path(bot.place)
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def plays(bot: Competitor) -> bool:
    return preflight(Candidate(bot, "tic-tac-toe", LIMIT, strongest_usual_tier(), 60.0)) is None


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a project with a package, a module beside it, and files that are no part of it."""
    project = tmp_path / "project"
    (project / "src" / "edbot" / "data").mkdir(parents=True)
    (project / "src" / "edbot" / "__init__.py").touch()
    (project / "src" / "edbot" / "bot.py").write_text(BODY)
    (project / "src" / "edbot" / "data" / "net.bin").write_bytes(b"net")
    (project / "src" / "ed_helper.py").write_text("import json\n")
    (project / "src" / "unused.py").touch()
    (project / "README.md").touch()
    return project


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    return site


METADATA = "Metadata-Version: 2.1\nName: edbot\nVersion: 1.0\nRequires-Dist: numpy\n"
PTH, FINDER = "ed_path.pth", "__editable___edbot_1_0_finder.py"
REDIRECTOR = "_editable_impl_edbot.py"


def install(site: Path, made: dict[str, str], *, record: bool = True) -> None:
    """Write what an editable install leaves: metadata with a record, and the links to the modules."""
    info = site / "edbot-1.0.dist-info"
    info.mkdir()
    made = {
        **made,
        "edbot-1.0.dist-info/METADATA": METADATA,
        "edbot-1.0.dist-info/entry_points.txt": "[arena.bots]\nedbot = edbot.bot\n",
        "edbot-1.0.dist-info/direct_url.json": '{"url": "file:///here"}',
    }
    for name, text in made.items():
        (site / name).write_text(text)
    if record:
        rows = [*made, "edbot-1.0.dist-info/RECORD", "../../../bin/edbot"]
        (info / "RECORD").write_text("".join(f"{name},,\n" for name in rows))


META = {"lib/edbot-1.0.dist-info/METADATA", "lib/edbot-1.0.dist-info/entry_points.txt"}
CODE = {"lib/edbot/__init__.py", "lib/edbot/bot.py", "lib/edbot/data/net.bin", "lib/ed_helper.py"}


@pytest.mark.parametrize("kind", ["path", "finder", "links", "redirector", "egg-link"])
def test_an_editable_plays_from_a_copy_of_its_modules(
    kind: str, project: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(project / "src")
    if kind == "path":
        # As hatchling does; the arena has the folder on its path, because `site` reads such files.
        install(site, {PTH: f"{source}\n"})
        monkeypatch.setattr(sys, "path", [*sys.path, source])
    elif kind == "finder":
        mapping = {"edbot": f"{source}/edbot", "ed_helper": f"{source}/ed_helper"}
        finder = f"raise SystemExit('never run')\nMAPPING: dict[str, str] = {mapping!r}\n"
        install(site, {FINDER: finder, PTH: f"import {FINDER[:-3]}; {FINDER[:-3]}.install()\n"})
    elif kind == "links":
        # As setuptools does in strict mode: the path line names a folder of links.
        tree = project / "build" / "__editable__.edbot-1.0-py3-none-any"
        for file in (project / "src").rglob("*.*"):
            link = tree / file.relative_to(project / "src")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)
        install(site, {PTH: f"{tree}\n"})
        monkeypatch.setattr(sys, "path", [*sys.path, str(tree)])
    elif kind == "redirector":
        # As hatchling does with dev-mode-exact, and pdm-backend if configured so.
        mapped = {"edbot": "edbot/__init__.py", "ed_helper": "ed_helper.py"}
        calls = "".join(f"F.map_module({name!r}, {f'{source}/{path}'!r})\n" for name, path in mapped.items())
        install(site, {REDIRECTOR: f"raise SystemExit('never run')\nF.install()\n{calls}", PTH: "import x\n"})
    else:
        install(site, {}, record=False)
        monkeypatch.setattr(sys, "path", [*sys.path, source])
    bot = one("edbot")
    assert files(bot) == (CODE if kind == "egg-link" else CODE | META)
    assert plays(bot)
    assert load_statuses(BOTS, [find_bot("edbot")])[0] == "ok"
    assert "edbot" not in sys.modules
    (project / "src" / "ed_helper.py").write_text("import csv\n")
    edited = one("edbot")
    assert edited.record.identity != bot.record.identity
    (project / "src" / "unused.py").write_text("x = 1\n")
    assert one("edbot").record == edited.record


def test_a_linked_folder_is_on_no_path_of_a_host(
    project: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that was not copied cannot be imported: only hashed code runs."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(project / "src")])
    (project / "src" / "edbot" / "bot.py").write_text(f"__import__('unu' + 'sed')\n{BOT}")
    install(site, {PTH: f"{project}/src\n"})
    assert linked_bots(tuple(host_path())) == {str(project / "src")}
    assert "No module named 'unused'" in load_statuses(BOTS, [find_bot("edbot")])[0]


def test_a_tree_of_links_leads_to_its_project_only(
    project: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = project / "build" / "__editable__.edbot-1.0-py3-none-any"
    (tree / "edbot").mkdir(parents=True)
    for name in ("__init__.py", "bot.py"):
        (tree / "edbot" / name).symlink_to(project / "src" / "edbot" / name)
    outside = project.parent / "secret"
    outside.touch()
    (tree / "edbot" / "secret").symlink_to(outside)
    install(site, {PTH: f"{tree}\n"})
    monkeypatch.setattr(sys, "path", [*sys.path, str(tree)])
    with pytest.raises(PluginError, match=f"secret is a link that leads out of {project}, to {outside}"):
        one("edbot")


def test_an_editable_that_cannot_be_read_says_so(site: Path) -> None:
    install(site, {PTH: "import unknown_finder; unknown_finder.install()\n"})
    with pytest.raises(PluginError, match=r"^edbot: .* where the module edbot is; .* pip install PROJECT$"):
        one("edbot")


def test_a_package_is_known_by_its_record(project: Path, site: Path) -> None:
    shutil.copytree(project / "src" / "edbot", site / "edbot")
    (site / "ed_helper.py").write_text("")
    (site / "foreign.py").touch()
    made = {"edbot/__init__.py": "", "edbot/bot.py": BODY, "edbot/data/net.bin": "net", "ed_helper.py": ""}
    install(site, made)
    bot = one("edbot")
    assert files(bot) == CODE | META
    assert plays(bot)
    (site / "edbot" / "data" / "net.bin").write_bytes(b"NET")
    assert one("edbot").record.identity != bot.record.identity


def test_the_versions_of_what_it_needs_count(
    project: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(project / "src")])
    install(site, {PTH: f"{project}/src\n"})
    before = one("edbot").record.identity
    numpy = site.parent / "newer" / "numpy-99.0.dist-info"
    numpy.mkdir(parents=True)
    (numpy / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 99.0\n")
    monkeypatch.setattr(sys, "path", [str(numpy.parent), *sys.path])
    assert one("edbot").record.identity != before


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hatchling", "setuptools"])
def test_what_real_tools_install_plays(
    backend: str, project: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installs are made by the build tools themselves."""
    table = {
        "hatchling": 'build-backend = "hatchling.build"\n[tool.hatch.build.targets.wheel]\n'
        'packages = ["src/edbot"]\n[tool.hatch.build.targets.wheel.force-include]\n'
        '"src/ed_helper.py" = "ed_helper.py"\n',
        "setuptools": 'build-backend = "setuptools.build_meta"\n[tool.setuptools]\n'
        'py-modules = ["ed_helper"]\npackages = ["edbot"]\n[tool.setuptools.package-dir]\n"" = "src"\n',
    }[backend]
    (project / "pyproject.toml").write_text(
        f'[build-system]\nrequires = []\n{table}[project]\nname = "edbot"\nversion = "1.0"\n'
        '[project.entry-points."arena.bots"]\nedbot = "edbot.bot"\n'
    )
    pip = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "install",
        "-q",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, "--target", str(site), "-e", str(project)], check=True, cwd=project)  # noqa: S603 - our own
    for line in "".join(path.read_text() for path in site.glob("*.pth")).splitlines():
        if Path(line).is_dir():
            monkeypatch.setattr(sys, "path", [*sys.path, line])
    bot = one("edbot")
    assert files(bot) >= CODE
    assert plays(bot)


def test_bundled_bots_are_their_package_and_adapters_their_own(tmp_path: Path) -> None:
    bundled = files(one("random"))
    assert {"lib/arena_bots/random.py", "lib/arena_bots/td_lambda/weights/best.npz"} <= bundled
    assert all(path.startswith("lib/arena_bots/") for path in bundled)
    agent = tmp_path / "agent.py"
    agent.touch()
    found = files(one(f"kaggle:file={agent}"))
    assert {path for path in found if "/adapters/" not in path} == {
        "lib/arena_bots/__init__.py",
        "agent/main.py",
    }


def program(path: Path, text: str = "#!/bin/sh\nexit 3\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_program_from_path_is_content_and_a_runtime_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = program(tmp_path / "bin" / "my-engine")
    book = program(tmp_path / "book.bin")
    monkeypatch.setenv("PATH", f"{engine.parent}:{os.environ['PATH']}")
    alone = one("exec:cmd=my-engine")
    assert (files(alone), alone.runtime, alone.label) == ({"cmd/my-engine"}, "", "exec:cmd=my-engine")
    with_book = one(f"exec:cmd=my-engine {book}")
    assert (files(with_book), with_book.runtime) == ({"cmd/my-engine", "cmd/book.bin"}, "")
    shell = one(f"exec:cmd=sh {book}")
    assert (files(shell), shell.runtime) == ({"cmd/book.bin"}, shutil.which("sh"))
    by_path = one(f"exec:cmd={shutil.which('sh')} {book}")
    assert by_path.record.identity == shell.record.identity
    python = one(f"exec:cmd={sys.executable} -c pass")
    assert (files(python), python.runtime) == (set(), sys.executable)
    program(engine, "#!/bin/sh\nexit 4\n")
    assert one("exec:cmd=my-engine").record.identity != alone.record.identity
    assert one(f"exec:cmd=my-engine {book}").record.identity != with_book.record.identity
    assert alone.options_at("/bot") == {"cmd": "/bot/cmd/my-engine"}
    assert resolve([alone.spec], margin_ms=0)[0].options_here() == {"cmd": "my-engine"}


@pytest.mark.parametrize("name", ["python3", "java", "env/bin/python"])
def test_a_file_of_the_bot_that_is_called_like_a_runtime_is_content(tmp_path: Path, name: str) -> None:
    fake = program(tmp_path / name)
    book = program(tmp_path / "book.bin")
    (tmp_path / "env").mkdir(exist_ok=True)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    specs = (f"exec:cmd={fake}", f"exec:cmd={fake} {book}")
    before = [one(spec) for spec in specs]
    assert [bot.runtime for bot in before] == ["", ""]
    assert all(f"cmd/{fake.name}" in files(bot) for bot in before)
    program(fake, "#!/bin/sh\nexit 4\n")
    assert all(
        one(spec).record.identity != bot.record.identity for spec, bot in zip(specs, before, strict=True)
    )


def test_only_what_is_named_is_taken_or_a_whole_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my bot"
    program(folder / "run.sh")
    (folder / "weights.bin").touch()
    assert files(one(f"exec:cmd=\"sh '{folder}/run.sh'\"")) == {"cmd/run.sh"}
    whole = one(f'exec:cmd="sh run.sh --net weights.bin",folder={folder}')
    assert files(whole) == {"folder/run.sh", "folder/weights.bin"}
    words = whole.options_at("/bot")["cmd"].split()
    assert words[1:] == ["/bot/folder/run.sh", "--net", "/bot/folder/weights.bin"]
    assert "folder" not in whole.options_at("/bot")
    assert whole.label == "exec:cmd=sh run.sh --net weights.bin,folder=my bot"
    assert resolve([whole.spec], margin_ms=0)[0] == whole
    monkeypatch.chdir(folder)
    assert one("exec:cmd=sh run.sh --net weights.bin,folder=.").record.identity == whole.record.identity
    (folder / "weights.bin").write_bytes(b"x")
    assert one(whole.spec).record.identity != whole.record.identity
    with pytest.raises(
        OptionError, match="folder=none is not a folder; name the folder that contains the program"
    ):
        one("exec:cmd=sh,folder=none")


def test_two_files_of_one_name_both_have_a_place(tmp_path: Path) -> None:
    a, b = program(tmp_path / "a" / "x", "one"), program(tmp_path / "b" / "x", "two")
    bot = one(f"exec:cmd=sh {a} {b} {a}")
    assert [
        Path(word.replace("/bot", bot.place)).read_text()
        for word in bot.options_at("/bot")["cmd"].split()[1:]
    ] == [
        "one",
        "two",
        "one",
    ]


def test_a_folder_that_an_option_names_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = tmp_path / "net"
    net.mkdir()
    (net / "a.npz").touch()
    bot = one(f"alphazero:weights={net}")
    assert "options/weights/net/a.npz" in files(bot)
    assert bot.options_at("/bot") == {"weights": "/bot/options/weights/net"}
    assert bot.label == "alphazero:weights=net"
    # A word is not a folder, even if the working folder contains one of that name.
    monkeypatch.chdir(tmp_path)
    assert one("alphazero:weights=net").options_at("/bot") == {"weights": "net"}


def test_a_missing_runtime_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = program(tmp_path / "bin" / "node")
    monkeypatch.setenv("PATH", f"{runtime.parent}:{os.environ['PATH']}")
    bot = one(f"exec:cmd={runtime} {program(tmp_path / 'bot.js')}")
    assert bot.runtime == str(runtime)
    runtime.unlink()
    fault = preflight(Candidate(bot, "tic-tac-toe", LIMIT, strongest_usual_tier(), 60.0))
    assert fault is not None
    assert f"needs {runtime}, which is not installed; install it" in str(fault.detail["cause"])


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()
    os.mkfifo(tmp_path / "bot" / "pipe")
    with pytest.raises(PluginError, match=f"exec: {tmp_path}/bot/pipe is neither a file nor a folder"):
        one(f"exec:cmd=sh x,folder={tmp_path}/bot")
