"""Changes of a session, and whether its rows still say what its events say."""

from holdfast.store import Store


async def assert_verified(store: Store, *session_ids: str) -> None:
    """Every row of these sessions follows from their logs."""
    for session_id in session_ids:
        verified = await store.verification.session(session_id)
        assert verified.problem is None, verified.problem


async def types_of(store: Store, session_id: str) -> list[str]:
    """The types of a session's events, without Holdfast's prefix."""
    return [event.type.removeprefix("holdfast.") for event in await store.read(session_id)]
