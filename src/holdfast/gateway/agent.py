"""The gateway's own agent: the bundled runtime behind A2A, answering with a model."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from starlette.routing import BaseRoute

from holdfast import __version__
from holdfast.gateway.access.auth import store_of
from holdfast.store import Store

AGENT = "main"
DEFAULT_MODEL = "gpt-4o-mini"


@dataclass(frozen=True, slots=True)
class Model:
    """Which model answers: the one at a URL, or the simulator in this process."""

    url: str | None = None
    name: str = DEFAULT_MODEL

    @property
    def described(self) -> str:
        """For people."""
        return f"{self.name} at {self.url}" if self.url else "the simulator in this process (no real model)"


class Agent(Protocol):
    """What the gateway needs of an agent's server."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Where it is served."""
        ...

    async def stop(self, grace_seconds: float) -> None:
        """End the turns under way; what does not end in time is left for the next start."""
        ...


async def start_agent(store: Store, model: Model, *, workspace: Path, url: str | None, alone: bool) -> Agent:
    """The bundled agent, started, at this URL or by whichever name clients use; `alone` says that no other process
    serves this store."""
    from holdfast.a2a import A2AServer
    from holdfast.models import OpenAIBackend, SimulatorBackend
    from holdfast.runtime import bundled_agent

    backend = (
        OpenAIBackend(model.url, model.name, api_key=os.environ.get("OPENAI_API_KEY"))
        if model.url
        else SimulatorBackend()
    )
    server = A2AServer(
        store,
        bundled_agent(backend),
        agent=AGENT,
        name="Holdfast",
        version=__version__,
        workspace=workspace,
        url=url,
        store_of=store_of,
    )
    await server.start(alone=alone)
    return server
