"""The part of `IPython.display` that shows values, as modules of the program: IPython itself is a shell.

An object has the methods that a notebook asks for its forms; `display` is the one that every session has.
"""

from __future__ import annotations

from typing import Final

_SHOWN: Final = """
    DisplayHandle DisplayObject HTML Image JSON Latex Markdown Math SVG clear_output display update_display
"""
_DISPLAY: Final = r"""
import base64
import json

_show = display
_handles = {}


class DisplayHandle:
    def __init__(self, display_id=None):
        self.display_id = display_id
        self._update = None

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"

    def display(self, obj, raw=False, **kwargs):
        made = _show(obj, display_id=self.display_id or True, raw=raw)
        self.display_id, self._update = made.display_id, made.update
        _handles[self.display_id] = self

    def update(self, obj, raw=False, **kwargs):
        if self._update is None:
            return self.display(obj, raw)
        self._update(obj, raw=raw)


def display(*objs, include=None, exclude=None, metadata=None, transient=None, display_id=None, raw=False, clear=False,
            **kwargs):
    if display_id is None:
        _show(*objs, clear=clear, raw=raw)
        return None
    if clear:
        clear_output()
    handle = DisplayHandle(None if display_id is True else display_id)
    for item in objs:
        handle.display(item, raw)
    return handle


def update_display(obj, *, display_id, **kwargs):
    if display_id in _handles:
        _handles[display_id].update(obj, **kwargs)
    else:
        display(obj, display_id=display_id, **kwargs)


def clear_output(wait=False):
    _show(clear='wait' if wait else True)


class DisplayObject:
    _read_flags = 'r'

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if url is not None or (type(data) is str and data.startswith(('http://', 'https://'))):
            raise PermissionError(f"{type(self).__name__}(url=...) is refused: there is no network here")
        self.data, self.url, self.filename, self.metadata = data, None, filename, metadata or {}
        self.reload()
        self._check_data()

    def __repr__(self):
        return f"<IPython.core.display.{type(self).__name__} object>"

    def _check_data(self):
        pass

    def reload(self):
        if self.filename is not None:
            binary = 'b' in self._read_flags
            with open(self.filename, self._read_flags, encoding=None if binary else 'utf-8') as file:
                self.data = file.read()


class _Text(DisplayObject):
    def _check_data(self):
        if self.data is not None and not isinstance(self.data, str):
            raise TypeError(f"{type(self).__name__} expects text, not {self.data!r}")


def _kind(name, method, form=lambda text: text):
    return type(name, (_Text,), {method: lambda self: form(self.data)})


HTML = _kind('HTML', '_repr_html_')
Markdown = _kind('Markdown', '_repr_markdown_')
Latex = _kind('Latex', '_repr_latex_')
Math = _kind('Math', '_repr_latex_', lambda text: '$\\displaystyle ' + text.strip('$') + '$')


class SVG(DisplayObject):
    def _check_data(self):
        if isinstance(self.data, bytes):
            self.data = self.data.decode('utf-8')
        start, end = self.data.find('<svg'), self.data.rfind('</svg>')
        if start < 0 or end < 0:
            raise ValueError('SVG data has no <svg> element')
        self.data = self.data[start:end + 6]

    def _repr_svg_(self):
        return self.data


class JSON(DisplayObject):
    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root='root', **kwargs):
        super().__init__(data, url, filename, metadata)

    def _check_data(self):
        if isinstance(self.data, str):
            self.data = json.loads(self.data)
        if self.data is not None and not isinstance(self.data, (dict, list)):
            raise TypeError(f"JSON expects JSONable dict or list, not {self.data!r}")

    def _repr_json_(self):
        return self.data


class Image(DisplayObject):
    _read_flags = 'rb'

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None,
                 retina=False, unconfined=False, metadata=None, alt=None):
        if data is not None and not isinstance(data, (bytes, bytearray)):
            filename, data = data, None
            if str(filename).startswith(('http://', 'https://')):
                url = filename
        self.width, self.height, self.alt = width, height, alt
        super().__init__(data, url, filename, metadata)
        if self.data is None:
            raise ValueError('No image data found. Expecting filename, url, or data.')
        if not isinstance(self.data, (bytes, bytearray)):
            raise TypeError('the data of an image are bytes')
        self.data = bytes(self.data)
        found = next((kind for start, kind in self._starts if self.data.startswith(start)), 'png')
        self.format = (format or found).lower().replace('jpg', 'jpeg')
        if self.format not in ('png', 'jpeg', 'gif', 'webp'):
            raise ValueError(f"Cannot embed the {self.format!r} image format")

    _starts = ((b'\x89PNG', 'png'), (b'\xff\xd8', 'jpeg'), (b'GIF8', 'gif'), (b'RIFF', 'webp'))

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not (self.width or self.height or self.alt):
            return {f"image/{self.format}": self.data}
        kept = {name: int(getattr(self, name)) for name in ('width', 'height') if getattr(self, name)}
        if self.alt:
            kept['alt'] = str(self.alt).replace('&', '&amp;').replace('"', '&quot;').replace('<', '&lt;')
        words = ''.join(f' {name}="{value}"' for name, value in kept.items())
        text = base64.b64encode(self.data).decode('ascii')
        html = f'<img src="data:image/{self.format};base64,{text}"{words}/>'
        return {f"image/{self.format}": self.data, 'text/html': html}
"""

_SHELL: Final = """
version_info = 9, 0, 0, ""
__version__ = "9.0.0"

def get_ipython():
    return None
"""
"""Libraries compare the version before they ask for the shell: matplotlib does with each figure."""

SOURCES: Final = {
    "IPython": _SHELL,
    "IPython.core": "pass\n",
    "IPython.core.display": f"from IPython.display import {', '.join(_SHOWN.split())}\n",
    "IPython.display": _DISPLAY,
}
"""Module → its source."""
