"""The route of style sheets, scripts and the icon."""

from __future__ import annotations

from functools import cache
from mimetypes import guess_type
from typing import TYPE_CHECKING, Final

from arena.pages.asset_files import asset_files
from arena.serve.problems import ProblemError
from arena.serve.rows import FileRoute, Route
from arena.serve.sending import Whole

if TYPE_CHECKING:
    from arena.serve.request_context import RequestContext


@cache
def _assets() -> dict[str, Whole]:
    return {
        name: Whole(content, _media(name), cache="public, max-age=60").pack()
        for name, content in asset_files().items()
    }


def _media(name: str) -> str:
    kind = "text/javascript" if name.endswith(".js") else guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def _asset(context: RequestContext) -> Whole:
    name = context.parameters["name"]
    found = _assets().get(name)
    if found is None:
        raise ProblemError(404, f"There is no style sheet, script or icon {name}.")
    return found


ASSET_ROWS: Final[tuple[Route, ...]] = (
    FileRoute(
        path="/a/{name}",
        role="none",
        handle=_asset,
        summary="A style sheet, script or icon of the pages.",
    ),
)
