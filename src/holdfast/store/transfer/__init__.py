"""Sessions out of a store and into another: as portable archives, and as folders of plain files.

Archives go through the store itself (`exports`, `imports`). Plain files go between folders and a source or a
destination, which a command finds behind a gateway's API.
"""

from holdfast.store.transfer.folder_exports import ExportSource, FolderExport, OnProgress, export_folder, export_folders
from holdfast.store.transfer.folder_imports import FolderImport, ImportDestination, import_folders, take_back
from holdfast.store.transfer.missing import MissingDocuments, SessionDocuments, import_key

__all__ = [
    "ExportSource",
    "FolderExport",
    "FolderImport",
    "ImportDestination",
    "MissingDocuments",
    "OnProgress",
    "SessionDocuments",
    "export_folder",
    "export_folders",
    "import_folders",
    "import_key",
    "take_back",
]
