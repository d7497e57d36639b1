"""The verdict on hand-written records: what an honest runtime can do is allowed, what it cannot is a violation."""

import pytest
from tests.prove.explore.records import SEED, Script, word

from holdfast.core import TaskState
from holdfast.prove.explore.histories.operations import Again, Cancel, Chat, Kill, TakeBack, Tell
from holdfast.prove.explore.histories.values import Form, draw
from holdfast.prove.explore.judge.checker import check, wrong_again
from holdfast.prove.explore.record import Fate, LinesSeen


def kinds(script: Script) -> list[tuple[str, str]]:
    return [violation.kind for violation in check(script.record())]


def test_what_was_told_and_is_known_is_fine() -> None:
    script = Script()
    script.tell(1)
    script.ask(2, f"Your city is {word(1)}.")
    assert kinds(script) == []


def test_what_was_acknowledged_and_is_not_known_is_forgotten() -> None:
    script = Script()
    script.tell(1)
    script.kill()
    script.ask(2, "I do not know your city.")
    [violation] = check(script.record())
    assert violation.kind == ("known", "forgotten")
    assert violation.step == 2
    assert word(1) in violation.expected
    assert violation.got == "'I do not know your city.'"


def test_a_question_that_nothing_was_told_for_may_be_answered_with_nothing() -> None:
    script = Script()
    script.ask(1, "I do not know your city.")
    script.tell(2)
    assert kinds(script) == []


def test_of_a_changed_fact_the_newest_is_known() -> None:
    script = Script()
    script.tell(1)
    script.tell(2)
    script.ask(3, f"Your city is {word(2)}.")
    script.ask(4, f"You told me: {word(1)}, {word(2)}.")
    assert kinds(script) == []
    script.ask(5, f"Your city is {word(1)}.")
    assert kinds(script) == [("newest", "stale")]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_turns_at_once_may_come_in_either_order(order: tuple[int, int]) -> None:
    script = Script()
    script.tell(1, at=(0, 3))
    script.tell(2, at=(1, 2))
    script.ask(3, f"It is {word(order[0])}.", at=(4, 5))
    script.ask(4, f"It is {word(order[0])}.", at=(6, 7))
    assert kinds(script) == []
    script.ask(5, f"It is {word(order[1])}.", at=(8, 9))
    assert kinds(script) == [("settled", "unsettled")]


@pytest.mark.parametrize("told", [(2, 5), (2, 3.5), (3.5, 5)])
def test_a_question_during_a_turn_may_see_it_or_not(told: tuple[float, float]) -> None:
    for answer in (word(1), word(2)):
        script = Script()
        script.tell(1, at=(0, 1))
        script.tell(2, at=told)
        script.ask(3, answer, at=(3, 4))
        assert kinds(script) == []


def test_what_is_seen_of_a_running_turn_may_be_gone_after_a_kill_for_ever() -> None:
    script = Script()
    script.tell(9)
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, how="cut")
    script.ask(2, word(1))
    script.kill()
    script.send(Chat(message=3, context=0, turns=1))
    script.ask(4, word(9))
    script.ask(5, word(9))
    assert kinds(script) == []


def test_a_turn_that_was_cut_is_there_or_not() -> None:
    for answer in (word(1), "I do not know your city."):
        script = Script()
        script.tell(1, fate=Fate.CUT, disturbed=True)
        script.kill()
        script.ask(2, answer)
        script.ask(3, answer)
        assert kinds(script) == []


@pytest.mark.parametrize("known_first", [True, False])
def test_a_turn_that_was_cut_is_the_same_for_ever_after(known_first: bool) -> None:
    script = Script()
    answers = [word(1), "I do not know your city."]
    script.tell(1, fate=Fate.CUT, disturbed=True)
    script.kill()
    script.send(Chat(message=5, context=0, turns=1))
    for number, answer in enumerate(answers if known_first else reversed(answers)):
        script.ask(6 + number, answer)
    assert kinds(script) == [("settled", "unsettled")]


def test_what_runs_on_after_a_kill_may_become_known_until_it_has_ended() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, how="cut")
    script.ask(2, "I do not know your city.")
    script.ask(3, word(1))
    assert kinds(script) == []
    script.look(1, TaskState.CANCELED, task="t1")
    script.ask(4, word(1))
    assert kinds(script) == []
    script.ask(5, "I do not know your city.")
    assert kinds(script) == [("settled", "unsettled")]


