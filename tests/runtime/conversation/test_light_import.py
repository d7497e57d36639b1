"""`import holdfast.runtime` brings what a conversation in files needs, and no server, database or HTTP client."""

import sys

from tests.support.processes import python

HEAVY = (
    *("starlette", "fastapi", "uvicorn", "uvloop", "pydantic", "websockets", "httpx2", "anyio"),
    *("apsw", "psycopg", "asyncio", "click", "prometheus_client"),
    *("holdfast.a2a", "holdfast.store", "holdfast.http", "holdfast.gateway", "holdfast.models.simulator"),
)
PROGRAM = """
import sys
import holdfast.runtime
from holdfast.models import Message, Role
session = holdfast.runtime.ConversationSession(
    project_root=sys.argv[1],
    system_message_factory=lambda: Message(Role.SYSTEM, "s"),
    few_shot_factory=lambda: [],
)
session.append(Message(Role.USER, "a"))
print([name for name in sys.argv[2:] if name in sys.modules], len(session.messages))
"""


def test_a_conversation_in_files_needs_no_server_database_or_loop(tmp_path: object) -> None:
    with python("-c", PROGRAM, str(tmp_path), *HEAVY) as process:
        out, err = process.communicate(timeout=60)
    assert (out, err) == ("[] 1\n", "")


def test_what_is_imported_later_is_found_by_its_name() -> None:
    import holdfast.models
    import holdfast.runtime

    for module in (holdfast.models, holdfast.runtime):
        for name in module.__all__:
            assert getattr(module, name) is not None
        assert not hasattr(module, "nothing")
    assert sys.modules["holdfast.runtime"].bundled_agent is holdfast.runtime.bundled_agent
