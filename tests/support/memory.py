"""What a process has in memory."""

from pathlib import Path

KB = 1024


def memory(pid: int) -> int:
    """The bytes that it has in memory now; 0 if it is gone."""
    return _status(pid, "VmRSS:")


def peak_memory(pid: int) -> int:
    """The most that it has had in memory since it started, or since the last `forget_peak`."""
    return _status(pid, "VmHWM:")


def forget_peak(pid: int) -> None:
    """Count the most from now on."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _status(pid: int, name: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * KB for line in lines if line.startswith(name)), 0)
