"""The bundled MCP server of a mailbox folder: `python -m apps.email_solver.mail_server FOLDER [PORT]`.

It speaks over stdin and stdout, or with a port over HTTP at `/mcp`. Sending and noting happen once for each mail.
"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from apps.email_solver.mailbox import MailFolder, MailRefused
from apps.mcp_service import run

LOOKS = ToolAnnotations(read_only_hint=True)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)


def create_server(mails: MailFolder) -> MCPServer[Any]:
    """The server of a mailbox."""

    def list_mail() -> list[str]:
        """The ids of the mails that nothing became of yet, oldest file name first."""
        return mails.waiting()

    def read_mail(id: str) -> dict[str, Any]:
        """A mail: sender, subject, text, and whether a program sent it."""
        try:
            return asdict(mails.read(id))
        except MailRefused as error:
            raise ToolError(str(error)) from error

    def send_answer(id: str, to: str, subject: str, text: str, in_reply_to: str) -> dict[str, str]:
        """Send the answer to a mail. A mail is answered once: asked again, this says what was sent."""
        try:
            return {"file": mails.send(id, to, subject, text, in_reply_to)}
        except MailRefused as error:
            raise ToolError(str(error)) from error

    def note_outcome(id: str, outcome: str, about: dict[str, Any]) -> dict[str, Any]:
        """Note what became of a mail, which then no longer waits."""
        try:
            mails.note(id, outcome, about)
            return mails.noted(id) or {}
        except MailRefused as error:
            raise ToolError(str(error)) from error

    server: MCPServer[Any] = MCPServer(
        "mailbox", log_level="WARNING", instructions="A mailbox folder: what came, and what is sent."
    )
    for function, kind in ((list_mail, LOOKS), (read_mail, LOOKS), (send_answer, ADDS), (note_outcome, ADDS)):
        server.tool(annotations=kind)(function)
    return server


def main() -> None:
    """Serve the folder; a port, which may be 0, serves it over HTTP."""
    run(create_server(MailFolder(Path(sys.argv[1]))), int(sys.argv[2]) if len(sys.argv) > 2 else None)


if __name__ == "__main__":
    main()
