"""The store on PostgreSQL: a server from a wheel, on this machine, every commit flushed."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

import psycopg

from bench.line import Effort, Line, in_turns
from bench.material import WRITERS
from bench.writers import Pace, pace


def measure(effort: Effort) -> list[Line]:
    """One writer and many on a database of their own."""
    single = Line("postgres", "PostgreSQL: one awaited append", "/s", at_least=1_000)
    many = Line("postgres", f"PostgreSQL: {WRITERS} writers", "/s", at_least=3_000)
    try:
        from tests.support.postgres import running_server
    except ImportError as error:
        why = f"NOT RUN: there is no server ({error})"
        return [replace(single, note=why), replace(many, note=why)]
    with running_server(effort.folder) as server:
        note = f"PostgreSQL {_version(server.uri)}"
        rounds = in_turns(
            effort.repeats,
            lambda: pace(server.new_database(), 1, effort.seconds),
            lambda: pace(server.new_database(), WRITERS, effort.seconds),
        )
    return [_filled(single, [one for one, _ in rounds], note), _filled(many, [other for _, other in rounds], note)]


def _filled(line: Line, rounds: Sequence[Pace], note: str) -> Line:
    return replace(
        line,
        value=median(found.rate for found in rounds),
        beside={"p99 ms": median(found.p99_ms for found in rounds)},
        note=note,
    )


def _version(uri: str) -> str:
    with psycopg.connect(uri) as connection:
        return str(connection.info.parameter_status("server_version"))