def test_a_turn_that_is_shown_as_completed_is_acknowledged() -> None:
    script = Script()
    script.tell(1, fate=Fate.CUT, disturbed=True)
    script.kill()
    script.look(1, TaskState.COMPLETED, "Noted.", task="t1")
    script.ask(2, "I do not know your city.")
    assert kinds(script) == [("known", "forgotten")]


def test_a_cut_turn_that_is_delivered_again_and_answered_is_known() -> None:
    script = Script()
    script.tell(1, fate=Fate.CUT, disturbed=True)
    script.kill()
    script.do(Again(message=1))
    script.deliver(1)
    script.ask(2, "I do not know your city.")
    assert kinds(script) == [("known", "forgotten")]


def test_a_message_that_is_delivered_again_may_count_again_where_words_are_concerned() -> None:
    for answer in (word(1), word(2)):
        script = Script()
        script.tell(1)
        script.tell(2)
        script.do(Again(message=1))
        script.deliver(1)
        script.ask(3, answer)
        assert kinds(script) == []


def test_another_body_may_be_taken_or_not() -> None:
    other = draw(SEED, 100_001, Form.WORD).text
    for answer, found in ((word(1), []), (other, []), ("Nothing.", [("known", "forgotten")])):
        script = Script()
        script.tell(1)
        script.do(Again(message=1, other=True))
        script.deliver(1, other=True)
        script.ask(2, answer)
        assert kinds(script) == found


def test_what_was_taken_back_is_not_told_as_if_nothing_had_happened() -> None:
    script = Script()
    script.tell(1)
    script.send(TakeBack(message=2, context=0, fact=0))
    script.ask(3, "I do not know your city.")
    script.ask(4, f"You took it back; it was {word(1)}, which I was told to forget.")
    assert kinds(script) == []
    script.ask(5, f"Your city is {word(1)}.")
    assert kinds(script) == [("newest", "withdrawn")]


def test_what_was_told_elsewhere_is_not_known() -> None:
    script = Script()
    script.tell(1, context=0)
    script.tell(2, context=1)
    script.ask(3, f"{word(2)}.", context=1)
    assert kinds(script) == []
    script.ask(4, f"{word(1)} and {word(2)}.", context=1)
    assert kinds(script) == [("apart", "leaked")]


def test_look_alikes_are_told_apart() -> None:
    twin = draw(SEED, 2, Form.TWIN).text
    assert twin != word(1)
    script = Script()
    script.tell(1, context=0)
    script.tell(2, context=1, form=Form.TWIN)
    script.ask(3, word(1), context=0)
    script.ask(4, twin, context=1)
    assert kinds(script) == []
    script.ask(5, word(1), context=1)
    assert kinds(script) == [("known", "forgotten"), ("apart", "leaked")]


def test_memory_is_one_for_all_contexts_and_keeps_the_newest() -> None:
    script = Script()
    script.save(1, context=0)
    script.save(2, context=1)
    script.recall(3, word(2), context=2)
    assert kinds(script) == []
    script.recall(4, word(1), context=2)
    assert kinds(script) == [("memory", "stale")]
    script.recall(5, "Nothing.", context=0, fact=1)
    assert kinds(script) == [("memory", "stale")]


def test_a_file_is_known_later() -> None:
    script = Script()
    script.send_file(1)
    script.ask_file(2, f"The code word is {word(1)}.")
    assert kinds(script) == []
    script.ask_file(3, "I have seen no file.")
    assert kinds(script) == [("files", "forgotten")]


def test_an_effect_happens_once() -> None:
    script = Script()
    script.append(1)
    script.lines(m1=1)
    assert kinds(script) == []
    script.do(Again(message=1))
    script.deliver(1, "Appended.")
    script.lines(m1=2)
    assert kinds(script) == [("effects", "twice")]


def test_an_effect_that_was_acknowledged_is_there() -> None:
    script = Script()
    script.append(1)
    script.lines(m1=0)
    assert kinds(script) == [("effects", "missing")]


