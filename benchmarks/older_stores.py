"""Upgrades, checks, resumes and enlarges stores that each earlier version of the arena wrote.

For each revision of the schema, the last commit with that revision is installed beside this checkout, in an
environment of its own. The earlier version plays one tournament to its end, and is killed in the middle of
others. This version resumes them and enlarges the round robin. Plans and results must be those of the earlier
version. It prints one JSON line for each revision, and needs a checkout with its history.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arena_db.records import MatchFilter
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena_db.records import StoredMatch

FAILURES: Final = ("wrong_exits", "other_plan", "other_results", "changed", "lost", "faults")
"""The figures that must be 0."""
ROOT: Final = Path(__file__).resolve().parents[1]
_VERSIONS: Final = "alembic/versions"
_ROUNDS, _MORE = 20, 30
"""Rounds of the round robin at first, and after it was enlarged."""
_KILLED_AFTER: Final = 40
"""Number of reported matches after which the earlier version is killed."""
_DEADLINE_S: Final = 600
_BOTS: Final = ("drawing", "drawing:lean=30", "drawing:lean=60")
_FOUR: Final = (*_BOTS, "drawing:lean=90")
_HOW: Final = (
    "--game",
    "tic-tac-toe",
    "--srand",
    "3",
    "--isolation",
    "none",
    "--executor",
    "inline",
    "--require-tier",
    "T0",
)
_EVENTS: Final = {
    "sprt": ("match", "drawing", "drawing:lean=5", "--sprt", "elo0=0,elo1=30"),
    "swiss": ("tournament", *_FOUR, "--type", "swiss", "--rounds", "3", "--pairs", "16"),
    "knockout": ("tournament", *_FOUR, "--type", "knockout", "--pairs", "16"),
    "ladder": ("ladder", "run", "ladder", *_BOTS, "--until", "error=60"),
}
"""Further types of tournaments that the later ones of the earlier versions can play."""
_PLUGIN: Final = {
    "drawing.py": """
from random import Random
from arena_plugins.contract import PlayResult
from arena_plugins.hookspecs import hookimpl

class Drawing:
    deterministic = True

    def __init__(self, seed, lean):
        self._random, self._lean = Random(seed), lean

    def new_match(self, seed):
        self._random.seed(seed)

    def play(self, state, limit):
        if self._random.randrange(100) < self._lean:
            return PlayResult(state.legal_actions[0])
        return PlayResult(self._random.choice(state.legal_actions))

@hookimpl
def make_bot(game, seed, options):
    return Drawing(seed, int(options.get("lean", "0")))
""",
    "drawing-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: drawing\nVersion: 1.0\n",
    "drawing-1.0.dist-info/entry_points.txt": "[arena.bots]\ndrawing = drawing\n",
    "drawing-1.0.dist-info/RECORD": "drawing.py,,\n",
}
"""A bot of its own, because the bundled bots differ between versions."""


def main() -> None:
    """Print a line for each revision; fail if a figure that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="*", help="only these, as in 0007")
    wanted = parser.parse_args().revisions
    is_wrong = False
    for revision, commit in last_commits():
        if wanted and revision not in wanted:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            figures = Earlier(Path(folder), commit).tried()
        is_wrong |= any(figures[name] for name in FAILURES)
        seconds = round(time.monotonic() - began, 1)
        print(
            json.dumps({"revision": revision, "commit": commit[:8], **figures, "wall_s": seconds}), flush=True
        )
    sys.exit(is_wrong)


def last_commits() -> Iterator[tuple[str, str]]:
    """Yield each revision that the main line had, but for the newest, and its last commit there."""
    commits = _git("log", "--first-parent", "--reverse", "--format=%H", "--", _VERSIONS).split()
    for commit in commits[1:]:
        before = _newest(f"{commit}^1")
        if before != _newest(commit):
            yield before, _git("rev-parse", f"{commit}^1").strip()


def _newest(commit: str) -> str:
    names = _git("ls-tree", "--name-only", commit, f"{_VERSIONS}/").split()
    return max(name.removeprefix(f"{_VERSIONS}/")[:4] for name in names if name.endswith(".py"))


def _git(*words: str) -> str:
    return subprocess.run(  # noqa: S603 - our own
        ["git", "-C", str(ROOT), *words],  # noqa: S607 - as it is installed
        capture_output=True,
        text=True,
        check=True,
    ).stdout


