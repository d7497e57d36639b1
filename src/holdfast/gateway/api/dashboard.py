"""The dashboard's files: a page at `/` for browsers, and its assets, all read when the gateway starts.

What a client names is looked up among those files and never made into a path. The page holds no data, so anybody who
reaches the gateway gets it; what it shows, it asks for like any other client. It may load what lies here, and nothing
inline (its Content-Security-Policy).
"""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from holdfast.gateway.access.scopes import PAGE_FILES
from holdfast.gateway.api.conditions import Conditions, parse_tags
from holdfast.gateway.errors import NoRoute

ASSETS = f"{PAGE_FILES}{{name}}"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types dompurify svelte-trusted-html"
)
HTML = "text/html; charset=utf-8"
TYPES = {
    "css": "text/css; charset=utf-8",
    "html": HTML,
    "ico": "image/x-icon",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
    "woff2": "font/woff2",
}
"""By the end of a file's name; a file of another kind is not served."""
WORTH_PACKING = 1_024
HASHED = re.compile(r".+-(?=[A-Za-z0-9_-]*[A-Z0-9_])[A-Za-z0-9_-]{8}\.[a-z0-9]+")
"""A name that a build makes from what is in the file."""
FOREVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"


class StaticFile:
    """One file as it is sent: plain, or packed for those who take that."""

    def __init__(self, name: str, content: bytes) -> None:
        self.content = content
        self.media_type = TYPES[name.rpartition(".")[2]]
        self._tag = hashlib.sha256(content).hexdigest()[:32]
        self._kept = FOREVER if HASHED.fullmatch(name) else ASK_AGAIN
        self._packed: bytes | None = None
        self._packable = len(content) >= WORTH_PACKING and not self.media_type.startswith(("image/png", "font/"))

    async def answer(self, headers: Headers, vary: str = "", policy: str | None = None) -> Response:
        """The file, or only that it is unchanged, for a request with these headers."""
        packs = self._packable and accepts(headers.get("accept-encoding", ""), "gzip") > 0
        tag = f'"{self._tag}{"-gzip" if packs else ""}"'
        varies = ", ".join(each for each in (vary, "Accept-Encoding" if self._packable else "") if each)
        said = {"ETag": tag, "Cache-Control": self._kept}
        said |= {"Vary": varies} if varies else {}
        said |= {"Content-Security-Policy": policy} if policy else {}
        known = parse_tags(headers.getlist("if-none-match"), "If-None-Match")
        if Conditions(none_match=known).is_known(tag):
            return Response(status_code=304, headers=said)
        if packs:
            said["Content-Encoding"] = "gzip"
        content = await self._pack() if packs else self.content
        return Response(content, headers=said, media_type=self.media_type)

    async def _pack(self) -> bytes:
        if self._packed is None:
            self._packed = await asyncio.to_thread(gzip.compress, self.content, 9, mtime=0)
        return self._packed


class Dashboard:
    """The page and its assets, by name."""

    def __init__(self, page: StaticFile | None, assets: dict[str, StaticFile]) -> None:
        self._page = page
        self._assets = assets

    async def page(self, request: Request) -> Response | None:
        """The page, if there is one and the request comes from somebody who would rather see it than JSON."""
        if self._page is None or not prefers_page(", ".join(request.headers.getlist("accept"))):
            return None
        return await self._page.answer(request.headers, "Accept", POLICY)

    async def asset(self, request: Request) -> Response:
        """The route `ASSETS`: one of the files that were there at the start."""
        found = self._assets.get(request.path_params["name"])
        if found is None:
            raise NoRoute(f"there is nothing at {request.url.path!r:.200}")
        return await found.answer(request.headers)


@cache
def built_in() -> Dashboard:
    """The dashboard of this package."""
    return dashboard_in(files("holdfast.gateway").joinpath("dashboard"))


def dashboard_in(folder: Traversable) -> Dashboard:
    """The dashboard whose files are in a folder: `index.html`, and those of the folder `assets`."""
    page = folder.joinpath("index.html")
    assets = dict(_files_in(folder.joinpath("assets")))
    return Dashboard(StaticFile("index.html", page.read_bytes()) if page.is_file() else None, assets)


def _files_in(folder: Traversable) -> Iterator[tuple[str, StaticFile]]:
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.is_file() and each.name.rpartition(".")[2] in TYPES:
            yield each.name, StaticFile(each.name, each.read_bytes())


def prefers_page(accept: str) -> bool:
    """Whether an Accept header asks for HTML by name, and for JSON not more; `*/*`, as curl sends it, does not."""
    html = accepts(accept, "text/html")
    return html > 0 and html >= accepts(accept, "application/json")


def accepts(header: str, name: str) -> float:
    """How much a header wants what it names so, from 0 to 1."""
    for each in header.lower().split(","):
        found, *parameters = (part.strip() for part in each.split(";"))
        if found == name:
            return next((_quality(part[2:]) for part in parameters if part.startswith("q=")), 1.0)
    return 0.0


def _quality(text: str) -> float:
    return float(text) if re.fullmatch(r"[01](\.[0-9]{0,3})?", text) else 0.0
