"""The tool that asks the user back. The turn rests with the question, however long that takes and whatever happens to
this process meanwhile; the answer begins the next turn of the same task."""

from typing import ClassVar, NoReturn

import msgspec

from holdfast.models.messages import Tool
from holdfast.runtime.permissions.modes import READ_ONLY
from holdfast.runtime.tools import ToolContext, ToolUse, declare


class UserQuestion(Exception):
    """The turn is to rest until the user has answered; the text is what to ask."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class AskUserTool(msgspec.Struct, frozen=True):
    """Ask the user something, and do no more before the answer."""

    question: str

    has_effect: ClassVar[bool] = False
    need: ClassVar[str] = READ_ONLY
    declaration: ClassVar[Tool] = declare(
        "ask_user",
        "Ask the user and wait for the answer, which may come much later. Ask before you do what the user wants to "
        "approve first, and when you cannot go on without knowing more. Call no other tool beside it.",
        {"question": "What to ask, with all that the user needs to know to answer."},
    )

    async def run(self, context: ToolContext) -> NoReturn:
        """End the turn with the question."""
        raise UserQuestion(self.question)


USER_TOOLS: tuple[type[ToolUse], ...] = (AskUserTool,)
