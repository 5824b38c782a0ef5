"""Installs one bot in every usual way into fresh virtual environments, checks it and lets it play.

Needs the network: build backends come from the package index. Each row is one way of installing. A row passes
if `arena bots check` passes and the bot plays a match in the default tier without a fault, both from an empty
folder and from one that holds `random.py`, `arena.py` and a folder named like the bot.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
_DEADLINE_S = 600
_POINTS = '\n[project.entry-points."arena.bots"]\nprobe = "probe_bot.bot"\n'
_PROJECT = (
    '[project]\nname = "probe-bot"\nversion = "1.0"\ndescription = "A probe"\ndependencies = []\n' + _POINTS
)
_BOT = """from pathlib import Path

from arena_plugins import PlayResult, hookimpl
from probe_bot.helper import choose

ORDER = Path(__file__).with_name("data").joinpath("order.txt").read_text().split()


class Probe:
    def play(self, state, limit):
        return PlayResult(choose(state.legal_actions, ORDER))


@hookimpl
def make_bot(game, seed):
    return Probe()
"""
_HELPER = "def choose(actions, order):\n    return min(actions) if order[0] == 'least' else max(actions)\n"
_SINGLE = """from arena_plugins import PlayResult, hookimpl
from helper import choose


class Probe:
    def play(self, state, limit):
        return PlayResult(choose(state.legal_actions, ["least"]))


@hookimpl
def make_bot(game, seed):
    return Probe()
"""


@dataclass(frozen=True)
class Backend:
    """A build backend, with its section of pyproject.toml for each layout."""

    requires: str
    name: str
    flat: str = ""
    src: str = ""

    def pyproject(self, layout: str) -> str:
        """Return the pyproject.toml of the probe."""
        system = f'[build-system]\nrequires = ["{self.requires}"]\nbuild-backend = "{self.name}"\n\n'
        return system + _PROJECT + (self.src if layout == "src" else self.flat)


BACKENDS = {
    "setuptools": Backend(
        "setuptools>=77",
        "setuptools.build_meta",
        *['\n[tool.setuptools.package-data]\nprobe_bot = ["data/*"]\n'] * 2,
    ),
    "hatchling": Backend("hatchling>=1.27", "hatchling.build"),
    "poetry-core": Backend("poetry-core>=2.0", "poetry.core.masonry.api"),
    "pdm-backend": Backend("pdm-backend>=2.4", "pdm.backend"),
    "flit-core": Backend(
        "flit_core>=3.11", "flit_core.buildapi", *['\n[tool.flit.module]\nname = "probe_bot"\n'] * 2
    ),
    "uv_build": Backend("uv_build>=0.7", "uv_build", flat='\n[tool.uv.build-backend]\nmodule-root = ""\n'),
}
EXACT = {
    "hatchling": "\n[tool.hatch.build]\ndev-mode-exact = true\n",
    "pdm-backend": '\n[tool.pdm.build]\neditable-backend = "editables"\n',
}
"""Settings of backends whose editable installs then map each module."""


@dataclass(frozen=True)
class Way:
    """One way of installing the probe."""

    what: str
    backend: str
    layout: str
    command: tuple[str, ...]
    """Arguments of the tool; `{project}` is replaced by the project's folder, `{wheel}` by its wheel."""
    spec: str = "probe"

    @property
    def is_linked(self) -> bool:
        """Whether the bot runs from the project's own folder, so an edit there makes another competitor."""
        return "-e" in self.command or not self.command


def ways() -> Iterator[Way]:
    """Yield every way, with the plain ones first."""
    pip = ("pip", "install", "-q", "--no-deps")
    editable = (*pip, "-e", "{project}")
    for backend in BACKENDS:
        for layout in ("flat", "src"):
            yield Way("pip install .", backend, layout, (*pip, "{project}"))
            yield Way("pip install -e .", backend, layout, editable)
    for mode in ("strict", "compat"):
        for layout in ("flat", "src"):
            settings = ("--config-settings", f"editable_mode={mode}")
            yield Way(f"pip install -e . ({mode})", "setuptools", layout, (*editable, *settings))
    # These editable installs import the library `editables`, which the project then needs.
    for backend in EXACT:
        yield Way("pip install -e . (exact)", backend, "src", ("pip", "install", "-q", "-e", "{project}"))
    for backend in ("setuptools", "hatchling", "uv_build"):
        yield Way("uv pip install .", backend, "src", ("uv", "pip", "install", "-q", "{project}"))
        yield Way("uv pip install -e .", backend, "src", ("uv", "pip", "install", "-q", "-e", "{project}"))
    yield Way("pip install x.whl", "hatchling", "flat", (*pip, "{wheel}"))
    yield Way("arena bots install x.whl", "hatchling", "flat", ("arena", "bots", "install", "{wheel}"))
    yield Way("a file", "", "", (), "python:file={project}/single.py,with={project}/helper.py")
    yield Way("a folder", "", "", (), "python:file={project}")


