"""The page at /, in a real browser where there is one."""

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import serving

PAGE = Path(__file__).parents[2] / "service" / "web" / "index.html"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def test_it_asks_no_other_host_for_anything() -> None:
    fetched = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(\S+)""", PAGE.read_text("utf-8"))
    assert fetched
    for address in fetched:
        assert not re.match(r"(?:https?:)?//", address), address


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_it_translates_a_text_and_shows_what_looked_at_what() -> None:
    with serving(TINY_BUNDLE, precision="fp32") as server:
        assert httpx.get(server.url).headers["content-type"].startswith("text/html")
        fragment = f"text={quote('Der alte Hund schläft.')}&source=auto&target=en"
        page = subprocess.run(
            [
                str(BROWSER),
                *("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000"),
                *("--dump-dom", f"{server.url}/#{fragment}"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout
    assert re.search(r'<div id="output"[^>]*>The old dog sleeps\.</div>', page)
    assert "German, " in page
    assert page.count("<path d=") >= 5, "a line for each target word at least"
    assert '"q":"Der alte Hund schläft."' in page, "the request as curl"
