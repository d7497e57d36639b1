"""The way to one database: the hosts of its URL, which of them may hold the store, and a bound on every wait.

Every connection is checked when it is made. The host that served last is tried first. Once a newer timeline was seen,
connections to an older one are cut, and no new ones are made.
"""

import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from holdfast.core.errors import EngineRefused, HoldfastError, InvalidInput
from holdfast.store.engine import Seen
from holdfast.store.postgres.pooler import refuse_shared_sessions
from holdfast.store.postgres.server import LOOK, KnownServer, ServerReport, check_server
from holdfast.store.postgres.watch import STATEMENT_SECONDS, Address, Watch, WatchedConnection
from holdfast.store.tuning import DEFAULT_TUNING, StoreTuning

IDLE_WAIT = "10s"
"""How long the server keeps an open transaction of which it hears nothing."""
LET_GO_SECONDS = 0.1
SET_UP_SECONDS = 10.0
"""How long each question may take that a new connection is checked with."""
DEFAULTS = {
    "application_name": "holdfast",
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""What a connection has unless the URL says otherwise: a name that others know it by, and the settings with which the
kernel too notices a host that has gone."""
SETTINGS = {
    "synchronous_commit": "on",
    "client_encoding": "UTF8",
    "idle_in_transaction_session_timeout": IDLE_WAIT,
}


class ServerRefused(psycopg.OperationalError):
    """A server was reached, and must not hold the store; `refusal` says why."""

    def __init__(self, refusal: HoldfastError) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class PostgresDatabase:
    """Makes connections to one database, each of which is a primary's and is watched."""

    def __init__(self, url: str, seen: Seen | None = None, tuning: StoreTuning = DEFAULT_TUNING) -> None:
        """`seen` is what another process knows of the server; no connection goes back behind it."""
        self._addresses = addresses_of(url)
        self._changing = threading.Lock()
        self._known = KnownServer(seen)
        self._tuning = tuning
        self._watch = Watch(self._try_last, tuning)

    def connect(self, *, read_only: bool = False, patient: bool = False) -> WatchedConnection:
        """A connection on which a commit is durable when it returns; patient: its statements may take any time.

        ServerRefused if a server was reached that must not hold the store, and no other one that may.
        """
        failures: list[tuple[Address, psycopg.Error]] = []
        for address in list(self._addresses):
            if self._watch.ended:
                raise psycopg.OperationalError("the store is closing")
            try:
                connection = self._open(address, read_only=read_only)
            except psycopg.Error as error:
                failures.append((address, error))
            else:
                connection.limit = float("inf") if patient else STATEMENT_SECONDS
                self._try_first(address)
                return connection
        raise _together(failures)

    @property
    def seen(self) -> Seen | None:
        """The newest history that was seen."""
        return self._known.identity

    def let_go(self) -> None:
        """Cut every connection and make no more: nobody waits for the database any longer."""
        self._watch.end()

    def _open(self, address: Address, *, read_only: bool) -> WatchedConnection:
        connection = self._bare(address)
        try:
            self._check(connection, writes=not read_only)
            _set_up(connection, self._tuning, read_only=read_only)
        except HoldfastError as refusal:
            connection.close()
            raise ServerRefused(refusal) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _bare(self, address: Address) -> WatchedConnection:
        connection = self._dial(address)
        connection.address = address
        connection.limit = SET_UP_SECONDS
        self._watch.add(connection)
        return connection

    def _dial(self, address: Address) -> WatchedConnection:
        """Connect in a thread of its own: nothing else ends a wait for a name or a handshake when we let go."""
        outcome: SimpleQueue[WatchedConnection | Exception] = SimpleQueue()

        def dial() -> None:
            try:
                made = WatchedConnection.connect(
                    **address, autocommit=True, prepare_threshold=2, cursor_factory=psycopg.RawCursor
                )
            except Exception as error:
                outcome.put(error)
            else:
                outcome.put(made)
                if self._watch.ended:
                    made.close()

        threading.Thread(target=dial, name="holdfast-connect", daemon=True).start()
        while not self._watch.ended:
            with suppress(Empty):
                found = outcome.get(timeout=LET_GO_SECONDS)
                if isinstance(found, WatchedConnection):
                    return found
                raise found
        with suppress(Empty):  # whoever connects after this look closes by himself
            late = outcome.get_nowait()
            if isinstance(late, WatchedConnection):
                late.close()
        raise psycopg.OperationalError("the store is closing")

    def _check(self, connection: WatchedConnection, *, writes: bool) -> None:
        row = connection.execute(LOOK).fetchone()
        assert row is not None
        look = ServerReport(*row)
        check_server(look, connection.info.server_version, writes=writes)
        refuse_shared_sessions(connection, look.backend, lambda: self._bare(connection.address))
        connection.identity = look.identity
        connection.backend = look.backend  # last: from here on others look at it
        with self._changing:
            before = self._known.identity
            self._known.accept(look.identity)
        if before is not None and before != look.identity:
            for other in self._watch.open():
                if other.backend and other.identity.timeline < look.timeline:
                    other.cut("the database server is a former primary: a newer timeline was seen")

    def _try_first(self, address: Address) -> None:
        with self._changing, suppress(ValueError):
            self._addresses.remove(address)
            self._addresses.insert(0, address)

    def _try_last(self, address: Address) -> None:
        with self._changing, suppress(ValueError):
            self._addresses.remove(address)
            self._addresses.append(address)


def addresses_of(url: str) -> list[Address]:
    """The parameters of a connection to each host that a URL names, in its order."""
    try:
        given = DEFAULTS | conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InvalidInput(
            f"that is not a PostgreSQL URL: {str(error).strip()}", hint="for example postgresql://user@host/database"
        ) from None
    lists = {name: str(given.pop(name)).split(",") for name in ("host", "hostaddr", "port") if name in given}
    count = max((len(values) for values in lists.values()), default=1)
    if any(len(values) not in {1, count} for values in lists.values()):
        raise InvalidInput("the store URL has another number of ports than of hosts", hint="host1:5432,host2:5432")
    each = {name: values if len(values) == count else values * count for name, values in lists.items()}
    return [
        given | {name: values[number] for name, values in each.items() if values[number]} for number in range(count)
    ]


def _set_up(connection: WatchedConnection, tuning: StoreTuning, *, read_only: bool) -> None:
    settings = SETTINGS | {"lock_timeout": _milliseconds(tuning.lock_seconds)}
    if read_only:
        settings["default_transaction_read_only"] = "on"
        settings["statement_timeout"] = _milliseconds(tuning.read_seconds)
    calls = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())
    connection.execute(f"SELECT {calls}".encode())
    connection.adapters.register_dumper(int, Int8Dumper)  # one statement for all sizes of integers


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f}ms"


def _together(failures: list[tuple[Address, psycopg.Error]]) -> psycopg.Error:
    """One error for all hosts."""
    if len(failures) == 1:
        return failures[0][1]
    text = "no host of the store URL serves it: " + "; ".join(
        f"{_name(address)}: {str(error).strip().splitlines()[0]}" for address, error in failures
    )
    for _, error in failures:
        if isinstance(error, ServerRefused):
            return ServerRefused(EngineRefused(text, hint=error.refusal.hint))
    return psycopg.OperationalError(text)


def _name(address: dict[str, Any]) -> str:
    return f"{address.get('host') or address.get('hostaddr')}:{address.get('port', 5432)}"
