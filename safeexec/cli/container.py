"""`safeexec container build`: the image that `engine="container"` runs, of this very version, by podman or docker."""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import as_file, files
from pathlib import Path

from safeexec import Policy, SandboxError, __version__
from safeexec.cli.common import print_safely
from safeexec.remote.container import engine, image

_WHEEL = "Wheel-Version: 1.0\nGenerator: safeexec\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Builds the image from the shipped Containerfile and this installation. The base image and the packages that "
        "safeexec needs come from where the engine and pip get theirs."
    )
    parser.add_argument("action", choices=["build"], help="build: make the image")
    parser.add_argument(
        "--base", metavar="IMAGE", help="an image with Python 3.11 or newer (default: python:3.13-slim)"
    )
    parser.add_argument("--extras", default="data", metavar="E", help="extras of safeexec in it (default: data)")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="X",
        help="one more word for the engine's build, as --option=--network=host",
    )


def main(options: argparse.Namespace) -> int:
    """Build it, and return the engine's status."""
    command = engine()
    with tempfile.TemporaryDirectory(prefix="safeexec-image-") as context:
        wheel = _wheel(Path(context))
        containerfile = Path(context, "Containerfile")
        containerfile.write_bytes(files("safeexec.servers").joinpath("Containerfile").read_bytes())
        arguments = [f"SOURCE=/source/{wheel.name}", f"EXTRAS={options.extras}"]
        arguments += [f"BASE={options.base}"] if options.base else []
        built = [word for argument in arguments for word in ("--build-arg", argument)]
        build = [*command, "build", "--file", str(containerfile), "--tag", image(), *built, *options.option, context]
        try:
            status = subprocess.run(build, stdin=subprocess.DEVNULL).returncode
        except OSError as error:
            raise SandboxError(f"{command[0]} cannot be started: {error.strerror}") from None
    print_safely(
        f'made {image()}: Sandbox("calculator", engine="container")' if not status else "no image was made",
        file=sys.stderr,
    )
    return status


def _wheel(directory: Path) -> Path:
    """Return this installation as a wheel, however it was installed."""
    try:
        metadata = distribution("safeexec").read_text("METADATA") or distribution("safeexec").read_text("PKG-INFO")
    except PackageNotFoundError:
        metadata = None
    if metadata is None:
        raise SandboxError("safeexec is not installed, so nothing says what it needs: install it with pip or uv first")
    info = f"safeexec-{__version__}.dist-info"
    path = directory / f"safeexec-{__version__}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def put(name: str, data: bytes) -> None:
            wheel.writestr(name, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")

        # In a source tree the profiles lie beside the package.
        profiles = Path(Policy.profiles(shipped=True)["calculator"]).parent
        with as_file(files("safeexec")) as package:
            for place in sorted({*package.rglob("*"), *profiles.rglob("*")}):
                name = place.relative_to(profiles.parent if place.is_relative_to(profiles) else package)
                name = Path("safeexec", name)
                if place.is_file() and "__pycache__" not in name.parts:
                    put(name.as_posix(), place.read_bytes())
        put(f"{info}/METADATA", metadata.encode())
        put(f"{info}/WHEEL", _WHEEL.encode())
        put(f"{info}/entry_points.txt", b"[console_scripts]\nsafeexec = safeexec.cli:main\n")
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    os.chmod(path, 0o644)
    return path
