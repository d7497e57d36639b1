"""Cuts content that comes in chunks into lines, each ended by a line feed, and knows where it is."""

from collections.abc import Iterable, Iterator

from holdfast.store.portable.refusal import refuse


class Lines:
    """The lines of a file, without their ends; `number` is that of the line given out last.

    What follows the last line's end is refused, or with `keep_rest` given out as one more line, `unended`.
    """

    def __init__(self, name: str, chunks: Iterable[bytes], longest: int, *, keep_rest: bool = False) -> None:
        self.name = name
        self.number = 0
        self.unended = False
        self._keep_rest = keep_rest
        self._longest = longest
        self._lines = self._cut(chunks)

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> bytes:
        line = next(self._lines)
        self.number += 1
        return line

    def _cut(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        begun: list[bytes] = []
        length = 0
        for chunk in chunks:
            first, *rest = chunk.split(b"\n")
            begun.append(first)
            length += len(first)
            if rest:
                self._check(length)
                yield b"".join(begun)
                for line in rest[:-1]:
                    self._check(len(line))
                    yield line
                begun, length = [rest[-1]], len(rest[-1])
            self._check(length)
        if length and self._keep_rest:
            self.unended = True
            yield b"".join(begun)
        elif length:
            raise refuse("line", "does not end with a line break", self.name, self.number + 1)

    def _check(self, length: int) -> None:
        if length > self._longest:
            raise refuse("line", f"a line of more than {self._longest} bytes", self.name, self.number + 1)
