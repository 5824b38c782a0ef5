"""Specs, the notation for bots and games, `name@version:option=value,option="a,b"`, and their options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arena_plugins.errors import OptionError, PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_Default = TypeVar("_Default")

MAX_SPEC = 4096
"""Maximum length of a spec in characters."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
"""The form of a bot's or game's name."""
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+!-]{0,127}\Z")
"""The form of the text after `@`: a PEP 440 version, or leading hex digits of a content hash."""
_OPTION = re.compile(r'([A-Za-z][A-Za-z0-9_-]*)=(?:"((?:[^"\\]|\\.)*)"|([^",]*))(?:,(?=.)|\Z)')


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "x"?` for the most similar known word, or an empty string if none is similar."""
    # Imported here, because a host imports this module, too, and every bot would wait.
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


class Spec(NamedTuple):
    """A name with options and an optional version; `str()` returns the canonical text, keys sorted."""

    name: str
    options: Mapping[str, str]
    version: str = ""
    """The text after `@`: a version, or leading digits of a content hash; empty means the newest version."""

    @classmethod
    def parse(cls, text: str, *, versioned: bool = True) -> Spec:
        """Read a spec.

        Args:
            text: `name`, `name@version`, `name:options` or `name@version:options`.
            versioned: whether a version is allowed; only bots have versions, games and openings do not.

        Raises:
            PluginError: the spec is longer than `MAX_SPEC`, the name, the version or an option is malformed,
                or an option is given twice.
        """
        if len(text) > MAX_SPEC:
            raise PluginError(f'"{text[:40]}…" has {len(text):,} characters; a spec has at most {MAX_SPEC:,}')
        head, colon, rest = text.strip().partition(":")
        name, at, version = head.partition("@")
        if not NAME.match(name):
            raise PluginError(f'"{text}" does not begin with a name (letters, digits, "_", ".", "-")')
        if at and not versioned:
            raise PluginError(
                f'"{text}" has a version, and only bots have versions; write {name}{colon}{rest}'
            )
        if at and not _VERSION.match(version):
            raise PluginError(
                f'"{text}" has an "@" without a version behind it; write {name}@0.1.0, or just {name}'
            )
        options: dict[str, str] = {}
        position = 0
        while colon and position < len(rest):
            found = _OPTION.match(rest, position)
            if found is None:
                raise PluginError(
                    f'cannot read the options of "{text}" at "{rest[position:]}"; write key=value,key=value'
                )
            key, quoted, plain = found.groups()
            if key in options:
                raise PluginError(f'"{text}" gives the option "{key}" twice')
            options[key] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            position = found.end()
        if colon and not options:
            raise PluginError(f'"{text}" has a ":" but no option; write {head}:key=value or just {head}')
        return cls(name, options, version)

    @property
    def address(self) -> str:
        """The name, followed by `@` and the version if there is one: `mcts@0.1.0`."""
        return f"{self.name}@{self.version}" if self.version else self.name

    def __str__(self) -> str:
        """Return the canonical text: keys sorted, values quoted where necessary."""
        if not self.options:
            return self.address
        options = ",".join(f"{key}={_quoted(self.options[key])}" for key in sorted(self.options))
        return f"{self.address}:{options}"


def _quoted(value: str) -> str:
    if "," in value or '"' in value or value != value.strip():
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return value


class OptionReader:
    """Reads the options of one spec strictly; call `done` after the last one.

    Every method returns the default if the option is absent, and raises `OptionError`, which names owner and
    option, if the value is not allowed.
    """

    def __init__(self, owner: str, options: Mapping[str, str]) -> None:
        self._owner = owner
        self._options = options
        self._known: list[str] = []

    def text(self, key: str, default: str) -> str:
        """Return the value as written."""
        self._known.append(key)
        return self._options.get(key, default)

    def integer(self, key: str, default: _Default, *, low: int, high: int) -> int | _Default:
        """Return a whole number in `[low, high]`."""
        text = self.text(key, "")
        if not text:
            return self._absent(key, default)
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or not low <= int(text) <= high:
            raise OptionError(f"{self._owner}: {key}={text} is not a whole number from {low} to {high}")
        return int(text)

    def number(self, key: str, default: _Default, *, low: float, high: float) -> float | _Default:
        """Return a number in `[low, high]`."""
        text = self.text(key, "")
        if not text:
            return self._absent(key, default)
        if (
            not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", text)
            or not low <= float(text) <= high
        ):
            raise OptionError(f"{self._owner}: {key}={text} is not a number from {low:g} to {high:g}")
        return float(text)

    def choice(self, key: str, default: str, choices: Iterable[str]) -> str:
        """Return one of `choices`."""
        text = self.text(key, default)
        known = list(choices)
        if text not in known:
            raise OptionError(
                f"{self._owner}: {key}={text} is not one of {', '.join(known)}{nearest(text, known)}"
            )
        return text

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a switch, written as `on` or `off`."""
        return self.choice(key, "on" if default else "off", ("on", "off")) == "on"

    def done(self) -> None:
        """Raise `OptionError` for any option that no method has read."""
        for key in self._options:
            if key not in self._known:
                known = ", ".join(sorted(self._known)) or "none"
                raise OptionError(
                    f'{self._owner} has no option "{key}"{nearest(key, self._known)} (options: {known})'
                )

    def _absent(self, key: str, default: _Default) -> _Default:
        if key in self._options:
            raise OptionError(f"{self._owner}: {key} has no value; write {key}=VALUE")
        return default
