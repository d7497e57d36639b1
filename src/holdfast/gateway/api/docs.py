"""The documentation page: the OpenAPI document as HTML, made here, with nothing from elsewhere and without a script.

The page says of itself that it may load nothing at all (its Content-Security-Policy), and only its own style applies.
All that comes from the document is escaped.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from holdfast.gateway.access.scopes import needed

TEMPLATE = files("holdfast.gateway.api").joinpath("docs.html").read_text("utf-8")
STYLE = TEMPLATE.partition("<style>")[2].partition("</style>")[0]
POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

AREAS = {
    "Sessions": ("/api/sessions",),
    "Actions": ("/api/actions",),
    "State, goals and sub-agents": ("/api/state",),
    "Live": ("/api/feed",),
    "Queries": ("/api/query",),
    "Session keys": ("/api/keys",),
    "For whoever runs it": ("/api",),
    "The service": ("/",),
}
"""By the beginning of their paths; the first that fits."""

WHERE = "http://localhost:9000"
TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
EXAMPLES = {"session_id": "s1", "user_id": "ada", "goal_id": "goal-001", "agent_id": "a1", "q": "kite"}
LIMITS = {
    "minimum": "from {}",
    "maximum": "to {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "default": "{} if left out",
}

Schema = Mapping[str, Any]


class Docs:
    """The route `/docs`."""

    def __init__(self) -> None:
        self._page: str | None = None

    async def show(self, request: Request) -> Response:
        """The page, made once; its examples are for the address that it was asked at."""
        if self._page is None:
            self._page = page(request.app.openapi())
        shown = self._page.replace(WHERE, escape(str(request.base_url).rstrip("/")))
        return HTMLResponse(shown, headers={"Content-Security-Policy": POLICY})


def page(document: Schema) -> str:
    """The page of a document."""
    writer = DocsWriter(document["components"]["schemas"])
    areas = grouped(document["paths"])
    return Template(TEMPLATE).substitute(
        title=escape(document["info"]["title"]),
        summary=text(document["info"]["summary"]),
        version=escape(document["info"]["version"]),
        nav="\n".join(nav(title, operations) for title, operations in areas.items()),
        areas="\n".join(
            f'<h2 id="{anchor(title)}">{escape(title)}</h2>\n'
            + "\n".join(writer.operation(*each) for each in operations)
            for title, operations in areas.items()
        ),
    )


Operation = tuple[str, str, Schema]


def grouped(paths: Mapping[str, Mapping[str, Schema]]) -> dict[str, list[Operation]]:
    """The operations, as method, path and entry, in their areas."""
    found: dict[str, list[Operation]] = {title: [] for title in AREAS}
    for path, methods in paths.items():
        title = next(title for title, starts in AREAS.items() if path.startswith(starts))
        found[title] += [(method.upper(), path, entry) for method, entry in methods.items()]
    return {title: operations for title, operations in found.items() if operations}


def nav(title: str, operations: list[Operation]) -> str:
    """An area's part of the list of operations."""
    rows = "\n".join(
        f'<li><a href="#{escape(entry["operationId"])}">{method_code(method)} {path_code(path)}</a></li>'
        for method, path, entry in operations
    )
    return f'<a class="area" href="#{anchor(title)}">{escape(title)}</a>\n<ul>\n{rows}\n</ul>'


