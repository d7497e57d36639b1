"""`serve --agent-storage file`: the agent's conversations are files of the data folder."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.cli.command import run
from tests.gateway.process import Running, running
from tests.support.eventually import wait_until
from tests.support.web import LOCAL

from holdfast.core.errors import InvalidInput
from holdfast.gateway.agent import Model
from holdfast.gateway.serve import FILE, Options

IN_FILES = ("--agent-storage", "file")
HOSTILE = ("../../../outside", "/etc/passwd", "a/b/../../..", "..", "x" * 300, "C:\\x", "a\nb", "%2e%2e%2f")


def send(gateway: Running, text: str, context: str) -> str:
    """What the agent answers over A2A."""
    message = {"role": "user", "kind": "message", "messageId": text, "contextId": context}
    params = {"message": {**message, "parts": [{"kind": "text", "text": text}]}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    answer: Any = httpx2.post(f"{gateway.url}/a2a", json=request, **LOCAL).json()
    return "".join(part["text"] for artifact in answer["result"]["artifacts"] for part in artifact["parts"])


def holding(folder: Path, text: str) -> list[Path]:
    """The conversation's files with a text in them."""
    return [path for path in (folder / "conversations").rglob("*.json*") if text in path.read_text()]


def test_a_conversation_in_a_file_survives_a_kill_and_goes_with_its_session(tmp_path: Path) -> None:
    with running(tmp_path, *IN_FILES) as gateway:
        send(gateway, "My name is Ada.", "c")
        assert len(holding(tmp_path, "My name is Ada.")) == 1
        gateway.process.kill()
    with running(tmp_path, *IN_FILES) as gateway:
        assert "Ada" in send(gateway, "What is my name?", "c")
        key = httpx2.get(f"{gateway.url}/api/keys/agent:main:a2a:c", **LOCAL).json()
        assert [path.stem for path in holding(tmp_path, "Ada")] == [key["sessionId"]]
        httpx2.delete(f"{gateway.url}/api/sessions/{key['sessionId']}", **LOCAL).raise_for_status()
        wait_until(lambda: not holding(tmp_path, "Ada") or None)


def test_a_context_is_never_a_path(tmp_path: Path) -> None:
    data = tmp_path / "deep" / "data"
    with running(data, *IN_FILES) as gateway:
        for number, context in enumerate(HOSTILE):
            send(gateway, f"My name is Ada{number}.", context)
        for number, context in enumerate(HOSTILE):
            assert f"Ada{number}" in send(gateway, "What is my name?", context)
    folder = data / "conversations" / "tenant-default" / ".holdfast" / "sessions"
    assert len(list(folder.glob("*.json"))) == len(HOSTILE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep"]
    assert sorted(path.name for path in (data / "conversations").iterdir()) == ["tenant-default"]


def test_without_it_there_are_no_files(tmp_path: Path) -> None:
    with running(tmp_path) as gateway:
        send(gateway, "My name is Ada.", "c")
    assert not (tmp_path / "conversations").exists()


def test_what_is_deleted_later_goes_though_the_agent_keeps_no_files_by_then(tmp_path: Path) -> None:
    with running(tmp_path, *IN_FILES) as gateway:
        send(gateway, "My name is Ada.", "c")
    with running(tmp_path) as gateway:
        assert "Ada" in send(gateway, "What is my name?", "c")
        key = httpx2.get(f"{gateway.url}/api/keys/agent:main:a2a:c", **LOCAL).json()
        httpx2.delete(f"{gateway.url}/api/sessions/{key['sessionId']}", **LOCAL).raise_for_status()
        wait_until(lambda: not holding(tmp_path, "Ada") or None)


def test_files_are_refused_where_other_gateways_would_not_see_them(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has its store to itself"):
        Options("127.0.0.1", 0, tmp_path, "postgresql://db/holdfast", Model(), agent_storage=FILE)


@pytest.mark.parametrize("by", ["request", "timer", "command"])
def test_a_backup_has_the_conversations_and_a_restore_brings_them_back(tmp_path: Path, by: str) -> None:
    data, made = tmp_path / "data", tmp_path / "made.backup"
    (data / "backups").mkdir(parents=True)
    options = ("--backup-every", "1s") if by == "timer" else ()
    with running(data, *IN_FILES) as gateway:
        send(gateway, "Append the line 'milk' to the file list.txt", "c")
        if by == "request":
            done = httpx2.post(f"{gateway.url}/api/backup", json={"path": str(made)}, **LOCAL).json()
            assert done["files"] == 2
    kept = files_of(data)
    assert any(b'"role":"tool"' in raw for raw in kept.values())
    if by == "timer":
        with running(data, *IN_FILES, *options):
            made = wait_until(lambda: next((data / "backups").glob("*.backup"), None))
    elif by == "command":
        assert "1 session and 2 files of conversations" in run("db", "backup", str(made), data=data).stdout
    restored = tmp_path / "restored"
    assert run("db", "restore", str(made), data=restored).exit_code == 0
    assert files_of(restored) == kept
    assert [path.name for path in restored.iterdir() if path.name.endswith(".part")] == []
    with running(restored, *IN_FILES) as gateway:
        send(gateway, "My name is Ada.", "c")
        (path,) = holding(restored, "My name is Ada.")
        assert '"role":"tool"' in path.read_text()


def files_of(data: Path) -> dict[str, bytes]:
    """The conversations' files, but for locks."""
    root = data / "conversations"
    found = [path for path in root.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(root)): path.read_bytes() for path in found}
