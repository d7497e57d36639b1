"""What exploration claims of a runtime: each violation is of one of these."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExploredClaim:
    """A claim that every history must bear out."""

    name: str
    says: str


CLAIMS = {
    claim.name: claim
    for claim in (
        ExploredClaim("answers", "every message is answered, in its own conversation"),
        ExploredClaim("known", "what was acknowledged is known"),
        ExploredClaim("newest", "of a changed fact the newest is known, and none that was taken back"),
        ExploredClaim("apart", "what was told in another conversation is not known"),
        ExploredClaim("settled", "a turn that was cut is there or not, the same for ever after"),
        ExploredClaim("files", "what a file says is known later"),
        ExploredClaim("memory", "what was saved is recalled, in every conversation"),
        ExploredClaim("effects", "each message has its effect once"),
        ExploredClaim("tasks", "a task can be looked up, moves forward only, ends, and is the same after a restart"),
        ExploredClaim("streams", "a stream lasts as long as its task, and who follows a task again misses nothing"),
        ExploredClaim("returns", "the target ends only when it is ended, and is back after every start"),
    )
}


@dataclass(frozen=True, slots=True)
class Violation:
    """A claim that a record does not bear out: what was expected in which step, what came, and who shows it.

    `trouble` says in a word or two how the claim is violated; the same trouble is the same kind of violation.
    `subject` says of which fact, message or line; it is the same whenever the same history is run.
    """

    claim: str
    trouble: str
    step: int
    reason: str
    expected: str
    got: str
    curl: str = ""
    subject: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """What two violations have in common that are the same."""
        return self.claim, self.trouble
