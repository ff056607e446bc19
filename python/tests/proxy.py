"""A way to a server that can be held up."""

import socket
import threading


class Proxy:
    """Hands on what it gets, but keeps replies back while it is held up."""

    def __init__(self, url):
        host, port = url.removeprefix("http://").split(":")
        self._server = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._free = threading.Event()
        self._free.set()
        self.waiting = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self):
        """From now on replies wait; the first one sets `waiting`."""
        self.waiting.clear()
        self._free.clear()

    def go(self):
        self._free.set()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            for way in [(client, server, False), (server, client, True)]:
                threading.Thread(target=self._pump, args=way, daemon=True).start()

    def _pump(self, source, sink, reply):
        try:
            while data := source.recv(1 << 16):
                if reply and not self._free.is_set():
                    self.waiting.set()
                    self._free.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()
