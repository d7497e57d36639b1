"""The bundled agent behind A2A: files, compaction, and a turn that a process died in."""

import base64
from pathlib import Path
from typing import Any

from tests.a2a.harness import Client, running, sending, words

from holdfast.models import SimulatorBackend
from holdfast.runtime import bundled_agent
from holdfast.store import Store, open_store


async def said(client: Client, text: str, number: int, **more: Any) -> str:
    return words(await client.send(text, message_id=f"m{number}", **more))


async def test_a_file_is_known_turns_later_and_after_a_restart(sqlite_url: str, workspace: Path) -> None:
    handler = bundled_agent(SimulatorBackend())
    raw = base64.b64encode(b"The code word is zebra.\n").decode()
    parts = [{"raw": raw, "filename": "notes.txt", "mediaType": "text/plain"}]
    async with await open_store(sqlite_url) as store, running(store, handler, workspace=workspace) as client:
        params = sending("Here is a file", message_id="m1")
        params["message"]["parts"] += parts
        await client.call("SendMessage", params, "1.0")
        await said(client, "Hello", 2)
        assert "zebra" in await said(client, "What is the code word in notes.txt?", 3)
    async with await open_store(sqlite_url) as store, running(store, handler, workspace=workspace) as client:
        assert "zebra" in await said(client, "What is the code word in notes.txt?", 4)


async def test_a_conversation_is_compacted_and_goes_on(store: Store, workspace: Path) -> None:
    handler = bundled_agent(SimulatorBackend(), compact_over=600)
    async with running(store, handler, workspace=workspace) as client:
        await said(client, "My name is Ada.", 0)
        for number in range(1, 14):
            await said(client, "Say " + "nothing of importance " * 20, number)
        assert await said(client, "What is my name?", 99) == "Your name is Ada."
    assert await store.checkpoints.newest_compaction("agent:main:a2a:c") is not None
    assert (await store.verification.session("agent:main:a2a:c")).problem is None


async def test_a_long_answer_is_streamed(store: Store, workspace: Path) -> None:
    async with (
        running(store, bundled_agent(SimulatorBackend()), workspace=workspace) as client,
        client.stream("SendStreamingMessage", sending("Say " + "word " * 200)) as stream,
    ):
        news = await stream.rest()
    pieces = [item["artifactUpdate"] for item in news if "artifactUpdate" in item]
    assert len(pieces) > 10


async def test_what_waits_for_approval_waits_over_a_restart_and_is_done_once(sqlite_url: str, workspace: Path) -> None:
    handler = bundled_agent(SimulatorBackend())
    async with await open_store(sqlite_url) as store, running(store, handler, workspace=workspace) as client:
        text = "Ask me for my approval, and then append the line a to the file x.txt."
        task = await client.send(text, message_id="m1")
    assert task["status"]["state"] == "input-required"
    assert task["status"]["message"]["parts"][0]["text"] == "May I append the line a to the file x.txt?"
    assert not (workspace / "x.txt").exists()
    async with await open_store(sqlite_url) as store, running(store, handler, workspace=workspace) as client:
        for _ in range(2):
            answered = await client.send("I approve.", None, "m2", taskId=task["id"])
            assert answered["status"]["state"] == "completed"
    assert (workspace / "x.txt").read_text() == "a\n"
