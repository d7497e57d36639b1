"""Turns over A2A keep the contract of the live proof.

The proof itself speaks the chat route. Here the whole scenario is run on conversations over A2A, on both of its
versions and as a stream: the same rows, identities, history, checkpoints and cleanup, and no file beside the database.
"""

import json
import time
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import httpx2
import pytest
from tests.gateway.process import running
from tests.prove.live.live_prover import legacy_store
from tests.prove.live.live_stage import stage_on

from holdfast.prove.evidence import Evidence
from holdfast.prove.live import proof_rows
from holdfast.prove.live.api import GatewayApi
from holdfast.prove.live.run import perform
from holdfast.prove.live.stage import LiveStage
from holdfast.prove.wire.credentials import NO_CREDENTIALS

PREFIX = "agent:main:a2a:"


class A2aStage(LiveStage):
    """Says what it says over A2A 1.0."""

    method: ClassVar[str] = "SendMessage"
    headers: ClassVar[dict[str, str]] = {"A2A-Version": "1.0"}

    async def say(self, key: str, text: str) -> dict[str, Any]:
        """A turn on the context of a key, and its answer."""
        message = self.message(key.removeprefix(PREFIX), text)
        body = {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": {"message": message}}
        async with httpx2.AsyncClient(timeout=30) as client:
            answer = await client.post(f"{self.api.url}/a2a", json=body, headers=self.headers)
        with self.database.look() as look:
            row = proof_rows.session_on(look, key)
            said = proof_rows.tail(look, row["session_no"]) if row else []
        assert row is not None
        told = (await self.history(key))["messages"]
        assert self.is_answer(answer.text, told[-1]["text"]), answer.text
        assert len(said) == len(told)
        return {"sessionId": row["session_id"], "status": "completed", "text": told[-1]["text"]}

    def message(self, context: str, text: str) -> dict[str, Any]:
        return {"messageId": str(uuid4()), "contextId": context, "role": "ROLE_USER", "parts": [{"text": text}]}

    def is_answer(self, raw: str, text: str) -> bool:
        return json.dumps(text)[1:-1] in raw or text in raw


class StreamStage(A2aStage):
    """Streams its answers."""

    method = "SendStreamingMessage"

    def is_answer(self, raw: str, text: str) -> bool:
        return "data:" in raw and "COMPLETED" in raw


class OldWireStage(A2aStage):
    """Speaks 0.3."""

    method = "message/send"
    headers: ClassVar[dict[str, str]] = {}

    def message(self, context: str, text: str) -> dict[str, Any]:
        part = {"kind": "text", "text": text}
        return {"messageId": str(uuid4()), "contextId": context, "role": "user", "parts": [part], "kind": "message"}


@pytest.mark.parametrize("transport", [A2aStage, StreamStage, OldWireStage])
async def test_the_scenario_holds_on_conversations_over_a2a(transport: type[LiveStage], tmp_path: Path) -> None:
    data = tmp_path / "data"
    legacy_store(data)
    evidence = Evidence(tmp_path, time.monotonic)
    with running(data) as made:
        api = GatewayApi(made.url, evidence, credentials=NO_CREDENTIALS, tenant=None, within=30)
        async with api:
            stage = await stage_on(made, data, evidence, api, transport, f"{PREFIX}{uuid4()}")
            result = await perform(stage, evidence, keep=False, on_step=lambda step: None)
    evidence.close()
    assert {each.name: each.finding.reason for each in result.outcomes if each.finding.verdict != "proven"} == {}
    assert {each.name for each in result.outcomes} == {
        "chat",
        "identity",
        "accessors",
        "patch",
        "checkpoints",
        "cleanup",
    }
