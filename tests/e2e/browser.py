"""A real browser, and servers of the page for it."""

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from service.api import docs, page

PAGE = Path(__file__).parents[2] / "service" / "web" / "index.html"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def visit(url: str) -> tuple[str, list[str]]:
    """What a browser makes of a page, after its scripts have run: the elements, and the console's lines."""
    done = subprocess.run(
        [
            str(BROWSER),
            *("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000"),
            *("--enable-logging=stderr", "--v=0", "--dump-dom", url),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def blocked(console: list[str]) -> list[str]:
    """Of the console's lines, those about the Content-Security-Policy."""
    return [line for line in console if "Content Security Policy" in line]


@contextmanager
def serving_pages(prefix: str = "") -> Iterator[str]:
    """The pages, and an interface to document; no models. All paths begin with `prefix`."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.post("/t", operation_id="t", description="What is to be translated.")(lambda: None)
    page.install(app)
    docs.install(app)
    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    outer.mount(prefix, app)
    with serving_app(outer) as url:
        yield url


@contextmanager
def serving_scripted_page(
    script: str, translate: Callable[..., object], max_alternatives: int = 7
) -> Iterator[str]:
    """Serve the page with a fake translation; `script` runs once the page has started."""
    app = FastAPI()
    language = {"code": "de", "name": "German", "targets": ["en"]}
    other = {"code": "en", "name": "English", "targets": ["de"]}
    settings = {
        "charLimit": 5000,
        "maxAlternatives": max_alternatives,
        "language": {"target": language},
    }
    app.get("/languages")(lambda: [language, other])
    app.get("/frontend/settings")(lambda: settings)
    app.post("/translate")(translate)
    driver = f"""<script>
      const poll = setInterval(() => {{
        if (!document.getElementById("source").options.length) return;
        clearInterval(poll);
        {script}
      }}, 50);
    </script>"""
    app.get("/", response_class=HTMLResponse)(lambda: PAGE.read_text("utf-8") + driver)
    with serving_app(app) as url:
        yield url


@contextmanager
def serving_app(app: FastAPI) -> Iterator[str]:
    """Serve `app` in a thread; gives its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            for _ in range(100):
                if server.started:
                    break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
