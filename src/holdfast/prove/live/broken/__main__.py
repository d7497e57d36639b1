"""A broken gateway as a process: `python -m holdfast.prove.live.broken KIND serve --port N --data DIR`."""

import sys

from holdfast.prove.live.broken.kinds import PROXIES
from holdfast.prove.live.broken.proxy import run

if __name__ == "__main__":
    run(PROXIES[sys.argv[1]](sys.argv[2:]))
