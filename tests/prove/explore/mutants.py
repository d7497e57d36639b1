"""Mutants of what judges, shrinks and generates histories: each is one edit, and the tests must notice it.

`python -m tests.prove.explore.mutants [NUMBER …]` makes one edit after the other, each in a process of its own, and
says which the tests did not notice. Nothing is written to the disk.
"""

import importlib.util
import os
import signal
import sys
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
PATIENCE_SECONDS = 30
PACKAGE = "holdfast.prove.explore"

TESTS = {
    "judge.registers": ("checker", "open_ends"),
    "judge.model": ("checker", "open_ends"),
    "judge.checker": ("checker", "open_ends"),
    "judge.tasks": ("checker", "open_ends"),
    "judge.shown": ("shown", "open_ends"),
    "shrink": ("shrink",),
    "histories.values": ("generator", "checker"),
    "histories.draft": ("generator",),
    "run": ("run",),
    "summary": ("run",),
    "sender": ("sender",),
}
"""The tests that must notice an edit of a module."""


class Mutant(NamedTuple):
    """An edit of a module below the package."""

    module: str
    was: str
    becomes: str


MUTANTS = (
    Mutant("judge.registers", "if all(other.settled > first.began for other in others):", "if True:"),
    Mutant(
        "judge.registers",
        "before = [place for place, write in enumerate(order) if write.settled <= read.began]",
        "before = [place for place, write in enumerate(order) if write.settled <= read.ended]",
    ),
    Mutant("judge.registers", "newest = before[-1] if before else -1", "newest = before[0] if before else -1"),
    Mutant(
        "judge.registers",
        "during = [write for write in order[newest + 1 :] if write.began < read.ended]",
        "during = []",
    ),
    Mutant(
        "judge.registers",
        "return [order[newest] if before else None, *during, *open_yet]",
        "return [order[newest] if before else None, *during]",
    ),
    Mutant(
        "judge.registers",
        "if any(value and value not in there and value.hinted_in(read.answer) for value in absent):",
        "if False:",
    ),
    Mutant("judge.registers", "return not tells or WITHDRAWN.search(read.answer) is not None", "return True"),
    Mutant("judge.registers", "return not tells or WITHDRAWN.search(read.answer) is not None", "return not tells"),
    Mutant("judge.registers", "if not left and len(explanations) <= MAX_EXPLANATIONS:", "if False:"),
    Mutant(
        "judge.registers",
        "for happened in product((True, False), repeat=len(uncertain)):",
        "for happened in product((True,), repeat=len(uncertain)):",
    ),
    Mutant(
        "judge.registers",
        "for happened in product((True, False), repeat=len(uncertain)):",
        "for happened in product((False,), repeat=len(uncertain)):",
    ),
    Mutant("judge.registers", "for read in sorted(reads, key=lambda read: read.ended):", "for read in reads[:1]:"),
    Mutant("judge.registers", "if all(write.value is None for write in expected):", "if False:"),
    Mutant("judge.registers", "if not any(value.known_in(read.answer) for value in values):", "if True:"),
    Mutant(
        "judge.model",
        "return answered is delivery or (answered is None and self._seen_completed(delivery))",
        "return answered is delivery",
    ),
    Mutant(
        "judge.model",
        "return answered is delivery or (answered is None and self._seen_completed(delivery))",
        "return delivery.fate is Fate.ANSWERED",
    ),
    Mutant(
        "judge.model",
        "ends = [*self._ends_of_task(delivery), *self._ends_by_a_cut(delivery)]",
        "ends = [*self._ends_of_task(delivery)]",
    ),
    Mutant(
        "judge.model",
        "ends = [*self._ends_of_task(delivery), *self._ends_by_a_cut(delivery)]",
        "ends = [*self._ends_by_a_cut(delivery)]",
    ),
    Mutant("judge.model", "return min(ends, default=NEVER)", "return delivery.ended"),
    Mutant("judge.model", 'return "memory", 0, operation.fact', 'return "memory", operation.context, operation.fact'),
    Mutant("judge.model", 'return "fact", operation.context, operation.fact', 'return "fact", 0, operation.fact'),
    Mutant("judge.model", "if delivery.fate is Fate.ANSWERED and not delivery.other:", "if not delivery.other:"),
    Mutant("judge.model", "look.state in TERMINAL and look.ended >= delivery.ended", "look.ended >= delivery.ended"),
    Mutant(
        "judge.checker",
        "for value in values - own if other != context else ():",
        "for value in values if other != context else ():",
    ),
    Mutant(
        "judge.checker",
        "if delivery.disturbed or _may_be_refused(model, delivery):",
        "if _may_be_refused(model, delivery):",
    ),
    Mutant("judge.checker", "again = operations[delivery.step] is not operation", "again = False"),
    Mutant("judge.checker", "or wording.odd(operation.context)", ""),
    Mutant("judge.checker", "if count > 1:", "if count > 2:"),
    Mutant("judge.checker", "and look.began >= acknowledged:", "and True:"),
    Mutant("judge.checker", "elif before is not None and count != before:", "elif False:"),
    Mutant("judge.checker", "before = count if look.began >= settled else None", "before = count"),
    Mutant(
        "judge.checker",
        "settled = max((model.settled(d) for d in deliveries), default=0.0)",
        "settled = min((model.settled(d) for d in deliveries), default=0.0)",
    ),
    Mutant(
        "judge.tasks",
        "known = [other for other in looks[:place] if other.ended <= look.began and not other.error]",
        "known = [other for other in looks[:place] if not other.error]",
    ),
    Mutant(
        "judge.tasks",
        "if look.waited and look.state is not None and look.state.running:",
        "if look.state is not None and look.state.running:",
    ),
    Mutant("judge.tasks", "if look.state is not ended.state:", "if False:"),
    Mutant(
        "judge.tasks",
        "if ended.state is TaskState.COMPLETED and _letters(look.text) != _letters(ended.text):",
        "if _letters(look.text) != _letters(ended.text):",
    ),
    Mutant("judge.tasks", "put_back += bool(passed) and", "put_back += 0 and"),
    Mutant("judge.tasks", "and cut.ended > first.began", ""),
    Mutant("judge.tasks", "if over or (passed and put_back", "if over or (not told and put_back"),
    Mutant("judge.model", "if self.contested(delivery):", "if False:"),
    Mutant("judge.model", "any(other.began < delivery.ended for other in others", "any(True for other in others"),
    Mutant("judge.checker", "and counts == [0, 0]:", "and counts == [None]:"),
    Mutant("judge.model", "return any(cut.began < ended and cut.ended > began for cut", "return any(True for cut"),
    Mutant(
        "judge.checker",
        "model.cut_between(min(d.began for d in deliveries), acknowledged):\n        a",
        "False:\n        a",
    ),
    Mutant("judge.checker", "if seen.context_id in known:", "if False:"),
    Mutant("judge.checker", "        known.add(seen.context_id)\n", ""),
    Mutant("judge.checker", "if model.begins_conversations(seen.message):", "if False:"),
    Mutant("histories.draft", "START_MOMENTS = (5, 25, 45, 65, 85, 105)", "START_MOMENTS = (5, 25)"),
    Mutant("judge.tasks", 'return "".join(text.split())', "return text"),
    Mutant("judge.tasks", "return all(letter in letters for letter in _letters(whole))", "return True"),
    Mutant("judge.tasks", "letters = iter(_letters(told))", "letters = _letters(told)"),
    Mutant("judge.tasks", "elif not stream.states or stream.states[-1].running:", "elif not stream.states:"),
    Mutant(
        "judge.tasks",
        "isinstance(seen, TaskSeen) and seen.task == stream.task and seen.state is TaskState.COMPLETED",
        "isinstance(seen, TaskSeen) and seen.state is TaskState.COMPLETED",
    ),
    Mutant("judge.checker", "return sorted(found, key=lambda violation: violation.step)", "return found"),
    Mutant("shrink", "size = min(size, max(1, len(course.operations) // 2))", "size = 1"),
    Mutant(
        "shrink",
        "        elif size == 1:\n            return course",
        "        else:\n            return course\n        if False:\n            pass",
    ),
    Mutant("shrink", "        if best == before:\n            return best", "        return best"),
    Mutant(
        "shrink",
        "kept = [[*about, *faults[-1:]], about, [*about, *faults], list(range(step + 1))]",
        "kept = [[*about, *faults[:1]], about, [*about, *faults], list(range(step + 1))]",
    ),
    Mutant("shrink", "course = plainer\n        on_smaller(course)", "course = plainer"),
    Mutant("shrink", "best = start\n        on_smaller(best)", "best = start"),
    Mutant("shrink", "    if operation.joins:\n        yield _but(operation, joins=False)\n", ""),
    Mutant("shrink", 'changes["follows"] = messages.setdefault(follows, len(messages) + 1)', "pass"),
    Mutant("shrink", "yield _but(operation, turns=operation.turns - 1)", "pass"),
    Mutant(
        "histories.values",
        "return all(shows(answer, mark) for mark in self.marks)",
        "return any(shows(answer, mark) for mark in self.marks)",
    ),
    Mutant("histories.values", "if mark.isascii():", "if False:"),
    Mutant("run", "suspicion.smallest = shown\n", "pass\n"),
    Mutant("summary", "if found.interrupted and found.confirmed is None:", "if False:"),
    Mutant(
        "judge.model",
        "if after and in_context and other.fate is Fate.ANSWERED:",
        "if after and other.fate is Fate.ANSWERED:",
    ),
    Mutant(
        "judge.model",
        "after = bool(ready) and other.began >= ready[0] and other.ended >= at_work",
        "after = other.ended >= at_work",
    ),
    Mutant(
        "judge.model",
        "after = bool(ready) and other.began >= ready[0] and other.ended >= at_work",
        "after = bool(ready) and other.began >= ready[0]",
    ),
    Mutant(
        "judge.model",
        "OVER = (Fate.ANSWERED, Fate.EMPTY, Fate.FAILED, Fate.CANCELED, Fate.REFUSED, Fate.BUSY)",
        "OVER = (Fate.ANSWERED, Fate.EMPTY)",
    ),
    Mutant(
        "judge.model", "same = delivery.task is None or seen.task is None or delivery.task == seen.task", "same = True"
    ),
    Mutant("judge.model", "if isinstance(operation, Tell) and operation.follows in self.messages:", "if False:"),
    Mutant("judge.checker", "if value.hinted_in(delivery.readings):", "if value.known_in(delivery.readings):"),
    Mutant("judge.checker", "if value.hinted_in(delivery.readings):", "if value.hinted_in(delivery.text):"),
    Mutant("judge.checker", "return canceled or again or", "return again or"),
    Mutant(
        "judge.checker",
        "if seen.context_id != own:",
        "if isinstance(seen, RecordedDelivery) and seen.context_id != own:",
    ),
    Mutant("judge.checker", "if seen.context_id != own:", "if False:"),
    Mutant(
        "judge.checker",
        "if isinstance(seen, UploadRefused) and not seen.disturbed:",
        "if isinstance(seen, UploadRefused):",
    ),
    Mutant("judge.tasks", "if NO_SUCH_TASK in look.error and was_seen:", "if NO_SUCH_TASK in look.error:"),
    Mutant(
        "judge.tasks",
        "if look.error and was_seen and not (look.canceled or look.disturbed or refuses_method(look)):",
        "if look.error and was_seen and not (look.disturbed or refuses_method(look)):",
    ),
    Mutant(
        "judge.tasks",
        "if look.error and was_seen and not (look.canceled or look.disturbed or refuses_method(look)):",
        "if look.error and was_seen and not (look.canceled or look.disturbed):",
    ),
    Mutant(
        "judge.tasks",
        "if look.error and was_seen and not (look.canceled or look.disturbed or refuses_method(look)):",
        "if False:",
    ),
    Mutant("judge.tasks", "replayed = isinstance(look, StreamSeen) and state not in TERMINAL", "replayed = False"),
    Mutant(
        "judge.tasks",
        "if (other is look or (other.ended <= look.began and not replayed)) and _goes_back(before, state)",
        "if other is look and _goes_back(before, state)",
    ),
    Mutant(
        "judge.tasks",
        "if (other is look or (other.ended <= look.began and not replayed)) and _goes_back(before, state)",
        "if not replayed and _goes_back(before, state)",
    ),
    Mutant(
        "judge.tasks", "return sum(cut.began < then.ended and cut.ended > first.began for cut in cuts)", "return False"
    ),
    Mutant(
        "judge.tasks",
        "return state is TaskState.SUBMITTED and before is not TaskState.SUBMITTED",
        "return state is not before",
    ),
    Mutant(
        "judge.tasks",
        "if isinstance(seen, RecordedDelivery) and seen.early and not seen.disturbed:",
        "if isinstance(seen, RecordedDelivery) and seen.early:",
    ),
    Mutant(
        "judge.tasks", "if isinstance(seen, StreamSeen) and not seen.disturbed:", "if isinstance(seen, StreamSeen):"
    ),
    Mutant(
        "judge.tasks",
        "if not any(code in stream.error for code in TAKES_NO_SUBSCRIBER) or _still_runs(record, stream):",
        "if not any(code in stream.error for code in TAKES_NO_SUBSCRIBER):",
    ),
    Mutant("judge.tasks", "        and seen.began >= stream.ended\n", ""),
    Mutant("judge.shown", "if isinstance(seen, TaskSeen) and refuses_method(seen):", "if False:"),
    Mutant(
        "judge.shown", "if not write.certain and len(reads) >= READS_THAT_SETTLE:", "if not write.certain and reads:"
    ),
    Mutant(
        "run",
        "return again == tried if self.first.asked_again == RIGHT_THEN else 2 * again >= tried",
        "return 2 * again >= tried",
    ),
    Mutant(
        "run",
        "return again == tried if self.first.asked_again == RIGHT_THEN else 2 * again >= tried",
        "return again > 0",
    ),
    Mutant("run", "sound = [trial for trial in again if not trial.fault]", "sound = list(again)"),
    Mutant("run", "trial.shows_same(found)", "trial.shows(found.kind)"),
    Mutant("run", "        if trial.fault:\n            trial = await self._attempt(course)\n", ""),
    Mutant(
        "run", "return self.budget if self.histories is None and self.replay is None else math.inf", "return math.inf"
    ),
    Mutant("run", "return self._left() < self._reserve()", "return self._left() < 0"),
    Mutant("run", "        if not spent:\n            suspicion.undone.remove(NOT_SHRUNK)\n", ""),
    Mutant(
        "run",
        "        suspicion.undone.remove(NOT_CONFIRMED)\n",
        "        suspicion.undone.clear()\n        suspicion.undone.append(NOT_CONFIRMED)\n",
    ),
    Mutant("run", "smallest_first = [*way[: -STEPS_BACK - 1 : -1], suspicion.first]", "smallest_first = way[-1:]"),
    Mutant("summary", "    if claim in found.seen:\n", "    if False:\n"),
    Mutant("sender", "if heard.reply.state is not None and states[-1:] != [heard.reply.state]:", "if False:"),
    Mutant(
        "sender",
        "return await self._to_its_end(replace(first, early=in_progress(reply)), began, note)",
        "return await self._to_its_end(first, began, note)",
    ),
    Mutant("sender", "lookup=None if fate is Fate.CUT else look", "lookup=None"),
    Mutant("sender", "patience = max(self._timeout, AS_LONG_AS * self._slowest)", "patience = self.recovery"),
    Mutant("sender", "if reply.error or reply.state is TaskState.REJECTED:", "if reply.error:"),
    Mutant("sender", "if answer.status in TAKES_NO_UPLOADS:", "if False:"),
    Mutant("histories.draft", "ASKED_MORE = 2\n", "ASKED_MORE = 0\n"),
    Mutant(
        "histories.draft",
        "milliseconds = self.random.choice((*PAUSES, self.bounds.longest_pause))",
        "milliseconds = self.random.choice(PAUSES)",
    ),
    Mutant(
        "histories.draft", "return Form.WORD if form is Form.TWIN and not self.bounds.twins else form", "return form"
    ),
    Mutant("shrink", "if getattr(operation, name, usual) != usual:", "if False:"),
    Mutant("shrink", "for other in range(min(context, 4)):", "for other in ():"),
    Mutant(
        "shrink",
        "return list(dict.fromkeys(each for each in found if len(each.operations) < len(course.operations)))",
        "return []",
    ),
    Mutant(
        "judge.checker",
        "for left_out in ([seen for seen in asked if seen.step == first], questions):",
        "for left_out in ([seen for seen in asked if seen.step == first],):",
    ),
    Mutant(
        "judge.checker",
        "for left_out in ([seen for seen in asked if seen.step == first], questions):",
        "for left_out in (questions,):",
    ),
    Mutant(
        "shrink",
        "joins=operations[place].joins and group_of.get(before) == group_of[place]",
        "joins=operations[place].joins",
    ),
)


