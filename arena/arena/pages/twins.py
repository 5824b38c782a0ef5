"""The JSON twin of a page: the same data for programs."""

from __future__ import annotations

from typing import Final

import msgspec

_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def twin_json(view: object) -> bytes:
    """Return a view-model as JSON with sorted keys, so that equal views are equal bytes."""
    return _ENCODER.encode(view)