def test_an_effect_that_was_cut_may_come_until_its_task_is_over_and_not_later() -> None:
    script = Script()
    script.append(1, fate=Fate.CUT, disturbed=True)
    script.kill()
    script.lines(m1=0)
    script.lines(m1=1)
    assert kinds(script) == []
    script = Script()
    script.append(1, fate=Fate.CANCELED, state=TaskState.CANCELED)
    script.do(Cancel(message=1))
    script.lines(m1=0)
    script.lines(m1=1)
    assert kinds(script) == [("effects", "late")]


def test_a_task_that_has_ended_stays_as_it_is() -> None:
    script = Script()
    script.tell(1, task="t")
    script.look(1, TaskState.COMPLETED, "Noted.")
    assert kinds(script) == []
    script.look(1, TaskState.FAILED, "Noted.")
    assert kinds(script) == [("tasks", "other state")]


def test_a_task_that_was_completed_keeps_its_answer() -> None:
    script = Script()
    script.tell(1, task="t")
    script.look(1, TaskState.COMPLETED, "")
    assert kinds(script) == [("tasks", "other answer")]


def test_a_task_that_was_sent_another_message_may_go_on_but_not_be_lost() -> None:
    script = Script()
    script.tell(1, task="t")
    script.tell(2, fact=1, follows=1, task="t")
    script.look(1, TaskState.COMPLETED, "Noted. Noted.")
    assert kinds(script) == []
    script.look(1, None, error="JSON-RPC error -32001: no such task")
    assert kinds(script) == [("tasks", "lost")]


def test_a_task_that_was_accepted_is_found_again() -> None:
    script = Script()
    script.tell(1, task="t")
    script.look(1, None, error="JSON-RPC error -32601: no such method")
    assert kinds(script) == []
    script.look(1, None, error="JSON-RPC error -32001: no such task")
    assert kinds(script) == [("tasks", "lost")]


def test_every_task_ends() -> None:
    script = Script()
    script.tell(1, fate=Fate.CUT, disturbed=True, task="t")
    script.kill()
    script.look(1, TaskState.WORKING)
    assert kinds(script) == []
    script.look(1, TaskState.WORKING, waited=True)
    assert kinds(script) == [("tasks", "endless")]


def test_a_look_that_overlaps_the_end_may_still_see_it_running() -> None:
    script = Script()
    script.tell(1, task="t", at=(0, 5))
    script.look(1, TaskState.WORKING, at=(1, 6))
    assert kinds(script) == []


def test_a_stream_that_is_followed_again_tells_all() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t")
    script.follow(1, "1 2 3", [TaskState.WORKING, TaskState.COMPLETED])
    script.look(1, TaskState.COMPLETED, "1 2  3")
    script.follow(1, "1 2 2 3", [TaskState.WORKING, TaskState.COMPLETED])
    assert kinds(script) == []
    script.follow(1, "1 3 2", [TaskState.WORKING, TaskState.COMPLETED])
    assert kinds(script) == [("streams", "incomplete")]


def test_a_stream_ends_with_its_task() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t")
    script.follow(1, "1", [TaskState.WORKING])
    script.follow(1, "1", [TaskState.WORKING], late=True)
    script.follow(1, "", [], error="JSON-RPC error -32603: broken")
    assert kinds(script) == [("streams", "no end"), ("streams", "endless"), ("streams", "refused")]


def test_a_stream_may_be_refused_for_a_task_that_has_ended_and_cut_by_a_kill() -> None:
    script = Script()
    script.tell(1, task="t")
    script.follow(1, "", [], error="JSON-RPC error -32004: the task has ended")
    script.follow(1, "1", [TaskState.WORKING], disturbed=True)
    assert kinds(script) == []


@pytest.mark.parametrize("fate", [Fate.EMPTY, Fate.FAILED, Fate.REFUSED, Fate.SILENT, Fate.CANCELED])
def test_every_message_is_answered(fate: Fate) -> None:
    script = Script()
    script.tell(1, fate=fate)
    assert kinds(script) == [("answers", fate.value)]


