"""A2A 0.3 and 1.0 in front of durable sessions: an agent is one function, and its conversations survive.

An agent that echoes, as a process of its own:

    from collections.abc import AsyncIterator
    from holdfast.a2a import Turn, serve


    async def echo(turn: Turn) -> AsyncIterator[str]:
        yield f"{len(turn.history) // 2 + 1}: {turn.text}"


    if __name__ == "__main__":
        serve(echo, port=8000, data="echo-data")

A handler may yield more than text: an `Artifact` is a result beside the answer, a `Status` says what goes on, an
`InputRequired` asks back, a `Rejected` refuses, and a `Reply` answers with a plain message instead of a task.
"""

from holdfast.a2a.environment import data_folder, serve_from_environment
from holdfast.a2a.handler import Attachment, Handler, InputRequired, Output, PastMessage, Rejected, Reply, Status, Turn
from holdfast.a2a.protocol.wire import Artifact, DataPart, FilePart, Part, Role, TextPart
from holdfast.a2a.push.url_guard import UrlGuard
from holdfast.a2a.serve import serve
from holdfast.a2a.server import A2AServer

__all__ = [
    "A2AServer",
    "Artifact",
    "Attachment",
    "DataPart",
    "FilePart",
    "Handler",
    "InputRequired",
    "Output",
    "Part",
    "PastMessage",
    "Rejected",
    "Reply",
    "Role",
    "Status",
    "TextPart",
    "Turn",
    "UrlGuard",
    "data_folder",
    "serve",
    "serve_from_environment",
]
