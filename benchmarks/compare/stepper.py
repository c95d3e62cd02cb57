"""One step of a `process per step`: the state is read from a file, and written to it afterwards.

python -I stepper.py STATE SOURCE ARGUMENT...
"""

import pickle
import sys


def with_functions(kept: dict[str, object]) -> bytes:
    """By cloudpickle, which takes the code of functions along; without what it cannot take."""
    import cloudpickle

    able = {}
    for name, value in kept.items():
        try:
            cloudpickle.dumps(value)
        except Exception:
            continue
        able[name] = value
    return bytes(cloudpickle.dumps(able))


if __name__ == "__main__":
    state, path = sys.argv[1:3]
    sys.argv[:] = sys.argv[3:]
    names: dict[str, object] = {"__name__": "__main__"}
    try:
        with open(state, "rb") as file:
            names.update(pickle.load(file))
    except FileNotFoundError:
        pass
    with open(path) as file:
        code = compile(file.read(), "<step>", "exec")
    exec(code, names)
    kept = {name: value for name, value in names.items() if name[:2] != "__"}
    try:
        data = pickle.dumps(kept, 5)
    except Exception:  # functions and classes of a step, and what cannot be kept at all
        data = with_functions(kept)
    with open(state, "wb") as file:
        file.write(data)