class _Loader(SourceFileLoader):
    """Compiles a module with the edit in it."""

    mutant: Mutant

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        if self.mutant.was not in source:
            os._exit(pytest.ExitCode.USAGE_ERROR)
        return compile(source.replace(self.mutant.was, self.mutant.becomes, 1), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the module that is to be edited, and no other; a plugin of pytest, which has finders of its own."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def pytest_configure(self) -> None:
        """Come before the others."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != f"{PACKAGE}.{self._mutant.module}":
            return None
        found = PathFinder.find_spec(fullname, path)
        assert found is not None
        assert found.origin is not None
        loader = _Loader(fullname, found.origin)
        loader.mutant = self._mutant
        return importlib.util.spec_from_file_location(fullname, found.origin, loader=loader)


def noticed(mutant: Mutant) -> bool:
    """Whether a test fails, in a process of its own, once the edit is made."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        tests = [str(HERE / f"test_explore_{name}.py") for name in TESTS[mutant.module]]
        plain = ("-p", "no:cacheprovider", "-p", "no:xdist", "--noconftest", "-o", "addopts=", "-W", "ignore")
        code = pytest.main(["-q", "-x", "-m", "not long", *plain, *tests], plugins=[_Finder(mutant)])
        os._exit(int(code))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
    status = ended[1]
    # One that hangs is noticed too; one whose tests could not be run at all is not.
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == pytest.ExitCode.TESTS_FAILED


def main(numbers: Sequence[int]) -> int:
    """Make these edits, or all; how many were not noticed."""
    chosen = numbers or range(len(MUTANTS))
    left = 0
    for number in chosen:
        found = noticed(MUTANTS[number])
        left += not found
        sys.stdout.write(f"{number} {'was noticed' if found else f'was not noticed: {MUTANTS[number]}'}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - left} of {len(chosen)} edits were noticed\n")
    return left


if __name__ == "__main__":
    sys.exit(bool(main([int(word) for word in sys.argv[1:]])))