@pytest.mark.parametrize("fate", [Fate.EMPTY, Fate.FAILED, Fate.REFUSED, Fate.CANCELED])
def test_what_the_protocol_allows_to_refuse_may_be_refused(fate: Fate) -> None:
    script = Script()
    script.tell(1, fate=fate, disturbed=True)
    script.tell(2, fate=fate, follows=1)
    script.tell(3, fate=fate, context=9)
    script.tell(4, fate=fate)
    script.do(Cancel(message=4))
    script.tell(5)
    script.do(Again(message=5))
    script.deliver(5, fate=fate)
    assert kinds(script) == []


def test_a_target_comes_back_and_does_not_end_by_itself() -> None:
    script = Script()
    script.kill(trouble="nothing listens")
    assert kinds(script) == [("returns", "not back")]


def test_a_message_to_a_task_that_was_taken_is_known_in_its_conversation() -> None:
    script = Script()
    script.tell(1)
    script.tell(2, fact=1, follows=1)
    script.ask(3, "I do not know your river.", fact=1)
    assert kinds(script) == [("known", "forgotten")]


def test_violations_come_in_the_order_in_which_they_were_seen() -> None:
    script = Script()
    script.tell(1)
    script.ask(2, "Nothing.")
    script.tell(3, fact=1, fate=Fate.FAILED)
    script.kill(operation=Kill(joins=True))
    assert [violation.step for violation in check(script.record())] == [1, 2]
    assert isinstance(script.record().operation(script.seen[0]), Tell)


def test_a_cut_turn_is_settled_by_the_next_turn_of_its_own_context_after_the_start() -> None:
    script = Script()
    script.tell(1, fate=Fate.CUT, disturbed=True)
    script.send(Chat(message=2, context=0, turns=1))
    script.ask(3, word(1), at=(2, 2.5))
    script.kill()
    script.send(Chat(message=4, context=1, turns=1))
    script.ask(5, "I do not know your city.", at=(10, 11))
    script.ask(6, word(1), at=(10.5, 11.5))
    assert kinds(script) == []
    script.ask(7, "I do not know your city.", at=(12, 13))
    assert kinds(script) == []
    script.ask(8, word(1), at=(14, 15))
    assert kinds(script) == [("settled", "unsettled")]


def test_a_message_that_is_answered_when_it_comes_again_may_have_been_taken_in_the_first_time() -> None:
    for answer in (word(1), word(2)):
        script = Script()
        script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, how="leave")
        script.tell(2)
        script.do(Again(message=1))
        script.deliver(1)
        script.ask(3, answer)
        assert kinds(script) == []


def test_a_turn_that_is_seen_running_is_not_settled_by_that() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, how="cut")
    script.look(1, TaskState.WORKING, task="t1")
    script.ask(2, "I do not know your city.")
    script.ask(3, word(1))
    assert kinds(script) == []


def test_a_question_that_was_not_answered_says_nothing() -> None:
    script = Script()
    script.tell(1)
    script.ask(2, "", fate=Fate.CUT, disturbed=True)
    assert kinds(script) == []


def test_what_was_told_in_two_conversations_is_known_in_both() -> None:
    script = Script()
    script.tell(1, context=0)
    script.tell(2, context=1, value=1)
    script.ask(3, word(1), context=0)
    script.ask(4, word(1), context=1)
    assert kinds(script) == []


def test_a_piece_of_what_was_told_elsewhere_is_enough() -> None:
    script = Script()
    script.tell(1, context=0, form=Form.WORDS)
    script.ask(2, f"Something with {word(1)}.", context=1)
    assert kinds(script) == [("apart", "leaked")]


def test_an_effect_need_not_be_there_before_it_was_acknowledged() -> None:
    script = Script()
    script.append(1, at=(0, 4))
    script.lines(m1=0)
    script.seen[-1] = LinesSeen(step=0, began=1, ended=2, counts={1: 0})
    script.lines(m1=1)
    assert kinds(script) == []


def test_an_effect_may_come_with_its_last_delivery() -> None:
    script = Script()
    script.append(1, fate=Fate.FAILED, state=TaskState.FAILED, disturbed=True)
    script.lines(m1=0)
    script.do(Again(message=1))
    script.deliver(1, fate=Fate.CUT, disturbed=True)
    script.lines(m1=1)
    assert kinds(script) == []


