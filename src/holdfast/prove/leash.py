"""Runs a command on a leash: when the process that holds the other end of a pipe dies, so does the command.

Started as a script with the number of the pipe's reading end and the command. It leaves a watcher in the
command's process group and becomes the command, so the caller's child *is* the command. The holder never
writes; the pipe ends when the holder closes it or dies in any way, kill -9 included, and then the whole group
is killed, and so is what the command started. Only the standard library: nothing else can be imported.
"""

import os
import signal
import sys


def watch(pipe: int) -> None:
    """Wait for the end of the pipe, then kill the process group, this process included."""
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)


def main(pipe: int, command: list[str]) -> None:
    """Leave the watcher behind and become the command."""
    # Forked twice: the watcher must not be a child of the command, which may wait for its children.
    if (between := os.fork()) == 0:
        if os.fork() == 0:
            watch(pipe)
        os._exit(0)
    os.waitpid(between, 0)
    os.set_inheritable(pipe, False)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
