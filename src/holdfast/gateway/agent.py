"""The gateway's own agent: the bundled runtime behind A2A, answering with a model."""

import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from holdfast import __version__
from holdfast.core.errors import InvalidInput
from holdfast.gateway.access.auth import caller_of, lacks, store_of
from holdfast.gateway.access.scopes import needed_for
from holdfast.gateway.folder import conversation_folder
from holdfast.http.answers import problem_answer
from holdfast.store import Store

if TYPE_CHECKING:
    from holdfast.a2a.protocol.card import Form
    from holdfast.a2a.protocol.wire import Operation
    from holdfast.a2a.push.push import PostObserver
    from holdfast.a2a.turns.turns import TurnObserver, Turns
    from holdfast.models import Backend
    from holdfast.runtime.served.conversation_files import ConversationFiles

AGENT = "main"
OPENAI = "openai"
ANTHROPIC = "anthropic"
DEFAULT_MODELS = {OPENAI: "gpt-4o-mini", ANTHROPIC: "claude-haiku-4-5"}


@dataclass(frozen=True, slots=True)
class Model:
    """Which model answers: the one at a URL, which speaks one of two APIs, or the simulator in this process."""

    url: str | None = None
    name: str = DEFAULT_MODELS[OPENAI]
    api: str = OPENAI

    def __post_init__(self) -> None:
        if self.url is not None and not _is_http(self.url):
            raise InvalidInput(f"{self.url!r:.200} is not a model's URL", hint="for example http://127.0.0.1:8080/v1")

    @property
    def described(self) -> str:
        """The model, in words for people."""
        return f"{self.name} at {self.url}" if self.url else "the simulator in this process (no real model)"

    def backend(self) -> "Backend":
        """The model itself; its key is in the environment, as its clients have it."""
        from holdfast.models import AnthropicBackend, OpenAIBackend, SimulatorBackend

        if self.url is None:
            return SimulatorBackend()
        if self.api == ANTHROPIC:
            return AnthropicBackend(self.url, self.name, api_key=os.environ.get("ANTHROPIC_API_KEY"))
        return OpenAIBackend(self.url, self.name, api_key=os.environ.get("OPENAI_API_KEY"))


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


class Stoppable(Protocol):
    """What has turns that must come to their end before the gateway does."""

    async def stop(self, grace_seconds: float) -> None:
        """End the turns under way; what does not end in time is left for the next start."""
        ...


class AgentServer(Stoppable, Protocol):
    """What the gateway needs of an agent's server."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Where it is served."""
        ...

    def turns_of(self, request: Request) -> "Turns":
        """The turns of the tenant that asks."""
        ...


def refuse(request: Request, operation: "Operation") -> Response | None:
    """The answer to a caller whose token is not for what it asks of the agent; None to one whose token is."""
    caller, scopes = caller_of(request), needed_for(operation)
    if any(caller.may(scope) for scope in scopes):
        return None
    return problem_answer(lacks(caller, scopes[-1]))


@asynccontextmanager
async def agent_files(store: Store, data: Path, *, used: bool) -> "AsyncIterator[ConversationFiles | None]":
    """The files of the agent's conversations, in step with the store until the end; None if they are not `used`, and
    then they are kept in step if there are some from an earlier time."""
    root = conversation_folder(data)
    if not used and not root.exists():
        yield None
        return
    from holdfast.runtime.served.conversation_files import ConversationFiles
    from holdfast.runtime.served.file_upkeep import upkeep

    files = ConversationFiles(root)
    async with upkeep(store, files):
        yield files if used else None


async def start_agent(
    store: Store,
    model: Model,
    *,
    workspace: Path,
    url: str | None,
    alone: bool,
    card: "Form" = "1.0",
    asks_for_token: bool = False,
    push_hosts: Iterable[str] = (),
    peers: Iterable[str] = (),
    tools: Iterable[str] = (),
    compact_at: int | None = None,
    files: "ConversationFiles | None" = None,
    until_refused: Callable[[Request], Coroutine[Any, Any, None]] | None = None,
    rested: "TurnObserver | None" = None,
    posted: "PostObserver | None" = None,
) -> AgentServer:
    """The bundled agent, started, at this URL or by whichever name clients use; `alone` says that no other process
    serves this store, `card` and `asks_for_token` how the agent card describes it, `push_hosts` where news may be
    posted though the addresses are not public, `peers` which other agents it may ask, by the beginnings of their URLs;
    `tools` which it has beside its own; `compact_at` how many tokens a prompt may have before it is compacted; `files`
    where its conversations are kept, if not in the store alone; `until_refused` returns when a caller's token is good
    no more; `rested` hears of every turn that is over, and `posted` of every post.
    """
    from holdfast.a2a import A2AServer
    from holdfast.a2a.push.url_guard import UrlGuard
    from holdfast.runtime import Peers, bundled_agent
    from holdfast.runtime.compaction import THRESHOLD

    server = A2AServer(
        store,
        bundled_agent(
            model.backend(),
            name=AGENT,
            peers=Peers(tuple(peers)),
            compact_over=compact_at or THRESHOLD,
            more_tools=tuple(tools),
            files=files,
        ),
        agent=AGENT,
        name="Holdfast",
        version=__version__,
        workspace=workspace,
        url=url,
        card=card,
        asks_for_token=asks_for_token,
        asks_for_approval=True,
        guard=UrlGuard(push_hosts),
        resume=True,
        reply_seconds=0,
        store_of=store_of,
        caller_of=lambda request: caller_of(request).token_id,
        refuse=refuse,
        until_refused=until_refused,
        rested=rested,
        posted=posted,
    )
    await server.start(alone=alone)
    return server
