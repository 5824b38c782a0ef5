"""Runs in the child before a bot does: locks the process up as its tier says, then becomes the bot.

Started by path as `python -I -S -B launcher.py RECIPE`, it uses the standard library only, and little of
that, since every start of a bot pays for it. RECIPE is a file as `arena.sandbox.recipe` writes it.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn  # the module takes a while to import

_CANNOT_RUN = 127
_STDIN, _STDOUT = 0, 1

Recipe = dict[str, list[str]]


def main(recipe_file: str) -> None:
    """Become the command of the recipe.

    Raises:
        SystemExit: the arena is gone already, a lock could not be set, or the command cannot be run.
    """
    with open(recipe_file, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - pathlib takes 10 ms
        recipe = read(file.read())
    os.unlink(recipe_file)  # noqa: PTH108 - as above
    command = recipe["command"]
    try:
        _lock_up(recipe)
        command = _take_role(recipe)
        _lock_in(recipe)
    except (OSError, ValueError) as error:
        _refuse(f"cannot start the bot in {recipe['tier'][0]}: {error}", error)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell on purpose
    except OSError as error:
        _refuse(f"cannot run {command[0]}: {error.strerror}", error)


def read(text: str) -> Recipe:
    """Give the values of each key; entries are `key=value`, ended by NUL, since a path holds all else."""
    recipe: Recipe = {}
    for entry in text.split("\0")[:-1]:
        key, _, value = entry.partition("=")
        recipe.setdefault(key, []).append(value)
    return recipe


def _lock_up(recipe: Recipe) -> None:
    """Set what needs rights that are given up here, and the limits."""
    if sys.platform == "linux":
        sys.path.append(recipe["code"][0])
        from arena.sandbox.launch import namespaces, privileges

        for user in recipe.get("user", []):
            privileges.become(int(user))
        privileges.die_with_parent()
        _check_parent(recipe)
        for size in recipe.get("namespaces", []):
            namespaces.enter(int(size))
        privileges.drop_capabilities()
    else:
        _check_parent(recipe)
    _set_limits(recipe.get("limit", []))


def _check_parent(recipe: Recipe) -> None:
    # The arena may have died before the signal was asked for.
    if os.getppid() != int(recipe["parent"][0]):
        raise SystemExit(_CANNOT_RUN)


def _set_limits(limits: list[str]) -> None:
    import resource

    for item in limits:
        name, _, value = item.partition("=")
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            continue  # this system does not have it
        hard = resource.getrlimit(number)[1]
        bound = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(number, (bound, bound))


def _take_role(recipe: Recipe) -> list[str]:
    """Split in two if there is an engine; give the command of this process."""
    engine = recipe.get("engine")
    if not engine:
        return recipe["command"]
    to_engine, adapter_writes = os.pipe()
    adapter_reads, from_engine = os.pipe()
    adapter = os.getpid()
    if os.fork():
        os.close(to_engine)
        os.close(from_engine)
        os.set_inheritable(adapter_reads, True)  # noqa: FBT003 - the only way to call it
        os.set_inheritable(adapter_writes, True)  # noqa: FBT003 - the only way to call it
        os.environ["ARENA_ENGINE_FDS"] = f"{adapter_reads},{adapter_writes}"
        return recipe["command"]
    os.dup2(to_engine, _STDIN)
    os.dup2(from_engine, _STDOUT)
    if sys.platform == "linux":
        from arena.sandbox.launch import privileges

        privileges.die_with_parent()
    if os.getppid() != adapter:
        raise SystemExit(_CANNOT_RUN)
    return engine


def _lock_in(recipe: Recipe) -> None:
    """Leave this process only the files and the system calls of its tier."""
    if "landlock" in recipe:
        from arena.sandbox.launch import landlock, seccomp

        tracer = _tracer(recipe)
        landlock.restrict(*(recipe.get(key, []) for key in ("read", "names", "write", "device")))
        machine, extra = os.uname().machine, recipe.get("allow", [])
        if tracer is None:
            seccomp.restrict(machine, extra)
        else:
            tracer(seccomp.restrict_traced(machine, extra))


def _tracer(recipe: Recipe) -> "Callable[[int], None] | None":
    """Return what sends a listener to the tracer; None without one. Later the module could not be read."""
    if "trace" not in recipe:
        return None
    import socket

    def send(listener: int) -> None:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, listener.to_bytes(4, sys.byteorder))
        with socket.socket(fileno=int(recipe["trace"][0])) as channel:
            channel.sendmsg([b"."], [rights])
        os.close(listener)

    return send


def _refuse(message: str, error: Exception) -> "NoReturn":
    sys.stderr.write(f"{message}\n")
    raise SystemExit(_CANNOT_RUN) from error


if __name__ == "__main__":
    main(sys.argv[1])
