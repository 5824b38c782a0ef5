"""The same facts as a page, as JSON."""

from __future__ import annotations

from typing import Final

import msgspec

_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def twin_json(view: object) -> bytes:
    """Return a view-model as JSON with sorted keys, so that equal facts are equal bytes."""
    return _ENCODER.encode(view)
