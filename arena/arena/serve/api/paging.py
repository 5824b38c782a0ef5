"""Lists in pages: a `Link` header leads to the next page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from arena.pages.twins import twin_json
from arena.serve.rows import JSON, Raw

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

    from arena.serve.request_context import RequestContext


def page_of(rows: Sequence[msgspec.Struct], context: RequestContext, before: str | None) -> Raw:
    """Return one page of a list as JSON.

    Args:
        rows: the rows of the page.
        context: the request, whose other parameters the next page keeps.
        before: value of the parameter `before` for the next page; None on the last page.
    """
    content = twin_json(rows)
    if before is None:
        return Raw(content=content, media_type=JSON)
    kept = [each for each in parse_qsl(context.query_text) if each[0] != "before"]
    following = f"{quote(context.path)}?{urlencode([*kept, ('before', before)])}"
    return Raw(content=content, media_type=JSON, headers={"link": f'<{following}>; rel="next"'})
