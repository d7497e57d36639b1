"""The command line: one file per verb, each loaded only when it is called."""

from importlib import import_module

import click

from holdfast import __version__

VERBS = {
    "prove": "Start, talk to, kill and restart an agent runtime; say whether it remembers.",
    "serve": "Run the gateway: sessions over REST, WebSocket and A2A.",
    "sessions": "Look after sessions: verify.",
    "sim": "Serve the model simulator.",
}


class Verbs(click.Group):
    """A group whose verbs are modules: `holdfast.cli.<verb>` with a command of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"holdfast.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="holdfast", message="holdfast %(version)s")
def main() -> None:
    """Agent sessions that survive, and the proof that they do."""
