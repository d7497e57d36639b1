"""A copy of the data that a run left. Evidence may come from elsewhere: nothing in the copy leads out of it."""

import os
import shutil
import stat
from pathlib import Path

from holdfast.core.errors import InvalidInput

HINT = "a target writes plain files and folders there: this is not what a run leaves"


def copy_data(data: Path, to: Path) -> None:
    """Copy the folder's files and links; InvalidInput if one is neither, or a link leaves the folder."""
    if data.is_symlink():
        raise InvalidInput(f"{data} is a link", hint=HINT)
    try:
        shutil.copytree(data, to, symlinks=True, dirs_exist_ok=True, copy_function=_copy_file)
    except shutil.Error as error:
        _, _, why = error.args[0][0]
        raise InvalidInput(f"the data cannot be copied: {why}", hint=HINT) from None
    except OSError as error:
        raise InvalidInput(f"the data cannot be copied: {error}", hint="see that there is room for it") from None
    for folder, folders, files in os.walk(to):
        for name in (*folders, *files):
            path = Path(folder) / name
            if path.is_symlink() and not _stays_in(to.resolve(), path):
                raise InvalidInput(f"the link {path.relative_to(to)} leaves the data of this run", hint=HINT)


def _copy_file(source: str, target: str) -> None:
    if not stat.S_ISREG(os.stat(source, follow_symlinks=False).st_mode):  # noqa: PTH116
        raise shutil.SpecialFileError(f"{source} is not a file")
    shutil.copy2(source, target, follow_symlinks=False)


def _stays_in(folder: Path, link: Path) -> bool:
    try:
        return link.resolve().is_relative_to(folder)
    except (OSError, RuntimeError):  # a circle of links
        return False
