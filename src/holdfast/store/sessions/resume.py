"""Resume: all that a program needs to go on with a session, read at one moment and bounded.

However long the session, what is read is its row, its newest snapshot, the newest events after that, its state, and
what is still open, the newest of it. So a session of a hundred thousand events resumes like one of a thousand.
"""

from holdfast.core import Resumed
from holdfast.core.errors import InvalidInput
from holdfast.core.statuses import ACTIVE, OPEN_GOALS, STARTED
from holdfast.store.engine import Tx
from holdfast.store.log.log_reader import PAGE_BYTES, existing_head, stretch
from holdfast.store.log.projection import Children
from holdfast.store.log.rows import AGENTS, EFFECTS, GOALS, MOST_CHILDREN, ChildTable
from holdfast.store.sessions.agents import as_agent
from holdfast.store.sessions.checkpoints import newest_snapshot
from holdfast.store.sessions.effects import as_effect
from holdfast.store.sessions.goals import as_goal
from holdfast.store.sessions.sessions import get
from holdfast.store.sessions.state_document import stored_state

DEFAULT_TAIL = 200
MAX_TAIL = 2_000
TAIL_BYTES = 16 * 1024 * 1024


def resume(
    tx: Tx,
    tenant: str,
    session_id: str,
    limit: int = DEFAULT_TAIL,
    *,
    most_open: int = MOST_CHILDREN,
    most_open_bytes: int = PAGE_BYTES,
) -> Resumed:
    """The session as it is now, with at most `limit` of the newest events after its snapshot.

    Fewer, but one at least, if they would have more than 16 MB together; `complete` says whether these are all. Of what
    is still open, the newest of each kind that fit a page: `most_open` of them, unless they are too large.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_TAIL:
        raise InvalidInput(f"limit must be 1 to {MAX_TAIL}, not {limit}")
    head = existing_head(tx, tenant, session_id)
    snapshot = newest_snapshot(tx, head)
    after = snapshot.last_seq if snapshot else 0
    events = stretch(tx, head, after, None, limit, newest=True, most_bytes=TAIL_BYTES).events

    def still_open(table: ChildTable, *statuses: str) -> tuple[Children, int]:
        return table.newest(tx, head.session_no, *statuses, most=most_open, most_bytes=most_open_bytes)

    goals, goals_omitted = still_open(GOALS, *OPEN_GOALS)
    agents, agents_omitted = still_open(AGENTS, ACTIVE)
    effects, effects_omitted = still_open(EFFECTS, STARTED)
    return Resumed(
        session=get(tx, tenant, session_id),
        snapshot=snapshot,
        events=events,
        complete=len(events) == head.seq - after,
        state=stored_state(tx, head).parse(session_id),
        goals=[as_goal(name, child) for name, child in goals.items()],
        agents=[as_agent(name, child) for name, child in agents.items()],
        effects=[as_effect(name, child) for name, child in effects.items()],
        goals_omitted=goals_omitted,
        agents_omitted=agents_omitted,
        effects_omitted=effects_omitted,
    )
