"""Runs in the child before the bot: confines the process as its tier requires, then executes the bot.

It uses only the standard library. On Linux it is the starter: `python -I -S -B launcher.py CODE FD` imports
what it needs once, then clones itself for each recipe that arrives on socket FD, so no bot waits for another
interpreter to start. Elsewhere `python -I -S -B launcher.py RECIPE` reads one recipe from a file. Recipes are
written by `arena.sandbox.launch_recipe`.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import NoReturn  # not imported at run time, because the module is slow to import

_CANNOT_RUN = 127
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_LENGTH_BYTES = 8
_NUM_STREAMS = 3
_NUM_DESCRIPTORS = 5
"""Maximum number per request: standard input, output and error, the control socket, the socket to a
tracer."""
_SHORT_WAIT_MS = 0
"""Milliseconds of the poll: whether the socket is closed is known at once."""
_HOST_NAME = "bot"

Recipe = dict[str, list[str]]


def main(arguments: list[str]) -> None:
    """Run as the starter, or execute the command of one recipe.

    Raises:
        SystemExit: the arena has ended, the process cannot be confined, or the command cannot be executed.
    """
    if len(arguments) > 1:
        code, descriptor = arguments
        sys.path.append(code)
        _serve(int(descriptor))
        return
    with open(arguments[0], encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - pathlib costs 10 ms
        recipe = read(file.read())
    os.unlink(arguments[0])  # noqa: PTH108 - as above
    _check_parent(recipe)
    _become_bot(recipe)


def read(text: str) -> Recipe:
    """Parse a recipe into the values of each key; entries are `key=value`, each ended by NUL."""
    recipe: Recipe = {}
    for entry in text.split("\0")[:-1]:
        key, _, value = entry.partition("=")
        recipe.setdefault(key, []).append(value)
    return recipe


def _serve(descriptor: int) -> None:
    """Start a bot for each request until the arena closes the socket.

    A request is the length of a recipe in eight bytes, the recipe, and its descriptors. The answer is the
    process id in eight bytes, or the negative error number.
    """
    import resource
    import select
    import socket

    from arena.sandbox.launch import kernel, landlock, namespaces, privileges, seccomp, view

    # Imported for the children, which cannot import what their bot's root does not show.
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
        # The clone has its own copies; open ones here would keep the bot's pipes from closing.
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
    """Become a bot in the child process; never returns, so the starter's loop cannot run twice."""
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
    except BaseException as error:  # noqa: BLE001 - must never return to the starter's loop
        sys.stderr.write(f"cannot start the bot: {type(error).__name__}: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(_CANNOT_RUN)


def _join_group(recipe: Recipe) -> None:
    """Move this process to the bot's control group, while the folder of the group is still visible."""
    try:
        for folder in recipe.get("cgroup", []):
            processes = os.open(f"{folder}/cgroup.procs", os.O_WRONLY)
            os.write(processes, b"0")
            os.close(processes)
    except OSError as error:
        _refuse(f"cannot start the bot with exact limits: {error}")


def _enter(recipe: Recipe, control: "socket.socket") -> None:
    """Change to the bot's user; in a container, continue as its second process."""
    import select
    import socket

    from arena.sandbox.launch import namespaces, privileges, view

    mode = recipe.get("namespaces", [""])[0]
    users = [int(user) for user in recipe.get("user", [])]
    if mode:
        if mode == "user":
            namespaces.keep_user(int(recipe["uid"][0]), int(recipe["gid"][0]))
        # A new UTS namespace starts with the host's name, which must not be visible.
        socket.sethostname(_HOST_NAME)
        scratch = view.enter(recipe, users[0] if users else int(recipe["uid"][0]))
    else:
        scratch = None
        os.chdir(recipe["folder"][0])
    for user in users:
        privileges.become(user)
    privileges.die_with_parent()
    # The arena may have died before the death signal was requested; then its end of the socket is closed.
    watch = select.poll()
    watch.register(control, select.POLLIN)
    if watch.poll(_SHORT_WAIT_MS):
        raise SystemExit(_CANNOT_RUN)
    if scratch is not None:
        socket.send_fds(control, [b"scratch"], [scratch])
        os.close(scratch)
        # PID 1 of the namespace must reap orphans, so the bot is its child.
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
        os.execvp(command[0], command)  # noqa: S606 - a shell is not wanted
    except OSError as error:
        _refuse(f"cannot run {command[0]}: {error.strerror}")


def _check_parent(recipe: Recipe) -> None:
    # The arena may have died before this process requested the death signal.
    if os.getppid() != int(recipe["parent"][0]):
        raise SystemExit(_CANNOT_RUN)


def _set_limits(limits: list[str]) -> None:
    import resource

    for item in limits:
        name, _, value = item.partition("=")
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            continue  # this system does not have the limit
        hard = resource.getrlimit(number)[1]
        # An unprivileged process may lower a hard limit, but never raise it.
        bound = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(number, (bound, bound))


def _take_role(recipe: Recipe) -> list[str]:
    """Fork into adapter and engine if there is an engine; return the command of this process."""
    engine = recipe.get("engine")
    if not engine:
        return recipe["command"]
    to_engine, adapter_writes = os.pipe()
    adapter_reads, from_engine = os.pipe()
    adapter = os.getpid()
    if os.fork():
        # The parent keeps its pid, which the arena watches, and becomes the adapter.
        os.close(to_engine)
        os.close(from_engine)
        os.set_inheritable(adapter_reads, True)  # noqa: FBT003 - the parameter is positional only
        os.set_inheritable(adapter_writes, True)  # noqa: FBT003 - the parameter is positional only
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
    """Restrict this process to the files and system calls of its tier."""
    if "locks" in recipe:
        from arena.sandbox.launch import landlock, seccomp

        tracer = _tracer(recipe)
        # Landlock first: seccomp then forbids the system calls that set it up.
        if "read" in recipe:
            landlock.restrict(*(recipe.get(key, []) for key in ("read", "names", "write", "device")))
        machine, extra = os.uname().machine, recipe.get("allow", [])
        if tracer is None:
            seccomp.restrict(machine, extra)
        else:
            tracer(seccomp.restrict_traced(machine, extra))


def _tracer(recipe: Recipe) -> "Callable[[int], None] | None":
    """Return a function that sends a listener to the tracer, with its imports done; None without a tracer."""
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
