"""What is wrong with the tools: memory, skills, other agents."""

from holdfast.prove.broken.desk import ToolDesk
from holdfast.prove.broken.messages import UserTask
from holdfast.prove.broken.runtime import Entry, Runtime


class MemoryInRam(Runtime):
    """Keeps conversations well, and what the memory tool is told in a dictionary."""

    def keep(self, thing: str, value: str) -> None:
        """Until the process ends."""
        self.apply({"memory": {thing: value}})


class MemoryLate(Runtime):
    """Writes what the memory tool is told when it is told something again."""

    _pending: Entry | None = None

    def keep(self, thing: str, value: str) -> None:
        """Seen at once, durable later."""
        self._flush()
        self._pending = {"memory": {thing: value}}
        self.apply(self._pending)

    async def close(self) -> None:
        """A polite stop writes what is pending."""
        self._flush()

    def _flush(self) -> None:
        if self._pending:
            self.log.append(self._pending)
            self._pending = None


class MemoryByContext(Runtime):
    """Has a memory tool that remembers no more than the conversation does."""

    def desk(self, task: UserTask) -> ToolDesk:
        """A desk whose memory is this context's."""
        prefix = f"{task.context_id}/"
        own = {name.removeprefix(prefix): value for name, value in self.memory.items() if name.startswith(prefix)}

        def keep(thing: str, value: str) -> None:
            self.keep(prefix + thing, value)

        return ToolDesk(task.context_id, self.workspace, own, keep, self.new_id)


class KeepsTheFirst(Runtime):
    """Has a memory tool that knows a thing already, and leaves it at that."""

    def keep(self, thing: str, value: str) -> None:
        """What is known is known."""
        if thing not in self.memory:
            super().keep(thing, value)


class _AllTalk(ToolDesk):
    """Reads what a skill says."""

    def skill(self, name: str) -> str:
        """The instructions, of which nothing is followed."""
        super().skill(name)
        return ""


class AllTalk(Runtime):
    """Says that it used a skill."""

    def desk(self, task: UserTask) -> ToolDesk:
        """A desk for talking."""
        return _AllTalk(task.context_id, self.workspace, self.memory, self.keep, self.new_id)


class _WithoutALine(ToolDesk):
    """Knows without asking what others would say."""

    async def ask(self, url: str, text: str) -> str:
        """Something that sounds right."""
        return "yes, gladly"


class MakesUpAnswers(Runtime):
    """Makes up what another agent answers."""

    def desk(self, task: UserTask) -> ToolDesk:
        """A desk without a line to the outside."""
        return _WithoutALine(task.context_id, self.workspace, self.memory, self.keep, self.new_id)
