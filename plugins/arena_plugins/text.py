"""Makes foreign text safe to show, store and log."""

from __future__ import annotations

import unicodedata

_BLANKS = str.maketrans("\t\n\v\f\r\x85\u2028\u2029", " " * 8)
_UNSAFE = frozenset({"Cc", "Cf", "Cs"})
"""Control characters, format characters (bidi controls, zero-width, tags) and surrogates."""


def clean_text(text: str, limit: int) -> str:
    """Give `text` on one line, in NFC, without invisible or steering characters, cut to `limit` characters.

    Line breaks and tabs become blanks. Cleaning a second time changes nothing.
    """
    safe = "".join(c for c in text.translate(_BLANKS) if unicodedata.category(c) not in _UNSAFE)
    # NFC comes last: taking a zero-width character away can bring together what composes.
    return unicodedata.normalize("NFC", safe)[:limit]
