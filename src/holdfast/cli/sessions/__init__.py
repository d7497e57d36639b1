"""`holdfast sessions`: look after sessions. One file per verb, each loaded only when it is called."""

import click

from holdfast.cli.groups import VerbGroup

VERBS = {
    "ls": "List sessions, newest first.",
    "show": "Show one session: state, goals, what is open, its newest events.",
    "tail": "Print events as they happen.",
    "search": "Find events by their words.",
    "fork": "Make a session from another, up to a point in its log.",
    "reset": "Let a new, empty session take another's place on its keys.",
    "tag": "Add tags to a session, and remove them.",
    "hold": "Lay a legal hold on a session, or release it.",
    "rm": "Delete sessions by name, age, number or size; they are archived first.",
    "undelete": "Bring a deleted session back, with the same id and events.",
    "purge": "Remove what was deleted for good.",
    "verify": "Derive sessions again from their logs, and compare.",
    "export": "Write sessions to one archive, or to plain files.",
    "import": "Read sessions from an archive, or from plain files.",
}


@click.group(cls=VerbGroup, verbs=VERBS, package="holdfast.cli.sessions")
def sessions() -> None:
    """Look after sessions.

    If a gateway holds the data folder, it is asked; if none does, the command works on the store itself.
    """
