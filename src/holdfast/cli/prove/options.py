"""The options that `holdfast prove` and `holdfast prove explore` have in common: each is declared here once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

Decorator = Callable[[Any], Any]


def complete_targets(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The targets that have a name."""
    from holdfast.prove.broken.expected import KINDS

    names = ["bundled", "bundled-file", *(f"broken:{kind}" for kind in KINDS)]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_templates(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The templates that come with Holdfast."""
    from holdfast.prove.targets.templates.folder import template_names

    return [CompletionItem(name) for name in template_names() if name.startswith(incomplete)]


def complete_profiles(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The profiles that can still be added to a list with commas."""
    from holdfast.prove.runtime.selection import PROFILES

    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(before + comma + name) for name in PROFILES if name.startswith(last)]


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator; in the help they come in this order."""

    def add(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def variables(given: Sequence[str]) -> dict[str, str]:
    """What is given as NAME=VALUE, by name."""
    for each in given:
        if "=" not in each:
            raise click.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="'--env'")
    return {name: value for name, _, value in (each.partition("=") for each in given)}


target_options = together(
    click.option("--url", metavar="URL", help="A runtime that already runs; it is not killed."),
    click.option(
        "--command",
        metavar="LINE",
        help="What starts the runtime. {port}, {data} (a fresh folder) and, for the catalogue, {peer} (an agent that "
        "it may ask) are filled in; PORT is set.",
    ),
    click.option(
        "--target",
        metavar="NAME",
        shell_complete=complete_targets,
        help="A target by name: bundled (the default), bundled-file (its conversations in files) or broken:KIND.",
    ),
    click.option(
        "--image",
        metavar="IMAGE",
        help="A container image: it is started on a network without a way out, with a model simulator.  "
        "[default: TEMPLATE_IMAGE]",
    ),
    click.option(
        "--template",
        metavar="NAME",
        shell_complete=complete_templates,
        help="An agent runtime that comes with Holdfast, or the folder of one: its packages are installed the first "
        "time, and it has a model simulator and no other network.",
    ),
    click.option(
        "--env",
        "environment",
        multiple=True,
        callback=lambda _, __, given: variables(given),
        metavar="NAME=VALUE",
        help="Set this in the environment of an --image or a --template; may be given again.",
    ),
    click.option(
        "--port",
        type=click.IntRange(1, 65535),
        metavar="N",
        help="The port the target listens on.  [default: a free one]",
    ),
    click.option("--store", metavar="URL", help="The store of the bundled target.  [default: a fresh SQLite file]"),
    click.option(
        "--workspace",
        type=click.Path(file_okay=False, exists=True, path_type=Path),
        metavar="DIR",
        help="The folder where the tools of a --url or --command target work.",
    ),
    click.option(
        "--restart-command",
        metavar="LINE",
        help="What restarts a --url target, so that it can be restarted too; {how} is stop or kill.",
    ),
)

wire_options = together(
    click.option(
        "--token", metavar="TOKEN", help="Send this bearer token with every request.  [default: HOLDFAST_PROVE_TOKEN]"
    ),
    click.option(
        "--header",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Send this header with every request; may be given again. Its value is in no evidence.",
    ),
    click.option(
        "--wire",
        type=click.Choice(["0.3", "1.0"]),
        help="The A2A version to speak.  [default: the highest that its agent card offers]",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="The longest wait for an answer or a start.",
    ),
)


publication_options = together(
    click.option(
        "--badge",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write the verdict as a badge for a README, an SVG, here.",
    ),
    click.option(
        "--post",
        metavar="URL",
        help="Post the summary to this gateway, for its dashboard, with the token in HOLDFAST_TOKEN.",
    ),
)


def result_options(kind: str) -> Decorator:
    """What is shown of a result and left behind of it; the evidence of this kind has a folder of its own."""
    return together(
        click.option(
            "--artifacts",
            type=click.Path(file_okay=False, path_type=Path),
            default=Path(".artifacts"),
            show_default=True,
            metavar="DIR",
            help=f"Where evidence goes: DIR/{kind}/TIME, and DIR/{kind}/latest.",
        ),
        click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write the JUnit XML here too."),
        publication_options,
        click.option(
            "--quiet", "-q", is_flag=True, help="No progress and no table: what is not proven, and the verdict."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, and nothing else, on stdout."),
        click.option(
            "--ndjson",
            "as_ndjson",
            is_flag=True,
            help="Print every event as it comes, then the summary, a line each.",
        ),
    )
