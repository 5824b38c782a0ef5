"""Damages a store in hundreds of ways; no command may show a wrong figure without the check noticing.

Each trial damages a copy of one store, runs every command that reads it, `arena db check` and `arena db
repair`. A command must print what it prints for the sound store, or end with one clear line. A wrong figure
counts if the check finds nothing; a traceback, a crash and a hang count always. With a damaged write-ahead
log SQLite returns to an earlier commit, which is sound: the figures of that commit count as right.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from simulated.spoiling import AIMS, FILE_AIMS, FRAME, LOG_AIMS, LOG_HEADER, spoil_at_random, spoil_by_aim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Spoil: TypeAlias = "Callable[[bytearray, random.Random, int], str]"
TIMEOUT_S = 300


class Ended(NamedTuple):
    """The end of a command."""

    status: int
    output: str
    """Standard output and the contents of the files it wrote."""
    error: str
    """Standard error; the traceback of an uncaught exception."""
    is_caught: bool


class State(NamedTuple):
    """The files of the sound store at one moment, and what commands print for it."""

    file: bytes
    log: bytes
    shown: dict[str, str]


def main() -> None:
    """Run the trials; print one JSON object, and each violation on standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=500, help="damages at random places")
    parser.add_argument("--aimed", type=int, default=100, help="damages of pages, schema, length and log")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder in which the stores of violations are kept")
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    figures: dict[str, int] = dict.fromkeys(("trials", "unharmed", "named", "violations"), 0)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ARENA_HOME", "ARENA_CACHE"):
            os.environ[name] = folder + "/home"
        path = Path(folder, "arena.db")
        state = build(path)
        kinds = [(spoil_at_random, given.random), (spoil_by_aim, given.aimed)]
        for spoil, num in kinds:
            for number in range(num):
                seed = f"{given.seed}/{spoil.__name__}/{number}"
                what, right = damage(path, state, random.Random(seed), spoil, number)  # noqa: S311 - repeatable
                if given.keep is not None:
                    shutil.copy(path, given.keep / "last.db")
                verdict, texts = judged(path, right)
                figures["trials"] += 1
                figures[verdict] += 1
                for text in texts:
                    print(f"{spoil.__name__} {number} ({what}): {text}", file=sys.stderr)
                if texts and given.keep is not None:
                    shutil.copy(given.keep / "last.db", given.keep / f"{spoil.__name__}-{number}.db")
    print(json.dumps({**figures, "wall_s": round(time.monotonic() - began, 1)}))


def build(path: Path) -> State:
    """Play two small tournaments; return the files of the store, with the second tournament in the log."""
    from arena_db.judgements import JudgedMatch, JudgedPly
    from arena_db.store import Store

    common = ["--isolation", "none", "--executor", "inline", "--db", str(path)]
    bots = ["random", "minimax:depth=1", "minimax:depth=2"]
    run(["tournament", *bots, "--rounds", "4", "--name", "cup", "--srand", "1", *common], needed=True)
    # An open reader prevents the checkpoint that would empty the log, as when a process is killed.
    with Store.open(path) as store:
        for number in (1, 2):
            match = store.matches.find(number)
            assert match is not None  # noqa: S101
            plies = tuple(JudgedPly(value=0.5, loss=0.0, best=(3,)) for _ in match.actions)
            store.analyses.add(JudgedMatch(match=number, name="solver", plies=plies, made_at=1.0))
        store.commands.send(1, "stop")
        duel = ["match", "minimax:depth=2", "random", "--rounds", "6", "--name", "duel", "--srand", "2"]
        run([*duel, *common], needed=True)
        files = path.read_bytes(), path.with_name("arena.db-wal").read_bytes()
    write(path, *files)
    # Load these modules once here instead of in each trial's process.
    run(["db", "check", "--db", str(path)], needed=True)
    return State(*files, shown(path))


def run(words: Sequence[str], *, needed: bool = False) -> Ended:
    """Run a command of the arena in this process."""
    from arena.cli.main import main as arena

    output, error, status, is_caught = io.StringIO(), io.StringIO(), 0, True
    with redirect_stdout(output), redirect_stderr(error):
        try:
            arena(args=list(words), prog_name="arena")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001 - any exception that no code caught
            traceback.print_exc()
            status, is_caught = 1, False
    ended = Ended(int(status), output.getvalue(), error.getvalue(), is_caught)
    if needed and ended.status:
        raise SystemExit(f"{words}: {ended}")
    return ended


def readings(path: Path) -> dict[str, Callable[[], Ended]]:
    """Return the commands that read a store, by name."""
    db = ["--db", str(path)]
    return {
        "leaderboard": lambda: run(["leaderboard", *db]),
        "crosstable": lambda: run(["crosstable", "cup", *db]),
        "games": lambda: run(["games", "--limit", "100", "--unrated", *db]),
        "show": lambda: run(["show", "cup/1", *db]),
        "export": lambda: exported(path, "pgn"),
        "export jsonl": lambda: exported(path, "jsonl"),
        "dashboard": lambda: followed(path),
    }


def exported(path: Path, kind: str) -> Ended:
    target = path.with_name("out")
    ended = run(["export", "--format", kind, str(target), "--db", str(path)])
    files = sorted(target.rglob("*.jsonl*")) if target.is_dir() else [target] if target.exists() else []
    content = "".join(file.read_bytes().hex() for file in files)
    if target.is_dir():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    return ended._replace(output=content)


