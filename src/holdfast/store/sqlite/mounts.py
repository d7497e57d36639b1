"""Which file systems may hold the store.

SQLite's write-ahead log needs memory that all who use the file share, so it works on one machine only; and network
file systems are known for locks that do not lock. Those are refused; what is not known to be one is allowed.
"""

import re
from pathlib import Path

from holdfast.core.errors import EngineRefused

NETWORK = {
    *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "9p", "afs", "coda", "davfs"),
    *("ceph", "glusterfs", "lustre", "gpfs", "beegfs", "pvfs2", "orangefs"),
}
FUSE_NETWORK = {
    *("sshfs", "curlftpfs", "smbnetfs", "davfs", "davfs2", "rclone", "s3fs", "s3ql", "goofys", "geesefs", "mount-s3"),
    *("mountpoint-s3", "gcsfuse", "blobfuse", "blobfuse2", "google-drive-ocamlfuse", "onedriver"),
    *("ceph", "ceph-fuse", "glusterfs", "juicefs", "mfs", "lizardfs", "seaweedfs", "alluxio-fuse", "fuse_dfs"),
}
MOUNTINFO = Path("/proc/self/mountinfo")


def check_file_system(path: Path, table: Path = MOUNTINFO) -> None:
    """EngineRefused if, by the kernel's table of mounts, the file is or would be on a network file system."""
    kind = file_system(_text_of(table), str(path.parent.resolve()))
    if kind is not None and is_network(kind):
        raise EngineRefused(
            f"{path} is on a network file system ({kind}), where SQLite can lose acknowledged rows",
            hint="put the store on a local disk, or use PostgreSQL",
            file_system=kind,
        )


def is_network(kind: str) -> bool:
    """Whether a file-system type, as the kernel names it, is a network one."""
    fuse, dot, subtype = kind.lower().partition(".")
    return subtype in FUSE_NETWORK if fuse == "fuse" and dot else kind.lower() in NETWORK


def file_system(mountinfo: str, folder: str) -> str | None:
    """The type of the file system that holds a folder, from the text of /proc/self/mountinfo; None if not told.

    The deepest mount point above the folder counts, and of several on the same one the last, which covers the others.
    """
    best, kind = -1, None
    for line in mountinfo.splitlines():
        before, dash, after = line.partition(" - ")
        fields, rest = before.split(" "), after.split(" ")
        if not dash or len(fields) < 6 or not rest[0]:
            continue
        point = unescape(fields[4]).rstrip("/")
        if (folder + "/").startswith(point + "/") and len(point) >= best:
            best, kind = len(point), unescape(rest[0])
    return kind


def unescape(text: str) -> str:
    """The kernel writes blanks, tabs, newlines and backslashes as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda digits: chr(int(digits[1], 8)), text)


def _text_of(table: Path) -> str:
    try:
        return table.read_text(errors="surrogateescape")
    except OSError:
        return ""  # another platform: nothing is known, nothing is refused
