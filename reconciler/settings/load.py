"""How do environment and file become Settings? All mistakes at once, or frozen values."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from reconciler.settings import environment, file, mistakes, names
from reconciler.settings.mistakes import Mistake, SettingsError
from reconciler.settings.root import Settings
from reconciler.settings.shape import Given, SettingPath, Stranger, fields, given, replaced, tree_of


def from_process(config: str | Path | None = None) -> Settings:
    """Settings of this process: its environment, and the file that `config` or GPU_RECONCILER_CONFIG names."""
    return load(os.environ, config)


def load(env: Mapping[str, str], config: str | Path | None = None) -> Settings:
    """Settings from these variables and this file; a variable wins over the file, `config` over GPU_RECONCILER_CONFIG.

    Raises SettingsError with every mistake of both.
    """
    found: list[Mistake] = []
    values: dict[SettingPath, object] = {}
    origins: dict[SettingPath, str] = {}
    named = config or env.get(names.CONFIG)
    if named:
        _from_file(Path(named), "argument" if config else f"env {names.CONFIG}", values, origins, found)
    _from_environment(env, values, origins, found)
    try:
        settings = Settings.built(tree_of(values), origins)
    except ValidationError as error:
        raise SettingsError([*found, *mistakes.from_pydantic(Settings, error, origins)]) from None
    if found:
        raise SettingsError(found)
    return settings


def _from_file(
    path: Path, named_by: str, values: dict[SettingPath, object], origins: dict[SettingPath, str], found: list[Mistake]
) -> None:
    try:
        content = file.read(path)
    except file.FileFault as fault:
        remedy = "correct the file, or name another one"
        found.append(Mistake(f"settings file {path}", f"named by {named_by}", str(fault), remedy))
        return
    for finding in given(Settings, content.tree):
        origin = content.origin(finding.path)
        match finding:
            case Given(at, value):
                values[at], origins[at] = value, origin
            case Stranger(at):
                found.append(mistakes.stranger_in_file(Settings, at, origin))


def _from_environment(
    env: Mapping[str, str], values: dict[SettingPath, object], origins: dict[SettingPath, str], found: list[Mistake]
) -> None:
    stronger: dict[SettingPath, object] = {}
    for variable in environment.read(Settings, env):
        origin = f"env {variable.name}"
        match variable.finding:
            case Given(at, value):
                for known in replaced(values, at):
                    del values[known]
                stronger[at], origins[at] = value, origin
            case Stranger((name,)):
                found.append(mistakes.stranger_in_environment(Settings, name))
            case Stranger(at):
                found.append(mistakes.stranger_in_file(Settings, at, origin))
            case environment.NotJson(at, why):
                example = json.dumps((dict(fields(Settings))[at].examples or [{}])[0])
                remedy = f"write JSON such as {example}, or use the file"
                found.append(Mistake(mistakes.spelled(at), origin, why, remedy))
    values |= stronger