class DocsWriter:
    """Writes operations; knows the named shapes that they refer to."""

    def __init__(self, shapes: Mapping[str, Schema]) -> None:
        self._shapes = shapes

    def operation(self, method: str, path: str, entry: Schema) -> str:
        """Everything about one operation."""
        scope = needed(method, path)
        parts = [
            f'<article id="{escape(entry["operationId"])}">',
            f'<h3><a href="#{escape(entry["operationId"])}">{method_code(method)} {path_code(path)}</a></h3>',
            f"<p>{text(entry['summary'])}.</p>",
            "<p><small>Open to all.</small></p>"
            if scope is None
            else f"<p><small>Needs the scope <code>{escape(scope)}</code>.</small></p>",
            *self._parameters(entry.get("parameters", ())),
            *self._body(entry.get("requestBody")),
            *self._answers(entry["responses"]),
            f"<h4>Example</h4>\n<pre>{escape(self._example(method, path, entry))}</pre>",
            "</article>",
        ]
        return "\n".join(parts)

    def _parameters(self, parameters: list[Schema]) -> Iterator[str]:
        if parameters:
            rows = "\n".join(
                f"<li><code>{escape(each['name'])}</code> <small>{escape(each['in'])}, {self.kind(each['schema'])}"
                f"{limits(each['schema'])}{', required' if each.get('required') else ''}</small>"
                f"{said(each.get('description'))}</li>"
                for each in parameters
            )
            yield f'<h4>Parameters</h4>\n<ul class="shape">\n{rows}\n</ul>'

    def _body(self, body: Schema | None) -> Iterator[str]:
        if body is not None:
            yield f"<h4>Body{'' if body.get('required') else ' (may be left out)'}</h4>"
            for media, content in body["content"].items():
                yield f"<p><code>{escape(media)}</code></p>\n{self.shape(content['schema'])}"

    def _answers(self, responses: Mapping[str, Schema]) -> Iterator[str]:
        problems = [status for status in responses if not status.startswith(("2", "3"))]
        yield "<h4>Answers</h4>"
        for status, response in responses.items():
            if status in problems:
                continue
            heading = f"<code>{escape(status)}</code> {escape(response['description'])}"
            for media, content in response.get("content", {}).items():
                shown = self.shape(content["schema"])
                yield f"<details><summary>{heading} <small>{escape(media)}</small></summary>\n{shown}</details>"
            if not response.get("content"):
                yield f"<p>{heading}</p>"
        yield f"<p><small>Problems: {escape(', '.join(problems))}.</small></p>"

    def shape(self, schema: Schema, inside: tuple[str, ...] = ()) -> str:
        """A schema as nested lists; a shape within itself is only named."""
        name, found = self._named(schema)
        if name in inside:
            return ""
        inside = (*inside, name) if name else inside
        options = [each for each in found.get("anyOf", ()) if each.get("type") != "null"]
        if options:
            return "".join(self.shape(each, inside) for each in options)
        if found.get("type") == "array":
            return self.shape(items(found), inside)
        members = "\n".join(
            f"<li><code>{escape(member)}</code> <small>{self.kind(each)}{limits(each)}"
            f"{', required' if member in found.get('required', ()) else ''}</small>"
            f"{said(each.get('description'))}{self.shape(each, inside)}</li>"
            for member, each in found.get("properties", {}).items()
        )
        described = f'<p class="soft">{text(found["description"])}</p>\n' if name and "description" in found else ""
        return described + (f'<ul class="shape">\n{members}\n</ul>' if members else "")

    def kind(self, schema: Schema) -> str:
        """What a value is, in a few words."""
        name, found = self._named(schema)
        if "anyOf" in found:
            return " or ".join(dict.fromkeys(self.kind(each) for each in found["anyOf"]))
        if "enum" in found:
            return "one of " + ", ".join(f"<code>{escape(str(each))}</code>" for each in found["enum"] if each != "")
        if "const" in found:
            return f"<code>{escape(str(found['const']))}</code>"
        kind = found.get("type")
        if kind == "array":
            return f"list of {self.kind(items(found))}"
        if found.get("format") == "binary":
            return "bytes"
        return escape(name) or ("object" if kind == "object" else TYPES.get(str(kind), "any JSON value"))

    def _named(self, schema: Schema) -> tuple[str, Schema]:
        """The name of what a schema refers to, if it does, and what that is."""
        name = schema.get("$ref", "").rpartition("/")[2]
        return name, self._shapes[name] if name else schema

    def _example(self, method: str, path: str, entry: Schema) -> str:
        """A command that sends the smallest request."""
        parameters = entry.get("parameters", ())
        filled = re.sub(r"{(\w+)}", lambda found: EXAMPLES.get(found[1], found[1].removesuffix("_id")), path)
        asked = [f"{each['name']}={EXAMPLES.get(each['name'], 'x')}" for each in parameters if _is_needed(each)]
        query = "?" + "&".join(asked) if asked else ""
        parts = ["curl -s", *(["-N"] if "text/event-stream" in str(entry["responses"]) else [])]
        body = entry.get("requestBody", {}).get("content", {})
        if method not in ({"GET", "POST"} if body else {"GET"}):
            parts.append(f"-X {method}")
        parts.append(quoted(f"{WHERE}{filled}{query}"))
        if "application/json" in body:
            parts.append(f"-d {quoted(json.dumps(self.value(body['application/json']['schema'])))}")
        elif body:
            parts.append("--data-binary @file")
        if "application/zip" in str(entry["responses"]):
            parts.append("-o file")
        return " ".join(parts)

    def value(self, schema: Schema) -> Any:
        """The smallest value that a schema allows."""
        _, found = self._named(schema)
        if "anyOf" in found:
            return self.value(found["anyOf"][0])
        if "enum" in found:
            return found["enum"][0]
        match found.get("type"):
            case "object" | None if "properties" in found:
                return {name: self.value(found["properties"][name]) for name in found.get("required", ())}
            case "array":
                return [self.value(items(found))]
            case "integer" | "number":
                return found.get("minimum", 1) or 1
            case "boolean":
                return True
            case "string":
                return "x"
        return {}


def anchor(title: str) -> str:
    """The name by which an area is linked to; no operation has a hyphen in its own."""
    return "area-" + re.sub(r"\W+", "-", title.lower())


def method_code(method: str) -> str:
    """A method, in its colour."""
    return f'<code class="method {escape(method.lower())}">{escape(method)}</code>'


def path_code(path: str) -> str:
    """A path, which may break between its parts."""
    return f"<code>{escape(path).replace('/', '/<wbr>')}</code>"


def text(words: str) -> str:
    """Words of the document; what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words))


def said(words: str | None) -> str:
    """A description after what it describes, if there is one."""
    return f" {text(words)}" if words else ""


def limits(schema: Schema) -> str:
    """How small, how large and what otherwise."""
    found = [
        words.format(escape(json.dumps(schema[name], ensure_ascii=False)))
        for name, words in LIMITS.items()
        if schema.get(name) is not None and schema[name] != "" and not (name == "maximum" and schema[name] >= 2**53)
    ]
    return "".join(f", {each}" for each in found)


def items(schema: Schema) -> Schema:
    """What an array holds; of one with a fixed number of them, the first."""
    first: list[Schema] = [*schema.get("prefixItems", ()), {}]
    return schema.get("items") or first[0]


def quoted(words: str) -> str:
    """One word of a shell's command."""
    plain = re.fullmatch(r"[\w/:.@-]+", words)
    return words if plain else "'" + words.replace("'", "'\\''") + "'"


def _is_needed(parameter: Schema) -> bool:
    return bool(parameter["in"] == "query" and parameter.get("required"))
