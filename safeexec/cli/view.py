"""`safeexec view`: what a recording or a transcript holds, as one page for a browser."""

from __future__ import annotations

import argparse
import os
import stat
import tempfile
from pathlib import Path

from safeexec.cli.common import print_safely
from safeexec.playback.page.of_file import page_of
from safeexec.playback.page.render import render


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a recording of a session, or the transcript of an agent")
    parser.add_argument(
        "-o", "--output", metavar="PAGE", help="the page to write; FILE with the ending .html otherwise"
    )


def main(options: argparse.Namespace) -> int:
    """Write the page. What stands in its place is replaced, unless it is the recording itself."""
    source = Path(options.file)
    page = page_of(source)
    target = Path(options.output) if options.output else source.with_suffix(".html")
    if target.exists() and source.exists() and target.samefile(source):
        print_safely(f"safeexec view: {target} is the recording; name another file with -o")
        return 2
    mode = stat.S_IMODE(source.stat().st_mode) & 0o666  # who may not read the recording may not read the page
    if options.output:
        with open(target, "wb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            file.write(render(page).encode())
    else:
        # Nobody has said this name: a link that came with the recording is not written through.
        fd, made = tempfile.mkstemp(dir=target.parent)
        try:
            with open(fd, "wb") as file:
                file.write(render(page).encode())
            os.chmod(made, mode)
            os.replace(made, target)
        except BaseException:
            os.unlink(made)
            raise
    print_safely(f"{target}: {len(page.nodes)} rows")
    return 0
