"""How an agent framework wants to be told that an answer is the last word: by a tool, or by a piece of code."""

from collections.abc import Sequence

from holdfast.models.messages import Message, Role, Tool
from holdfast.models.simulator.toolbox import Call, filled

FINAL = "final_answer"


def wrap(words: str, tools: Sequence[Tool], messages: Sequence[Message]) -> tuple[str, Call | None]:
    """The words as they are to be said, and the call to be made instead if there is a tool for it."""
    for tool in tools:
        arguments = filled(tool, [(("answer", "text", "output"), words)]) if tool.name == FINAL else None
        if arguments is not None:
            return "", Call(tool.name, arguments)
    system = [message.text for message in messages if message.role == Role.SYSTEM]
    if any(f"{FINAL}(" in text and "<code>" in text for text in system):
        return f"<code>\n{FINAL}({words!r})\n</code>", None
    return words, None
