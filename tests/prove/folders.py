"""Evidence folders made by hand, for the tests of reports: a small run, with whatever a hostile target may say."""

import json
from pathlib import Path
from typing import Any

SCRIPT = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
HOSTILE = f'"><b onclick="x"></pre></details>{SCRIPT}\u202e\x1b[2J & "quotes" \' ]]> `` ``` | ::error::x %0A'


def outcome(name: str, verdict: str = "proven", **more: Any) -> dict[str, Any]:
    """One proof's part of a summary."""
    rest = dict.fromkeys(("expected", "got", "curl", "hint"), "")
    return {"name": name, "claim": "it holds", "verdict": verdict, "fault": False, "reason": "so", "seconds": 0.5} | (
        rest | more
    )


def summary(*proofs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A summary with these proofs."""
    wrong = any(proof["verdict"] == "disproven" for proof in proofs)
    return {
        "format": 1,
        "verdict": "disproven" if wrong else "proven",
        "exit_code": 1 if wrong else 0,
        "seed": 7,
        "wire": "1.0",
        "target": {"name": "a target", "command": "serve", "endpoint": "http://127.0.0.1:1/a2a"},
        "started_at": "2026-01-02T03:04:05.678Z",
        "seconds": 2.0,
        "prerequisites": [outcome("turn")],
        "proofs": list(proofs),
        "left_out": {},
        "arguments": {"only": None, "as_json": True},
        "versions": {"holdfast": "0", "python": "3"},
        "evidence": "/somewhere",
        "logs": ["target-1.log"],
    } | more


def event(proof: str, step: str, kind: str, at: float = 0.1, **details: Any) -> dict[str, Any]:
    """One line of events.jsonl."""
    return {"n": 1, "at": at, "proof": proof, "step": step, "event": kind, **details}


def exchange(proof: str, step: str, said: str, answered: str) -> list[dict[str, Any]]:
    """A turn and its answer, as the proof records them."""
    message = {"messageId": "m", "parts": [{"text": said}]}
    return [
        event(
            proof, step, "request", url="http://h/a2a", body={"method": "SendMessage", "params": {"message": message}}
        ),
        event(
            proof,
            step,
            "answer",
            status=200,
            seconds=0.01,
            body={"result": {"message": {"parts": [{"text": answered}]}}},
        ),
    ]


def write(folder: Path, document: dict[str, Any], events: list[dict[str, Any]]) -> Path:
    """Leave behind what a run leaves behind."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(document))
    (folder / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    return folder


def hostile(folder: Path) -> Path:
    """A run whose target says nothing but markup, in every place that it can reach."""
    crash = outcome("crash", "disproven", reason=HOSTILE, expected=HOSTILE, got=HOSTILE, curl=HOSTILE, hint=HOSTILE)
    layers = [{"name": "card", "state": "broken", "expected": HOSTILE, "got": HOSTILE, "curl": HOSTILE}]
    document = summary(
        crash,
        target={"name": HOSTILE, "command": HOSTILE, "endpoint": HOSTILE},
        layers=layers,
        left_out={"peer": HOSTILE},
        arguments={"command": HOSTILE},
        versions={"holdfast": HOSTILE},
    )
    power = [
        event("crash", "kill", "kill", signal="SIGKILL", pid=1),
        event("crash", "kill", "killed", pid=1, trouble=HOSTILE),
    ]
    news = event("crash", HOSTILE, "news", 1.0, status=200, body={"result": {"status": {"state": HOSTILE}}})
    odd = event("crash", "odd", HOSTILE, 1.9) | {"<script>": HOSTILE, "body": HOSTILE}
    return write(folder, document, [*exchange("crash", "tell", HOSTILE, HOSTILE), *power, news, odd])
