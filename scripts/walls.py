#!/usr/bin/env python3
"""Finds crates and features on the wrong side of the wall between owner, readers and server.

  scripts/walls.py

The server, also as the service of sordino-net, must not contain crates that seal, wrap or sign, or features that handle keys. A reader
and the proxy must not contain the server and the owner, and the owner must not contain the reader and the server. The script asks cargo
for the crates of each, on any platform. It prints each forbidden crate with its path, and then
exits with 1.
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
    # Logins use ML-KEM, whose secrets belong to the run.
    (("sordino-net", "--no-default-features", "--features", "server,tls"), KEYS),
    (("sordino-net", "--no-default-features", "--features", "client,tls"), ("sordino-owner", "sordino-server")),
    (("sordino-reader",), ("sordino-owner", "sordino-server", "sordino-net")),
    # The network code for a browser: without sockets and without its own TLS.
    (("sordino-wasm",), ("sordino-owner", "sordino-server", "hyper", "rustls", "sordino-net/sockets")),
    (("sordino-proxy",), ("sordino-owner", "sordino-server")),
    (("sordino-owner",), ("sordino-reader", "sordino-server", "sordino-net")),
)


def tree(package, *more):
    """cargo's lines on the crates of a package with these features. If cargo fails, so does the script."""
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