def test_a_task_that_failed_may_tell_more_of_it_later() -> None:
    script = Script()
    script.tell(1, fate=Fate.FAILED, state=TaskState.FAILED, disturbed=True, task="t")
    script.look(1, TaskState.FAILED, "Interrupted by a restart.")
    assert kinds(script) == []


def test_streams_are_compared_with_the_answer_of_their_own_task() -> None:
    script = Script()
    script.tell(1, fate=Fate.RUNNING, state=TaskState.WORKING, task="t")
    script.look(2, TaskState.COMPLETED, "Another answer.", task="other")
    script.follow(1, "1 2 3", [TaskState.COMPLETED])
    script.look(1, TaskState.COMPLETED, "1 2 3")
    assert kinds(script) == []


def test_a_word_that_came_in_two_pieces_is_known_and_leaks() -> None:
    half = len(word(1)) // 2
    pieces = f"It is {word(1)[:half]}\n{word(1)[half:]}."
    script = Script()
    script.tell(1)
    script.ask(2, pieces, readings=f"{pieces}\nIt is {word(1)}.")
    assert kinds(script) == []
    script.ask(3, pieces, context=1, readings=f"{pieces}\nIt is {word(1)}.")
    assert kinds(script) == [("apart", "leaked")]


def test_a_question_for_a_task_is_answered() -> None:
    script = Script()
    script.tell(1, task="t")
    script.look(1, None, error="not answered in time", silent=True)
    assert kinds(script) == [("tasks", "silent")]


def test_only_a_task_that_was_seen_in_a_state_can_be_lost() -> None:
    script = Script()
    script.tell(1, task="t", state=None)
    script.look(1, None, error="JSON-RPC error -32001: no such task")
    assert kinds(script) == []


@pytest.mark.parametrize("fate", [Fate.FAILED, Fate.REFUSED])
def test_what_failed_because_the_target_was_ended_is_as_open_as_what_was_cut(fate: Fate) -> None:
    script = Script()
    script.tell(1, fate=fate, disturbed=True, at=(0, 1))
    script.ask(2, "I do not know your city.", at=(1, 2))
    script.ask(3, word(1), at=(2, 3))
    assert kinds(script) == []


def test_a_turn_beside_another_of_its_context_may_be_refused() -> None:
    script = Script()
    script.tell(1, at=(0, 4))
    script.tell(2, at=(1, 2), fate=Fate.REFUSED)
    script.tell(3, at=(1, 2), fate=Fate.REFUSED, context=1)
    script.tell(4, at=(5, 6), fate=Fate.REFUSED)
    assert [violation.step for violation in check(script.record())] == [2, 3]


@pytest.mark.parametrize("fate", [Fate.BUSY, Fate.ASKED_BACK])
def test_who_is_put_off_or_asked_back_was_told_nothing(fate: Fate) -> None:
    script = Script()
    script.tell(1, fate=fate)
    script.ask(2, "", fate=fate)
    script.ask(3, "I do not know your city.")
    assert kinds(script) == []


def test_an_effect_may_come_as_long_as_one_of_its_deliveries_is_open() -> None:
    script = Script()
    script.append(1, fate=Fate.CANCELED, state=TaskState.CANCELED)
    script.do(Cancel(message=1))
    script.do(Again(message=1))
    script.deliver(1, fate=Fate.CUT, disturbed=True, task="another")
    script.lines(m1=0)
    script.lines(m1=1)
    assert kinds(script) == []


def test_a_question_that_is_put_again_is_not_hidden_by_others_that_were_answered_wrongly() -> None:
    for answer, wrong in (("I do not know.", True), (word(1), False)):
        script = Script()
        script.tell(1)
        script.ask(2, "I do not know.")
        script.ask(3, "I do not know.")
        script.ask(4, answer)
        assert wrong_again(script.record(), 1, 3) is wrong


def test_a_question_that_is_put_again_must_agree_with_what_was_known_before() -> None:
    for answer, wrong in (("I do not know.", True), (word(1), False)):
        script = Script()
        script.tell(1, fate=Fate.CUT, disturbed=True)
        script.kill()
        script.send(Chat(message=5, context=0, turns=1))
        script.ask(6, word(1))
        script.ask(7, "I do not know.")
        script.ask(8, answer)
        assert wrong_again(script.record(), 4, 5) is wrong
