"""One page that shows a run: the tree of its steps, and what each did. Pure: data in, HTML out.

`nodes` is what the page shows; `of_recording` and `of_file` make it; `render` writes it. The looks are `page.css`, the
behaviour `page.js`.
"""
