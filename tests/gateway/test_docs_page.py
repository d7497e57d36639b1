"""The documentation page: every operation is on it, and it needs nothing that is not on it."""

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import httpx2
from fastapi import FastAPI

from holdfast.gateway.access.scopes import needed
from holdfast.gateway.api.docs import page

VOID = {"meta", "wbr"}
ALLOWED = {"html", "head", "title", "style", "body", "header", "nav", "main", "article", "div", "a", "p", "code", "pre"}
ALLOWED |= {"small", "h1", "h2", "h3", "h4", "ul", "li", "details", "summary", *VOID}


class Outline(HTMLParser):
    """What is on a page: its tags, attributes, and the text of each article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.articles: dict[str, str] = {}
        self._open: list[str] = []
        self._article: str | None = None
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "article":
            self._article = str(dict(attrs)["id"])
            self.articles[self._article] = ""

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        if tag == "article":
            self._article = None

    def handle_data(self, data: str) -> None:
        if self._article is not None:
            self.articles[self._article] += data


async def test_every_operation_is_on_the_page(client: httpx2.AsyncClient, app: FastAPI) -> None:
    answer = await client.get("/docs")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    outline = Outline(answer.text)
    document = app.openapi()
    operations = [
        (method.upper(), path, entry)
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
    ]
    assert list(outline.articles) != []
    assert sorted(outline.articles) == sorted(entry["operationId"] for _, _, entry in operations)
    for method, path, entry in operations:
        said = outline.articles[entry["operationId"]]
        scope = needed(method, path)
        for words in (
            f"{method} {path}",
            entry["summary"],
            "Open to all" if scope is None else f"Needs the scope {scope}",
            *(each["name"] for each in entry.get("parameters", ())),
            *entry["responses"],
            *entry.get("requestBody", {}).get("content", ()),
            *members(document, entry.get("requestBody", {})),
            "curl -s",
        ):
            assert words in said, (entry["operationId"], words)
        assert f"http://localhost{re.sub('{.*', '', path)}" in said
    links = {attributes["href"] for tag, attributes in outline.tags if tag == "a"}
    anchors = {f"#{attributes['id']}" for _, attributes in outline.tags if "id" in attributes}
    assert {link for link in links if link != "/openapi.json"} == anchors


def members(document: dict[str, Any], body: dict[str, Any]) -> list[str]:
    """The members of a body, by their names."""
    found: list[str] = []
    for content in body.get("content", {}).values():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        found += document["components"]["schemas"].get(name, {}).get("properties", {})
    return found


async def test_it_loads_nothing_and_runs_nothing(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/docs")
    style = answer.text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "unsafe" not in policy
    assert not re.search(r"url\(|@import|//", style)
    for tag, attributes in Outline(answer.text).tags:
        assert tag in ALLOWED
        assert not {"src", "style", "srcset", "action"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith(("#", "/openapi.json"))


def test_what_the_document_says_is_shown_and_never_obeyed() -> None:
    evil = '"><script>alert(1)<!-- <img src=x onerror=alert(1)>&amp;'
    document: dict[str, Any] = {
        "info": {"title": evil, "summary": evil, "version": evil},
        "components": {"schemas": {evil: {"description": evil, "properties": {evil: {"enum": [evil]}}}}},
        "paths": {
            f"/api/{evil}": {
                "get": {
                    "operationId": evil,
                    "summary": evil,
                    "parameters": [{"name": evil, "in": evil, "schema": {"default": evil}, "description": evil}],
                    "requestBody": {"content": {evil: {"schema": {"$ref": f"#/components/schemas/{evil}"}}}},
                    "responses": {"200": {"description": evil, "content": {evil: {"schema": {"const": evil}}}}},
                }
            }
        },
    }
    shown = page(document)
    assert {tag for tag, _ in Outline(shown).tags} <= ALLOWED
    assert "<script" not in shown
    assert unescape(shown).count(evil) > 10


async def test_it_is_open_to_all_and_asked_for_by_head(client: httpx2.AsyncClient) -> None:
    assert needed("GET", "/docs") is None
    head = await client.head("/docs")
    assert (head.status_code, head.content) == (200, b"")
    assert (await client.post("/docs")).status_code == 405
