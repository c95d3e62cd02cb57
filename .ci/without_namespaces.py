"""Runs a command under an outer filter that refuses namespaces, as the default profile of Docker does.

python .ci/without_namespaces.py COMMAND [ARGUMENT...]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.kernel.harness import refuse_namespaces

refuse_namespaces()
os.execvp(sys.argv[1], sys.argv[1:])
