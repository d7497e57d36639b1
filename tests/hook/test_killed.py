"""Gateways and couriers are killed again and again while hooks record: each record is in its session once, in order."""

import contextlib
import os
import random
import signal
from pathlib import Path

import pytest
from tests.client.looking import free_port
from tests.gateway.process import running
from tests.hook.hooks import Hooks
from tests.support.eventually import wait_until

from holdfast.hook import inbox
from holdfast.hook.command import start_courier

SESSIONS = 3


@pytest.mark.parametrize("kills", [2, pytest.param(25, marks=pytest.mark.long(seconds=60))])
def test_each_record_arrives_once_though_gateway_and_courier_are_killed(
    tmp_path: Path, session: str, kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(20261118)
    port = free_port()
    monkeypatch.setenv("SESSION_SERVICE_URL", f"http://127.0.0.1:{port}")
    hooks = [Hooks(tmp_path, f"http://127.0.0.1:{port}", f"{session}-{n}") for n in range(SESSIONS)]
    folder, said = hooks[0].folder, 0

    def record(count: int) -> None:
        nonlocal said
        for _ in range(count):
            for each in hooks:
                each.say("PostToolUse", number=said, tool_response="straw " * chance.randint(1, 2_000))
            start_courier(folder)
            said += 1

    def kill_courier() -> None:
        found = inbox.courier_of(folder)
        if found is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(found, signal.SIGKILL)

    def is_delivered() -> bool:
        start_courier(folder)  # the one that was killed may have been there still when the last hook looked
        return inbox.is_empty(folder)

    try:
        for number in range(kills):
            with running(tmp_path / "data", port=port) as gateway:
                record(chance.randint(1, 40))
                if number % 2:
                    wait_until(lambda: inbox.courier_of(folder))
                    kill_courier()
                record(chance.randint(1, 10))
                if number % 3 == 0:
                    wait_until(is_delivered, pause=0.05)
                gateway.process.kill()
                gateway.process.wait()
            record(chance.randint(1, 5))
        with running(tmp_path / "data", port=port):
            wait_until(is_delivered, pause=0.05)
            for each in hooks:
                assert [event["details"]["number"] for event in each.all_events()] == list(range(said))
    finally:
        kill_courier()
    assert not (folder.parent / "refused.jsonl").exists()
