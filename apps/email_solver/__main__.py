"""`python -m apps.email_solver`: in the program's own venv, which the first start makes."""

import signal
import sys

from apps import venv

if __name__ == "__main__":
    venv.enter("email_solver")
    # Nothing is begun while the frameworks are imported, so an end is orderly; and the first process of a container
    # would not even notice a signal that it has no handler for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    from apps.email_solver.program import main

    main()
