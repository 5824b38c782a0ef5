"""Ways to damage the file of a store, or its write-ahead log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random

PAGE: Final = 4096
FRAME: Final = 24 + PAGE
"""Bytes of a frame in the write-ahead log: a page and its header."""
LOG_HEADER: Final = 32


def spoil_at_random(file: bytearray, chance: random.Random, number: int) -> str:
    """Change bytes anywhere: one, a few, or a stretch."""
    kind = number % 3
    if kind == 0:
        place = chance.randrange(len(file))
        file[place] ^= 1 << chance.randrange(8)
        return f"bit at {place}"
    if kind == 1:
        for _ in range(chance.randrange(2, 65)):
            file[chance.randrange(len(file))] = chance.randrange(256)
        return "some bytes"
    size = chance.randrange(2, 513)
    place = chance.randrange(len(file) - size)
    file[place : place + size] = chance.randbytes(size)
    return f"{size} bytes at {place}"


def swap(file: bytearray, chance: random.Random) -> str:
    one, other = chance.sample(range(1, len(file) // PAGE), 2)
    a, b = slice(one * PAGE, one * PAGE + PAGE), slice(other * PAGE, other * PAGE + PAGE)
    file[a], file[b] = file[b], file[a]
    return f"pages {one + 1} and {other + 1} swapped"


def double(file: bytearray, chance: random.Random) -> str:
    one, other = chance.sample(range(1, len(file) // PAGE), 2)
    file[one * PAGE : one * PAGE + PAGE] = file[other * PAGE : other * PAGE + PAGE]
    return f"page {other + 1} over page {one + 1}"


def blank(file: bytearray, chance: random.Random) -> str:
    page = chance.randrange(1, len(file) // PAGE)
    file[page * PAGE : page * PAGE + PAGE] = bytes(PAGE)
    return f"page {page + 1} blank"


def schema(file: bytearray, chance: random.Random) -> str:
    """Change bytes in the SQL texts of the schema."""
    places = [start for start in range(len(file) - 6) if file.startswith(b"CREATE", start)]
    place = chance.choice(places) + chance.randrange(400)
    for offset in range(chance.randrange(1, 9)):
        file[place + offset] = chance.randrange(256)
    return f"schema at {place}"


def header(file: bytearray, chance: random.Random) -> str:
    place = chance.randrange(100)
    file[place] = chance.randrange(256)
    return f"header at {place}"


def word(file: bytearray, chance: random.Random) -> str:
    """Replace a text of a row by another of the same length."""
    words = [
        b"first",
        b"second",
        b"draw",
        b"rules",
        b"done",
        b"cup",
        b"duel",
        b"connect-four",
        b"random",
        b"T0",
    ]
    words += [
        b"finished",
        b"minimax",
        b"round-robin",
        b"5/move in-process",
        b"solver",
        b"started",
        b"bot-arena",
    ]
    text = chance.choice(words)
    places = [place for place in range(2 * PAGE, len(file)) if file.startswith(text, place)]
    if not places:
        return f"no {text!r}"
    place = chance.choice(places)
    choices = [other for other in words if len(other) == len(text) and other != text]
    file[place : place + len(text)] = chance.choice([*choices, text[::-1], b"\xff" * len(text)])
    return f"{text!r} at {place}"


def cut(file: bytearray, chance: random.Random) -> str:
    size = chance.choice([chance.randrange(len(file)), chance.randrange(1, len(file) // PAGE) * PAGE])
    del file[size:]
    return f"cut at {size}"


def cells(file: bytearray, chance: random.Random) -> str:
    """Change the header of a page, or its pointers to cells."""
    page = chance.randrange(1, len(file) // PAGE)
    place = page * PAGE + chance.randrange(40)
    file[place] = chance.randrange(256)
    return f"cells of page {page + 1} at {place}"


def log_bytes(log: bytearray, chance: random.Random) -> tuple[str, int]:
    place = chance.randrange(len(log))
    log[place] ^= 1 << chance.randrange(8)
    return f"log at {place}", 0 if place < LOG_HEADER else place


def log_cut(log: bytearray, chance: random.Random) -> tuple[str, int]:
    size = chance.randrange(len(log))
    del log[size:]
    return f"log cut at {size}", size


def log_swap(log: bytearray, chance: random.Random) -> tuple[str, int]:
    one, other = sorted(chance.sample(range((len(log) - LOG_HEADER) // FRAME), 2))
    a, b = (slice(LOG_HEADER + at * FRAME, LOG_HEADER + at * FRAME + FRAME) for at in (one, other))
    log[a], log[b] = log[b], log[a]
    return f"frames {one} and {other} of the log swapped", a.start


FILE_AIMS = (swap, double, blank, schema, header, word, cut, cells)
LOG_AIMS = (log_bytes, log_cut, log_swap)
"""Kinds of damage that also return the place in the log where the damage begins."""
AIMS = (*FILE_AIMS, *LOG_AIMS)


def spoil_by_aim(file: bytearray, chance: random.Random, number: int) -> str:
    """Swap, duplicate and blank pages; change schema, header, words, cells; truncate the file."""
    return FILE_AIMS[number % len(AIMS)](file, chance)
