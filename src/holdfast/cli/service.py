"""The commands' way to sessions: always the gateway's API.

If a gateway holds the data folder, or its URL is named, it is asked. If none does, the command serves itself: the
same API over the same store, on a socket that nobody else can reach, for as long as the command runs. So a command is
written once, and does the same either way. Only an import of transcripts, which brings very much, then takes the store
itself, by a protocol that both ways have.
"""

import asyncio
import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

from holdfast.cli.errors import GatewayRefusal
from holdfast.cli.options import Location
from holdfast.core.errors import HistoryChanged, HoldfastError, InvalidInput, NotFound, StoreInUse, StoreUnavailable
from holdfast.core.ids import check_session_id, check_tenant
from holdfast.core.problem import problem
from holdfast.core.store_file import Claim, StoreLock, holder_of, lock_path, sqlite_path, unheld
from holdfast.gateway.mcp.service import RouteRequest, too_large

if TYPE_CHECKING:
    import httpx2

    from holdfast.store import Store

QUICK_SECONDS = 30.0
CLOSE_SECONDS = 0.5
"""Who leaves a feed does not read what is under way to the end, and so may never see that the other has closed it."""
LAST_PORT = 65_535
MAX_MESSAGE = 64 * 1024 * 1024
AGAIN_SECONDS = 0.5
REFUSED = 4000
"""Plus the status of an error: how the gateway closes a feed that cannot go on."""
TENANT = "Holdfast-Tenant"
LONG_PAUSE_SECONDS = 5.0
"""For how long a command in haste must have nothing to write before its store does its chores."""
PATIENCE_SECONDS = 3.0
"""How long to wait for whoever holds the store to say who it is."""

Taken = TypeVar("Taken")


