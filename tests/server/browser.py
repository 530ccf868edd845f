"""A real browser for the tests of the page: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil

CHROMIUM = os.environ.get("TREEWRIGHT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