class Earlier:
    """An earlier version, and its stores."""

    def __init__(self, folder: Path, commit: str) -> None:
        """Install the program of a commit into an environment whose dependencies are ours."""
        self._folder = folder
        self._figures: dict[str, int | list[str]] = dict.fromkeys(("matches", *FAILURES), 0)
        tree, place = folder / "tree", folder / "env"
        tree.mkdir()
        packed = folder / "tree.tar"
        _git("archive", "--output", str(packed), commit)
        subprocess.run(["tar", "-xf", str(packed), "-C", str(tree)], check=True)  # noqa: S603, S607 - our own
        venv.create(place, with_pip=False, symlinks=True)
        self._python = place / "bin" / "python"
        site = subprocess.run(  # noqa: S603 - our own
            [self._python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--python", str(self._python), "install", "--quiet"]
        options = ["--no-build-isolation", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*pip, *options, str(tree)], check=True)  # noqa: S603 - our own
        for name, text in _PLUGIN.items():
            file = folder / "plugin" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def tried(self) -> dict[str, int | list[str]]:
        """Resume the tournaments in its stores with this version; return the figures."""
        whole, killed = self._folder / "whole.db", self._folder / "killed.db"
        cup = ["tournament", *_BOTS, *_HOW, "--name", "cup", "--rounds"]
        self._expect(self._old(whole, *cup, str(_MORE)), 0)
        self._kill(killed, *cup, str(_ROUNDS))
        held: list[str] = []
        for name, words in _EVENTS.items():
            if self._kill(killed, *words, *self._how(name)):
                held.append(name)
        self._expect(self._new(killed, "db", "upgrade"), 0)
        self._check(killed)
        before = _stored(killed)
        # Each reported match has been stored by then.
        self._add("lost", max(0, _KILLED_AFTER * (1 + len(held)) - sum(each.is_final for each in before)))
        self._expect(self._new(killed, "resume", "cup"), 0)
        self._compare(killed, whole, 6 * _ROUNDS)
        self._expect(self._new(killed, "resume", "cup", "--rounds", str(_MORE)), 0)
        self._compare(killed, whole, 6 * _MORE)
        for name in held:
            # The exit status of a sequential test is its decision.
            self._expect(self._new(killed, "resume", name), 0, 10, 11)
            with Store.open(killed) as store:
                record = store.tournaments.find(name)
                self._add("lost", record is None or not record.is_complete)
        self._add("changed", len(before - _stored(killed)))
        self._check(killed)
        return self._figures | {"events": ["round-robin", *held]}

    def _how(self, name: str) -> Sequence[str]:
        # A small board has too few openings for a sequential test; the last option of a name counts.
        how = (*_HOW, "--game", "connect-four") if name == "sprt" else _HOW
        return how if name == "ladder" else [*how, "--name", name]

    def _kill(self, path: Path, *words: str) -> bool:
        """Kill the earlier version in the middle of a tournament; return whether it supports that type."""
        command = [str(self._python), "-P", "-m", "arena", *words, "--db", str(path)]
        num_told = 0
        with subprocess.Popen(  # noqa: S603 - our own
            command, env=self._environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as run:
            for line in run.stdout or ():
                num_told += line.startswith("Finished game")
                if num_told == _KILLED_AFTER:
                    run.kill()
                    break
            errors = "" if run.stderr is None else run.stderr.read()
        if not num_told and run.returncode == 2:  # noqa: PLR2004 - a command it does not know
            return False
        if num_told < _KILLED_AFTER:
            self._add("wrong_exits", 1)
            print(f"{words} ended before it was killed: {run.returncode} {errors}", file=sys.stderr)
        return True

    def _old(self, path: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return self._run(self._python, path, words)

    def _new(self, path: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return self._run(Path(sys.executable), path, words)

    def _run(self, python: Path, path: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own
            [str(python), "-P", "-m", "arena", *words, "--db", str(path)],
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=_DEADLINE_S,
        )

    def _environment(self) -> dict[str, str]:
        names = {"ARENA_HOME": "home", "ARENA_CACHE": "cache", "PYTHONPATH": "plugin"}
        own = {key: self._folder / name for key, name in names.items()}
        return {**os.environ, **{key: str(path) for key, path in own.items()}}

    def _expect(self, ended: subprocess.CompletedProcess[str], *wanted: int) -> None:
        if ended.returncode not in wanted:
            self._add("wrong_exits", 1)
            print(f"{ended.args} ended with {ended.returncode}: {ended.stderr}", file=sys.stderr)

    def _check(self, path: Path) -> None:
        with Store.open(path) as store:
            self._add("faults", len(store.integrity.check()))
        self._expect(self._new(path, "db", "check"), 0)

    def _compare(self, killed: Path, whole: Path, num: int) -> None:
        """Count the differences from the tournament that the earlier version played to its end."""
        found, expected = _held(killed, num), _held(whole, num)
        self._figures["matches"] = num
        self._add("lost", num - len(found))
        for number, (plan, result) in expected.items():
            if number in found:
                self._add("other_plan", found[number][0] != plan)
                self._add("other_results", found[number][1] != result)

    def _add(self, name: str, num: int) -> None:
        self._figures[name] = int(str(self._figures[name])) + num


def _stored(path: Path) -> set[StoredMatch]:
    with Store.open(path) as store:
        return set(store.matches.newest(MatchFilter(rated_only=False), limit=1_000_000))


def _held(path: Path, num: int) -> dict[int, tuple[object, object]]:
    """Return plan and result of the first matches of the cup that have a result, by number."""
    with Store.open(path) as store:
        record = store.tournaments.find("cup")
        if record is None:
            return {}
        plan = {match.number: match for match in store.plans.planned(record.id)}
        done = [match for match in store.matches.of_tournament(record.id) if match.is_final]
    return {
        match.number: (plan[match.number], (match.outcome, match.termination, match.actions))
        for match in done
        if match.number <= num
    }


if __name__ == "__main__":
    main()
