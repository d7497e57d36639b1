"""A gateway that starts on a data folder of the older layout: hot sessions are there before anything is answered."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
from tests.gateway.process import Running, running
from tests.support.legacy_layout import conversation, message, write_index, write_session

KEY = "agent:main:chat"


def layout(folder: Path, hot: int = 2, cold: int = 3) -> None:
    keys = {}
    for number in range(hot):
        write_session(folder, f"hot-{number}", conversation(f"hot-{number}", f"my name is Ada {number}", "hello"))
        keys[f"{KEY}-{number}"] = f"hot-{number}"
    for number in range(cold):
        write_session(folder, f"cold-{number}", conversation(f"cold-{number}", "long ago"))
    write_index(folder, keys)


def get(gateway: Running, path: str) -> Any:
    return httpx2.get(gateway.url + path).json()


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted((folder / "agents").rglob("*")) if path.is_file()}


def test_hot_sessions_are_imported_at_the_start_and_the_others_are_told(tmp_path: Path, store_url: str) -> None:
    layout(tmp_path / "data")
    write_session(tmp_path / "data", "torn", conversation("torn", "x"), torn='{"type":')
    keys = {"agent:main:torn": "torn", "agent:main:none": "lost", "agent:main:bad": 1}
    index = json.loads((tmp_path / "data/agents/main/sessions/sessions.json").read_bytes())
    write_index(tmp_path / "data", {**index, **keys})
    before = files_in(tmp_path / "data")
    with running(tmp_path / "data", "--store", store_url) as gateway:
        status = get(gateway, "/api/status")
        assert status["legacy"] == {
            "folder": str(tmp_path / "data"),
            "imported": 3,
            "thereBefore": 0,
            "unreferenced": 3,
            "refused": 2,
        }
        listed = {each["sessionId"] for each in get(gateway, "/api/sessions")["sessions"]}
        assert listed == {"hot-0", "hot-1", "torn"}
        logged = [json.loads(line) for line in Path(status["logFile"]).read_bytes().splitlines()]
        assert any("torn.jsonl, line 3" in line["message"] for line in logged)
        assert not [line for line in logged if line["level"] in ("ERROR", "FATAL")]
        handles = [str(link.readlink()) for link in Path(f"/proc/{status['pid']}/fd").iterdir() if link.is_symlink()]
        assert not [each for each in handles if each.endswith((".jsonl", "sessions.json"))]
    assert files_in(tmp_path / "data") == before, "start-up only reads them"
    with running(tmp_path / "data", "--store", store_url) as gateway:
        legacy = get(gateway, "/api/status")["legacy"]
        assert (legacy["imported"], legacy["thereBefore"], legacy["refused"]) == (0, 3, 2)
    assert len(list((tmp_path / "data" / "imports").iterdir())) == 1, "a start that imports nothing leaves no record"


def test_the_agent_knows_what_was_said_in_an_imported_session(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    call = {"type": "toolCall", "id": "c1", "name": "look_up", "arguments": {"town": "Ghent"}}
    told = {"role": "assistant", "content": [{"type": "text", "text": "I look"}, call]}
    lines = [
        *conversation("one", "my name is Ada", "hello Ada"),
        json.dumps({"type": "message", "id": "m1", "parentId": "e1", "message": told}),
        message("m2", "m1", "toolResult", "it rains in Ghent"),
        json.dumps({"type": "custom", "id": "m3", "parentId": "m2", "data": {"x": 1}}),
    ]
    write_session(folder, "one", lines)
    write_index(folder, {KEY: "one"})
    with running(folder) as gateway:
        history = get(gateway, f"/api/chat/{KEY}/history")["messages"]
        assert [each["text"] for each in history] == [
            "my name is Ada",
            "hello Ada",
            "I look\nlook_up Ghent",
            "it rains in Ghent",
        ]
        assert [each["role"] for each in history] == ["user", "agent", "agent", "agent"]
        answer = httpx2.post(f"{gateway.url}/api/chat/{KEY}", json={"text": "what is my name?"}, timeout=30).json()
        assert "Ada" in answer["text"]
        assert get(gateway, f"/api/keys/{KEY}")["sessionId"] == "one"


def test_a_summary_of_the_older_layout_is_what_the_agent_knows(tmp_path: Path) -> None:
    """What was summed up is still in the history; a turn is told its summary, also of entries that are gone."""
    compaction = {"type": "compaction", "id": "c1", "parentId": "e1", "firstKeptEntryId": "e1"}
    lines = [
        *conversation("one", "do you hear me?", "I do"),
        json.dumps({**compaction, "summary": "The user said: my name is Ada."}),
    ]
    write_session(tmp_path, "one", lines)
    write_index(tmp_path, {KEY: "one"})
    with running(tmp_path) as gateway:
        told = [each["text"] for each in get(gateway, f"/api/chat/{KEY}/history")["messages"]]
        assert told == ["do you hear me?", "I do"]
        answer = httpx2.post(f"{gateway.url}/api/chat/{KEY}", json={"text": "what is my name?"}, timeout=30).json()
        assert "Ada" in answer["text"]


def test_what_cannot_be_read_neither_stops_a_start_nor_leaves_a_record_at_each(tmp_path: Path) -> None:
    layout(tmp_path, hot=1, cold=0)
    sessions = tmp_path / "agents" / "main" / "sessions"
    (sessions / "broken.jsonl").mkdir()
    index = json.loads((sessions / "sessions.json").read_bytes())
    odd = {"sessionId": "broken", "updatedAt": 10**30}
    write_index(tmp_path, {**index, "agent:main:broken": odd})
    write_index(tmp_path, "{", agent="other")
    for imported in (1, 0, 0):
        with running(tmp_path) as gateway:
            status = get(gateway, "/api/status")
            assert (status["legacy"]["imported"], status["legacy"]["refused"]) == (imported, 2)
            logged = Path(status["logFile"]).read_text()
            assert "agents/other/sessions/sessions.json: not JSON" in logged
    assert len(list((tmp_path / "imports").iterdir())) == 1


def test_a_session_that_was_deleted_here_does_not_come_back(tmp_path: Path) -> None:
    layout(tmp_path / "data", hot=1, cold=0)
    with running(tmp_path / "data") as gateway:
        assert httpx2.delete(f"{gateway.url}/api/sessions/hot-0").status_code == 200
    with running(tmp_path / "data") as gateway:
        assert get(gateway, "/api/sessions")["sessions"] == []
        assert get(gateway, "/api/status")["legacy"]["refused"] == 0


def test_gateways_that_start_at_once_import_each_session_once(tmp_path: Path, postgres_url: str) -> None:
    layout(tmp_path / "legacy", hot=20, cold=1)
    arguments = ("--store", postgres_url, "--legacy", str(tmp_path / "legacy"))
    with ExitStack() as stack, ThreadPoolExecutor(3) as threads:

        def start(number: int) -> Running:
            return stack.enter_context(running(tmp_path / f"data{number}", *arguments))

        starts = [threads.submit(start, number) for number in range(3)]
        gateways = [start.result() for start in starts]
        for gateway in gateways:
            found = get(gateway, "/api/sessions?limit=50")["sessions"]
            assert {(each["sessionId"], each["headSeq"]) for each in found} == {(f"hot-{n}", 4) for n in range(20)}
            legacy = get(gateway, "/api/status")["legacy"]
            assert (legacy["imported"] + legacy["thereBefore"], legacy["refused"]) == (20, 0)


def test_without_the_older_layout_nothing_is_said(tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        assert get(gateway, "/api/status")["legacy"] is None
    assert not (tmp_path / "data" / "imports").exists()
