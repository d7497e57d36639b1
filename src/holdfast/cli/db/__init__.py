"""`holdfast db`: look after the store. One file per verb, each loaded only when it is called."""

import click

from holdfast.cli.groups import VerbGroup

VERBS = {
    "status": "Say what the store is, how large, and who holds it.",
    "migrate": "Bring the store's schema up to date.",
    "backup": "Copy the store to a new file while it is in use, and check the copy.",
    "restore": "Make a store from a backup.",
    "shrink": "Give the disk back what a store's file does not use; no gateway may run on it.",
    "audit": "Say what was done to sessions and the store, and by whom.",
}


@click.group(cls=VerbGroup, verbs=VERBS, package="holdfast.cli.db")
def db() -> None:
    """Look after the store."""
