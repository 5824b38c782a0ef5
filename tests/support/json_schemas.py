"""A validator for the JSON schemas that the description of the API uses; any other keyword is an error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOLD = {"title", "description", "default", "examples"}
_KNOWN = _TOLD | {
    *("$ref", "type", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf"),
    *("enum", "const", "minimum", "maximum", "minItems", "maxItems"),
}


def faults(value: object, schema: dict[str, Any], root: dict[str, Any], place: str = "$") -> Iterator[str]:
    """Yield the violations of a schema by a value; a key that the schema does not name is one, too.

    Args:
        value: plain JSON.
        schema: schema of the value.
        root: the document that references point into.
        place: path of the value, for the messages.
    """
    unknown = schema.keys() - _KNOWN
    assert not unknown, f"the validator knows no {unknown}"
    if "$ref" in schema:
        found: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        yield from faults(value, found, root, place)
        return
    if "anyOf" in schema:
        tried = [list(faults(value, each, root, place)) for each in schema["anyOf"]]
        if all(tried):
            yield min(tried, key=len)[0]
        return
    if ("enum" in schema and not any(_is_same(value, each) for each in schema["enum"])) or (
        "const" in schema and not _is_same(value, schema["const"])
    ):
        yield f"{place}: {value!r} is none of {schema.get('enum', schema.get('const'))}"
    if "type" in schema and not _is_type(value, schema["type"]):
        yield f"{place}: {value!r} is no {schema['type']}"
    else:
        yield from _inside(value, schema, root, place)


def _inside(value: object, schema: dict[str, Any], root: dict[str, Any], place: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _of_object(cast("dict[str, Any]", value), schema, root, place)
    elif isinstance(value, list):
        yield from _of_array(cast("list[Any]", value), schema, root, place)
    elif (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and not schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
    ):
        yield f"{place}: {value} is out of bounds"


def _of_object(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], place: str
) -> Iterator[str]:
    known = schema.get("properties", {})
    yield from (f"{place}: {name} is missing" for name in schema.get("required", []) if name not in value)
    for name, each in value.items():
        if name in known:
            yield from faults(each, known[name], root, f"{place}.{name}")
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from faults(each, schema["additionalProperties"], root, f"{place}.{name}")
        elif known:
            yield f"{place}: {name} is not described"


def _of_array(value: list[Any], schema: dict[str, Any], root: dict[str, Any], place: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
        yield f"{place}: it has {len(value)} items"
    first = schema.get("prefixItems", [])
    for number, each in enumerate(value):
        of_item = first[number] if number < len(first) else schema.get("items", {})
        if isinstance(of_item, dict):
            yield from faults(each, cast("dict[str, Any]", of_item), root, f"{place}[{number}]")


def _is_same(value: object, other: object) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _is_type(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return {
        "null": value is None,
        "string": isinstance(value, str),
        "integer": isinstance(value, int),
        "number": isinstance(value, int | float),
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
    }.get(wanted, False)
