"""A policy with other settings, and a policy as YAML: both go through the same checks as a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from safeexec.common.matching import suggestion
from safeexec.engine.policy import requirements
from safeexec.engine.policy.loader import PolicyFile, checked
from safeexec.engine.policy.resolve import resolve
from safeexec.engine.policy.settings import ALL, SETTINGS, Limits, P, PolicyData, Selection
from safeexec.errors import PolicyError
from safeexec.untrusted.yaml_text import plain_scalar


def replaced(policy: P, changes: dict[str, Any], place: str = "replace()") -> P:
    """Return `policy` with `changes`, by the rules of a file that extends it. Names of limits may stand alone. `place`:
    the public call that makes them; it stands where errors and the rules of settings name a file.
    """
    content: dict[str, Any] = {}
    name = changes.pop("name", policy.name)
    if not isinstance(name, str) or not name.isprintable() or not name:
        raise PolicyError(f"the name of a policy is a text on one line, not {name!r}")
    for key, value in changes.items():
        if key in Limits.__struct_fields__ and (key != "checkpoints" or isinstance(value, int)):
            content.setdefault("limits", {})[key] = value
        elif key not in SETTINGS and key != "danger_allow_modules":  # as before 0.10: lines of `imports`
            meant = f"; did you mean {_MEANT[key]}?" if key in _MEANT else ""
            raise PolicyError(
                f"a policy has no setting {key!r}{meant or suggestion(key, [*SETTINGS, *Limits.__struct_fields__])}"
            )
        elif isinstance(value, dict) and isinstance(content.get(key), dict):
            content[key].update(_spelt(value))
        else:
            content[key] = _spelt(value)
    return resolve(name, [checked(PolicyFile(place, "", content, {}, []))], type(policy), start=policy)


_MEANT = {
    "timeout": "wall_seconds",
    "memory": "memory_mb",
    "seconds": "wall_seconds",
    "cpu": "cpu_seconds",
    "wall": "wall_seconds",
}
"""Words of other libraries, which callers write who know those."""


def _spelt(value: Any) -> Any:
    """Return a value as a policy file spells it."""
    if isinstance(value, Selection):
        if value.names is not None:  # `none` would take a module away; an empty list leaves it with no names
            return [name for name in value.names if name not in value.refused]
        return {"except": list(value.refused)} if value.refused else "all"
    if isinstance(value, msgspec.Struct):
        return {key: _spelt(item) for key, item in msgspec.structs.asdict(value).items()}
    if isinstance(value, Mapping):
        return {key: _spelt(item) for key, item in value.items()}
    return list(value) if isinstance(value, (tuple, set, frozenset)) else value


def document(policy: PolicyData) -> dict[str, Any]:
    """Return the content of a policy file without `extends` that says all that `policy` says."""
    return {setting: _spelt(getattr(policy, setting)) for setting in SETTINGS}


def beyond(old: Any, new: Any) -> Any:
    """Return what a file that extends the document `old` says to be `new`."""
    if isinstance(old, dict) and isinstance(new, dict) and "except" not in {*old, *new}:
        lost = {key: "none" for key in old if key not in new}
        return lost | {key: beyond(old.get(key), new[key]) for key in new if key not in old or old[key] != new[key]}
    if isinstance(old, list) and isinstance(new, list):
        edit = {"add": [one for one in new if one not in old], "remove": [one for one in old if one not in new]}
        return {verb: listed for verb, listed in edit.items() if listed}
    return new


def written(content: dict[str, Any]) -> str:
    """Return the content of a policy file as YAML. The profile's name is the file's name, and stays out."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {})
    dumper.add_representer(str, _text)
    return str(
        yaml.dump(content, Dumper=dumper, sort_keys=False, width=120, allow_unicode=True, default_flow_style=None)
    )


def _text(dumper: Any, text: str) -> Any:
    """Return text, in quotes where the loader would read a number: `1e3` and `08` are none in YAML 1.1."""
    style = None if isinstance(plain_scalar(text), str) else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def brought(policy: P, modules: Mapping[str, Iterable[str]]) -> P:
    """Return the policy that also opens what came with its requirements: name of a requirement → its modules.

    Raises `PolicyError` for a requirement that brings none, or would stand in the way of Python's own.
    """
    rules = {requirements.parse(line).name: policy.origin(f"requirements.{line}") for line in policy.requirements}
    origins, imports = dict(policy.origins), dict(policy.imports)
    for name, found in modules.items():
        rule = rules.get(name, "")
        useful = [module for module in found if module not in sys.stdlib_module_names and module != "safeexec"]
        if not useful:
            why = f"{', '.join(found)} is of Python, or of safeexec" if found else "it brings no module"
            raise PolicyError(f"{rule}: requirements: {name} is of no use to guest code: {why}")
        for module in useful:
            origins[f"{requirements.BROUGHT}{name}.{module}"] = rule
            origins.setdefault(f"imports.{module}", rule)
            imports.setdefault(module, ALL)
    return msgspec.structs.replace(policy, imports=imports, origins=origins)
