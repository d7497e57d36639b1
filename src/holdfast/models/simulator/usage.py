"""What a prompt and an answer cost: one token for every four characters begun."""

from collections.abc import Sequence

from holdfast.core import strict_json
from holdfast.models.messages import Message, ToolCall


def count(messages: Sequence[Message], content: str, calls: Sequence[ToolCall]) -> dict[str, int]:
    """Tokens of the prompt, of the completion, and of both."""
    prompt = _tokens(sum(len(message.text) + _size(message.tool_calls) for message in messages))
    completion = _tokens(len(content) + _size(calls))
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _size(calls: Sequence[ToolCall]) -> int:
    return sum(len(call.name) + len(strict_json.dump(call.arguments).decode()) for call in calls)


def _tokens(characters: int) -> int:
    return -(-characters // 4)
