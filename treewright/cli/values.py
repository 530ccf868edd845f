"""Values of options that need no conversion do not go through pydantic, whose import takes 0.1 seconds."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]


class _Hasty:
    """A command whose parameters take values that need no conversion as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if "process_value" not in vars(parameter) and hasattr(parameter, "type_descriptor"):
                parameter.process_value = partial(_process, parameter, parameter.process_value)
        return found


class Command(_Hasty, TyperCommand):
    """A command."""


class Group(_Hasty, TyperGroup):
    """A command that has commands."""


def _process(parameter: Any, convert: Any, ctx: Any, given: Any) -> Any:
    """The value as the command gets it."""
    wanted, checks = parameter.type_descriptor.annotation, parameter.type_descriptor.parameter_info
    value = given
    if given is None:
        value = () if parameter.multiple or parameter.nargs == -1 else None
    elif wanted is Path and isinstance(given, str) and _is_any_path(checks) and _is_usable(given):
        value = Path(given)
    elif wanted is int and isinstance(given, str) and _is_number_between(given, checks.min, checks.max, checks.parser):
        value = int(given)
    elif wanted not in (str, int, float) or type(given) is not wanted or checks.parser is not None:
        return convert(ctx, given)
    if parameter.required and parameter.value_is_missing(value):
        return convert(ctx, given)  # which says so
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


def _is_number_between(text: str, least: float | None, most: float | None, parser: Any) -> bool:
    """Whether a text has digits only, and a number that is allowed."""
    if parser is not None or not (text.isascii() and text.isdigit() and len(text) < 10):
        return False
    return (least is None or least <= int(text)) and (most is None or int(text) <= most)


def _is_any_path(checks: Any) -> bool:
    """Whether a path may be a file, a folder, or nothing."""
    demands = checks.exists or checks.writable or checks.resolve_path or checks.path_type or checks.parser
    return bool(checks.file_okay and checks.dir_okay and not demands)


def _is_usable(path: str) -> bool:
    return os.access(path, os.R_OK) or not os.path.lexists(path)
