"""A disk that is slow for one agent holds up no other agent of the program."""

import asyncio
import threading
from pathlib import Path

import pytest

from holdfast.core import durable_files
from holdfast.models import SimulatorBackend
from holdfast.runtime import Agent
from holdfast.runtime.conversation import file_storage


async def test_a_slow_disk_of_one_agent_does_not_hold_up_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    write = durable_files.write_whole

    def write_slowly(path: Path, raw: bytes) -> None:
        if path.is_relative_to(tmp_path / "slow"):
            assert go_on.wait(20)
        write(path, raw)

    monkeypatch.setattr(file_storage, "write_whole", write_slowly)
    slow, quick = (Agent(SimulatorBackend(), project_root=tmp_path / name) for name in ("slow", "quick"))
    waiting = asyncio.create_task(slow.run("My name is Ada."))
    try:
        await quick.run("My name is Grace.")
        assert "Grace" in await quick.run("What is my name?")
        assert not waiting.done()
    finally:
        go_on.set()
    await waiting
    assert "Ada" in await slow.run("What is my name?")
