"""Pages: headings, paragraphs, tables and figures, written as Markdown or as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

__all__ = ["Page"]

_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;border-bottom:1px solid #8884;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
pre{overflow-x:auto;background:#8881;padding:.7rem}
.table,figure{margin:1rem 0;overflow-x:auto}
thead th{border-bottom:2px solid #8888}
tbody tr:hover{background:#8882}
h2{margin-top:2.5rem;padding-top:1rem;border-top:1px solid #8884}
svg{max-width:100%;height:auto}
figcaption{font-size:.9em}
"""


@dataclass
class Page:
    """A page that grows from top to bottom."""

    title: str
    markdown: list[str] = field(default_factory=list)
    html: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    """The drawings, which Markdown refers to as files ``FOLDER/1.svg``, ``FOLDER/2.svg`` and so on."""
    folder: str = "figures"

    def heading(self, text: str, level: int = 2) -> None:
        """Add a heading."""
        self.markdown.append(f"{'#' * level} {text}")
        self.html.append(f"<h{level}>{escape(text)}</h{level}>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        if text.strip():
            self.markdown.append(text.strip())
            self.html += [f"<p>{escape(each)}</p>" for each in text.strip().split("\n\n")]

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table; the first column has words, the others numbers. Empty columns are omitted."""
        kept = [k for k in range(len(head)) if k == 0 or any(row[k] for row in rows)]
        head, rows = [head[k] for k in kept], [[row[k] for k in kept] for row in rows]
        rule = ["---", *["---:"] * (len(head) - 1)]
        lines = ["| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in (head, *rows)]
        self.markdown.append("\n".join([lines[0], "| " + " | ".join(rule) + " |", *lines[1:]]))
        cells = "".join(f"<th>{escape(each)}</th>" for each in head)
        body = "".join("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>\n" for row in rows)
        table = f"<table><thead><tr>{cells}</tr></thead>\n<tbody>\n{body}</tbody></table>"
        self.html.append(f'<div class="table">{table}</div>')

    def figure(self, svg: str, caption: str) -> None:
        """Add a drawing."""
        self.figures.append(svg)
        self.markdown.append(f"![{caption}]({self.folder}/{len(self.figures)}.svg)")
        self.html.append(f"<figure>\n{svg}<figcaption>{escape(caption)}</figcaption></figure>")

    def code(self, text: str, summary: str = "") -> None:
        """Add a block of code; with a ``summary``, readers of the HTML page open it by a click."""
        if summary:
            self.markdown.append(f"{summary}:")
            self.html.append(f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>")
        else:
            self.html.append(f"<pre>{escape(text)}</pre>")
        self.markdown.append(f"```\n{text}\n```")

    def to_markdown(self) -> str:
        """Return the page as Markdown."""
        return "\n\n".join([f"# {self.title}", *self.markdown]) + "\n"

    def to_html(self) -> str:
        """Return the page as one HTML document."""
        head = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        head += f'<meta name="viewport" content="width=device-width">\n<title>{escape(self.title)}</title>'
        body = "\n".join([f"<h1>{escape(self.title)}</h1>", *self.html])
        return f"{head}\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
