"""The family of a session: those that name it as their parent, and theirs in turn, with what all of them hold.

A look goes down a bounded number of levels and sees a bounded number of sessions, each once, whoever names whom.
"""

from dataclasses import dataclass

from holdfast.core import Session, Usage
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import Head, page_length
from holdfast.store.sessions.sessions import COLUMNS, as_session
from holdfast.store.sessions.summaries import usage_of

MOST_MEMBERS = 200
MOST_LEVELS = 8

CHILDREN = """
    FROM sessions s WHERE s.tenant = ?1 AND s.parent_session = ?2 AND s.life = 'live' ORDER BY s.session_no LIMIT ?3"""


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """A session of a family: its parent in it, how many events it has, and what its models used."""

    session_id: str
    parent: str | None
    events: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Family:
    """A session's direct children, oldest first, and all members, parents before their children, itself the first.

    `truncated` says that there are more.
    """

    children: list[Session]
    members: list[FamilyMember]
    truncated: bool


def family(tx: Tx, tenant: str, session_id: str, head: Head) -> Family:
    """The family of a session that is there."""
    children, truncated = _children(tx, tenant, session_id)
    found: dict[str, tuple[int, str | None, int]] = {session_id: (head.session_no, None, head.seq)}
    level = [session_id]
    for depth in range(MOST_LEVELS + 1):
        below: list[str] = []
        for parent in level:
            left = MOST_MEMBERS + 1 - len(found)
            rows = tx.all(f"SELECT s.session_id, s.session_no, s.head_seq {CHILDREN}", tenant, parent, left + 1)
            new = [row for row in rows if row[0] not in found]
            truncated = truncated or len(new) > left or (depth == MOST_LEVELS and bool(new))
            for name, number, events in new[:left] if depth < MOST_LEVELS else ():
                found[name] = (number, parent, events)
                below.append(name)
        level = below
    used = usage_of(tx, [number for number, _, _ in found.values()])
    members = [
        FamilyMember(name, parent, events, used.get(number, Usage()))
        for name, (number, parent, events) in found.items()
    ]
    return Family(children, members, truncated)


def _children(tx: Tx, tenant: str, session_id: str) -> tuple[list[Session], bool]:
    """The direct children that fit a page, and whether there are more."""
    asked = (tenant, session_id)
    sizes = [size for (size,) in tx.all(f"SELECT length(s.document) {CHILDREN}", *asked, MOST_MEMBERS + 1)]
    length = page_length(sizes, MOST_MEMBERS)
    rows = tx.all(f"SELECT {COLUMNS} {CHILDREN}", *asked, length)
    return [as_session(row) for row in rows], len(sizes) > length
