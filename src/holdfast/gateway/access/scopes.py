"""Who may do what: a caller, its scopes, and the scope that each route needs.

    read      see the tenant's sessions, follow them
    write     change them
    admin     read, write and proofs, and what is done to many sessions at once: export, import, retention, purge, audit
    metrics   /metrics, which says nothing of any tenant
    proofs    post runs of proofs, and nothing else
    operator  all of that for every tenant, and the gateway itself: backups, logs, tokens

A route that is not named here needs read for GET and write for anything else. What a call to the agent needs depends on
its method, which is in its body: who may read or write gets as far as the agent, and is judged there (`needed_for`).
So it is with a call over MCP: what its tool asks of the routes is judged by them.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from holdfast.a2a.protocol.wire import READING, Operation
from holdfast.a2a.server import PATHS as AGENT
from holdfast.core.ids import check_tenant
from holdfast.gateway.errors import Forbidden, NoRoute
from holdfast.gateway.mcp import PATH as MCP
from holdfast.store.operators import ADMIN, METRICS, OPERATOR, PROOFS, READ, SCOPES, WRITE

OPEN = frozenset({"/", "/health", "/readyz", "/openapi.json", "/docs", "/agent-card", "/.well-known/agent-card.json"})
"""Served to anybody who reaches the gateway: what it is and whether it lives, nothing of what it keeps."""

PAGE_FILES = "/dashboard/assets/"
"""What the dashboard's page is made of, which says nothing of what is kept either."""
ANY = "any"
"""What every good token has."""

SPECIAL = {
    "/api/caller": ANY,
    "/metrics": METRICS,
    "/api/status": ADMIN,
    "/api/overview": ADMIN,
    "/api/export": ADMIN,
    "/api/import": ADMIN,
    "/api/verify": ADMIN,
    "/api/retention": ADMIN,
    "/api/archives": ADMIN,
    "/api/archives/purge": ADMIN,
    "/api/audit": ADMIN,
    "/api/backup": OPERATOR,
    "/api/logs": OPERATOR,
    "/api/tokens": OPERATOR,
}
SESSIONS = "/api/sessions/"
ARCHIVES = "/api/archives/"
POSTED_PROOFS = "/api/proofs"
TASKS = "/api/tasks/"
FORGET = "/api/memories/forget"
OF_AN_ADMIN = (["hold"], ["interrupt"])
"""What is done to one session, and needs more than write."""
JUDGED_BY_BODY = frozenset({*AGENT, MCP})
"""Where what a call needs is in its body."""
IMPLIED = {OPERATOR: frozenset(SCOPES), ADMIN: frozenset({ADMIN, READ, WRITE, PROOFS})}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request; without a token it is whoever is on this machine."""

    name: str
    tenant: str
    scopes: frozenset[str]
    token_id: str | None = None

    def may(self, scope: str) -> bool:
        """Whether the caller has the scope, or one that includes it."""
        return scope in allowed(self.scopes)

    def acting_for(self, tenant: str | None) -> "Caller":
        """The same caller at work for the tenant that it named; Forbidden if that is not its own to choose."""
        if tenant is None or tenant == self.tenant:
            return self
        if not self.may(OPERATOR):
            raise Forbidden("the token is for another tenant", needs=OPERATOR)
        return replace(self, tenant=check_tenant(tenant))


@lru_cache(maxsize=1024)
def allowed(scopes: frozenset[str]) -> frozenset[str]:
    """These scopes and all that they include."""
    return scopes.union(*(IMPLIED.get(each, ()) for each in scopes))


def needed(method: str, path: str) -> str | None:
    """The scope that a request needs; None if anybody may send it.

    The patterns of routes end in `$`, which also matches before a last line end: a path with one would lead to a
    route whose name it does not have here, so it leads nowhere.
    """
    if path.endswith("\n"):
        raise NoRoute(f"there is nothing at {path!r:.200}")
    if (path in OPEN or path.startswith(PAGE_FILES)) and method in {"GET", "HEAD"}:
        return None
    if path in SPECIAL:
        return SPECIAL[path]
    if path == POSTED_PROOFS and method not in {"GET", "HEAD"}:
        return PROOFS
    if path.startswith("/api/tokens/"):
        return OPERATOR
    if method in {"GET", "HEAD"}:
        return READ
    return ADMIN if path.startswith(SESSIONS) and path.split("/")[4:] in OF_AN_ADMIN else WRITE


def is_let_in(caller: Caller, wanted: str, path: str) -> bool:
    """Whether a caller gets as far as a route that needs this scope."""
    return wanted == ANY or caller.may(wanted) or (path in JUDGED_BY_BODY and caller.may(READ))


def needed_for(operation: Operation) -> tuple[str, ...]:
    """The scopes of which a call to the agent needs one: who may write also sees what becomes of it."""
    return (READ, WRITE) if operation in READING else (WRITE,)


def is_audited(method: str, path: str) -> bool:
    """Whether a request is written to the audit log: what needs more than write and changes or takes away, deletions,
    what undoes them, what is forgotten, and what a person answers to a task."""
    if path == MCP:
        return False  # what a tool does is, when it asks for it
    if method == "DELETE" or (method == "POST" and path == FORGET):
        return True
    if method == "POST" and path.startswith(TASKS) and path.endswith("/answer"):
        return True
    if path.startswith(ARCHIVES) and method not in {"GET", "HEAD"}:
        return True
    if path == "/api/export":
        return True
    return method not in {"GET", "HEAD"} and needed(method, path) in {ADMIN, OPERATOR}