class GatewayClient:
    """A client of the API; every error is a HoldfastError."""

    def __init__(
        self, http: "httpx2.AsyncClient", name: str, socket: Path | None = None, store: "Store | None" = None
    ) -> None:
        self._http = http
        self._socket = socket
        self.store = store
        """The store itself if this process has it: for what is too much to be sent, such as an import."""
        self._headers = {name: http.headers[name] for name in ("Authorization", TENANT) if name in http.headers}
        self.name = name
        self.gateway = None if socket else name
        """The URL of the gateway that is asked; None if this process serves itself."""

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        key: str | None = None,
        slow: bool = False,
        **query: Any,
    ) -> Any:
        """The answer's JSON value, however long it takes if it is a slow one; parameters that are None are left out."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        with self._said():
            answer = await self._http.request(
                method,
                as_text(path),
                params=_params(query),
                content=content,
                headers=headers,
                timeout=None if slow else QUICK_SECONDS,
            )
            _refuse(answer.status_code, answer.content)
        return json.loads(answer.content)

    @contextlib.asynccontextmanager
    async def stream(
        self, method: str, path: str, *, content: Any = None, media: str = "application/json", **query: Any
    ) -> "AsyncIterator[httpx2.Response]":
        """An answer to be read as it comes."""
        headers = {"Content-Type": media} if content is not None else {}
        with self._said():
            async with self._http.stream(
                method, as_text(path), params=_params(query), content=content, headers=headers, timeout=None
            ) as answer:
                if answer.status_code >= 400:
                    _refuse(answer.status_code, await answer.aread())
                yield answer

    async def bounded(self, request: RouteRequest) -> bytes:
        """The bytes of an answer, refused as soon as there are more than the request says."""
        headers = {"Content-Type": "application/json"} if request.body is not None else {}
        if request.key is not None:
            headers["Idempotency-Key"] = request.key
        found = bytearray()
        with self._said():
            async with self._http.stream(
                request.method,
                quote(request.path),
                params=request.parameters(),
                content=request.content(),
                headers=headers,
                timeout=None if request.slow else QUICK_SECONDS,
            ) as answer:
                _refuse(answer.status_code, await answer.aread() if answer.status_code >= 400 else b"")
                async for piece in answer.aiter_bytes():
                    found += piece
                    if len(found) > request.most_bytes:
                        raise too_large(request.most_bytes)
        return bytes(found)

    async def lines(self, method: str, path: str, *, body: Any = None, **query: Any) -> AsyncIterator[bytes]:
        """The lines of an answer, as they come."""
        content = None if body is None else json.dumps(body).encode()
        async with self.stream(method, path, content=content, **query) as answer:
            rest = b""
            async for chunk in answer.aiter_bytes():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    yield line
            if rest:
                raise StoreUnavailable("the gateway's answer broke off")

    async def follow(self, **query: Any) -> AsyncGenerator[dict[str, Any], None]:
        """The messages of the live feed, the first one included, until the gateway ends it."""
        from websockets.asyncio.client import connect, unix_connect
        from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

        text = urlencode(_params(query), doseq=True)
        url = str(self._http.base_url).rstrip("/").replace("http", "ws", 1) + f"/ws?{text}"
        options: dict[str, Any] = {
            "max_size": MAX_MESSAGE,
            "open_timeout": QUICK_SECONDS,
            "close_timeout": CLOSE_SECONDS,
            "proxy": None,
            "additional_headers": self._headers,
        }
        try:
            async with (
                unix_connect(str(self._socket), url, **options) if self._socket else connect(url, **options) as feed
            ):
                async for message in feed:
                    yield json.loads(message)
        except ConnectionClosed as end:
            code, reason = (end.rcvd.code, end.rcvd.reason) if end.rcvd else (1006, "the connection broke")
            if code == REFUSED + HistoryChanged.status:
                raise GatewayRefusal(problem(HistoryChanged(reason))) from None
            if code >= REFUSED:
                refusal = {"detail": reason, "status": code - REFUSED, "code": HoldfastError.code}
                raise GatewayRefusal(refusal) from None
            raise StoreUnavailable(f"the feed ended: {reason or code}") from None
        except InvalidStatus as refused:
            _refuse(refused.response.status_code, bytes(refused.response.body or b""))
            raise StoreUnavailable(f"the gateway at {self.name} has no live feed") from None
        except (WebSocketException, OSError) as error:
            raise StoreUnavailable(f"the gateway at {self.name} does not answer: {error}") from None
        raise StoreUnavailable("the feed ended: the gateway stops")

    @contextlib.contextmanager
    def _said(self) -> Any:
        import httpx2

        try:
            yield
        except httpx2.HTTPError as error:
            text = str(error) or type(error).__name__
            raise StoreUnavailable(
                f"the gateway at {self.name} does not answer: {text}",
                hint="see whether it runs, and whether this is its URL",
            ) from error


@contextlib.asynccontextmanager
async def serving(
    where: Location, *, writes: bool = False, creates: bool = False, in_haste: bool = False
) -> AsyncIterator[GatewayClient]:
    """The service that has the sessions; `writes` if the command changes anything, `creates` if it makes a store.

    `in_haste` leaves the chores of a store to whoever has it next: a command that brings much needs the processor.
    """
    if where.url is not None:
        async with _client(where.url, where.url, tenant=where.tenant, token=_own_token()) as service:
            yield service
        return
    path = sqlite_path(where.store_url)
    if path is None:
        async with _own(where, None, writes=writes, in_haste=in_haste) as service:
            yield service
        return
    if not path.exists() and not creates:
        raise NotFound(
            f"there is no store at {path}", hint="name the folder with --data, or a gateway with --url", path=str(path)
        )
    try:
        with contextlib.ExitStack() as stack:
            if writes:
                lock = await _patient(lambda: stack.enter_context(StoreLock(lock_path(path))))
                lock.say({"pid": os.getpid(), "command": True})
                claim = lock.claim()
            else:
                claim = await _patient(lambda: unheld(lock_path(path)))
            async with _own(where, claim, writes=writes, in_haste=in_haste) as service:
                yield service
    except StoreInUse as held:
        url = held.details.get("url")
        if url is None or "lock" not in held.details:
            raise
        token = _own_token() or holder_of(Path(held.details["lock"])).get("token")
        async with _client(url, url, tenant=where.tenant, token=token) as service:
            yield service


async def _patient(take: Callable[[], Taken]) -> Taken:
    """The store's lock, or a look at it. Who has only just taken it gets time to say who it is."""
    last = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return take()
        except StoreInUse as held:
            if "pid" in held.details or time.monotonic() > last:
                raise
        await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def _own(where: Location, claim: Claim | None, *, writes: bool, in_haste: bool) -> AsyncIterator[GatewayClient]:
    """This process as the gateway, for itself alone."""
    from holdfast.cli.embedded_gateway import private_folder, serving_on
    from holdfast.store import DEFAULT_TENANT, StoreTuning, open_store

    tenant = DEFAULT_TENANT if where.tenant is None else where.tenant
    tuning = StoreTuning(idle_seconds=LONG_PAUSE_SECONDS) if in_haste else StoreTuning()
    async with await open_store(
        where.store_url, tenant=tenant, read_only=not writes, claim=claim, tuning=tuning
    ) as store:
        if writes and store.engine.name == "sqlite":
            await store.declare_all_dead()
        with private_folder() as folder:
            socket = folder / "socket"
            async with (
                serving_on(store, socket, where.data if where.data.is_dir() else None),
                _client("http://localhost", store.engine.url, socket, store=store) as own,
            ):
                yield own


