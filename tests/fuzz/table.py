"""Every target by its name."""

from __future__ import annotations

from tests.fuzz import doors, files, kernel, language, texts, wire
from tests.fuzz.target import Target

ROOMS = (wire, texts, files, language, doors, kernel)
TARGETS: dict[str, Target] = {target.name: target for room in ROOMS for target in room.TARGETS}
