"""The service as the agent sees it: something that acknowledges, refuses, or is to be asked again.

Only an answer that a session service would give is believed. An acknowledgement has the member that its entry asks for;
a refusal is a problem of Holdfast's about the entry itself. All else, whoever says it, is no reason to give an entry
up: the entry waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from holdfast.client.entry import SpoolEntry
from holdfast.client.errors import ServiceAway, ServiceRefused
from holdfast.client.settings import Settings
from holdfast.core import strict_json
from holdfast.core.errors import InvalidJson, NotFound, SessionGone
from holdfast.core.retry import asked_pause

if TYPE_CHECKING:
    import httpx2

PROBLEM = "urn:holdfast:problem:"
FINAL = frozenset({400, 404, 409, 410, 413, 422})
"""Refusals that are about the entry. Not among them: who we are (401, 403), where we ask (405, 421), when (429)."""
NOT_FINAL = frozenset({"no_route", "session_arriving"})
TOO_LARGE = 413
LONGEST_WAIT = 300.0


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The service has it."""


@dataclass(frozen=True, slots=True)
class ServiceRefusal:
    """The service will never take it."""

    problem: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Not now: `wait` if the service said how long, `smaller` if fewer entries at once may help."""

    reason: str
    wait: float | None = None
    smaller: bool = False


class Service:
    """A session service at an address.

    The thread that delivers has a connection that is kept. Every other question has one of its own: it may be broken
    off anywhere, or be asked by a signal handler in the midst of another.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http: httpx2.Client | None = None

    def send(self, entries: Sequence[SpoolEntry]) -> Acknowledgement | ServiceRefusal | RetryLater:
        """Send one entry, or several that join, in one request; for the thread that delivers."""
        if self._http is None:
            self._http = self._connect()
        return self._send(self._http, entries)

    def get(self, path: str, timeout: float, **query: int) -> dict[str, Any]:
        """What is at a path; ServiceAway, NotFound, SessionGone or ServiceRefused."""
        import httpx2

        try:
            with self._connect() as http:
                answer = http.get(path, params=query, timeout=timeout)
        except httpx2.HTTPError as error:
            raise ServiceAway(self._unanswered(error)) from error
        said = _object(answer.content)
        problem = _problem(said)
        if problem is not None:
            kind = {404: NotFound, 410: SessionGone}.get(answer.status_code, ServiceRefused)
            raise kind(str(said.get("detail")), hint=said.get("hint"), problem=problem)
        if answer.status_code != 200 or not said:
            raise ServiceAway(self._strange(answer))
        return said

    def why_not(self, session_id: str) -> str | None:
        """Why the service would not take an entry of the session now; None if it would.

        It is sent a batch without a line, which it refuses for just that, after it has looked at who we are.
        """
        empty = SpoolEntry("", "POST", f"/api/actions/{session_id}/batch?create=false", "", Raw(b""), joins=True)
        with self._connect() as http:
            found = self._send(http, [empty])
        return None if isinstance(found, ServiceRefusal) and found.problem["status"] == 400 else _reason(found)

    def close(self) -> None:
        """Close the connection that is kept."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def _connect(self) -> "httpx2.Client":
        import httpx2

        settings = self._settings
        return httpx2.Client(
            base_url=settings.url,
            headers={"Authorization": f"Bearer {settings.token}"} if settings.token is not None else {},
            timeout=settings.timeout,
            trust_env=False,
            verify=settings.url.startswith("https:"),  # without TLS there is nothing to load certificates for
        )

    def _send(
        self, http: "httpx2.Client", entries: Sequence[SpoolEntry]
    ) -> Acknowledgement | ServiceRefusal | RetryLater:
        import httpx2

        first = entries[0]
        headers = {"Content-Type": "application/x-ndjson"} if first.joins else {"Idempotency-Key": first.key}
        content = b"\n".join(bytes(entry.body) for entry in entries)
        try:
            answer = http.request(first.method, first.path, content=content, headers=headers)
        except httpx2.TimeoutException as error:
            return RetryLater(self._unanswered(error), smaller=True)
        except httpx2.HTTPError as error:
            return RetryLater(self._unanswered(error))
        return self._verdict(answer, entries)

    def _verdict(
        self, answer: "httpx2.Response", entries: Sequence[SpoolEntry]
    ) -> Acknowledgement | ServiceRefusal | RetryLater:
        said = _object(answer.content)
        if answer.status_code in {200, 201}:
            proof = said.get(entries[0].proof)
            whole = isinstance(proof, list) and len(proof) == len(entries) if entries[0].joins else proof is not None
            return Acknowledgement() if whole else RetryLater(self._strange(answer))
        problem = _problem(said)
        if answer.status_code == TOO_LARGE:  # also from a proxy in between, which will not change its mind
            return ServiceRefusal(
                problem or {"status": TOO_LARGE, "detail": "the body is too large", "code": "too_large"}
            )
        if problem is None:
            return RetryLater(self._strange(answer), _wait(answer))
        if answer.status_code in FINAL and problem["code"] not in NOT_FINAL:
            return ServiceRefusal(problem)
        return RetryLater(f"{self._settings.url} answered {answer.status_code}: {said.get('detail')}", _wait(answer))

    def _unanswered(self, error: Exception) -> str:
        return f"{self._settings.url} does not answer: {str(error) or type(error).__name__}"

    def _strange(self, answer: "httpx2.Response") -> str:
        return f"{self._settings.url} answered {answer.status_code}, and not as a session service does"


def _reason(found: Acknowledgement | ServiceRefusal | RetryLater) -> str:
    if isinstance(found, RetryLater):
        return found.reason
    return str(found.problem.get("detail")) if isinstance(found, ServiceRefusal) else "the service takes anything"


def _object(content: bytes) -> dict[str, Any]:
    """The JSON object that an answer is; an empty one if it is none."""
    try:
        found = strict_json.parse(content)
    except InvalidJson:
        return {}
    return found if isinstance(found, dict) else {}


def _problem(said: dict[str, Any]) -> dict[str, Any] | None:
    """What is said if it is one of Holdfast's problems."""
    ours = str(said.get("type", "")).startswith(PROBLEM) and "code" in said and "status" in said
    return said if ours else None


def _wait(answer: "httpx2.Response") -> float | None:
    """The seconds that Retry-After asks for, if that is not too long."""
    seconds = asked_pause(answer.headers.get("Retry-After"))
    return None if seconds is None else min(seconds, LONGEST_WAIT)
