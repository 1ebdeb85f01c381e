"""Arrays on disk: recordings that grow, and checkpoints; explicit schemas, never pickle."""

from instar.storage.arrays import packed_arrays, read_arrays, unpacked_arrays
from instar.storage.background import Background
from instar.storage.checkpoint import (
    Checkpoint,
    CheckpointError,
    checkpoint_path,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from instar.storage.files import StorageError, read_whole, write_atomically
from instar.storage.recording import (
    Column,
    Recording,
    RecordingError,
    open_recording,
    recorded_segments,
)

__all__ = [
    "Background",
    "Checkpoint",
    "CheckpointError",
    "Column",
    "Recording",
    "RecordingError",
    "StorageError",
    "checkpoint_path",
    "newest_checkpoint",
    "open_recording",
    "packed_arrays",
    "read_arrays",
    "read_checkpoint",
    "read_whole",
    "recorded_segments",
    "unpacked_arrays",
    "write_atomically",
    "write_checkpoint",
]
