"""Files of openings: one per line, moves in the notation of the game, comments after `#`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arena.errors import ConfigError, IllegalMoveError, InvalidMoveError
from arena.games.notation import parse_moves
from arena_plugins.regular import read_regular

if TYPE_CHECKING:
    from arena_plugins.contract import Game


def read_openings(game: Game, path: str) -> list[tuple[int, ...]]:
    """Return the action sequences of a file, in its order.

    Raises:
        ConfigError: the file cannot be read, has no opening, or a line is not a valid opening; the text names
            file and line.
    """
    try:
        text = read_regular(Path(path).expanduser()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not a text file of openings (UTF-8), one a line") from error
    except (OSError, RuntimeError, ValueError) as error:
        # RuntimeError is raised for the home of an unknown user, `~nobody/book.txt`; ValueError for a NUL.
        raise ConfigError(f"cannot read the openings in {path}: {error}") from error
    openings: list[tuple[int, ...]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        moves = line.partition("#")[0].strip()
        if moves:
            openings.append(_read_line(game, moves, f"{path}, line {number}"))
    if not openings:
        raise ConfigError(f"{path} has no opening; write one a line, as moves of {game.name}")
    return openings


def _read_line(game: Game, moves: str, where: str) -> tuple[int, ...]:
    try:
        actions = parse_moves(game, moves)
    except (IllegalMoveError, InvalidMoveError) as error:
        raise ConfigError(f"{where}: {error}") from error
    state = game.initial_state()
    for action in actions:
        state = state.child(action)
    if state.is_terminal:
        raise ConfigError(f"{where}: the match is over after {moves}; omit some moves")
    return actions
