"""Lists in pieces: a `Link` to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from arena.pages.twins import twin_json
from arena.serve.rows import JSON, Raw

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

    from arena.serve.context import RequestContext


def page_of(rows: Sequence[msgspec.Struct], context: RequestContext, before: str | None) -> Raw:
    """Return a piece of a list as JSON.

    Args:
        rows: what is shown.
        context: the request, whose other parameters the next one keeps.
        before: the last row, by which the next piece begins; None where there is no more.
    """
    content = twin_json(rows)
    if before is None:
        return Raw(content=content, media_type=JSON)
    kept = [each for each in parse_qsl(context.query_text) if each[0] != "before"]
    following = f"{quote(context.path)}?{urlencode([*kept, ('before', before)])}"
    return Raw(content=content, media_type=JSON, headers={"link": f'<{following}>; rel="next"'})
