"""What the protocol does not leave open: contexts of answers, states that go back, tasks and streams refused."""

import pytest
from tests.prove.explore.records import Script, word

from holdfast.core import TaskState
from holdfast.prove.explore.histories.operations import Again, Chat, TakeBack
from holdfast.prove.explore.histories.wording import OTHER, context_id
from holdfast.prove.explore.judge.checker import check
from holdfast.prove.explore.judge.shown import not_offered
from holdfast.prove.explore.record import Fate, NotOffered, UploadRefused

NO_METHOD = "JSON-RPC error -32601: no such method"
BROKEN = "JSON-RPC error -32603: broken"
ENDED = "JSON-RPC error -32004: the task has ended"


def kinds(script: Script) -> list[tuple[str, str]]:
    return [violation.kind for violation in check(script.record())]


def test_an_answer_is_in_the_context_of_its_message() -> None:
    script = Script()
    script.tell(1, context=4, context_id=context_id(4, "tag"), task="t")
    script.look(1, TaskState.COMPLETED, "Noted.", context_id=context_id(4, "tag"))
    script.follow(1, "Noted.", [TaskState.COMPLETED], context_id=context_id(4, "tag"))
    script.tell(2, context_id=None)
    assert kinds(script) == []
    script.tell(3, context=4, context_id=context_id(0, "tag"))
    assert kinds(script) == [("answers", "other context")]
    assert "explore-tag-a" in check(script.record())[0].got


def test_a_message_without_a_context_begins_a_conversation_of_its_own() -> None:
    script = Script()
    script.tell(1, context=4)
    script.send(Chat(message=2, context=4, turns=3, apart=True), context_id="new-1")
    script.deliver(2, "Hello.", context_id="new-2", task="t3")
    script.deliver(2, "Hello.", context_id=None, task="t4")
    assert kinds(script) == []
    script.deliver(2, "Hello.", context_id="new-1", task="t5")
    assert kinds(script) == [("answers", "known context")]
    script.seen.pop()
    script.deliver(2, "Hello.", context_id=context_id(4, "tag"), task="t5")
    assert kinds(script) == [("answers", "known context")]


@pytest.mark.parametrize("seen", ["look", "follow"])
def test_a_task_stays_in_the_context_of_its_message(seen: str) -> None:
    script = Script()
    script.tell(1, task="t")
    if seen == "look":
        script.look(1, TaskState.COMPLETED, "Noted.", context_id="made-up")
    else:
        script.follow(1, "Noted.", [TaskState.COMPLETED], context_id="made-up")
    assert kinds(script) == [("answers", "other context")]


def test_a_message_to_a_task_is_answered_in_the_context_of_that_task() -> None:
    script = Script()
    script.tell(1, context=1, task="t")
    script.tell(2, context=0, fact=1, follows=1, context_id=context_id(1, "tag"))
    assert kinds(script) == []
    script.tell(3, context=0, fact=1, follows=1, context_id="made-up")
    assert kinds(script) == [("answers", "other context")]


def test_a_task_does_not_go_back_from_working_to_submitted() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.SUBMITTED, task="t", states=(TaskState.SUBMITTED,))
    script.look(1, TaskState.WORKING, states=(TaskState.SUBMITTED, TaskState.WORKING))
    assert kinds(script) == []
    script.look(1, TaskState.SUBMITTED, states=(TaskState.SUBMITTED,))
    assert kinds(script) == [("tasks", "backwards")]


def test_states_that_go_back_in_one_wait_or_one_stream_are_seen() -> None:
    for states in (
        (TaskState.WORKING, TaskState.SUBMITTED, TaskState.COMPLETED),
        (TaskState.COMPLETED, TaskState.WORKING, TaskState.COMPLETED),
    ):
        script = Script()
        script.tell(1, task="t", states=states)
        assert kinds(script) == [("tasks", "backwards")]
        script = Script()
        script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t")
        script.follow(1, "Noted.", states)
        assert kinds(script) == [("tasks", "backwards")]


def test_a_task_may_be_put_back_by_a_restart_and_wait_for_its_user_in_between() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t", states=(TaskState.WORKING,))
    script.kill()
    script.look(1, TaskState.SUBMITTED, states=(TaskState.SUBMITTED,))
    waits = (TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.WORKING, TaskState.COMPLETED)
    script.look(1, TaskState.COMPLETED, "Noted.", states=waits)
    assert kinds(script) == []


def test_each_restart_may_put_a_task_back_once_and_some_time_after_it() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t", states=(TaskState.WORKING,))
    script.kill()
    late = (TaskState.WORKING, TaskState.SUBMITTED, TaskState.WORKING)
    script.look(1, TaskState.WORKING, states=late)
    assert kinds(script) == []
    script.look(1, TaskState.SUBMITTED, states=(TaskState.SUBMITTED,))
    assert kinds(script) == [("tasks", "backwards")]
    script.seen.pop()
    script.kill()
    script.look(1, TaskState.WORKING, states=late)
    assert kinds(script) == []


def test_a_restart_before_a_task_puts_nothing_back() -> None:
    script = Script()
    script.kill()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t", states=(TaskState.WORKING,))
    script.look(1, TaskState.SUBMITTED, states=(TaskState.SUBMITTED,))
    assert kinds(script) == [("tasks", "backwards")]


