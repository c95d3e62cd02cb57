from __future__ import annotations
import dataclasses
import typing
@dataclasses.dataclass
class Config:
    name: str
    shared: typing.ClassVar[list] = []
    seed: dataclasses.InitVar[int] = 0
    _: dataclasses.KW_ONLY
    debug: bool = False
    def __post_init__(self, seed):
        self.shared.append(seed)
print([f.name for f in dataclasses.fields(Config)], Config("a", 3, debug=True), Config.shared)
print(typing.get_type_hints(Config)["name"])
Tree = dict[str, "Tree"]
def walk(tree: Tree) -> int: ...
print(typing.get_type_hints(walk))