def followed(path: Path) -> Ended:
    """Return what the dashboard's feed shows, opened as `arena watch` does, up to its tables."""
    from arena.errors import ArenaError
    from arena.home import open_store
    from arena.results.addresses import find_event
    from arena.watching.store_feed import StoreFeed

    texts: list[str] = []
    try:
        with open_store(str(path), read_only=True) as store:
            number = find_event(store, "cup", unfinished=False).id
        feed = StoreFeed(str(path), number)
        for _ in range(3):
            batch = feed.poll()
            texts += [] if batch is None else [repr(batch.facts), repr(batch.view)]
        feed.close()
    except ArenaError as error:
        return Ended(1, "", f"arena: {error}\n", is_caught=True)
    except Exception:  # noqa: BLE001 - any exception that no code caught
        return Ended(1, "", traceback.format_exc(), is_caught=False)
    return Ended(0, "".join(texts), "", is_caught=True)


def shown(path: Path) -> dict[str, str]:
    found = {name: read() for name, read in readings(path).items()}
    for name, ended in found.items():
        if ended.status:
            raise SystemExit(f"{name} of the sound store: {ended}")
    return {name: ended.output for name, ended in found.items()}


def write(path: Path, file: bytes, log: bytes) -> None:
    """Write the files of a store and delete any others beside them."""
    for suffix in ("-shm", "-wal", "-lock"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(file)
    if log:
        path.with_name(path.name + "-wal").write_bytes(log)


def damage(
    path: Path,
    state: State,
    chance: random.Random,
    spoil: Spoil,
    number: int,
) -> tuple[str, dict[str, str]]:
    """Write a damaged copy of the store; return the kind of damage, and what commands should print for it."""
    if spoil is spoil_by_aim and number % len(AIMS) >= len(FILE_AIMS):
        log = bytearray(state.log)
        what, place = LOG_AIMS[number % len(AIMS) - len(FILE_AIMS)](log, chance)
        right = earlier(path, state, place)
        write(path, state.file, bytes(log))
        return what, right
    file = bytearray(folded(path, state))
    what = spoil(file, chance, number)
    write(path, bytes(file), b"")
    return what, state.shown


_FOLDED: dict[int, bytes] = {}
_EARLIER: dict[int, dict[str, str]] = {}


def folded(path: Path, state: State) -> bytes:
    """Return the file of a store after a checkpoint of its log."""
    if id(state) not in _FOLDED:
        from arena_db.store import Store

        place = path.with_name("folded.db")
        write(place, state.file, state.log)
        with Store.open(place) as store:
            # SQLite makes the checkpoint when the last connection is closed.
            store.data_version()
        _FOLDED[id(state)] = place.read_bytes()
        place.unlink()
    return _FOLDED[id(state)]


def earlier(path: Path, state: State, place: int) -> dict[str, str]:
    """Return what commands print for the last commit that ends before a place in the log."""
    end = 0
    for start in range(LOG_HEADER, len(state.log) - FRAME + 1, FRAME):
        # A frame that ends a commit has the size of the database in pages in its second word, other frames 0.
        if start + FRAME <= place and any(state.log[start + 4 : start + 8]):
            end = start + FRAME
    if end not in _EARLIER:
        write(path, state.file, state.log[:end])
        _EARLIER[end] = shown(path)
    return _EARLIER[end]


def judged(path: Path, right: dict[str, str]) -> tuple[str, list[str]]:
    """Run all commands on a damaged store, in a process of its own; return a verdict and the violations."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_judge, args=(path, right, theirs))
    child.start()
    theirs.close()
    try:
        if not ours.poll(TIMEOUT_S):
            child.kill()
            return "violations", [f"no end after {TIMEOUT_S} s"]
        return ours.recv()
    except EOFError:
        child.join()
        return "violations", [f"the process ended with {child.exitcode}"]
    finally:
        child.join()


def _judge(path: Path, right: dict[str, str], answer: Any) -> None:  # noqa: ANN401 - one end of a pipe
    signal.alarm(TIMEOUT_S)
    file, log = path.read_bytes(), b""
    if path.with_name("arena.db-wal").exists():
        log = path.with_name("arena.db-wal").read_bytes()
    check = ["db", "check", "--db", str(path)]
    checked = run(check)
    texts = ["db check: " + text for text in unclear(checked)]
    for name, read in readings(path).items():
        ended = read()
        texts += [f"{name}: {text}" for text in unclear(ended)]
        if ended.status == 0 == checked.status and ended.output != right[name]:
            texts.append(f"{name}: a wrong figure of a store that is in order")
        elif checked.status == 0 != ended.status:
            texts.append(f"{name}: an error of a store that is in order: {ended.error[:200]}")
    write(path, file, log)
    mended = run(["db", "repair", "--db", str(path)])
    texts += ["db repair: " + text for text in unclear(mended)]
    if mended.status == 0:
        for name, read in readings(path).items():
            ended = read()
            if ended.status or not is_mended(ended.output, right[name], mended.output):
                texts.append(f"{name}: not as before, though repaired: {ended.error[:200]}")
    verdict = "named" if checked.status else "unharmed"
    answer.send(("violations" if texts else verdict, texts))
    # Leave without the arena's exit handlers, which are not under test.
    os._exit(0)


_CURVES = re.compile(r"trend=\([^()]*\)|Point\([^()]*\),? ?")


def is_mended(output: str, right: str, said: str) -> bool:
    """Return whether an answer is as before the damage, apart from ratings over time deleted by a repair."""
    if "ratings over time are removed" in said:
        output, right = _CURVES.sub("", output), _CURVES.sub("", right)
    return output == right


def unclear(ended: Ended) -> list[str]:
    """Return what is wrong with the end of a command: a traceback, or no line that gives the reason."""
    if not ended.is_caught:
        return ["a traceback: " + " | ".join(ended.error.strip().splitlines()[-4:])]
    if ended.status and not ended.error.strip():
        return [f"status {ended.status} without a message"]
    return []


if __name__ == "__main__":
    main()
