"""An image goes in as a file, is measured and changed by guest code, and comes back as a file and as a picture.

Decoders of images are large and old: here they run in the sandbox, so a picture that attacks one reaches nothing.

Needs: numpy, PIL

Prints:

    {'size': (64, 48), 'brightest': (20, 30)}
    small.png: 32 x 24
    shown: image/png, text/plain
    a broken picture: OSError
"""

import struct
import zlib

from safeexec import Sandbox

MEASURE = """
import numpy as np
from PIL import Image
picture = Image.open("photo.png")
pixels = np.asarray(picture)
row, column = np.unravel_index(pixels.argmax(), pixels.shape)
{"size": picture.size, "brightest": (int(column), int(row))}
"""
SHRINK = """
small = picture.resize((picture.width // 2, picture.height // 2))
small.save("small.png")
display(small)
"""


def gray_png(width: int, height: int, bright: tuple[int, int]) -> bytes:
    """A PNG of one gray byte per pixel: a slope, and one bright spot."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = [bytes([0, *(255 if (x, y) == bright else x + y for x in range(width))]) for y in range(height)]
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [part(b"IHDR", header), part(b"IDAT", zlib.compress(b"".join(rows))), part(b"IEND", b"")]
    )


def main() -> None:
    photo = gray_png(64, 48, bright=(20, 30))
    with Sandbox("data-analysis", files={"photo.png": photo}) as sandbox, sandbox.session() as session:
        print(session.run(MEASURE).check().value)
        result = session.run(SHRINK).check()
        width, height = struct.unpack(">II", session.read_file("small.png")[16:24])
        print(f"{result.files[0].name}: {width} x {height}")
        print("shown:", ", ".join(sorted(result.displays[0])))
        session.write_file("photo.png", photo[:20])
        failed = session.run(MEASURE)
        print("a broken picture:", failed.error.type if failed.error else failed.value)


if __name__ == "__main__":
    main()