def test_of_two_bodies_at_once_either_may_have_its_effect_and_one_has() -> None:
    for counts in ({"m1": 1, "o1": 0}, {"m1": 0, "o1": 1}, {"m1": 0, "o1": 0}):
        script = Script()
        script.append(1, at=(0, 4))
        script.do(Again(message=1, other=True, joins=True))
        script.deliver(1, "Appended.", other=True, at=(1, 3))
        script.now = 5
        script.lines(**{f"m{OTHER + 1 if name == 'o1' else 1}": count for name, count in counts.items()})
        assert kinds(script) == ([] if sum(counts.values()) else [("effects", "missing")])
    script = Script()
    script.append(1, at=(0, 2))
    script.do(Again(message=1, other=True))
    script.deliver(1, "Appended.", other=True, at=(3, 4))
    script.now = 5
    script.lines(**{"m1": 0, f"m{OTHER + 1}": 1})
    assert kinds(script) == [("effects", "missing")]


def test_who_was_ended_while_he_did_it_may_not_have_done_it() -> None:
    for killed in (True, False):
        script = Script()
        script.append(1, fate=Fate.CUT, at=(0, 2), task="t")
        script.now = 2
        if killed:
            script.kill()
        script.do(Again(message=1))
        script.deliver(1, "It may have run, and was not run again.", task="t")
        script.lines(m1=0)
        assert kinds(script) == ([] if killed else [("effects", "missing")])
        script.lines(m1=1)
        assert kinds(script) == ([("effects", "late")] if killed else [("effects", "missing")])


def test_who_was_ended_before_or_after_has_no_excuse() -> None:
    script = Script()
    script.kill()
    script.append(1)
    script.kill()
    script.lines(m1=0)
    assert kinds(script) == [("effects", "missing")]


def test_a_look_that_overlaps_another_may_be_older() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t", states=(TaskState.WORKING,), at=(0, 5))
    script.look(1, TaskState.SUBMITTED, states=(TaskState.SUBMITTED,), at=(1, 6))
    assert kinds(script) == []


def test_a_task_that_was_accepted_can_be_looked_up() -> None:
    script = Script()
    script.tell(1, task="t")
    script.look(1, None, error=BROKEN)
    assert kinds(script) == [("tasks", "unreadable")]
    script = Script()
    script.tell(1, task="t")
    script.look(1, None, error=BROKEN, canceled=True)
    script.look(1, None, error=BROKEN, disturbed=True)
    script.look(2, None, error=BROKEN, task="never seen")
    assert kinds(script) == []


def test_a_target_that_looks_up_no_tasks_is_not_judged_but_told_of() -> None:
    script = Script()
    script.tell(1, task="t")
    script.look(1, None, error=NO_METHOD)
    assert kinds(script) == []
    assert not_offered(script.record()) == {"tasks": f"the target does not look up tasks: {NO_METHOD}"}


def test_what_was_left_out_because_it_is_not_offered_is_told() -> None:
    script = Script()
    script.tell(1)
    script.seen.append(NotOffered(step=0, began=0, ended=0, what="streams", words="its card does not offer streaming"))
    assert not_offered(script.record()) == {"streams": "its card does not offer streaming"}


def test_a_running_task_can_be_followed() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t")
    script.look(1, TaskState.WORKING)
    script.follow(1, "", [], error=ENDED)
    script.look(1, TaskState.COMPLETED, "Noted.")
    assert kinds(script) == []
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t")
    script.follow(1, "", [], error=ENDED)
    script.look(1, TaskState.WORKING)
    assert kinds(script) == [("streams", "refused")]


def test_a_stream_lasts_as_long_as_its_task() -> None:
    script = Script()
    script.tell(1, how="stream", early=True, disturbed=True)
    assert kinds(script) == []
    script.tell(2, how="stream", early=True)
    assert kinds(script) == [("streams", "no end")]


def test_an_upload_that_breaks_is_a_file_that_was_not_taken() -> None:
    script = Script()
    script.send_file(1)
    script.seen.append(UploadRefused(step=0, began=0, ended=0, message=1, error="HTTP 500", disturbed=True))
    assert kinds(script) == []
    script.seen.append(UploadRefused(step=0, began=0, ended=0, message=1, error="HTTP 500"))
    assert kinds(script) == [("files", "not taken")]


def test_a_turn_that_is_delivered_again_may_run_as_a_task_of_its_own_beside_the_first() -> None:
    """The first task is at work still when the second has ended, and its words come last."""
    for answer in (word(1), word(2)):
        script = Script()
        script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, how="leave", task="first")
        script.do(Again(message=1))
        script.deliver(1, task="second")
        script.tell(2)
        script.ask(3, answer)
        assert kinds(script) == []


def test_a_turn_that_runs_on_in_the_background_is_not_settled_by_the_next_turn() -> None:
    script = Script()
    script.tell(1, fate=Fate.CUT, disturbed=True, task="t")
    script.kill()
    script.send(Chat(message=2, context=0, turns=1))
    script.ask(3, "I do not know your city.")
    script.look(1, TaskState.WORKING)
    script.ask(4, word(1))
    script.ask(5, word(1))
    assert kinds(script) == []
    script.ask(6, "I do not know your city.")
    assert kinds(script) == [("settled", "unsettled")]


@pytest.mark.parametrize(
    "words",
    [
        "I deleted it; before, it was {}.",
        "You asked me to disregard {}.",
        "There is no city on record any more, only the {} that you retracted.",
        "I cannot say: {} was cleared.",
        "You used to have {}.",
        "It was previously {}.",
        "That was erased: {}.",
    ],
)
def test_whoever_knows_that_something_was_taken_back_may_say_what_it_was(words: str) -> None:
    script = Script()
    script.tell(1)
    script.send(TakeBack(message=2, context=0, fact=0))
    script.ask(3, words.format(word(1)))
    assert kinds(script) == []
