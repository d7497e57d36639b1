"""`holdfast token`: who may ask a gateway for what. One file per verb, each loaded only when it is called."""

import click

from holdfast.cli.groups import VerbGroup

VERBS = {
    "create": "Make a token, and print it once.",
    "list": "List tokens, without their texts.",
    "revoke": "End a token at once.",
}


@click.group(cls=VerbGroup, verbs=VERBS, package="holdfast.cli.token")
def token() -> None:
    """Say who may ask a gateway for what.

    A gateway on a loopback address asks for tokens once there is one, from its next start on; on any other address
    it does not start without. Clients send a token as `Authorization: Bearer`; commands take it from HOLDFAST_TOKEN.

    \b
      read      see sessions and follow them
      write     change them
      admin     read, write, and what is done to many at once: export, import, retention, purge, audit
      metrics   /metrics
      operator  everything, for every tenant: also backups, logs and tokens
    """
