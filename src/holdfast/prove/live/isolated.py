"""A gateway of the proof's own on a legacy store that is new to it: what its start makes of it, before any read."""

import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from holdfast.core.errors import InvalidInput
from holdfast.prove.evidence import Evidence
from holdfast.prove.live import legacy_files, proof_rows
from holdfast.prove.live.claims import ClaimBroken, require, same
from holdfast.prove.live.database import Look, ProofDatabase, open_database
from holdfast.prove.live.legacy_seed import SeededSession, seed
from holdfast.prove.live.options import LiveOptions
from holdfast.prove.live.run import StepOutcome, judged
from holdfast.prove.targets.bundled import SETTINGS
from holdfast.prove.targets.process import HOST, Launch, ProcessTarget, free_port

NAME = "startup-import"
CLAIM = "the start imports the hot legacy sessions into the database before any read, and leaves the others alone"


@dataclass(slots=True)
class IsolatedGateway:
    """A gateway process on data of its own, and what lay there before it was ever started."""

    target: ProcessTarget
    data: Path
    database: ProofDatabase
    url: str
    """Of its store."""
    sessions: list[SeededSession]
    seeded: dict[str, str]
    """The SHA-256 of each legacy file, by its path."""


def isolated_gateway(options: LiveOptions, evidence: Evidence) -> IsolatedGateway:
    """Seed the data and make the gateway, which is not started yet; InvalidInput if its store is in use."""
    data = evidence.folder / "data"
    url = options.store or f"sqlite:///{quote(str(data / 'holdfast.db'))}"
    database = open_database(url)
    if options.store:
        _refuse_used(database)
    sessions = seed(data)
    port = free_port()
    serve = ["serve", "--host", HOST, "--port", str(port), "--data", str(data)]
    serve += ["--store", options.store] if options.store else []
    module = ["holdfast.prove.live.broken", options.broken] if options.broken else ["holdfast"]
    launch = Launch(
        name=f"broken:{options.broken}" if options.broken else "isolated gateway",
        command=(sys.executable, "-P", "-m", *module, *serve),
        port=port,
        ready_paths=("/readyz",),
        workspace=None,
        environment={name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)},
        folder=data,
    )
    return IsolatedGateway(
        target=ProcessTarget(launch, evidence.folder, options.timeout),
        data=data,
        database=database,
        url=url,
        sessions=sessions,
        seeded=legacy_files.hashes(legacy_files.legacy_marks(data)),
    )


def _refuse_used(database: ProofDatabase) -> None:
    """InvalidInput if the database that was named has sessions: the proof imports into it, and kills its gateway."""
    if database.path is not None and not database.path.exists():
        return
    with database.look() as look:
        used = "sessions" in look.tables() and bool(look.rows("SELECT 1 AS n FROM sessions LIMIT 1"))
    if used:
        raise InvalidInput("--isolated wants a store that nobody has used", hint="name a new database with --store")


def startup_import(gateway: IsolatedGateway, evidence: Evidence) -> StepOutcome:
    """What the start made of the legacy sessions, as the rows and files tell before anybody has read anything."""
    began = time.monotonic()
    broken: list[ClaimBroken] = []
    try:
        with gateway.database.look() as look:
            for session in gateway.sessions:
                _check_session(look, session)
        _check_files(gateway)
    except ClaimBroken as error:
        broken.append(error)
        evidence.event(NAME, "rows", "broken", assertion=error.assertion, reason=error.reason)
    hot = sum(1 for session in gateway.sessions if session.key)
    evidence.event(NAME, "rows", "facts", sessions=[asdict(each) for each in gateway.sessions], files=gateway.seeded)
    reason = f"{hot} hot sessions were in the database before any read; {len(gateway.sessions) - hot} others were not"
    outcome = judged(NAME, CLAIM, broken, reason, time.monotonic() - began)
    evidence.event(NAME, "", "verdict", verdict=outcome.finding.verdict, reason=outcome.finding.reason)
    return outcome


def _check_session(look: Look, session: SeededSession) -> None:
    """A hot session is there whole and in order; one that nobody names is not."""
    row = proof_rows.session_on(look, session.key) if session.key else proof_rows.session(look, session.session_id)
    if session.key is None:
        require(
            row is None,
            NAME,
            "the start imported a transcript that nobody names",
            expected="only hot sessions",
            got=session.session_id,
        )
        return
    require(
        row is not None,
        NAME,
        f"the start did not import the hot session on {session.key}",
        expected="its rows before any read",
        got="none",
    )
    assert row is not None
    same(row["agent"], session.agent, NAME, f"the session on {session.key} has another agent")
    payloads = [bytes(event["payload"]) for event in proof_rows.log(look, row["session_no"])]
    places = [[at for at, payload in enumerate(payloads) if word.encode() + b"." in payload] for word in session.words]
    require(
        all(len(each) == 1 for each in places) and places == sorted(places),
        NAME,
        f"the entries of the session on {session.key} are not once there, in order",
        expected=f"{len(session.words)} entries",
        got=f"{sum(map(bool, places))} found",
    )


def _check_files(gateway: IsolatedGateway) -> None:
    """No byte of a legacy file is lost: each is where it was, or in an archive; those that nobody names stay."""
    now = legacy_files.hashes(legacy_files.legacy_marks(gateway.data))
    kept = set(legacy_files.hashes(legacy_files.marks_of(gateway.data.rglob("*.json*"))).values())
    lost = [path for path, known in gateway.seeded.items() if now.get(path) != known and known not in kept]
    require(not lost, NAME, "legacy files were changed or lost", expected="the same bytes", got=", ".join(lost))
    cold = [f"{session.session_id}.jsonl" for session in gateway.sessions if session.key is None]
    moved = [path for path in gateway.seeded if Path(path).name in cold and path not in now]
    require(not moved, NAME, "transcripts that nobody names were moved", expected="left alone", got=", ".join(moved))
