# domain: algorithms
# Looking at classes: what a small plugin loader does
import inspect
import io
import sys


class Plugin:
    version = 1

    def __init__(self, name):
        self.name = name

    def run(self):
        return f"{self.name} v{self.version}"

    @staticmethod
    def helper():
        return "help"

    @classmethod
    def create(cls, name="default"):
        """Make one."""
        return cls(name)


print([name for name, _ in inspect.getmembers(Plugin, inspect.isfunction)])
print([name for name, _ in inspect.getmembers(Plugin("p"), inspect.ismethod)])
print([(name, value) for name, value in inspect.getmembers(Plugin("p")) if not name.startswith("__")][-1])
print(inspect.signature(Plugin.create), inspect.signature(Plugin), Plugin.create("x").run(), Plugin.create.__doc__)
print(isinstance(sys.stdout, io.TextIOBase), sys.warnoptions or "no options")
