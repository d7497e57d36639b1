"""The turns of each tenant that comes: tenants share nothing, workspaces included.

What one agent's turns have in common in this process, whichever tenant they are of, is in `AgentSettings`.
"""

from dataclasses import dataclass
from pathlib import Path

from holdfast.a2a.files.files import Files
from holdfast.a2a.handler import Handler
from holdfast.a2a.push.push import PostObserver, Push, TaskPushConfigs
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.a2a.turns.runner import TurnRunner
from holdfast.a2a.turns.timing import TurnTiming
from holdfast.a2a.turns.turn_queue import TurnQueue
from holdfast.a2a.turns.turns import TurnObserver, Turns
from holdfast.core import IdSource
from holdfast.store import Store


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """One agent in one process: `owner` is that process as the store knows it. `resume` says that a turn that a process
    died in may be begun again, `reply_seconds` how long a stream waits for a plain reply before it shows a task."""

    handler: Handler
    agent: str
    workspace: Path
    resume: bool
    reply_seconds: float
    guard: UrlGuard
    owner: str
    ids: IdSource
    timing: TurnTiming
    rested: TurnObserver | None = None
    posted: PostObserver | None = None


class TenantTurns:
    """Makes the turns of a tenant when it first comes, and keeps them; the first tenant has the workspace itself."""

    def __init__(self, store: Store, queue: TurnQueue, settings: AgentSettings) -> None:
        self._queue = queue
        self._settings = settings
        self._turns = {store.tenant: self._made(store, settings.workspace)}

    def of(self, store: Store) -> Turns:
        """The turns of a tenant, by its view of the store."""
        found = self._turns.get(store.tenant)
        if found is None:
            shared = self._settings.workspace
            workspace = shared.with_name(f"{shared.name}-{store.tenant}")
            workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self._turns[store.tenant] = self._made(store, workspace)
        return found

    def all(self) -> list[Turns]:
        """The turns of every tenant that has come."""
        return list(self._turns.values())

    def _made(self, store: Store, workspace: Path) -> Turns:
        settings = self._settings
        files = Files(store, workspace)
        runner = TurnRunner(
            store,
            settings.handler,
            self._queue,
            owner=settings.owner,
            workspace=workspace,
            files=files,
            resume=settings.resume,
            ids=settings.ids,
            timing=settings.timing,
        )
        return Turns(
            store,
            runner,
            files=files,
            push=Push(store, settings.guard, files=files, owner=settings.owner, posted=settings.posted),
            configs=TaskPushConfigs(store, settings.guard),
            agent=settings.agent,
            owner=settings.owner,
            reply_seconds=settings.reply_seconds,
            post_seconds=settings.timing.post_seconds,
            ids=settings.ids,
            rested=settings.rested,
        )
