"""Finds the peers and runs the scripts, trial after trial."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from report.commands import COMMANDS, PEERS, SCRATCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from report.commands import Command, Pythons

FOLDER = Path(__file__).parents[1]
DEADLINE = 1800
"""Timeout of one script, in seconds."""
ASK = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for module, distribution in json.loads(sys.argv[1]).items():
    try:
        found[module] = version(distribution)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""

Documents = dict[str, dict[str, Any]]
"""The documents that the scripts of one trial printed, by script."""


class Installed(NamedTuple):
    """A peer that was found."""

    python: str
    version: str


class BenchmarkError(Exception):
    """A script failed, or printed no JSON."""


def find_peers(pythons: Sequence[str]) -> dict[str, Installed]:
    """Return the peers by module; the first interpreter that has one is used."""
    names = json.dumps({module: distribution for module, (_, distribution) in PEERS.items()})
    found: dict[str, Installed] = {}
    for python in pythons:
        try:
            done = subprocess.run(  # noqa: S603 - an interpreter the user names
                [python, "-c", ASK, names], stdout=subprocess.PIPE, text=True, timeout=60, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise BenchmarkError(f"{python} is no Python that can be asked for peers: {error}") from error
        versions = cast("dict[str, str]", json.loads(done.stdout))
        for module, version in versions.items():
            found.setdefault(module, Installed(python, version))
    return found


def find_clone(clone: Path) -> Installed:
    """Return the cloned peer, with its commit as version."""
    git = ["git", "-C", str(clone), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(git, stdout=subprocess.PIPE, text=True, timeout=60, check=True)  # noqa: S603 - a folder the user names
    except (OSError, subprocess.SubprocessError) as error:
        raise BenchmarkError(f"{clone} is no clone of a repository: {error}") from error
    return Installed(str(clone.resolve()), done.stdout.strip())


def arguments(command: Command, pythons: Pythons, *, quick: bool) -> list[str]:
    """Return the arguments of a script."""
    return [*(command.quick if quick else command.args), *command.told(pythons, sys.executable)]


def run_trials(num_trials: int, pythons: Pythons, *, quick: bool) -> list[Documents]:
    """Run all scripts, then all again, as often as there are trials; print each document on one line.

    Raises:
        BenchmarkError: a script failed; the message names it.
    """
    trials: list[Documents] = []
    for number in range(num_trials):
        with tempfile.TemporaryDirectory() as scratch:
            documents: Documents = {}
            for command in COMMANDS:
                if number < command.trials:
                    documents[command.script] = run(command, pythons, scratch, quick=quick)
                    print(json.dumps(documents[command.script]), flush=True)
            trials.append(documents)
    return trials


def run(command: Command, pythons: Pythons, scratch: str, *, quick: bool) -> dict[str, Any]:
    """Run one script and return its document, with `benchmark`, its name, as the first key."""
    options = [part.replace(SCRATCH, scratch) for part in arguments(command, pythons, quick=quick)]
    print(f"{command.script} {' '.join(options)}", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(  # noqa: S603 - scripts of this folder
            [sys.executable, str(FOLDER / command.script), *options],
            stdout=subprocess.PIPE,
            text=True,
            timeout=DEADLINE,
            check=True,
        )
        document: Mapping[str, Any] = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        raise BenchmarkError(f"{command.script}: {error}") from error
    return {"benchmark": Path(command.script).stem, **document}
