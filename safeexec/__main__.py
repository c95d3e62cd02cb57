"""`python -m safeexec` is the command `safeexec`."""

import sys

from safeexec.cli import main

sys.exit(main())
