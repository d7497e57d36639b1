"""The state of a whole service at a glance, on the wire."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from holdfast.gateway.wire.queries import TokenCounts
from holdfast.gateway.wire.types import Time
from holdfast.gateway.wire.upkeep import ServerView, TimerView

CostMicros = Annotated[int, Meta(description="millionths of the currency of the prices")]


class OverviewDay(Struct, rename="camel"):
    """One day: sessions that began, events, tokens, and what they cost; every day of the time that was asked for."""

    day: str
    sessions: int
    events: int
    tokens: TokenCounts
    cost_micros: CostMicros


class ModelUse(Struct, rename="camel"):
    """What one model was used for; `priced` says whether its cost is known."""

    model: str
    tokens: TokenCounts
    cost_micros: CostMicros
    priced: bool


class Percentiles(Struct, rename="camel"):
    """How many there were, and within how many milliseconds so many of a hundred were done; null if there was none."""

    count: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class RouteTimes(Struct, rename="camel"):
    """The requests of one route; failures are answers of 500 and above."""

    method: str
    route: str
    count: int
    failures: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


class CodeCount(Struct):
    """How often a request was answered with a problem of this code, or with this status if it had none."""

    code: str
    count: int


class RequestsView(Struct, rename="camel"):
    """What this gateway has answered since it started, the busiest routes first, and how long turns took."""

    since: Time
    by_route: list[RouteTimes]
    turns: Percentiles
    failures: list[CodeCount]


class StoreFigures(Struct, rename="camel"):
    """The store: sessions, events and archives are the tenant's; sizes are for operators, `freeBytes` of the disk."""

    engine: str
    size_bytes: int | None
    wal_size_bytes: int | None
    free_bytes: int | None
    sessions: int
    events: int
    archives: int


class LastBackupView(Struct, rename="camel"):
    """The newest backup that this gateway knows of: whether the copy was read again, and how many of its sessions were
    damaged. A gateway that has started since knows only when."""

    last_at: Time | None
    path: str | None
    checked: bool | None
    damaged: int


class OverviewTrouble(Struct, rename="camel"):
    """Something that somebody should look at: what it is, a command or a step that helps, the page about it, and the
    session to begin with."""

    severity: Literal["bad", "warning"]
    what: str
    help: str
    docs: str | None
    session_id: str | None = None


class Overview(Struct, rename="camel"):
    """A service at a glance, at most some seconds old. What is of the whole gateway is told to operators, and null or
    empty for others."""

    at: Time
    days: list[OverviewDay]
    models: list[ModelUse]
    currency: str | None
    requests: RequestsView | None
    store: StoreFigures
    gateways: list[ServerView]
    timers: list[TimerView]
    backups: LastBackupView | None
    waiting_tasks: int
    interrupted_sessions: int
    unresolved_effects: int
    troubles: list[OverviewTrouble]
