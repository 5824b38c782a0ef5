"""Reads a stream as a browser does: events, and the elements of a page that they replace."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_ID = re.compile(r'<[a-z]+ (?:[^>]*? )?id="([^"]+)"')


class Heard(NamedTuple):
    """An event of a stream."""

    id: str
    data: list[str]


def events_of(stream: bytes) -> list[Heard]:
    """Return the complete events of a stream, parsed by the rules of its format."""
    found: list[Heard] = []
    newest = ""
    data: list[str] = []
    for line in stream.decode().split("\n")[:-1]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                found.append(Heard(newest, data))
            data = []
        elif name == "id":
            newest = value
        elif name == "data":
            data.append(value)
    return found


class Reader:
    """A page: its elements by id, and the name of its last frame."""

    def __init__(self, elements: Mapping[str, str] | None = None, frame: str = "") -> None:
        self.elements = dict(elements or {})
        self.frame = frame
        self.times: list[int] = []

    def hear(self, stream: bytes) -> int:
        """Apply the received bytes; return how many events they contained."""
        events = events_of(stream)
        for event in events:
            self.frame = event.id or self.frame
            self.times.append(int(event.data[0]))
            for markup in event.data[1:]:
                found = _ID.match(markup)
                assert found, markup
                self.elements[found[1]] = markup
        return len(events)
