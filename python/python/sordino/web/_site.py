"""The files of a page, served on this machine."""

from __future__ import annotations

import hashlib
import http.server
import threading
from typing import TYPE_CHECKING

from .._errors import ListenError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
    "wasm": "application/wasm",
}
_OTHER = "application/octet-stream"

# The page's content policy. The server sends it with each file, so it also covers the page's worker. No other page may show this
# page in a frame.
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; "
    "connect-src 'self' http: https:; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)


class Site:
    """Serves only the files of `show`, on 127.0.0.1. A context manager, which stops at its end.

    Browsers give a page keys and random numbers on this machine or over https, and nowhere else.
    """

    def __init__(self, port: int) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        handler = type("Handler", (_Handler,), {"files": self._files})
        try:
            self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError as error:
            raise ListenError(f"127.0.0.1:{port}: {error.strerror}; --port names another") from None
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port. If 0 was requested, this is the free port that the system chose."""
        return int(self._server.server_address[1])

    def show(self, files: Mapping[str, bytes]) -> None:
        """Serves these files from now on."""
        self._files.update({name: (body, hashlib.sha256(body).hexdigest()) for name, body in files.items()})

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD: with a file, or with the status that the browser's copy is current."""

    files: Mapping[str, tuple[bytes, str]]
    protocol_version = "HTTP/1.1"
    # Seconds after which an idle connection ends.
    timeout = 30

    def do_GET(self) -> None:
        # If another site's name led here, that site could read the demo's key.
        _, port = self.connection.getsockname()
        if self.headers.get("Host", "").lower() not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            self._answer(421, f"This page is at http://127.0.0.1:{port}/\n".encode(), "text/plain; charset=utf-8")
            return
        name = self.path.partition("?")[0].removeprefix("/") or "index.html"
        if name not in self.files:
            self._answer(404, b"There is no such file here: the page is at /\n", "text/plain; charset=utf-8")
            return
        body, digest = self.files[name]
        tag = f'"{digest}"'
        if self.headers.get("If-None-Match") == tag:
            self._answer(304, b"", None, tag)
        else:
            self._answer(200, body, _TYPES.get(name.rpartition(".")[2], _OTHER), tag)

    do_HEAD = do_GET

    def _answer(self, status: int, body: bytes, kind: str | None, tag: str | None = None) -> None:
        self.send_response(status)
        if kind is not None:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        if tag is not None:
            # The browser keeps the file, and asks each time whether it has changed.
            self.send_header("Cache-Control", "no-cache")
            self.send_header("ETag", tag)
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        if self.command == "GET":
            try:
                self.wfile.write(body)
            except ConnectionError:
                # The page was closed meanwhile.
                self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Logs nothing: a page always loads the same files."""
