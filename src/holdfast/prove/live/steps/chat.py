"""chat: an ordinary turn is answered, and the history shows both."""

from holdfast.prove.live.claims import digest, require, same
from holdfast.prove.live.stage import MANY, LiveStage, LiveStep

PROMPT = "This is an automated check of the service. Please answer in one short sentence, with the word {} in it."


async def perform(stage: LiveStage) -> str:
    """Say something, wait for the answer, find both in the history."""
    answer = await stage.say(stage.key, PROMPT.format(stage.marker))
    session_id = stage.mine(answer.get("sessionId"))
    stage.note("the answer", sessionId=session_id, status=answer.get("status"), sha256=digest(str(answer.get("text"))))
    same(answer.get("status"), "completed", "the turn ends", "the turn has another end")
    require(bool(answer.get("text")), "the turn ends", "the answer has no words", expected="words", got="none")
    told = await stage.history(stage.key)
    said = [(each["role"], each["text"]) for each in told["messages"]]
    expected = [("user", PROMPT.format(stage.marker)), ("agent", answer["text"])]
    same(
        [(role, digest(text)) for role, text in said],
        [(role, digest(text)) for role, text in expected],
        "the history shows the turn",
        "it does not show what was said and answered",
    )
    same(told["sessionId"], session_id, "the history shows the turn", "it is another session's")
    await stage.choose_neighbours()
    return "a turn was answered, and the history shows it"


CHAT = LiveStep(
    "chat",
    "an ordinary turn is answered, and the history shows both",
    perform,
    moves={
        "sessions": (1, 1),
        "session_entries": (1, 1),
        "session_routes": (1, 1),
        "transcript_events": (2, MANY),
        "transcript_event_identities": (0, MANY),
    },
)
