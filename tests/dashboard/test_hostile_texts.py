"""More than three hundred texts that would run, load or break out, in the fields that the pages show: none of them
runs, none is stopped only by the page's policy, and none asks anything of another site.

What agents write, names of files, keys and questions are in `test_hostile_words_of_agents.py`."""

from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard.browsing import Tab, needs_chromium
from tests.dashboard.harmless import look_at_all, watched_tab
from tests.dashboard.hostile_texts import hostile_texts
from tests.dashboard.samples import summary
from tests.dashboard.writing import append, describe, message, ok
from tests.support.eventually import wait_until

pytestmark = [pytest.mark.e2e, needs_chromium]

TEXTS = tuple(hostile_texts())
MANY = 300
"""Of these texts every field takes at least so many; it may refuse some, for a character in them."""


def taken(write: Callable[[str], httpx2.Response]) -> int:
    """Write every text, and say how many were taken; the others are refused by name, never with a crash."""
    count = 0
    for text in TEXTS:
        answer = write(text)
        assert answer.status_code < 500, (text, answer.text)
        count += answer.is_success
    return count


def pieces(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


@pytest.fixture(scope="module")
def hostile(client: httpx2.Client) -> httpx2.Client:
    """A gateway with all of them in what the pages show."""
    assert len(set(TEXTS)) >= MANY
    for number, text in enumerate(TEXTS):
        describe(client, f"list-{number:03}", metadata={"title": text, "note": {text: text}})
    sessions = (f"list-{number:03}" for number in range(len(TEXTS)))  # each its own: a session has 256 tags at most
    assert taken(lambda text: client.post(f"/api/sessions/{next(sessions)}/tags", json={"add": [text[:200]]})) >= MANY
    described = {f"user-{number:03}": text for number, text in enumerate(TEXTS)}
    users = sum(
        client.post("/api/sessions", json={"sessionId": session, "userId": text[:200], "agent": "main"}).is_success
        for session, text in described.items()
    )
    assert users >= MANY
    for piece in pieces(TEXTS, 50):
        append(client, "said", *(message("user", text) for text in piece), *(message("agent", text) for text in piece))
        acted: list[dict[str, Any]] = [{"type": "act", "details": {text: [text, {"error": text}]}} for text in piece]
        append(client, "acted", *acted)
    assert taken(lambda text: client.post("/api/actions/named", json={"type": text[:200], "details": {}})) >= MANY
    assert taken(lambda text: client.post("/api/actions/acted/responses", json={"details": {"text": text}})) == len(
        TEXTS
    )
    assert taken(lambda text: client.post("/api/state/kept/goals", json={"description": text})) >= MANY
    spawned = taken(lambda text: client.post("/api/state/kept/agents", json={"type": text[:200], "task": text}))
    assert spawned >= MANY
    ok(client.patch("/api/state/kept", json={"words": dict.fromkeys(TEXTS, 1), "list": list(TEXTS)}))
    assert taken(lambda text: client.post("/api/sessions/kept/checkpoints", json={"name": text[:200]})) >= MANY

    def remember(text: str) -> httpx2.Response:
        body = {"namespace": "hostile", "key": text[:200], "value": {text: text}, "source": text[:200]}
        return client.put("/api/memories", json=body)

    assert taken(remember) >= MANY
    assert (
        taken(lambda text: client.put("/api/memories", json={"namespace": text[:200], "key": "k", "value": 1})) >= MANY
    )
    for number in range(len(TEXTS)):
        append(client, f"gone-{number}", {"type": "note"})
    gone = (f"gone-{number}" for number in range(len(TEXTS)))
    assert taken(lambda text: client.delete(f"/api/sessions/{next(gone)}", params={"reason": text[:200]})) >= MANY
    named = taken(lambda text: client.post("/api/tokens", json={"name": text[:100], "scopes": ["read"]}))
    assert named >= MANY
    return client


@pytest.fixture
def watched(browser: Browser, gateway_url: str, hostile: httpx2.Client) -> Any:
    with watched_tab(browser, gateway_url) as tab:
        yield tab


def test_in_the_list_of_sessions(watched: Tab) -> None:
    watched.go("sessions")
    expect(watched.page.locator("[data-session]").first).to_be_visible()
    look_at_all(watched)


def test_in_what_users_and_agents_said(watched: Tab) -> None:
    watched.go("sessions/said")
    expect(watched.page.locator("[data-seq]").last).to_be_visible()
    wait_until(lambda: watched.seqs()[-1] == 2 * len(TEXTS) or None)
    look_at_all(watched, -1)
    wait_until(lambda: watched.seqs()[0] == 1 or None)


@pytest.mark.parametrize("session", ["acted", "named", "kept"])
def test_in_actions_and_their_names(watched: Tab, session: str) -> None:
    watched.go(f"sessions/{session}")
    expect(watched.page.locator("[data-seq]").last).to_be_visible()
    look_at_all(watched, -1)
    wait_until(lambda: watched.seqs()[0] == 1 or None)


@pytest.mark.parametrize("panel", ["state", "goals", "agents", "checkpoints", "memory", "details", "files", "search"])
def test_in_what_belongs_to_a_session(watched: Tab, panel: str) -> None:
    watched.go(f"sessions/kept?panel={panel}")
    expect(watched.page.get_by_role("complementary")).to_be_visible()
    expect(watched.page.locator("[data-seq]").last).to_be_visible()
    look_at_all(watched)


def test_in_memories(watched: Tab) -> None:
    for place in ("memory", "memory?namespace=hostile"):
        watched.go(place)
        expect(watched.page.get_by_role("main")).to_be_visible()
        look_at_all(watched)


def test_in_runs_of_proofs(watched: Tab, client: httpx2.Client) -> None:
    from datetime import UTC, datetime

    found = []
    for piece in pieces(TEXTS, 40):
        run = summary(
            {f"{number} {text}"[:200]: "disproven" for number, text in enumerate(piece)}, at=datetime.now(UTC)
        )
        for proof, text in zip(run["proofs"], piece, strict=True):
            proof.update(dict.fromkeys(("claim", "reason", "expected", "got", "remedy", "see", "curl", "hint"), text))
        run["target"] = dict.fromkeys(("name", "command", "endpoint"), piece[0])
        run["layers"] = [
            dict.fromkeys(("name", "expected", "got", "curl"), text) | {"state": "broken"} for text in piece
        ]
        run["left_out"] = {text[:200]: text for text in piece}
        found.append(ok(client.post("/api/proofs", json=run))["proofId"])
    watched.go("proofs")
    expect(watched.page.get_by_role("main")).to_be_visible()
    look_at_all(watched)
    for proof_id in found:
        watched.go(f"proofs/{proof_id}")
        expect(watched.page.get_by_role("main").get_by_text("Where it broke").first).to_be_visible()
        look_at_all(watched)


@pytest.mark.parametrize("tab", ["tokens", "audit", "archives"])
def test_in_administration(watched: Tab, tab: str) -> None:
    watched.go(f"administration?tab={tab}")
    expect(watched.page.get_by_role("main")).to_be_visible()
    look_at_all(watched)
