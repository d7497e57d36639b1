"""What a history is made of. An operation names messages, contexts, facts and files by small numbers.

So that any operation can be taken out of a history and the rest is one still: what refers to a message that was never
sent does nothing. An operation that *joins* begins together with the one before it.
"""

from typing import Literal

import msgspec

from holdfast.prove.explore.histories.values import Form

How = Literal["wait", "at once", "leave", "stream", "cut"]
"""How a message is sent: answered at its end; at once, and its task looked up until it has ended, or left to itself;
streamed; streamed and cut."""


class _Operation(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", omit_defaults=True):
    joins: bool = False


class _Message(_Operation, frozen=True, kw_only=True):
    """A message of that number, which is sent in that context."""

    message: int
    context: int


class Tell(_Message, frozen=True, kw_only=True, tag="tell"):
    """Tell a fact, or change it; `slow` makes the answer a long one, `follows` names the task of another message."""

    fact: int
    value: int
    form: Form = Form.WORD
    how: How = "wait"
    slow: int = 0
    follows: int | None = None


class TakeBack(_Message, frozen=True, kw_only=True, tag="take back"):
    """Take a fact back."""

    fact: int


class Ask(_Message, frozen=True, kw_only=True, tag="ask"):
    """Ask for a fact."""

    fact: int


class SendFile(_Message, frozen=True, kw_only=True, tag="send file"):
    """Send a file whose content has a value."""

    file: int
    value: int
    form: Form = Form.WORD
    by: Literal["bytes", "reference"] = "bytes"
    words: bool = True


class AskFile(_Message, frozen=True, kw_only=True, tag="ask file"):
    """Ask for what a file says."""

    file: int


class Save(_Message, frozen=True, kw_only=True, tag="save"):
    """Have a fact saved in memory, or overwritten there."""

    fact: int
    value: int


class Recall(_Message, frozen=True, kw_only=True, tag="recall"):
    """Have a fact recalled from memory."""

    fact: int


class Append(_Message, frozen=True, kw_only=True, tag="append"):
    """Have a line appended to a file of the workspace, after so many tenths of a second."""

    slow: int = 0
    how: How = "wait"


class Chat(_Message, frozen=True, kw_only=True, tag="chat"):
    """Say so many things that are not asked for later; `apart`, each in a conversation of its own."""

    turns: int
    apart: bool = False


class Again(_Operation, frozen=True, kw_only=True, tag="again"):
    """Deliver a message again, with the same body or with another."""

    message: int
    other: bool = False


class Cancel(_Operation, frozen=True, kw_only=True, tag="cancel"):
    """Cancel the task of a message; after so many milliseconds where it joins."""

    message: int
    after: int = 0


class Follow(_Operation, frozen=True, kw_only=True, tag="follow"):
    """Subscribe to the task of a message, to its end."""

    message: int


class LookUp(_Operation, frozen=True, kw_only=True, tag="look up"):
    """Look up the task of a message until it has ended."""

    message: int


class Stop(_Operation, frozen=True, kw_only=True, tag="stop"):
    """SIGTERM, and a start; after so many milliseconds where it joins."""

    after: int = 0


class Kill(_Operation, frozen=True, kw_only=True, tag="kill"):
    """SIGKILL, and a start; after so many milliseconds where it joins."""

    after: int = 0


class KillStart(_Operation, frozen=True, kw_only=True, tag="kill start"):
    """SIGKILL, a start that is killed after so many hundredths of the time that a start takes, and another start."""

    percent: int


class Pause(_Operation, frozen=True, kw_only=True, tag="pause"):
    """SIGSTOP, and SIGCONT after so many milliseconds."""

    milliseconds: int


class Idle(_Operation, frozen=True, kw_only=True, tag="idle"):
    """Do nothing for so many milliseconds."""

    milliseconds: int


Message = Tell | TakeBack | Ask | SendFile | AskFile | Save | Recall | Append | Chat
Fault = Stop | Kill | KillStart | Pause
Operation = Message | Again | Cancel | Follow | LookUp | Fault | Idle

MESSAGES = (Tell, TakeBack, Ask, SendFile, AskFile, Save, Recall, Append, Chat)
FAULTS = (Stop, Kill, KillStart, Pause)
RESTARTS = (Stop, Kill, KillStart)


def kind(operation: Operation) -> str:
    """The name of an operation's kind, as it is written in a file."""
    return str(operation.__struct_config__.tag)


def groups(operations: tuple[Operation, ...]) -> list[list[int]]:
    """The numbers of the operations that begin together, in order."""
    found: list[list[int]] = []
    for number, operation in enumerate(operations):
        if operation.joins and found:
            found[-1].append(number)
        else:
            found.append([number])
    return found
