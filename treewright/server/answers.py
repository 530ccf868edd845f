"""Answers in JSON, made from text that is written already."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

__all__ = ["Json", "as_json", "json_string"]

#: a string as JSON, as ``json.dumps(…, ensure_ascii=False)`` writes it, which makes an encoder first and takes longer
json_string = json.encoder.encode_basestring


class Json(Response):
    """A text in JSON. Its head has two lines, which starlette takes longer to find than to send."""

    media_type = "application/json"

    def __init__(self, text: str) -> None:
        self.status_code, self.background = 200, None
        self.body = text.encode("utf-8")
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]


def as_json(content: dict[str, Any]) -> Json:
    """Return JSON without validation, which would dominate the time of large answers and is not necessary here."""
    return Json(json.dumps(content, ensure_ascii=False))
