"""The command line: one file per verb, each loaded only when it is called."""

import click

from holdfast import __version__
from holdfast.cli.groups import VerbGroup

VERBS = {
    "chat": "Talk to an agent in this folder, or to a gateway's; it remembers.",
    "prove": "Start, talk to, kill and restart an agent runtime; say whether it remembers.",
    "serve": "Run the gateway: sessions over REST, WebSocket and A2A.",
    "sessions": "Look after sessions: list, show, follow, search, fork, delete, export, verify.",
    "mcp": "Serve sessions to MCP clients, such as Claude Code, on stdin and stdout.",
    "guard": "Keep what coding agents write to their folders, as it comes.",
    "hook": "Record what a program says on stdin, at once: for Claude Code's hooks and any other.",
    "db": "Look after the store: status, migrate, backup, restore, shrink.",
    "doctor": "Examine a store: what is wrong with it, and what mends that.",
    "onboard": "Put the proof into a template repository's own CI.",
    "token": "Say who may ask a gateway: create, list, revoke tokens.",
    "sim": "Serve the model simulator.",
    "completion": "Print the line that gives your shell completion.",
}


@click.group(
    cls=VerbGroup, verbs=VERBS, package="holdfast.cli", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, package_name="holdfast", message="holdfast %(version)s")
def main() -> None:
    """Agent sessions that survive, and the proof that they do."""
