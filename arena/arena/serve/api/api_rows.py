"""All routes of the API, and its OpenAPI 3.1 description, generated from the table of routes."""

from __future__ import annotations

import re
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Final

import msgspec

from arena.results.opening_statistics import find_openings
from arena.serve.api.answers import NextMoveAnswer, answer_of
from arena.serve.api.badge_rows import BADGE_ROWS
from arena.serve.api.bot_rows import BOT_ROWS
from arena.serve.api.event_rows import EVENT_ROWS
from arena.serve.api.questions import OpeningChoice
from arena.serve.api.tournament_rows import MATCH_ROWS, TOURNAMENT_ROWS
from arena.serve.problems import PROBLEM_JSON, ProblemDetails
from arena.serve.rows import DataRoute, FileRoute, Raw, Route, StreamRoute
from arena.watching.objects import next_move_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.serve.reading import Reading
    from arena.serve.request_context import RequestContext

    JsonObject = dict[str, Any]

_PREFIXES: Final = ("/api/", "/badge/", "/healthz")
_PART: Final = re.compile(r"\{(\w+)(?::path)?\}")
_REF: Final = "#/components/schemas/{name}"
_INTRODUCTION: Final = (
    "The data of a tournament store, for programs. Answers equal the JSON of the commands that print the "
    "same; keys are stable, and new ones may be added. Lists are paged by `before`: the header `Link` has "
    "the next page. Every answer has an `ETag`. Errors are problems (RFC 9457)."
)
_PROBLEMS: Final = {
    "400": "A parameter or the body is wrong; the detail names it and what it may be.",
    "401": "No token, or an invalid one.",
    "403": "The token's role may not do this.",
    "404": "It does not exist; the detail names the nearest match.",
    "409": "No process runs the tournament, so the command has no receiver.",
    "429": "Too many requests from one address; Retry-After says when to retry.",
    "503": "The store is gone or locked, or the query takes too long; Retry-After says when.",
}


def is_described(route: Route) -> bool:
    """Return whether a route is part of the API; pages and their twins are not."""
    return route.path.startswith(_PREFIXES)


def describe(routes: Sequence[Route]) -> JsonObject:
    """Return the OpenAPI document as plain JSON values.

    Args:
        routes: all routes; those of pages are left out.
    """
    shown = sorted(filter(is_described, routes), key=lambda route: (route.path, route.method))
    types: list[Any] = [ProblemDetails]
    for route in shown:
        types += [kind for kind in (*_answers(route), _body(route), route.query) if kind is not None]
    # Each type once, in a fixed order: the document is kept in docs, and people read its diffs.
    kinds = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    schema_of = dict(zip(kinds, schemas, strict=True))
    paths: JsonObject = {}
    for route in shown:
        path = _PART.sub(r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, schema_of, components)
    # Only schemas that routes refer to: those of query parameters were split into single parameters above.
    used = {name: components[name] for name in sorted(_reached(paths, components))}
    return {
        "openapi": "3.1.0",
        "info": {"title": "arena", "version": "1", "description": _INTRODUCTION},
        "paths": paths,
        "components": {
            "schemas": used,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _document(context: RequestContext) -> Raw:
    """Return the OpenAPI document of the running server."""
    return Raw(content=_encoded(context.serving.routes), media_type="application/json")


@cache
def _encoded(routes: tuple[Route, ...]) -> bytes:
    return written(describe(routes))


def written(found: JsonObject) -> bytes:
    """Encode the document as it is served and kept in docs; sorted keys keep differences small."""
    return msgspec.json.format(msgspec.json.encode(found, order="sorted"), indent=1) + b"\n"


def _answers(route: Route) -> tuple[Any, ...]:
    if isinstance(route, DataRoute):
        return route.answer, route.other_answer
    return (route.answer,) if isinstance(route, StreamRoute) else ()


def _body(route: Route) -> type[msgspec.Struct] | None:
    return route.body if isinstance(route, DataRoute) else None


def _operation(route: Route, schema_of: dict[Any, Any], components: JsonObject) -> JsonObject:
    body = _body(route)
    found: JsonObject = {
        "operationId": _name(route),
        "summary": route.summary,
        "description": f"Role: {route.role}.",
        "parameters": [*_path_parameters(route), *_query_parameters(route, schema_of, components)],
        "responses": {"200": _good(route, schema_of), **_problems(route, schema_of)},
        "security": [] if route.role == "none" else [{"token": []}],
    }
    if body is not None:
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema_of[body]}},
        }
    return found


