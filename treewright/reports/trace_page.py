"""Traces as one HTML file that needs neither a server nor other files: the viewer of the workbench, with its data."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from treewright.tracing import Trace

__all__ = ["trace_html"]

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{digest}'; \
style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
{style}
body {{ margin: 0; padding: 0.6rem 1rem; }}
h2 {{ font: 600 1.05rem system-ui, sans-serif; margin: 1rem 0 0.2rem; overflow-wrap: anywhere; }}
ol {{ font: 0.95rem system-ui, sans-serif; }}
</style>
</head>
<body class="tw-page">
{contents}{places}<script type="application/json" id="traces">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""
_BEGIN = """
const traces = JSON.parse(document.getElementById("traces").textContent);
traces.forEach((trace, k) => mountViewer(document.getElementById(`trace-${k + 1}`), trace, { keys: k === 0 }));
"""


def trace_html(traces: Sequence[Trace], *, title: str = "Traces") -> str:
    """Write traces as an HTML page that shows them step by step, with sliders and keys.

    The page is self-contained: it opens without a server, and loads nothing from other hosts. Several traces
    are numbered and have a table of contents; the keys move through the one that was used last.

    >>> from treewright.tracing import Candidate, Step
    >>> noun = Step(0, {"position": 0, "labels": []}, (Candidate("NOUN", score=2.0),), chosen=0)
    >>> trace = Trace("tagging", "tags", ("cat",), (noun, Step(1, {"position": 1, "labels": ["NOUN"]})))
    >>> page = trace_html([trace], title="A cat")
    >>> "<title>A cat</title>" in page, page.count("<script")
    (True, 2)
    """
    viewer = files("treewright.reports") / "viewer"
    script = (viewer / "viewer.js").read_text(encoding="utf-8") + _BEGIN
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    texts = [" ".join(trace.words) for trace in traces]
    contents, headings = "", [""] * len(traces)
    if len(traces) > 1:
        rows = "".join(f'<li><a href="#trace-{k}">{escape(text)}</a></li>\n' for k, text in enumerate(texts, 1))
        contents = f"<ol>\n{rows}</ol>\n"
        headings = [f"<h2>{k}. {escape(text)}</h2>\n" for k, text in enumerate(texts, 1)]
    places = "".join(f'{heading}<div id="trace-{k}"></div>\n' for k, heading in enumerate(headings, 1))
    data = json.dumps([trace.to_json() for trace in traces], ensure_ascii=False, separators=(",", ":"))
    return _PAGE.format(
        digest=digest,
        title=escape(title),
        style=(viewer / "viewer.css").read_text(encoding="utf-8"),
        contents=contents,
        places=places,
        data=data.replace("<", "\\u003c"),
        script=script,
    )
