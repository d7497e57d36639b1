"""`python -m holdfast.prove.service.broken KIND serve …` or `… KIND apps.NAME …`: that part, broken in one way."""

import sys

from holdfast.prove.live.broken.proxy import run
from holdfast.prove.service.broken import gateways, programs
from holdfast.prove.service.broken.expected import KINDS

if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if KINDS[kind].program is None:
        run(gateways.GATEWAYS[kind](rest))
    else:
        sys.exit(programs.run(programs.PROGRAMS[kind], rest))
