"""Style sheets, scripts and the icon."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from mimetypes import guess_type
from typing import TYPE_CHECKING, Final

from arena.pages.plies import ply_rules
from arena.serve.problems import ProblemError
from arena.serve.rows import FileRoute, Raw, Route

if TYPE_CHECKING:
    from arena.serve.context import RequestContext


@cache
def _assets() -> dict[str, Raw]:
    found = {file.name: file.read_bytes() for file in (files("arena.pages") / "assets").iterdir()}
    found["plies.css"] = ply_rules().encode()
    return {name: Raw(content=content, media_type=_media(name)) for name, content in found.items()}


def _media(name: str) -> str:
    kind = "text/javascript" if name.endswith(".js") else guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def _asset(context: RequestContext) -> Raw:
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
        cache="public, max-age=60",
        summary="A style sheet, script or icon of the pages.",
    ),
)
