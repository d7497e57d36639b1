"""`holdfast prove`: options in, verdict out. The work is in `holdfast.prove`."""

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from holdfast.cli.exit_codes import end_with, names
from holdfast.cli.prove.explore import prove_explore
from holdfast.cli.prove.live import prove_live
from holdfast.cli.prove.options import complete_profiles, result_options, target_options, wire_options
from holdfast.cli.prove.service import prove_service
from holdfast.cli.prove.store import prove_store

EPILOG = """\b
Exit codes
  0  everything that was checked is proven
  1  something is disproven
  2  wrong options, or a fault between the proof and the target
  3  something could not be judged

\b
Examples
  holdfast prove
  holdfast prove --only name,crash --seed 0
  holdfast prove --command 'python agent.py --port {port}' --workspace ./work
  holdfast prove --command 'python agent.py --port {port}' --profile continuity,files --skip long
  holdfast prove --url http://localhost:9000 --restart-command 'docker restart agent'
  holdfast prove --template langgraph
  holdfast prove --target broken:ack-before-commit
  holdfast prove --repeat 20 --junit proof.xml --quiet
  holdfast prove --show
  holdfast prove --again .artifacts/prove/latest crash
"""
NEWEST = ""
AGAIN = "holdfast.prove.again"


def complete_proofs(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The proofs that can still be added to a list with commas."""
    from holdfast.prove.runtime.proofs import catalogue

    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    found = [name for name in catalogue() if name.startswith(last) and name not in taken]
    return [CompletionItem(before + comma + name) for name in found]


class ProveGroup(click.Group):
    """A group whose option --again takes a second word, the proof, where there is one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the second word aside, which would be taken for a subcommand."""
        words = list(args)
        place = next((place for place, word in enumerate(words) if word.split("=")[0] == "--again"), None)
        if place is not None:
            after = place + (1 if "=" in words[place] else 2)
            if after < len(words) and not words[after].startswith("-"):
                ctx.meta[AGAIN] = words.pop(after)
        return super().parse_args(ctx, words)


@click.group(cls=ProveGroup, epilog=EPILOG, invoke_without_command=True)
@target_options
@click.option(
    "--next-command",
    metavar="LINE",
    help="What starts the next version of a --command target, or of the bundled one, on the same data: *upgrade* "
    "proves that it remembers.",
)
@click.option(
    "--probe-command",
    metavar="LINE",
    help="What prints, as JSON, what the store of a --url or --command target holds; {context} is the conversation.",
)
@click.option(
    "--proofs",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE.py",
    help="Add the proofs of this file to ours; may be given again.",
)
@click.option(
    "--only",
    metavar="NAMES",
    shell_complete=complete_proofs,
    help="Prove these only, separated by commas, and what they need.",
)
@click.option(
    "--profile",
    multiple=True,
    metavar="NAMES",
    shell_complete=complete_profiles,
    help="Prove what is about this: continuity, files, memory, tools, streaming or all; may be given again.  "
    "[default: continuity for --url and --command, else all]",
)
@click.option("--skip", metavar="NAMES", shell_complete=complete_proofs, help="Leave these out, and what needs them.")
@click.option(
    "--turns",
    type=click.IntRange(min=2),
    metavar="N",
    help="How many turns the proof `long` takes; each is one of the target's model.  [default: 200]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Run so often, each time with the next seed; the worst run is the verdict.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Draw names and colours from this; 0 is the classic set.  [default: random]",
)
@wire_options
@result_options("prove")
@click.option("--keep-running", is_flag=True, help="Leave the target running after the proof, until Ctrl-C.")
@click.option("--list", "as_list", is_flag=True, help="List the proofs and the broken targets; run nothing.")
@click.option(
    "--show",
    is_flag=False,
    flag_value=NEWEST,
    metavar="[FOLDER]",
    help="Make the report of a run (the newest) again, print its path and open it; run nothing.",
)
@click.option(
    "--again",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="FOLDER [PROOF]",
    help="Start the target of a run on a copy of the data that it left, so that its curl lines answer, until Ctrl-C.",
)
@click.pass_context
def prove(
    context: click.Context,
    /,
    *,
    only: str | None,
    as_list: bool,
    show: str | None,
    again: Path | None,
    **given: Any,
) -> None:
    """Start, talk to, kill and restart an agent runtime, and say whether it remembers.

    Each proof is one claim about continuity, checked from outside over A2A. What was sent, what came back and
    when the target was killed is left behind as evidence.
    """
    if context.invoked_subcommand is not None:
        _refuse_own_options(context)
        return
    from holdfast.prove.runtime import command as work
    from holdfast.prove.runtime.options import RuntimeOptions
    from holdfast.prove.runtime.runs.again import again as start_again
    from holdfast.prove.view.listing import show_listing
    from holdfast.prove.view.report_link import show_report

    def proof() -> int:
        if as_list:
            show_listing(given["as_json"], given["proofs"])
            return 0
        if show is not None:
            show_report(given["artifacts"].resolve(), show)
            return 0
        if again is not None:
            return start_again(RuntimeOptions.of((), given, arguments={}), again, context.meta.get(AGAIN), _agrees)
        asked_for = names(only, what="proof", listing="holdfast prove --list")
        own = [path.resolve() for path in given["proofs"]]
        return work.prove(RuntimeOptions.of(asked_for, given | {"proofs": own}, arguments=dict(context.params)))

    end_with(proof)


def _agrees(question: str) -> bool:
    """Whether somebody at a terminal says yes; nobody there is a no."""
    return sys.stdin.isatty() and click.confirm(question, err=True)


def _refuse_own_options(context: click.Context) -> None:
    """An option that stands before `store` is one of the runtime's proof, and would be ignored."""
    for option in context.params:
        if context.get_parameter_source(option) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{option.removeprefix('as_').replace('_', '-')} goes after `{context.invoked_subcommand}`"
            )


prove.add_command(prove_store)
prove.add_command(prove_explore)
prove.add_command(prove_live)
prove.add_command(prove_service)
