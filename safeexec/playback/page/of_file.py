"""The page of a file: a recording of a session, or the transcript of an agent."""

from __future__ import annotations

import os

from safeexec.errors import RecordingError
from safeexec.playback.page.nodes import RunPage
from safeexec.playback.page.of_recording import of_recording
from safeexec.playback.page.of_transcript import of_transcript
from safeexec.recordings.format import Task
from safeexec.recordings.reader import MAX_TRANSCRIPT, Recording, entries_of, whole_transcript
from safeexec.untrusted.below import read_named


def page_of(path: str | os.PathLike[str]) -> RunPage:
    """Return the page of what was written down in `path`.

    Raises `RecordingError` for a file that is neither, OSError for what cannot be read.
    """
    try:
        recording = Recording(path)
    except RecordingError as no_recording:
        return _of_transcript(path, read_named(path, max_bytes=MAX_TRANSCRIPT), no_recording)
    return of_recording(recording)


def _of_transcript(path: str | os.PathLike[str], data: bytes, no_recording: RecordingError) -> RunPage:
    try:
        first = next(entries_of(data, path), None)
    except RecordingError:
        first = None
    if not isinstance(first, Task):
        raise no_recording
    return of_transcript(whole_transcript(data, path))
