"""Makes untrusted text safe to display, store and log."""

from __future__ import annotations

import unicodedata

_BLANKS = str.maketrans("\t\n\v\f\r\x85\u2028\u2029", " " * 8)
_UNSAFE = frozenset({"Cc", "Cf", "Cs"})
"""Unicode categories to remove: control, format (bidi controls, zero-width, tags) and surrogates."""


def clean_text(text: str, limit: int) -> str:
    """Return `text` as one line in NFC, without control and format characters, cut to `limit` characters.

    Line breaks and tabs become blanks. The function is idempotent.
    """
    safe = "".join(c for c in text.translate(_BLANKS) if unicodedata.category(c) not in _UNSAFE)
    # NFC comes last, because removing a zero-width character can bring together characters that compose.
    return unicodedata.normalize("NFC", safe)[:limit]
