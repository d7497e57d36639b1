"""Runs a command on a leash: when whoever holds the other end of a socket lets go or dies, so does the command.

Started as a script with the number of its end, the command's log or `-`, and the command. It starts the command as its
child, in a process group of its own, tells the holder the child's pid, and stays beside it. The holder never writes;
its end closes when it lets go (see `let_go`) or dies in any way, kill -9 included, and then the command is killed with
all that it ever started. A SIGTERM is passed on to the command's group. Once the command has ended, what it left behind
is killed too, the secrets are taken out of its log, and the leash ends as the command did: nothing is alive when the
leash is gone.

On Linux nothing gets away: what the command leaves behind, daemons in sessions of their own included, becomes the
leash's child. Elsewhere only the process group is found. A fork of the holder has the holder's end too, and does not
matter: the holder shuts the socket down, and on Linux the leash sees that the holder itself is gone. Nothing but the
standard library can be imported, and core's `redact`, which needs nothing else.
"""

import ctypes
import os
import runpy
import select
import signal
import socket
import sys
import time
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
REDACTOR = os.path.join(os.path.dirname(__file__), os.pardir, "core", "redact.py")  # noqa: PTH118, PTH120
SWEEP_SECONDS = 5.0
SWEEP_EVERY_SECONDS = 0.002


class Leash:
    """The command as the leash sees it: a child, and how it ended."""

    def __init__(self, child: int) -> None:
        self.child = child
        self.status: int | None = None

    def reap(self) -> bool:
        """Take note of every child that has ended; False once none is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.child:
                    self.status = status
        except ChildProcessError:
            return False

    def pass_on(self, number: int, frame: object) -> None:
        """Give the command's group a signal that came for it."""
        if self.status is None:
            with suppress(ProcessLookupError):
                os.killpg(self.child, number)

    def sweep(self) -> None:
        """Kill the command and all that came from it, until nothing is left or nothing more can be done."""
        deadline = time.monotonic() + SWEEP_SECONDS
        while time.monotonic() < deadline:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child, signal.SIGKILL)
            for pid in descendants(os.getpid()):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if not self.reap():
                return
            time.sleep(SWEEP_EVERY_SECONDS)


def let_go(holder: socket.socket) -> None:
    """Let go of a leash, although a fork of this process may have the same end."""
    with suppress(OSError):
        holder.shutdown(socket.SHUT_RDWR)
    holder.close()


def descendants(of: int) -> list[int]:
    """Every process below one, as far as /proc shows them."""
    children: dict[int, list[int]] = {}
    with suppress(FileNotFoundError):
        for entry in os.listdir("/proc"):  # noqa: PTH208
            if entry.isdigit():
                with suppress(OSError), open(f"/proc/{entry}/stat", "rb") as stat:  # noqa: PTH123
                    parent = int(stat.read().rpartition(b")")[2].split()[1])
                    children.setdefault(parent, []).append(int(entry))
    found: list[int] = []
    below = list(children.get(of, []))
    while below:
        pid = below.pop()
        found.append(pid)
        below += children.get(pid, [])
    return found


def prctl(option: int, value: int) -> None:
    """Ask the kernel for something, where it is a kernel that knows it."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become(command: list[str], leash: int) -> None:
    """In the child: become the command, as if nobody stood between it and whoever started it.

    Where the kernel can, it dies with the leash, should somebody kill that.
    """
    os.setpgid(0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != leash:
        os._exit(1)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def main(holder: int, log: str, command: list[str]) -> None:
    """Start the command, watch it and the holder, and end as the command ended."""
    os.set_inheritable(holder, False)
    watched = [holder, *death_of(os.getppid())]
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    # Installed before there is a child, so that no end is missed; a signal that comes sooner waits for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.signal(signal.SIGCHLD, lambda *_: None)
    leash_pid, child = os.getpid(), os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        become(command, leash_pid)
    leash = Leash(child)
    with suppress(OSError):
        os.setpgid(child, child)
    signal.signal(signal.SIGTERM, leash.pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    with suppress(OSError):
        os.write(holder, str(child).encode())
    while leash.status is None:
        ready, _, _ = select.select([*watched, woken], [], [])
        if set(watched) & set(ready):
            break
        os.read(woken, 4096)
        leash.reap()
    leash.sweep()
    if log != "-":
        runpy.run_path(REDACTOR)["redact_file"](log)
    end_as(leash.status)


def death_of(pid: int) -> list[int]:
    """A file that is ready once the process is dead, where the kernel has such files."""
    with suppress(AttributeError, OSError):
        return [os.pidfd_open(pid)]
    return []


def end_as(status: int | None) -> None:
    """End with the exit code or by the signal of the command."""
    code = 1 if status is None else os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    with suppress(OSError):
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
