"""Runs in the child before a bot does: locks the process up as its tier says, then becomes the bot.

It uses the standard library only. On Linux it is the starter: `python -I -S -B launcher.py CODE FD` imports
what it needs once, then clones itself for each recipe that arrives on socket FD, so that no bot waits for
another interpreter. Elsewhere `python -I -S -B launcher.py RECIPE` reads one recipe from a file. A recipe is
written by `arena.sandbox.recipe`.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import NoReturn  # the module takes a while to import

_CANNOT_RUN = 127
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_LENGTH_BYTES = 8
_NUM_STREAMS = 3
_NUM_DESCRIPTORS = 5
"""At most, of a request: standard input, output and error, the control socket, and the socket to a tracer."""
_SHORT_WAIT_MS = 0
_HOST_NAME = "bot"

Recipe = dict[str, list[str]]


def main(arguments: list[str]) -> None:
    """Serve as the starter, or become the command of one recipe.

    Raises:
        SystemExit: the arena is gone already, a lock could not be set, or the command cannot be run.
    """
    if len(arguments) > 1:
        code, descriptor = arguments
        sys.path.append(code)
        _serve(int(descriptor))
        return
    with open(arguments[0], encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - pathlib takes 10 ms
        recipe = read(file.read())
    os.unlink(arguments[0])  # noqa: PTH108 - as above
    _check_parent(recipe)
    _become_bot(recipe)


def read(text: str) -> Recipe:
    """Return the values of each key; entries are `key=value`, ended by NUL, since a path holds all else."""
    recipe: Recipe = {}
    for entry in text.split("\0")[:-1]:
        key, _, value = entry.partition("=")
        recipe.setdefault(key, []).append(value)
    return recipe


def _serve(descriptor: int) -> None:
    """Start a bot for each request until the arena closes the socket.

    A request is the length of a recipe in eight bytes, the recipe, and its descriptors; the answer is the
    process id in eight bytes, or the negative number of the error.
    """
    import resource
    import select
    import socket

    from arena.sandbox.launch import kernel, landlock, namespaces, privileges, seccomp, view

    # For the children, which cannot import what is not in the view of their bot.
    del resource, select, landlock, seccomp, view
    privileges.die_with_parent()
    arena = socket.socket(fileno=descriptor)
    while True:
        data, descriptors, _, _ = socket.recv_fds(arena, _LENGTH_BYTES, _NUM_DESCRIPTORS)
        if len(data) < _LENGTH_BYTES:
            return
        recipe = read(os.fsdecode(_receive(arena, int.from_bytes(data, "little"))))
        try:
            answer = kernel.clone(namespaces.flags(recipe.get("namespaces", [""])[0]))
        except OSError as error:
            answer = -(error.errno or 1)
        if answer == 0:
            arena.close()
            _begin(recipe, descriptors)
        for own in descriptors:
            os.close(own)
        arena.send(answer.to_bytes(_LENGTH_BYTES, "little", signed=True))


def _receive(arena: "socket.socket", size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = arena.recv(size - len(data))
        if not chunk:
            raise SystemExit(_CANNOT_RUN)
        data += chunk
    return data


def _begin(recipe: Recipe, descriptors: list[int]) -> "NoReturn":
    """Become a bot in the child; whatever happens, it never returns into the starter's loop."""
    import socket

    try:
        for target, descriptor in enumerate(descriptors[:_NUM_STREAMS]):
            os.dup2(descriptor, target)
            os.close(descriptor)
        control = socket.socket(fileno=descriptors[_NUM_STREAMS])
        recipe["trace"] = [str(fd) for fd in descriptors[_NUM_STREAMS + 1 :]]
        os.setsid()
        _join_group(recipe)
        os.environ.clear()
        os.environ.update(dict(entry.split("=", 1) for entry in recipe["environment"]))
        os.sched_setaffinity(0, map(int, recipe["core"]))
        try:
            _enter(recipe, control)
        except (OSError, ValueError) as error:
            _refuse(f"cannot start the bot in {recipe['tier'][0]}: {error}")
        _become_bot(recipe)
    except SystemExit:
        pass
    except BaseException as error:  # noqa: BLE001 - the starter's loop must not run twice
        sys.stderr.write(f"cannot start the bot: {type(error).__name__}: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(_CANNOT_RUN)


def _join_group(recipe: Recipe) -> None:
    """Move this process to the control group with the bot's limits, while its folder is still in sight."""
    try:
        for folder in recipe.get("cgroup", []):
            processes = os.open(f"{folder}/cgroup.procs", os.O_WRONLY)
            os.write(processes, b"0")
            os.close(processes)
    except OSError as error:
        _refuse(f"cannot start the bot with exact limits: {error}")


def _enter(recipe: Recipe, control: "socket.socket") -> None:
    """Become the bot's user and, in a container, go on as its second process."""
    import select
    import socket

    from arena.sandbox.launch import namespaces, privileges, view

    mode = recipe.get("namespaces", [""])[0]
    users = [int(user) for user in recipe.get("user", [])]
    if mode:
        if mode == "user":
            namespaces.keep_user(int(recipe["uid"][0]), int(recipe["gid"][0]))
        # The namespace of host names begins with the name of the host.
        socket.sethostname(_HOST_NAME)
        scratch = view.enter(recipe, users[0] if users else int(recipe["uid"][0]))
    else:
        scratch = None
        os.chdir(recipe["folder"][0])
    for user in users:
        privileges.become(user)
    privileges.die_with_parent()
    # The arena may have died before the signal was asked for: then its end of the socket is closed.
    watch = select.poll()
    watch.register(control, select.POLLIN)
    if watch.poll(_SHORT_WAIT_MS):
        raise SystemExit(_CANNOT_RUN)
    if scratch is not None:
        socket.send_fds(control, [b"scratch"], [scratch])
        os.close(scratch)
        inside = os.fork()
    else:
        inside = 0
    privileges.drop_capabilities()
    if inside:
        namespaces.collect(inside, control)
    control.close()


def _become_bot(recipe: Recipe) -> "NoReturn":
    command = recipe["command"]
    try:
        _set_limits(recipe.get("limit", []))
        command = _take_role(recipe)
        _lock_in(recipe)
    except (OSError, ValueError) as error:
        _refuse(f"cannot start the bot in {recipe['tier'][0]}: {error}")
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell on purpose
    except OSError as error:
        _refuse(f"cannot run {command[0]}: {error.strerror}")


def _check_parent(recipe: Recipe) -> None:
    # The arena may have died before this process could watch it.
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
    """Split in two if there is an engine; return the command of this process."""
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
    if "locks" in recipe:
        from arena.sandbox.launch import landlock, seccomp

        tracer = _tracer(recipe)
        if "read" in recipe:
            landlock.restrict(*(recipe.get(key, []) for key in ("read", "names", "write", "device")))
        machine, extra = os.uname().machine, recipe.get("allow", [])
        if tracer is None:
            seccomp.restrict(machine, extra)
        else:
            tracer(seccomp.restrict_traced(machine, extra))


def _tracer(recipe: Recipe) -> "Callable[[int], None] | None":
    """Return what sends a listener to the tracer; None without one. Later the module could not be read."""
    if not recipe["trace"]:
        return None
    import socket

    def send(listener: int) -> None:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, listener.to_bytes(4, sys.byteorder))
        with socket.socket(fileno=int(recipe["trace"][0])) as channel:
            channel.sendmsg([b"."], [rights])
        os.close(listener)

    return send


def _refuse(message: str) -> "NoReturn":
    os.write(_STDERR, os.fsencode(f"{message}\n"))
    raise SystemExit(_CANNOT_RUN)


if __name__ == "__main__":
    main(sys.argv[1:])
