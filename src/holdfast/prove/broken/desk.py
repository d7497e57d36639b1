"""The tools that an agent has on its desk in one turn: memory, files of the workspace, skills, other agents."""

from collections.abc import Callable, Mapping
from pathlib import Path

from holdfast.core import IdSource
from holdfast.prove.broken import workspace
from holdfast.prove.wire.replies import read

PEER_SECONDS = 30.0

Memory = Mapping[str, str]


class ToolDesk:
    """Tools with real effects; a kind may hand out another desk."""

    def __init__(
        self, context_id: str, folder: Path, memory: Memory, keep: Callable[[str, str], None], new_id: IdSource
    ) -> None:
        self._context_id = context_id
        self._folder = folder
        self._memory = memory
        self._keep = keep
        self._new_id = new_id

    def save(self, thing: str, value: str) -> None:
        """Remember a thing beyond the conversation."""
        self._keep(thing, value)

    def recall(self, thing: str) -> str | None:
        """What memory has of a thing."""
        return self._memory.get(thing)

    def append(self, file: str, line: str) -> None:
        """Append a line to a file."""
        path = workspace.resolve(self._folder, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as opened:
            opened.write(line + "\n")

    def write(self, file: str, text: str) -> None:
        path = workspace.resolve(self._folder, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def read(self, file: str) -> str:
        """The text of a file."""
        return workspace.read(self._folder, file).decode(errors="replace")

    def skill(self, name: str) -> str:
        """The instructions of a skill."""
        return self.read(f"skills/{name}/SKILL.md")

    async def ask(self, url: str, text: str) -> str:
        """What another agent answers over A2A."""
        import httpx2

        message_id = self._new_id()
        # The peer has a conversation of its own with each of ours.
        place = {"messageId": message_id, "contextId": f"for-{self._context_id}"}
        message = {**place, "role": "ROLE_USER", "parts": [{"text": text}]}
        call = {"jsonrpc": "2.0", "id": message_id, "method": "SendMessage", "params": {"message": message}}
        async with httpx2.AsyncClient(trust_env=False, timeout=PEER_SECONDS) as client:
            answer = await client.post(url, json=call, headers={"A2A-Version": "1.0"})
        reply = read(answer.status_code, answer.content)
        return reply.text if reply.answered else f"nothing ({reply.describe()})"
