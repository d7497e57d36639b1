"""`python -m holdfast` and `holdfast` are the command line.

`holdfast hook` records before anything else is imported: a program waits for it at every step that it takes.
"""

import sys

LOOKS = frozenset({"-h", "--help", "--status", "--flush", "--plugin", "--courier"})
"""What `hook` does beside recording, and may take its time for."""


def main() -> None:
    """Run the verb that the arguments name."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not LOOKS & set(words):
        from holdfast.hook.command import run

        run(words[1:])
        return
    from holdfast.cli import main as verbs

    verbs()


if __name__ == "__main__":
    main()
