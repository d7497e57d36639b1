"""The options of `holdfast serve` about what it logs, and what it does by itself."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from holdfast.cli.options import AGE, SIZE

if TYPE_CHECKING:
    from holdfast.gateway.operations.logs import Logs
    from holdfast.gateway.operations.timers import Timers

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--log-requests", is_flag=True, envvar="HOLDFAST_LOG_REQUESTS", help="Log every request, not only what failed."
    ),
    click.option(
        "--log-stdout", is_flag=True, envvar="HOLDFAST_LOG_STDOUT", help="Log to stdout as well, a line of JSON each."
    ),
    click.option(
        "--log-size",
        type=SIZE,
        default="10MB",
        show_default=True,
        envvar="HOLDFAST_LOG_SIZE",
        help="Bytes after which a new log file begins.",
    ),
    click.option(
        "--log-keep",
        type=click.IntRange(2, 1_000),
        default=5,
        show_default=True,
        envvar="HOLDFAST_LOG_KEEP",
        help="Log files that are kept.",
    ),
    click.option(
        "--retention-max-age",
        type=AGE,
        envvar="HOLDFAST_RETENTION_MAX_AGE",
        help="Delete sessions with no event for so long: 90d, 12h, …",
    ),
    click.option(
        "--retention-max-sessions",
        type=click.IntRange(1),
        metavar="N",
        envvar="HOLDFAST_RETENTION_MAX_SESSIONS",
        help="Delete a tenant's oldest sessions beyond this number.",
    ),
    click.option(
        "--retention-max-bytes",
        type=SIZE,
        envvar="HOLDFAST_RETENTION_MAX_BYTES",
        help="Delete a tenant's oldest sessions beyond this size: 10GB, …",
    ),
    click.option(
        "--retention-every",
        type=AGE,
        default="1h",
        show_default=True,
        envvar="HOLDFAST_RETENTION_EVERY",
        help="How often to see what is over these limits.",
    ),
    click.option(
        "--purge-after",
        type=AGE,
        envvar="HOLDFAST_PURGE_AFTER",
        help="Remove what was deleted so long ago for good: 30d, …  [default: archives are kept]",
    ),
    click.option(
        "--backup-every", type=AGE, envvar="HOLDFAST_BACKUP_EVERY", help="Back the whole store up so often: 1d, 6h, …"
    ),
    click.option(
        "--backup-folder",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="HOLDFAST_BACKUP_FOLDER",
        help="Where to.  [default: backups in the data folder]",
    ),
    click.option(
        "--backup-keep",
        type=click.IntRange(1),
        default=7,
        show_default=True,
        envvar="HOLDFAST_BACKUP_KEEP",
        help="Backups that are kept there.",
    ),
)


def upkeep_options(command: Command) -> Command:
    """Add these options to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def logs_of(given: dict[str, Any]) -> "Logs":
    """What was given of the log."""
    from holdfast.gateway.operations.logs import Logs

    return Logs(
        requests=given["log_requests"],
        max_bytes=given["log_size"],
        keep=given["log_keep"],
        stdout=given["log_stdout"],
    )


def timers_of(given: dict[str, Any]) -> "Timers":
    """What was given of retention, purges and backups."""
    from holdfast.gateway.operations.timers import Timers
    from holdfast.store import Policy

    return Timers(
        Policy(given["retention_max_age"], given["retention_max_sessions"], given["retention_max_bytes"]),
        given["retention_every"],
        given["backup_every"],
        given["backup_folder"],
        given["backup_keep"],
        given["purge_after"],
    )
