"""A prompt as Anthropic's Messages want it.

What the system says stands apart; user and assistant take turns, so that neighbours of one role are one message; the
result of a tool is something the user says; and nothing is empty.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.models.messages import PromptMessage, PromptRole, Tool
from holdfast.models.parts import TEXT_PARTS, Part, data_of

Block = dict[str, Any]

PDF = "application/pdf"
NOTHING = "(nothing)"


def system(messages: Sequence[PromptMessage]) -> str:
    """What the system says, all of it."""
    return "\n\n".join(message.text for message in messages if message.role == PromptRole.SYSTEM and message.text)


def conversation(messages: Sequence[PromptMessage]) -> list[dict[str, Any]]:
    """What the others say, in turns."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == PromptRole.SYSTEM:
            continue
        role = "assistant" if message.role == PromptRole.ASSISTANT else "user"
        if not turns and role == "assistant":
            turns.append({"role": "user", "content": [_text(NOTHING)]})
        blocks = list(_blocks(message))
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        turn["content"] = turn["content"] or [_text(NOTHING)]
    return turns


def tool(offered: Tool) -> dict[str, Any]:
    """A tool that is offered."""
    schema = offered.parameters or {"type": "object", "properties": {}}
    return {"name": offered.name, "description": offered.description, "input_schema": schema}


def _blocks(message: PromptMessage) -> Iterator[Block]:
    if message.role == PromptRole.TOOL:
        yield {
            "type": "tool_result",
            "tool_use_id": message.tool_call_id,
            "content": message.text or NOTHING,
        }
        return
    if isinstance(message.content, str):
        if message.content.strip():
            yield _text(message.content)
    else:
        yield from (block for block in map(_block, message.content) if block.get("text", NOTHING).strip())
    for call in message.tool_calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _block(part: Part) -> Block:
    """A part as a block; one that Messages has no form for is named in words."""
    if part["type"] in TEXT_PARTS:
        return _text(part["text"])
    if part["type"] == "image_url":
        url = part["image_url"]["url"]
        data = data_of(url)
        if data is None:
            return {"type": "image", "source": {"type": "url", "url": url}}
        return {"type": "image", "source": {"type": "base64", "media_type": data.media_type, "data": data.base64}}
    if part["type"] == "file":
        name, data = part["file"].get("filename", "unnamed"), data_of(part["file"].get("file_data", ""))
        if data is not None and data.media_type == PDF:
            source = {"type": "base64", "media_type": PDF, "data": data.base64}
            return {"type": "document", "title": name, "source": source}
        if data is not None and data.media_type.startswith("text/"):
            words = data.bytes.decode(errors="replace")
            return {
                "type": "document",
                "title": name,
                "source": {"type": "text", "media_type": "text/plain", "data": words},
            }
        return _text(f"[attached file: {name}]")
    return _text(f"[a part of type {part['type']}]")


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
