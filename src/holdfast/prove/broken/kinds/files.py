"""What is wrong with how files are taken."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.prove.broken.messages import UserWords
from holdfast.prove.broken.runtime import Entry, Runtime


class DropsFileOnly(Runtime):
    """Builds the prompt from text parts, and files come with it only if there is a prompt."""

    def hear(self, said: UserWords) -> UserWords:
        """No words, no message."""
        return said if said.text else UserWords("")


class DropsFiles(Runtime):
    """Reads text parts and nothing else."""

    def hear(self, said: UserWords) -> UserWords:
        return UserWords(said.text)


class ForgetsFiles(Runtime):
    """Shows a file to the agent in the turn that it came in, and keeps the words only."""

    def remember(self, key: str, before: Sequence[UserWords], request: UserWords) -> Entry:
        """What was said, without what came with it."""
        return super().remember(key, before, replace(request, files=()))


class LosesReferences(Runtime):
    """Takes a file that is named in a message for a link, and does not follow it."""

    def hear(self, said: UserWords) -> UserWords:
        """What is in the message."""
        return replace(said, files=tuple(file for file in said.files if not file.by_reference))
