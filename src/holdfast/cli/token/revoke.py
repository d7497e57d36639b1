"""`holdfast token revoke`."""

from typing import Any
from urllib.parse import quote

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import as_text, run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.store.operators import id_of
from holdfast.terminal.text import one_line


@click.command()
@click.argument("token_id")
@somewhere
@says_errors
def revoke(where: Where, as_json: bool, token_id: str) -> None:
    """End a token at once: no gateway takes it any more, and what it follows live is closed within a second or two.

    TOKEN_ID is in the first column of `holdfast token list`, and in the token itself between the underscores. A whole
    token will do as well.
    """
    ended = run(_revoke(where, id_of(token_id) or token_id))
    if as_json:
        output.as_json(ended)
    else:
        click.echo(f"token {ended['tokenId']} ({one_line(ended['name'])}) is revoked", err=True)


async def _revoke(where: Where, token_id: str) -> Any:
    async with serving(where, writes=True) as service:
        return await service.call("DELETE", f"/api/tokens/{quote(as_text(token_id), safe='')}")
