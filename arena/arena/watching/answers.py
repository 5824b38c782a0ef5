"""What a viewer gets for a question to the store: it is being read, what was found, nothing, or why not."""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

import msgspec

_Content = TypeVar("_Content")


class Loading(msgspec.Struct, frozen=True):
    """The question is being answered; what was shown before stays."""

    doing: str
    """What is being done, as `reading matches`."""


class Rows(msgspec.Struct, Generic[_Content], frozen=True):
    """What was found, perhaps only the first of it: a question may publish several of these."""

    content: _Content


class Empty(msgspec.Struct, frozen=True):
    """The store was read, and there is nothing; the only answer on which a screen may say so."""

    why: str = ""
    """What there is nothing of, as a sentence; empty where the screen knows better."""


class Unavailable(msgspec.Struct, frozen=True):
    """The question could not be answered; what was shown before stays."""

    reason: str
    """For people."""
    is_passing: bool = False
    """Whether the same question may be answered later: the store is gone or locked."""


Answer: TypeAlias = Loading | Rows[_Content] | Empty | Unavailable