def _name(route: Route) -> str:
    words = re.findall(r"[a-z0-9]+", route.path.replace("/api/v1", "").replace(":path", ""))
    return "_".join([route.method.lower(), *words])


def _path_parameters(route: Route) -> list[JsonObject]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PART.findall(route.path)
    ]


def _query_parameters(route: Route, schema_of: dict[Any, Any], components: JsonObject) -> list[JsonObject]:
    if route.query is None:
        return []
    schema = schema_of[route.query]
    fields: JsonObject = components[schema["$ref"].rpartition("/")[2]]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": _parameter(fields[name])}
        for name in fields
    ]


def _parameter(schema: JsonObject) -> JsonObject:
    """Return the schema of a parameter without null: an omitted parameter is absent."""
    kinds = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    if len(kinds) == 1:
        return kinds[0]
    # The empty default of a repeated parameter is not one of its values.
    return {key: value for key, value in schema.items() if key != "default" or value not in ([], ())}


def _good(route: Route, schema_of: dict[Any, Any]) -> JsonObject:
    known = [schema_of[kind] for kind in _answers(route) if kind is not None]
    schema = known[0] if len(known) == 1 else {"anyOf": known}
    media: JsonObject = {"application/json": {"schema": schema}} if known else {}
    if isinstance(route, StreamRoute):
        media[route.media_type] = {"schema": {"type": "string"}}
    elif isinstance(route, DataRoute) and not known:
        media = {route.media_type: {"schema": {"type": "string"}}}
    elif isinstance(route, FileRoute):
        media = {"application/json": {"schema": {"type": "object"}}}
    return {"description": route.summary, "content": media}


def _problems(route: Route, schema_of: dict[Any, Any]) -> JsonObject:
    left_out = {"409"} if route.method == "GET" else set[str]()
    content = {PROBLEM_JSON: {"schema": schema_of[ProblemDetails]}}
    return {
        status: {"description": text, "content": content}
        for status, text in _PROBLEMS.items()
        if status not in left_out
    }


def _reached(found: object, components: JsonObject) -> set[str]:
    """Return the names of the schemas that a part of the document refers to, directly or indirectly."""
    names: set[str] = set()
    waiting: list[object] = [found]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            name = each.get("$ref")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            if isinstance(name, str) and (short := name.rpartition("/")[2]) not in names:
                names.add(short)
                waiting.append(components[short])
            waiting += each.values()  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(each, list):
            waiting += each  # pyright: ignore[reportUnknownArgumentType]
    return names


def _openings(reading: Reading, context: RequestContext) -> list[NextMoveAnswer]:
    asked = context.query(OpeningChoice)
    view = find_openings(
        reading.store,
        asked.condition(),
        asked.moves,
        rated_only=not asked.unrated,
        is_wanted=reading.query.is_wanted,
    )
    reading.query.check()
    return [answer_of(NextMoveAnswer, "next-move", row) for row in next_move_objects(view)]


API_ROWS: Final[tuple[Route, ...]] = (
    *TOURNAMENT_ROWS,
    *MATCH_ROWS,
    *BOT_ROWS,
    DataRoute(
        path="/api/v1/openings",
        query=OpeningChoice,
        handle=_openings,
        kept_s=inf,
        answer=list[NextMoveAnswer],
        summary="What was played next in a position, and how it scored; what `arena openings` prints.",
    ),
    *EVENT_ROWS,
    *BADGE_ROWS,
    FileRoute(
        path="/api/v1/openapi.json",
        role="none",
        handle=_document,
        cache="public, max-age=60",
        summary="This description.",
    ),
)
