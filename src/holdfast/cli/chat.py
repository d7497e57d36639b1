"""`holdfast chat`: talk to an agent on this terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.errors import says_errors
from holdfast.cli.options import Location
from holdfast.core.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.chat.start import ChatOptions


@click.command()
@click.option(
    "--project",
    default=Path(),
    show_default="this folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The project's folder: the agent works there, and conversations are in its .holdfast.",
)
@click.option("--store", metavar="URL", help="Keep conversations in this store instead, such as sqlite:///chat.db.")
@click.option("--key", metavar="KEY", help="Talk to a gateway's agent on this session key, such as agent:main:a2a:C.")
@click.option("--url", metavar="URL", envvar="HOLDFAST_URL", help="With --key: the gateway.")
@click.option(
    "--data",
    default=Path("holdfast-data"),
    show_default="./holdfast-data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="HOLDFAST_DATA",
    help="With --key and without --url: the data folder that the gateway holds.",
)
@click.option("--tenant", envvar="HOLDFAST_TENANT", help="With --key: whose sessions, in a store with tenants.")
@click.option("--resume", metavar="ID|last", help="Go on with this conversation.")
@click.option(
    "--model",
    default="sim",
    show_default=True,
    metavar="MODEL",
    help="sim, openai:NAME or anthropic:NAME; the key is in OPENAI_API_KEY or ANTHROPIC_API_KEY.",
)
@click.option("--mode", metavar="MODE", help="Permission mode to begin with.  [default: workspace-write]")
@click.option("--trust-rules", is_flag=True, help="Trust the folder's permission rules, as they are now.")
@click.option("--print", "text", metavar="TEXT", help="Take one turn, print the answer and end; - reads it from stdin.")
@click.option("--json", "as_json", is_flag=True, help="With --print: print JSON on stdout.")
@says_errors
def chat(
    project: Path,
    store: str | None,
    key: str | None,
    url: str | None,
    data: Path,
    tenant: str | None,
    resume: str | None,
    model: str,
    mode: str | None,
    trust_rules: bool,
    text: str | None,
    as_json: bool,
) -> None:
    """Talk to an agent that works in this folder and remembers.

    The conversation is kept in .holdfast, and goes on with --resume last, whatever happened to the process. What a tool
    may not do by itself you are asked about, with what exactly it would do. /help lists the commands.

    \b
      holdfast chat                                 a new conversation in this folder
      holdfast chat --resume last                   the last one, where it stood
      holdfast chat --print "What is my name?"      one turn, for scripts
      holdfast chat --key agent:main:a2a:C          the A2A context C of a running gateway
    """
    from holdfast.chat.start import ChatOptions, start

    if as_json and text is None:
        raise InvalidInput("--json is for --print", hint='holdfast chat --print "…" --json')
    if text == "-":
        text = sys.stdin.read()
    if text is not None and not text.strip():
        raise InvalidInput("there is nothing to say", hint='holdfast chat --print "…"')
    options = ChatOptions(project, store, resume, model, mode, text, as_json, trust_rules)
    sys.exit(_at_gateway(options, key, Location(data, None, url, tenant)) if key else start(options))


def _at_gateway(options: "ChatOptions", key: str, where: Location) -> int:
    """The chat on a running gateway."""
    import asyncio

    from holdfast.chat.gateway_conversation import GatewayConversation, checked_key
    from holdfast.chat.start import at_terminal, refuse_local_options, talk
    from holdfast.cli.service import serving

    refuse_local_options(options)
    checked_key(key)
    program = None if options.text is not None else at_terminal()

    async def run() -> int:
        async with serving(where) as calls:
            if calls.gateway is None:
                raise InvalidInput("no gateway runs here", hint="start one with `holdfast serve`, or name its --url")
            return await talk(GatewayConversation(calls, key), options, program, model=None)

    return asyncio.run(run())