@contextlib.asynccontextmanager
async def _client(
    url: str,
    name: str,
    socket: Path | None = None,
    *,
    tenant: str | None = None,
    token: str | None = None,
    store: "Store | None" = None,
) -> AsyncIterator[GatewayClient]:
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError):
        parsed = httpx2.URL()
    if parsed.scheme not in {"http", "https"} or not parsed.host or not 0 < (parsed.port or 1) <= LAST_PORT:
        raise InvalidInput(f"{url!r:.200} is not a gateway's URL", hint="for example http://127.0.0.1:9000")
    # Certificates, which take long to load, are for those who encrypt.
    transport = httpx2.AsyncHTTPTransport(uds=str(socket) if socket else None, verify=parsed.scheme == "https")
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if tenant is not None:
        headers[TENANT] = check_tenant(tenant)
    async with httpx2.AsyncClient(
        base_url=url, transport=transport, timeout=QUICK_SECONDS, trust_env=False, headers=headers
    ) as http:
        yield GatewayClient(http, name, socket, store)


def _own_token() -> str | None:
    """The token in the environment, if there is one; InvalidInput if it is none."""
    text = os.environ.get("HOLDFAST_TOKEN", "").strip()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidInput("HOLDFAST_TOKEN is not a token", hint="it is what `holdfast token create` printed")
    return text or None


def at(path: str, session_id: str) -> str:
    """A path with a session's id in its braces; InvalidInput if it is none."""
    return path.format(check_session_id(session_id))


def _params(query: dict[str, Any]) -> dict[str, list[str]]:
    found = {name.rstrip("_"): value if isinstance(value, (list, tuple)) else [value] for name, value in query.items()}
    return {name: [as_text(value) for value in values if value is not None] for name, values in found.items()}


def as_text(value: Any) -> str:
    """The value as it is sent; InvalidInput if it is no text."""
    try:
        return str(value).encode().decode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{value!r:.80} is not text", hint="write it in UTF-8") from None


def _refuse(status: int, content: bytes) -> None:
    if status < 400:
        return
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    ours = isinstance(found, dict) and isinstance(found.get("code"), str) and found.get("status") == status
    if not ours:
        detail = found.get("detail") if isinstance(found, dict) else None
        said = f"HTTP {status}: {detail:.200}" if isinstance(detail, str) and detail else f"HTTP {status}"
        found = {"detail": said, "status": status, "code": HoldfastError.code}
    raise GatewayRefusal(found)


def run(command: Any, *, again_seconds: float = AGAIN_SECONDS) -> Any:
    """Run a command's coroutine; Ctrl-C and SIGTERM end it quietly, and what it has begun is put away."""
    return asyncio.run(_until_stopped(command, again_seconds))


async def _until_stopped(command: Any, again_seconds: float) -> Any:
    """The command's result; SystemExit once it has put away what it had begun, if a signal ends it."""
    working = asyncio.ensure_future(command)
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _stop, stopped, number)
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Again and again: libraries have been seen to swallow one cancel.
        while not working.done():
            working.cancel()
            await asyncio.wait({working}, timeout=again_seconds)
    if stopped.done() and working.cancelled():
        raise SystemExit(128 + stopped.result())
    return working.result()


def _stop(stopped: "asyncio.Future[int]", number: int) -> None:
    if not stopped.done():
        stopped.set_result(number)
