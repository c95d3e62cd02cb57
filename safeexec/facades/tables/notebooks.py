"""What programs of notebooks import: the part of IPython that shows a value (`safeexec.child.language.rewritten`)."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, FRAMES, NETWORK

SHOWN = """
    clear_output display display_html display_latex display_markdown display_png display_svg DisplayHandle
    DisplayObject HTML Image JSON Latex Markdown Math Pretty SVG TextDisplayObject update_display
"""
"""What `IPython.display` has here."""

TABLES = {
    "IPython": Table(
        "get_ipython",
        refuse={
            "embed embed_kernel InteractiveShell start_ipython sys_info version_info": DISPLAY,
            "extract_module_locals": FRAMES,
        },
        note="written by us, as guest code: there is no shell, so get_ipython answers None.",
    ),
    "IPython.core": Table(),
    "IPython.core.display": Table(
        SHOWN,
        refuse={
            "display_javascript display_jpeg display_json display_pdf display_pretty display_webp GeoJSON Javascript "
            "ProgressBar Video": DISPLAY
        },
    ),
    "IPython.display": Table(
        SHOWN,
        refuse={
            "Audio Code display_javascript display_jpeg display_json display_pdf display_pretty FileLink FileLinks "
            "GeoJSON Javascript ProgressBar publish_display_data Video": DISPLAY,
            "IFrame ScribdDocument VimeoVideo YouTubeVideo": NETWORK,
        },
    ),
}
