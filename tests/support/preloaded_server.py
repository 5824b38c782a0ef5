"""The server of `preloaded`: imports libraries, then forks for each command that it reads from stdin."""

from __future__ import annotations

import gc
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypedDict


class Order(TypedDict):
    """A command to run."""

    words: list[str]
    """The path of its script, and its arguments."""
    folder: str
    env: dict[str, str]
    files: list[str]
    """Its stdin, stdout and stderr."""


LIBRARIES = (
    "asyncio",
    "importlib.metadata",
    "msgspec",
    "multiprocessing.connection",
    "multiprocessing.popen_spawn_posix",
    "numpy",
    "pysqlite3",
    "rich.table",
    "rich_click",
    "sqlalchemy",
    "sqlalchemy.dialects.sqlite",
)
"""What most commands import of others, directly or not."""


def serve() -> None:
    """Run commands one after the other and write their exit codes, until stdin ends."""
    # Set as the command sets it, before NumPy reads it.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for library in LIBRARIES:
        import_module(library)
    # Collections of the commands would copy these pages.
    gc.collect()
    gc.freeze()
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if pid == 0:
            run(json.loads(line))
            return
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def run(order: Order) -> None:
    """Become the process of a command, as if its script had been started; a fork calls this."""
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, path in enumerate(order["files"]):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv[:] = order["words"]
    script = order["words"][0]
    sys.path[0] = str(Path(script).parent)
    main = ModuleType("__main__")
    main.__file__ = script
    sys.modules["__main__"] = main
    exec(compile(Path(script).read_bytes(), script, "exec"), main.__dict__)  # noqa: S102


if __name__ == "__main__":
    serve()
