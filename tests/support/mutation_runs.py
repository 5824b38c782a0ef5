"""Tries the mutations of the table: puts each fault into a copy of the tree and runs its nearest test there.

Bots, workers and servers that a test starts use the copy as well, because the copy has an environment of its
own in which the arena is installed; only libraries come from outside. The working tree is never changed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections import Counter, defaultdict
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mutations import Mutation, StaleError, chosen, mutated, read_table
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_Result = TypeVar("_Result")

_PACKAGES = ("arena", "bots", "db", "plugins")
_LEAVE_OUT = (".git", ".venv", ".*_cache", ".hypothesis", "build", "dist")
_PASSED, _FAILED = 0, 1
"""Exit codes of pytest; others mean that it could not run the tests."""
_PATIENCE_S = 30.0
"""Time limit of a test beyond five times what it takes without a fault."""
_BASELINE_S = 900.0
_ENDING_S = 10.0
"""Seconds within which killed processes must be gone; the machine may be busy."""
_LOOK_S = 0.01


class Verdict(StrEnum):
    """The result of trying one mutation."""

    KILLED = "killed"
    """The test failed."""
    TIMED_OUT = "timed out"
    """The test did not end, so the fault would be noticed."""
    SURVIVED = "SURVIVED"
    """The test passed: it does not notice the fault."""
    STALE = "STALE"
    """The entry no longer fits the code."""
    UNUSABLE = "UNUSABLE"
    """The test cannot tell: it fails without the fault as well, or cannot run with it."""


_GOOD = (Verdict.KILLED, Verdict.TIMED_OUT)


class Trial(NamedTuple):
    """A mutation with its verdict."""

    entry: Mutation
    verdict: Verdict
    detail: str
    """The test that failed, or why there is no sound verdict."""
    seconds: float = 0.0


class _Ran(NamedTuple):
    code: int | None
    """Exit code of pytest; None if it ran out of time."""
    output: str
    seconds: float

    @property
    def failed_test(self) -> str:
        lines = [line for line in self.output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return lines[0].split(" ")[1] if lines else self.output.strip()[-200:]


class Copy:
    """A copy of the tree in which the arena is installed; one fault at a time."""

    def __init__(self, source: Path, folder: Path) -> None:
        """Copy the tree `source` to `folder`, which must not exist, and install the arena from there."""
        self.root = folder
        shutil.copytree(source, folder, symlinks=True, ignore=shutil.ignore_patterns(*_LEAVE_OUT))
        self._python = _install(folder)
        self._tried = 0

    def run(self, tests: Sequence[str], limit_s: float) -> _Ran:
        """Run tests until the first failure, for at most `limit_s` seconds."""
        command = (
            *("-P", "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider"),
            *("--basetemp", str(self.root / ".temporary")),
        )
        log = self.root / ".output"
        began = time.monotonic()
        # Output goes to a file: a process that outlives the test would keep a pipe open.
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - the tests of this repository
                [str(self._python), *command, *tests],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code: int | None = None
            try:
                with suppress(subprocess.TimeoutExpired):
                    code = process.wait(limit_s)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                self._end_leftovers()
        return _Ran(code, log.read_text(encoding="utf-8", errors="replace"), time.monotonic() - began)

    def _end_leftovers(self) -> None:
        """Kill what a faulty program left in sessions of its own, such as bots, and wait for the end."""
        deadline = time.monotonic() + _ENDING_S
        while (left := self._leftovers()) and time.monotonic() < deadline:
            for process in left:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(_LOOK_S)

    def _leftovers(self) -> list[int]:
        """Return the processes started by the interpreter of this copy, and those that work in its folder."""
        own = os.fsencode(self.root)
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if own in (folder / "cmdline").read_bytes() or own in os.fsencode(
                    (folder / "cwd").readlink()
                ):
                    found.append(int(folder.name))
        return found

    def attempt(self, entry: Mutation, limit_s: float) -> Trial:
        """Run the test of a mutation with its fault in the code."""
        path = self.root / entry.file
        before = path.read_bytes()
        status = path.stat()
        self._tried += 1
        try:
            path.write_text(mutated(entry, self.root), encoding="utf-8")
            # Bytecode is found by whole seconds and size: two mutants of one file must differ in these.
            changed = status.st_mtime_ns + self._tried * 1_000_000_000
            os.utime(path, ns=(changed, changed))
            ran = self.run([entry.test], limit_s)
        finally:
            path.write_bytes(before)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        if ran.code is None:
            return Trial(entry, Verdict.TIMED_OUT, f"after {limit_s:.0f} s", ran.seconds)
        if ran.code == _PASSED:
            return Trial(entry, Verdict.SURVIVED, entry.test, ran.seconds)
        verdict = Verdict.KILLED if ran.code == _FAILED else Verdict.UNUSABLE
        return Trial(entry, verdict, ran.failed_test, ran.seconds)


def _install(root: Path) -> Path:
    """Make an environment with the arena of `root`, as an editable install would; return its interpreter."""
    place = root / ".venv"
    venv.EnvBuilder(symlinks=True).create(place)
    outer, purelib = (
        Path(sysconfig.get_path("purelib", vars=names))
        for names in (None, {"base": str(place), "platbase": str(place)})
    )
    for info in outer.glob("bot_arena-*.dist-info"):
        shutil.copytree(info, purelib / info.name)
        where = {"dir_info": {"editable": True}, "url": root.as_uri()}
        (purelib / info.name / "direct_url.json").write_text(json.dumps(where), encoding="utf-8")
    rooms = "".join(f"{root / name}\n" for name in _PACKAGES)
    (purelib / "_editable_impl_bot_arena.pth").write_text(rooms, encoding="utf-8")
    # Path files in that folder are not read, so the arena outside stays out of reach.
    (purelib / "outer.pth").write_text(f"{outer}\n", encoding="utf-8")
    python = place / "bin" / "python"
    command = place / "bin" / "arena"
    command.write_text(
        f"#!{python}\nimport sys\nfrom arena.__main__ import main\n\nsys.exit(main())\n", encoding="utf-8"
    )
    command.chmod(0o755)
    return python


def try_all(table: Iterable[Mutation], source: Path, side_by_side: int) -> Iterator[Trial]:
    """Try mutations in several copies of the tree `source` and yield the verdicts as they come.

    The tests of one file must first pass without a fault.
    """
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        free: SimpleQueue[Copy] = SimpleQueue()
        for number in range(side_by_side):
            free.put(Copy(source, Path(folder, str(number))))
        groups, stale = _grouped(table, source)
        yield from stale
        with ThreadPoolExecutor(side_by_side) as threads:

            def submit(work: Callable[[Copy], _Result]) -> Future[_Result]:
                return threads.submit(_in_a_copy, free, work)

            try:
                baselines = {submit(partial(_run_unchanged, group)): group for group in groups}
                attempts: list[Future[Trial]] = []
                for done in as_completed(baselines):
                    group, without = baselines[done], done.result()
                    if without.code == _PASSED:
                        limit_s = _PATIENCE_S + 5 * without.seconds
                        attempts += [submit(partial(_attempt, entry, limit_s)) for entry in group]
                    else:
                        why = f"without the fault: {without.failed_test}"
                        yield from (Trial(entry, Verdict.UNUSABLE, why) for entry in group)
                for attempt in as_completed(attempts):
                    yield attempt.result()
            finally:
                threads.shutdown(cancel_futures=True)


def _grouped(table: Iterable[Mutation], source: Path) -> tuple[list[list[Mutation]], list[Trial]]:
    """Return the entries by the files of their tests, and verdicts on those that are stale."""
    groups: defaultdict[str, list[Mutation]] = defaultdict(list)
    stale: list[Trial] = []
    for entry in table:
        try:
            mutated(entry, source)
            groups[entry.test.partition("::")[0]].append(entry)
        except StaleError as error:
            stale.append(Trial(entry, Verdict.STALE, str(error)))
    return list(groups.values()), stale


def _in_a_copy(free: SimpleQueue[Copy], work: Callable[[Copy], _Result]) -> _Result:
    copy = free.get()
    try:
        return work(copy)
    finally:
        free.put(copy)


def _run_unchanged(group: Sequence[Mutation], copy: Copy) -> _Ran:
    return copy.run(sorted({entry.test for entry in group}), _BASELINE_S)


def _attempt(entry: Mutation, limit_s: float, copy: Copy) -> Trial:
    return copy.attempt(entry, limit_s)


def main() -> int:
    """Print one line for each mutation; return 1 if a test missed one, or an entry is unusable."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", nargs="*", default=[], help="names of tables, as in tests/mutations")
    parser.add_argument("--only", default="", help="a text that file, fault or test must contain")
    parser.add_argument("--side-by-side", type=int, default=2)
    options = parser.parse_args()
    table = chosen(read_table(), options.room, options.only)
    if not table:
        parser.error("no entry of tests/mutations fits --room and --only")
    counts: Counter[Verdict] = Counter()
    for trial in try_all(table, ROOT, options.side_by_side):
        counts[trial.verdict] += 1
        sys.stdout.write(
            f"{trial.verdict:9} {trial.seconds:5.1f} s  {trial.entry.room}: {trial.entry}  [{trial.detail}]\n"
        )
        sys.stdout.flush()
    sys.stdout.write(", ".join(f"{number} {verdict}" for verdict, number in counts.items()) + "\n")
    return int(any(verdict not in _GOOD for verdict in counts))


if __name__ == "__main__":
    sys.exit(main())
