"""`holdfast onboard`: the proof in a template repository's own CI."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast import __version__
from holdfast.cli.errors import CANNOT, says_errors
from holdfast.cli.output import as_json as print_json
from holdfast.core import HoldfastError
from holdfast.core.errors import InvalidInput
from holdfast.terminal.text import escaped, one_line

if TYPE_CHECKING:
    from holdfast.prove.onboard import Change, Forge

FORGES = ("gitea", "github", "gitlab")


@click.command()
@click.argument("path", required=False, type=click.Path(file_okay=False, exists=True, path_type=Path))
@click.option(
    "--forge", type=click.Choice(FORGES), help="Whose workflow to write.  [default: what the repository uses]"
)
@click.option(
    "--dockerfile", default="Dockerfile", show_default=True, metavar="PATH", help="What the image is built from."
)
@click.option(
    "--requirement",
    default=f"holdfast=={__version__}",
    show_default=True,
    help="What the workflow installs: a version, or an address that pip understands.",
)
@click.option("--pytest", is_flag=True, help="Write the canaries as a test file, and no workflow.")
@click.option("--dry-run", is_flag=True, help="Show the change and make none.")
@click.option("--force", is_flag=True, help="Replace what was edited, or written by somebody else.")
@click.option(
    "--cascade",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="Do it for every repository in this file, a path a line, and report each.",
)
@click.option("--required", is_flag=True, help="Print the setting that makes the check required, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@says_errors
def onboard(path: Path | None, cascade: Path | None, required: bool, as_json: bool, **given: Any) -> None:
    """Write into a template's repository the workflow that builds its image and proves that it remembers.

    It fits Gitea, GitHub and GitLab, whichever the repository uses. A second time changes nothing; a newer Holdfast
    renews what an older one wrote. The check is called session-continuity-e2e.

    \b
      holdfast onboard ../template-hermes --dry-run     what would change
      holdfast onboard ../template-hermes               the workflow, to commit and push
      holdfast onboard --cascade repos.txt              many repositories
      holdfast onboard ../template-hermes --required    the setting to flip once it has proven itself
    """
    from holdfast.prove.onboard import forge_of
    from holdfast.prove.onboard.forges import required_setting

    if (path is None) == (cascade is None):
        raise InvalidInput("name one repository, or many with --cascade", hint="holdfast onboard PATH")
    if required and path is not None:
        forge = forge_of(path, given["forge"])
        if as_json:
            print_json({"forge": forge.name, "check": forge.check, "setting": required_setting(forge)})
        else:
            click.echo(required_setting(forge))
        return
    repositories = [path] if path is not None else _listed(cascade)
    results = [_one(repository, given, alone=path is not None) for repository in repositories]
    if as_json:
        print_json(results if cascade else results[0])
    else:
        for result in results:
            _show(result)
        if cascade:
            done = sum("error" not in result for result in results)
            click.echo(f"{done} done, {len(results) - done} refused")
    refused = [result["repository"] for result in results if "error" in result]
    if refused:
        click.echo(f"error: refused: {one_line(', '.join(refused))}", err=True)
        click.echo("hint: mend what is said of each, and run it again: the others are done", err=True)
        raise SystemExit(CANNOT)


def _listed(cascade: Path | None) -> list[Path]:
    """The repositories in a file, seen from its folder; empty lines and comments are none."""
    assert cascade is not None
    try:
        lines = [line.strip() for line in cascade.read_text().splitlines()]
    except UnicodeDecodeError:
        raise InvalidInput(f"{cascade} is not text", hint="a path a line") from None
    found = [cascade.parent / line for line in lines if line and not line.startswith("#")]
    if not found:
        raise InvalidInput(f"{cascade} names no repository", hint="a path a line")
    return found


def _one(repository: Path, given: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    """What became of one repository; of many, one that is refused keeps no other out."""
    from holdfast.prove.onboard import forge_of, plan

    try:
        forge = forge_of(repository, given["forge"] or (FORGES[1] if given["pytest"] else None))
        changes = plan(
            repository,
            forge,
            dockerfile=given["dockerfile"],
            requirement=given["requirement"],
            pytest=given["pytest"],
            force=given["force"],
        )
        if not given["dry_run"]:
            for change in changes:
                if not change.done:
                    change.make()
    except HoldfastError as error:
        if alone:
            raise
        return {"repository": str(repository), "error": error.message, "hint": error.hint}
    return _result(repository, forge, changes, made=not given["dry_run"])


def _result(repository: Path, forge: "Forge", changes: "list[Change]", *, made: bool) -> dict[str, Any]:
    return {
        "repository": str(repository),
        "forge": forge.name,
        "check": forge.check,
        "files": [
            {
                "file": change.file,
                "state": "unchanged" if change.done else "written" if made else "would change",
                "diff": change.diff,
            }
            for change in changes
        ],
    }


def _show(result: dict[str, Any]) -> None:
    if "error" in result:
        click.echo(one_line(f"{result['repository']}: refused: {result['error']} ({result['hint']})"))
        return
    for file in result["files"]:
        click.echo(one_line(f"{result['repository']}/{file['file']}: {file['state']}"))
        if file["state"] == "would change":
            click.echo(escaped(file["diff"], keep="\n"), nl=False)
