#!/usr/bin/env python3
"""Crates and features that stand on the wrong side of the wall between owner, readers and server.

  scripts/walls.py

The server is built without the crates that seal, wrap or sign, and without the features that handle keys, also as the service of
sordino-net; a reader and the proxy without the server and the owner, and the owner without the reader and the server. Asks cargo what each is built from, on any
platform. Prints what must not be there and how it came in, and exits with 1 if there is any.
"""
import subprocess
import sys

from rust_source import ROOT

# A feature is written after the name of its crate.
KEYS = (
    "aes-gcm", "aes-kw", "ml-dsa", "x-wing", "x25519-dalek", "sordino-fpe", "sordino-owner", "sordino-reader", "sordino-search",
    "sordino-vault", "sordino-mldsa/sign", "sordino-net/client", "sordino-token/sign",
)
WALLS = (
    (("sordino-server",), (*KEYS, "ml-kem", "sordino-net", "sordino-token")),
    # Logins are agreed on with ML-KEM: the secrets of that are the run's own.
    (("sordino-net", "--no-default-features", "--features", "server,tls"), KEYS),
    (("sordino-net", "--no-default-features", "--features", "client,tls"), ("sordino-owner", "sordino-server")),
    (("sordino-reader",), ("sordino-owner", "sordino-server", "sordino-net")),
    # The network code for a browser: without sockets and without its own TLS.
    (("sordino-wasm",), ("sordino-owner", "sordino-server", "hyper", "rustls", "sordino-net/sockets")),
    (("sordino-proxy",), ("sordino-owner", "sordino-server")),
    (("sordino-owner",), ("sordino-reader", "sordino-server", "sordino-net")),
)


def tree(package, *more):
    """The lines that cargo has on what a package with these features is built from; a failure of cargo is ours."""
    line = ["cargo", "tree", "--locked", "--target", "all", "--edges", "normal", "--package", *package, *more]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout.strip():
        sys.exit(f"walls.py: {' '.join(line)} failed: {done.stderr.strip()}")
    return done.stdout.splitlines()


def built_from(package):
    """The names of the crates from which a package is built, and of their features."""
    for line in tree(package, "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}"):
        name, features = line.split()[0], line.rsplit("|", 1)[1].strip()
        yield name
        yield from (f"{name}/{feature}" for feature in features.split(",") if feature)


def main():
    wrong = 0
    for package, forbidden in WALLS:
        found = set(built_from(package))
        # If cargo wrote the tree in a different format, nothing would be found in it.
        if package[0] not in found or "blake3/std" not in found:
            sys.exit(f"walls.py: the tree of {package[0]} is not as cargo writes it")
        for name in forbidden:
            if name in found:
                wrong += 1
                crate, _, feature = name.partition("/")
                kind = f"the feature {feature} of {crate}" if feature else crate
                print(f"{' '.join(package)}: built with {kind}, which it must not have:")
                for line in tree(package, "--invert", crate, *(["--edges", "features"] if feature else []))[:12]:
                    print(f"  {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