class Trial:
    """A virtual environment with the arena's wheel, into which the projects are installed."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        """Create the environment, with pip and uv."""
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        _run([sys.executable, "-m", "venv", folder / "venv"], folder)
        _run(
            [self.bin / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel], folder
        )
        _run([self.bin / "python", "-m", "pip", "install", "-q", "uv", "build"], folder)
        own = {
            "ARENA_HOME": folder / "home",
            "ARENA_CACHE": folder / "cache",
            "ARENA_DB": folder / "arena.db",
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("ARENA_", "PYTHON"))}
        path = os.pathsep.join([str(self.bin), os.environ["PATH"]])
        self.env = {
            **kept,
            **{key: str(value) for key, value in own.items()},
            "PATH": path,
            "VIRTUAL_ENV": str(folder / "venv"),
            "NO_COLOR": "1",
        }

    def run(self, way: Way) -> dict[str, Any]:
        """Install the probe in one way, try it in both folders, and remove it."""
        project = self.folder / "project"
        shutil.rmtree(project, ignore_errors=True)
        _write(project, way)
        places = {"project": str(project), "wheel": ""}
        row: dict[str, Any] = {"way": way.what, "backend": way.backend, "layout": way.layout}
        try:
            if any("{wheel}" in word for word in way.command):
                dist = project / "dist"
                self._call("python", "-m", "build", "-q", "--wheel", "--outdir", str(dist), str(project))
                places["wheel"] = str(next(dist.glob("*.whl")))
            if way.command:
                self._call(*(word.format(**places) for word in way.command))
            spec = way.spec.format(**places)
            row["faults"] = [fault for folder in self._folders() for fault in self._try(spec, folder)]
            if self._sees_an_edit(spec, project) != way.is_linked:
                row["faults"].append("an edit of the project is (not) seen")
        except RuntimeError as error:
            row["faults"] = [str(error)]
        finally:
            self._remove(way)
        return row

    def _folders(self) -> Iterator[Path]:
        empty, traps = self.folder / "empty", self.folder / "traps"
        empty.mkdir(exist_ok=True)
        (traps / "probe_bot").mkdir(parents=True, exist_ok=True)
        for name in ("random.py", "arena.py", "helper.py", "probe_bot/__init__.py"):
            (traps / name).write_text("raise SystemExit('the current folder was read')\n")
        (traps / "probe").mkdir(exist_ok=True)
        yield from (empty, traps)

    def _try(self, spec: str, folder: Path) -> Iterator[str]:
        play = ("--game", "tic-tac-toe", "--rounds", "1", "--name", "trial")
        for words in (("bots", "check", spec), ("match", spec, "random", *play)):
            try:
                self._call("arena", *words, folder=folder)
            except RuntimeError as error:
                yield f"{folder.name}: {error}"
        listed = self._call("arena", "matches", "--tournament", "trial", "--format", "json", folder=folder)
        ends = {row["termination"] for row in json.loads(listed)}
        yield from (f"{folder.name}: ended by {ends}",) if ends != {"rules"} else ()
        (self.folder / "arena.db").unlink()

    def _sees_an_edit(self, spec: str, project: Path) -> bool:
        """Return whether editing the project changes the identity, as it must if the bot runs from there."""
        before = self._identity(spec)
        for file in (project / "helper.py", *project.rglob("probe_bot/helper.py")):
            file.write_text(file.read_text() + "\n# edited\n") if file.exists() else None
        return self._identity(spec) != before

    def _identity(self, spec: str) -> str:
        return str(json.loads(self._call("arena", "bots", "info", spec, "--format", "json"))["identity"])

    def _remove(self, way: Way) -> None:
        if way.command[:1] == ("arena",):
            self._call("arena", "bots", "remove", "probe")
        elif way.command:
            self._call("uv", "pip", "uninstall", "-q", "probe-bot")

    def _call(self, *words: str, folder: Path | None = None) -> str:
        command = [str(self.bin / words[0]), *words[1:]]
        if words[0] == "uv" and words[1] == "pip":
            command = [*command[:3], "--python", str(self.bin / "python"), *command[3:]]
        return _run(command, folder or self.folder, self.env)


def _write(project: Path, way: Way) -> None:
    inside = project / "src" / "probe_bot" if way.layout == "src" else project / "probe_bot"
    if not way.backend:
        inside = project
        inside.mkdir()
        (inside / "single.py").write_text(_SINGLE)
    (inside / "data").mkdir(parents=True)
    (inside / "data" / "order.txt").write_text("least\n")
    (inside / "helper.py").write_text(_HELPER)
    (inside / "bot.py").write_text(_BOT if way.backend else _BOT.replace("probe_bot.helper", "helper"))
    if way.backend:
        (inside / "__init__.py").write_text('"""A probe."""\n')
        text = BACKENDS[way.backend].pyproject(way.layout)
        if way.what.endswith("(exact)"):
            text = text.replace("dependencies = []", 'dependencies = ["editables"]') + EXACT[way.backend]
        (project / "pyproject.toml").write_text(text)


def _run(command: Sequence[str | Path], folder: Path, env: dict[str, str] | None = None) -> str:
    """Return the output of a command.

    Raises:
        RuntimeError: the command failed; the message is the end of its output.
    """
    done = subprocess.run(  # noqa: S603 - commands of this file
        [str(word) for word in command],
        cwd=folder,
        env=env,
        timeout=_DEADLINE_S,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(map(str, command[1:4]))}: {(done.stdout + done.stderr).strip()[-600:]}"
        )
    return done.stdout


def main() -> None:
    """Try every way, print one JSON line each, and fail if one of them failed."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--only", default="", help="only ways, backends or layouts that contain this text")
    chosen = parser.parse_args().only
    failed = False
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        _run([sys.executable, "-m", "build", "-q", "--wheel", "--outdir", folder, ROOT], folder)
        trial = Trial(folder, next(folder.glob("*.whl")))
        for way in ways():
            if chosen in f"{way.what} {way.backend} {way.layout}":
                row = trial.run(way)
                failed = failed or bool(row["faults"])
                print(json.dumps(row), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
