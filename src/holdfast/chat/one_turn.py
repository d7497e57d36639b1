"""One turn for a script: the answer on stdout, or all that is to be known of it as one JSON object."""

import json
import sys
from typing import Any

from holdfast.chat.conversation import COMPLETED, ChatConversation, ChatTurnEvent, ToolEnd
from holdfast.terminal.text import escaped, escaped_json, one_line

FAILED_CODE = 1


async def take_one_turn(conversation: ChatConversation, text: str, *, in_json: bool) -> int:
    """Say something and print the answer; the exit code: 0, or 1 if the turn failed."""
    tools: list[ToolEnd] = []

    def hear(event: ChatTurnEvent) -> None:
        if isinstance(event, ToolEnd):
            tools.append(event)

    answer = await conversation.say(text, hear)
    if in_json:
        document: dict[str, Any] = {
            "conversation": conversation.name,
            "status": answer.status,
            "text": answer.text,
            "detail": answer.detail,
            "tools": [{"name": each.tool, "asked": each.shown, "status": each.status} for each in tools],
            "checks": [{"command": command, "passed": passed} for command, passed in answer.checks],
            "usage": answer.usage,
        }
        written = escaped_json(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    else:
        written = escaped(answer.text, keep="\n\t")
        for line in [
            *(f"{'PASS' if passed else 'FAIL'} {command}" for command, passed in answer.checks),
            answer.detail,
        ]:
            if line:
                sys.stderr.write(f"{one_line(line)}\n")
    sys.stdout.write(f"{written}\n")
    sys.stdout.flush()
    return 0 if answer.status == COMPLETED else FAILED_CODE
