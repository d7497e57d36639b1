"""`holdfast sessions search`."""

import sys
from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere
from holdfast.terminal.screen import styled
from holdfast.terminal.text import one_line

NOTHING = 1


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--session", help="Only in this session.")
@click.option("--user", help="Only in this user's sessions.")
@click.option("--type", "type_", multiple=True, help="Only events of this type; can be given several times.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 100), help="How many.")
@click.option("--cursor", help="Go on after the page before.")
@somewhere
@says_errors
def search(where: Where, as_json: bool, words: tuple[str, ...], **query: Any) -> None:
    """Find events that have all these words, newest first.

    \b
    A query has words, "a phrase" in quotes, the beginning of a word with a star, and words to be without:
      holdfast sessions search refund '"order 17"' 'ship*' -- -test
    """
    found = run(_search(where, " ".join(words), **query))
    if as_json:
        output.as_json(found)
    else:
        _show(found)
    if not found["hits"] and not found["damaged"]:
        sys.exit(NOTHING)


async def _search(where: Where, words: str, **query: Any) -> Any:
    async with serving(where, writes=True) as service:
        return await service.call("GET", "/api/query/search", q=words, **query)


def _show(found: dict[str, Any]) -> None:
    for hit in found["hits"]:
        place = styled(f"{one_line(hit['sessionId'])}  {hit['seq']}", "bold")
        click.echo(f"{place}  {one_line(hit['type'])}  {styled(hit['timestamp'], 'dim')}")
        if hit["snippet"] is None:
            click.echo(styled(f"  {hit['sizeBytes']} bytes: too large for its text to be shown", "dim"))
        else:
            click.echo(f"  {_highlighted(hit['snippet'], hit['highlights'])}")
    for damaged in found["damaged"]:
        click.echo(
            f"damaged: {one_line(damaged['sessionId'])} event {damaged['seq']}: {one_line(damaged['problem'])}",
            err=True,
        )
    if found["cursor"]:
        click.echo(f"more: --cursor {found['cursor']}", err=True)
    if not found["hits"] and not found["damaged"]:
        click.echo("nothing found", err=True)


def _highlighted(text: str, places: list[list[int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in places:
        parts += [one_line(text[done:start]), styled(one_line(text[start:end]), "bold yellow")]
        done = end
    return "".join([*parts, one_line(text[done:])])
