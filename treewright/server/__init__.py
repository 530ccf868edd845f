"""The workbench as a web service: a page, an API, and the protocols of UDPipe and CoreNLP.

``treewright serve`` starts it. :func:`make_app` returns the application for another server; it needs the extra
``treewright[serve]``.
"""

from treewright.server.app import make_app
from treewright.server.limits import Limits
from treewright.server.running import serve

__all__ = ["Limits", "make_app", "serve"]
