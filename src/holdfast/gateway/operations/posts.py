"""How many pieces of news were posted to where clients wanted them, and how many were given up."""

from dataclasses import dataclass


@dataclass(slots=True)
class Posts:
    """Those of this process."""

    taken: int = 0
    given_up: int = 0

    def posted(self, taken: bool) -> None:
        """A piece of news was posted, or given up after its tries."""
        if taken:
            self.taken += 1
        else:
            self.given_up += 1
