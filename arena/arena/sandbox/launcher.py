"""Runs in the child before a bot does: sets its limits, ties its life to the arena's, becomes the bot.

Started by path as `python -I -S launcher.py PARENT LIMITS COMMAND…`, it must stand alone: the standard
library only, and little of that, since every start of a bot pays for it.
"""

import os
import sys

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_CANNOT_RUN = 127


def main(arguments: list[str]) -> None:
    """Become the command; `LIMITS` is `NAME=VALUE,…` with the names of RLIMIT constants.

    Raises:
        SystemExit: the arena is gone already, or the command cannot be run.
    """
    parent, limits, *command = arguments
    _die_with(int(parent))
    _set_limits(limits)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell on purpose
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]}: {error.strerror}\n")
        raise SystemExit(_CANNOT_RUN) from error


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    # The arena may have died before the signal was asked for.
    if os.getppid() != parent:
        raise SystemExit(_CANNOT_RUN)


def _set_limits(limits: str) -> None:
    import resource

    for item in filter(None, limits.split(",")):
        name, _, value = item.partition("=")
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            continue  # this system does not have it
        hard = resource.getrlimit(number)[1]
        bound = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(number, (bound, bound))


if __name__ == "__main__":
    main(sys.argv[1:])
