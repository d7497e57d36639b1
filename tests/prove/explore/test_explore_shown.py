"""What was seen puts a claim to the test, and not what was attempted."""

from tests.prove.explore.records import Script, word

from holdfast.core import TaskState
from holdfast.prove.explore.histories.operations import Follow, LookUp
from holdfast.prove.explore.judge.shown import claims_shown
from holdfast.prove.explore.record import Fate


def test_what_was_attempted_and_not_answered_shows_nothing() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING)
    script.ask(2, "", fate=Fate.SILENT)
    script.do(Follow(message=1))
    script.do(LookUp(message=1))
    script.look(1, None, error="JSON-RPC error -32601: no such method")
    script.follow(1, "", [], error="JSON-RPC error -32601: no such method")
    assert claims_shown(script.record()) == set()


def test_each_claim_is_shown_by_what_was_seen_of_it() -> None:
    script = Script()
    script.tell(1)
    assert claims_shown(script.record()) == {"answers"}
    script.ask(2, word(1))
    assert claims_shown(script.record()) == {"answers", "known"}
    script.tell(3)
    script.ask(4, word(3))
    assert claims_shown(script.record()) == {"answers", "known", "newest"}
    script.ask(5, "I do not know.", context=1)
    assert "apart" in claims_shown(script.record())
    script.look(1, TaskState.COMPLETED)
    script.follow(1, "Noted.", [TaskState.COMPLETED])
    script.lines(m1=1)
    script.kill()
    assert claims_shown(script.record()) >= {"tasks", "streams", "effects", "returns"}
    assert not claims_shown(script.record()) & {"files", "memory", "settled"}


def test_a_cut_turn_is_put_to_the_test_by_two_answers() -> None:
    script = Script()
    script.tell(1, fate=Fate.CUT, disturbed=True)
    script.kill()
    script.ask(2, word(1))
    script.ask(3, word(1))
    assert "settled" not in claims_shown(script.record())
    script.ask(4, word(1))
    assert "settled" in claims_shown(script.record())


def test_files_and_memory_are_shown_by_their_own_questions() -> None:
    script = Script()
    script.send_file(1)
    script.save(2)
    assert claims_shown(script.record()) == {"answers"}
    script.ask_file(3, word(1))
    script.recall(4, word(2))
    assert claims_shown(script.record()) == {"answers", "files", "memory"}
