"""Changes to modules of libraries, and of Python itself, that keep from them what a program has chosen.

A library turns text into attributes, modules and code, keeps modules where a program finds them, and hands over the
whole ``__dict__`` of an object. The compiler sees none of it. `install.guard_libraries` changes what does so.
"""
