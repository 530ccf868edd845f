"""Links in docstrings: ``:class:`~a.b.C``` becomes a link to where ``a.b.C`` is described, if it is."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|exc|obj):`(~?)([\w.]+)`")


class SphinxRoles(griffe.Extension):
    """Rewrite the roles in every docstring of a package, once it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **arguments: Any) -> None:
        """Called by Griffe for each package."""
        _rewrite(pkg)


def _rewrite(item: griffe.Object) -> None:
    if item.docstring is not None:
        item.docstring.value = _ROLE.sub(lambda match: _link(item, *match.groups()), item.docstring.value)
    for member in item.members.values():
        if not member.is_alias:
            _rewrite(member)


def _link(item: griffe.Object, tilde: str, target: str) -> str:
    text = target.rpartition(".")[2] if tilde else target
    try:
        path = target if target.startswith("treewright.") else item.resolve(target)
    except griffe.NameResolutionError:
        return f"`{text}`"
    return f'<autoref identifier="{path}" optional><code>{text}</code></autoref>'
