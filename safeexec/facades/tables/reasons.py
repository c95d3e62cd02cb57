"""Why a name is refused: one sentence per kind, shared by the tables, and the kind as a tag to match on."""

from __future__ import annotations

from typing import Literal, NamedTuple

Tag = Literal["", "files", "pickle", "process", "network", "evaluates", "internal", "machine", "frames", "memory"]


class Reason(NamedTuple):
    """A kind of refusal and its sentence."""

    tag: Tag
    text: str


INTERNAL = Reason("internal", "it belongs to the module's own implementation, not to its documented names")
UNREVIEWED = Reason("", "it has not been reviewed")
UNLISTED = Reason("", "it is not among the names of the module that have been reviewed")
UNDERSCORE = Reason("internal", "names that begin with an underscore are not part of a module's interface")
MODULE = Reason("internal", "it is another module, which must be imported by its own name")
NEEDS_WORKSPACE = Reason("files", "it works on files, and this policy has no workspace")
FILES = Reason("files", "it opens or changes files outside the session's own")
PICKLE = Reason("pickle", "it runs any code that the data asks for (pickle)")
PROCESS = Reason("process", "it starts programs or reaches other processes")
NETWORK = Reason("network", "it uses the network")
EVALUATES = Reason("evaluates", "it runs text as code, which the policy cannot check")
FRAMES = Reason("frames", "it gives stack frames, code objects or namespaces that belong to others")
MACHINE = Reason("machine", "it describes the machine, not the task")
INTERPRETER = Reason("process", "it changes the whole interpreter, not only this program")
MEMORY = Reason("memory", "it reads or writes memory by address, without bounds")
IMPORTS = Reason("evaluates", "it imports modules by name, past the policy")
DISPLAY = Reason("process", "it needs a display or a person at a keyboard")
LIBRARY_TESTS = Reason("process", "it serves the library's own tests or builds")
DEPRECATED = Reason("internal", "it is deprecated or removed in later versions")
