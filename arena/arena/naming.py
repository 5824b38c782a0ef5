"""Labels and texts that the store keeps: how long they may be, and how a label that is too long is cut."""

from __future__ import annotations

import hashlib

from arena.errors import ConfigError

MAX_LABEL = 256
"""Characters of a label."""
MAX_TEXT = 4096
"""Characters of a spec, an event or a site."""
_DIGITS = 8


def cut_label(text: str) -> str:
    """Return a label of at most `MAX_LABEL` characters.

    A longer text is cut and ends with `…+` and 8 hex digits of the SHA-256 of the whole, so that two long
    specs with the same beginning stay apart.
    """
    if len(text) <= MAX_LABEL:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{text[: MAX_LABEL - _DIGITS - 2]}…+{digest}"


def check_text(what: str, text: str, most: int = MAX_TEXT) -> str:
    """Return a text that the store can hold as it is.

    Args:
        what: its name, for the message.
        text: the text.
        most: the most characters it may have.

    Raises:
        ConfigError: it is too long, has a NUL character, or is no Unicode text.
    """
    if len(text) > most:
        raise ConfigError(f"{what} has {len(text):,} characters; give at most {most:,}")
    if "\0" in text:
        raise ConfigError(
            f"{what} has a NUL character, with which the store would lose its end; leave it out"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{what} is no valid UTF-8 (character {error.start + 1}); give a text") from error
    return text
