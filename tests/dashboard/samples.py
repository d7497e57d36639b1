"""What a gateway has after some weeks of work, for the pages to show: put there over its API, like anybody's."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

CLAIMS = {
    "name": "it remembers what it was told",
    "crash": "a kill in the middle of a turn loses nothing that was acknowledged",
    "restart": "a conversation goes on after a restart",
    "duplicate": "a message that is delivered twice is answered once",
    "approval": "nothing is done before the person has agreed",
}


def outcome(name: str, verdict: str = "proven", **more: Any) -> dict[str, Any]:
    """One claim of a run."""
    return {"name": name, "claim": CLAIMS.get(name, "it holds"), "verdict": verdict, "reason": "as claimed", **more}


def summary(verdicts: dict[str, str], *, at: datetime, target: str = "bundled", **more: Any) -> dict[str, Any]:
    """A run with these verdicts; what is disproven has grounds, a remedy and a line that shows it."""
    broken = "disproven" in verdicts.values()
    grounds = {
        "reason": "the second answer does not know the name",
        "expected": "an answer with “Ada”",
        "got": "I do not know your name.",
        "remedy": "Read the conversation by its context, not by its task.",
        "see": "docs/proofs.md#crash",
        "curl": 'curl -s http://127.0.0.1:9000/a2a -d \'{"jsonrpc":"2.0","method":"SendMessage"}\'',
        "seconds": 4.2,
    }
    proofs = [
        outcome(name, verdict, **(grounds if verdict == "disproven" else {"seconds": 0.8}))
        for name, verdict in verdicts.items()
    ]
    layers = [
        {"name": "connection", "state": "ok", "expected": "an answer", "got": "200 in 4 ms", "curl": ""},
        {
            "name": "memory",
            "state": "broken",
            "expected": "both turns",
            "got": "one turn",
            "curl": "curl -s http://127.0.0.1:9000/agent-card",
        },
    ]
    return {
        "format": 1,
        "verdict": "disproven" if broken else "proven",
        "seed": 7,
        "wire": "1.0",
        "target": {"name": target, "command": "holdfast serve", "endpoint": "http://127.0.0.1:9000/a2a"},
        "started_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "seconds": 12.5,
        "prerequisites": [outcome("turn")],
        "proofs": proofs,
        "left_out": {"upgrade": "no next version was given"},
        "layers": layers if broken else [],
        "versions": {"holdfast": "1.0", "python": "3.11"},
        "evidence": ".artifacts/prove/latest",
    } | more


def post_runs(client: httpx2.Client, count: int = 12, *, target: str = "bundled") -> list[str]:
    """Runs of one target, oldest first, a day apart: `crash` goes to and fro, `duplicate` is mended once."""
    now = datetime.now(UTC)
    found = []
    for number in range(count):
        verdicts = dict.fromkeys(CLAIMS, "proven")
        if number % 3 == 1:
            verdicts["crash"] = "disproven"
        if number < count // 2:
            verdicts["duplicate"] = "disproven"
        if number == 2:
            verdicts["approval"] = "inconclusive"
        run = summary(verdicts, at=now - timedelta(days=count - number, minutes=number), target=target)
        found.append(told(client.post("/api/proofs", json=run))["proofId"])
    return found


def ask(client: httpx2.Client, name: str | None = None) -> dict[str, Any]:
    """A task of the agent that waits for a person."""
    file = f"{name or uuid.uuid4().hex[:8]}.txt"
    key = f"agent:main:ask:{uuid.uuid4()}"
    text = f"Ask me for my approval, and then append the line a to the file {file}."
    said = told(client.post(f"/api/chat/{key}", json={"text": text}))
    assert said["status"] == "input-required"
    found: dict[str, Any] = told(client.get(f"/api/tasks/{said['taskId']}"))
    return found


def remember(client: httpx2.Client, namespace: str, key: str, value: Any, source: str | None = "agent") -> None:
    """A memory."""
    told(client.put("/api/memories", json={"namespace": namespace, "key": key, "value": value, "source": source}))


def sessions(client: httpx2.Client, names: Sequence[str], events: int = 3) -> None:
    """Sessions with some events each."""
    for name in names:
        lines = [{"type": "note", "details": {"text": f"step {number} of {name}"}} for number in range(events)]
        told(client.post(f"/api/actions/{name}/batch", json=lines))


def told(answer: httpx2.Response) -> Any:
    """The body of an answer that must be good."""
    assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text[:300]}"
    return answer.json()
