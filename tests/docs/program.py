"""A program that a page shows: `python -m tests.docs.program CODE` does what `python -c CODE` does."""

import sys

if __name__ == "__main__":
    exec(compile(sys.argv[1], "<the page>", "exec"), {"__name__": "__main__"})
