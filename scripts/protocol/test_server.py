"""The client against a server: SORDINO names the command, whose answers must be the same."""

import datetime
import ipaddress
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SORDINO = os.environ.get("SORDINO")
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client.py")
# Mode, rows, dimension, options of the build. The second index has several blocks. The last one has sets of PIR with
# small secrets.
INDEXES = [
    ("masked", 3000, 50, ["--metric", "euclidean"]),
    ("masked", 5000, 33, ["--packing", "8", "--metric", "inner-product"]),
    ("masked", 600, 300, ["--packing", "16"]),
    ("open", 2000, 40, []),
    ("open", 13000, 24, []),
    ("open", 2000, 40, ["--metric", "euclidean"]),
    ("open", 2000, 40, ["--checks", "none", "--metric", "inner-product"]),
    ("open", 2000, 40, ["--checks", "exact"]),
    ("masked", 2000, 33, ["--checks", "exact", "--packing", "8"]),
    ("open", 300, 70, ["--packing", "64"]),
    ("local", 2500, 24, ["--metric", "euclidean"]),
    ("local", 2500, 24, ["--metric", "inner-product"]),
    ("sealed", 3000, 32, ["--routing", "downloaded"]),
    ("sealed", 3000, 32, ["--routing", "downloaded", "--metric", "inner-product"]),
    ("sealed", 3000, 32, ["--routing", "encrypted"]),
    ("sealed", 3000, 32, ["--routing", "encrypted", "--metric", "euclidean"]),
    ("sealed", 20000, 24, ["--routing", "downloaded", "--queries", "1"]),
]


def certificate(folder):
    """A certificate of 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test of the protocol")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
    made = made.not_valid_after(now + datetime.timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = made.add_extension(names, False).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    plain = serialization.NoEncryption()
    for path, data in (("cert.pem", signed.public_bytes(pem)), ("key.pem", key.private_bytes(pem, form, plain))):
        with open(os.path.join(folder, path), "wb") as file:
            file.write(data)


@unittest.skipUnless(SORDINO, "SORDINO names no command")
class Server(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run_("keys", "new", "owner", "owner.key")
        for kind, name in (("reader", "reader.key"), ("public", "owner.pub")):
            self.run_("keys", "new", kind, name, "--from", "owner.key")

    def run_(self, *arguments):
        done = subprocess.run([SORDINO, *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def build(self, mode, rows, dim, options):
        generator = np.random.default_rng(7)
        base = generator.standard_normal((rows, dim)).astype(np.float32)
        # Other vectors around the requested rows, at distances that no error confuses.
        for centre in (7, rows // 2):
            for at in range(1, 8):
                base[centre + at] = base[centre] + at / 8 * generator.standard_normal(dim).astype(np.float32)
        np.save(os.path.join(self.folder, "base.npy"), base)
        name = f"{mode}-{rows}-{len(os.listdir(self.folder))}.index"
        self.run_("index", "build", "base.npy", name, "--key", "owner.key", "--mode", mode, "--k", "5", *options)
        return name, [base[7], base[rows // 2]]

    def serve(self, index, *options):
        """The server's port."""
        command = [SORDINO, "--json", "serve", index, "--key", "owner.pub", "--listen", "127.0.0.1:0", *options]
        server = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        return json.loads(server.stdout.readline())["address"]

    def compare(self, address, queries, *options, k=5):
        """Checks that this client's answers equal the answers of `sordino query`."""
        lines = "".join(" ".join(map(str, query.tolist())) + "\n" for query in queries)
        theirs = ["query", "--connect", address, "--key", "reader.key", "--jsonl", "--no-cache", *options]
        ours = [CLIENT, address, "--key", "reader.key", *options]
        answers = []
        for command in ([SORDINO, *theirs], [sys.executable, *ours]):
            done = subprocess.run(command, cwd=self.folder, input=lines, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            answers.append([json.loads(line)["hits"] for line in done.stdout.splitlines()])
        self.assertEqual([len(hits) for hits in answers[1]], [k] * len(queries))
        for expected, found in zip(*answers):
            self.assertEqual([str(hit["id"]) for hit in found], [str(hit["id"]) for hit in expected])
            for a, b in zip(expected, found):
                self.assertEqual(a.get("truncated", False), b.get("truncated", False))
                if "payload" in a:
                    self.assertEqual(a["payload"], bytes.fromhex(b["payload"]).decode())
                # Scores of open and masked mode have errors from encryption, which differ in each search. Squares of
                # distances have about the same errors.
                a, b = a["score"], b["score"]
                self.assertLess(min(abs(a - b), abs(a * a - b * b) / 15), 0.02, (a, b))
        return answers[1]

    def test_modes(self):
        for mode, rows, dim, options in INDEXES:
            with self.subTest(f"{mode} {options}"):
                index, queries = self.build(mode, rows, dim, options)
                address = self.serve(index, "--plaintext", "--anyone")
                self.compare(f"http://{address}", queries)

    def test_payloads(self):
        # Mode, the way to payloads, and the length of the longest payload in bytes; sealed mode fetches twice. A single
        # record of 20,000 bytes is so rare that a search does not fetch all of its pages.
        cases = [("masked", 700, way, 900) for way in ("download", "pir", "hintless", "scan")]
        cases += [("sealed", 20000, "hintless", 30), ("masked", 700, "hintless", 60_000)]
        cases += [("masked", 20000, "scan", 20_000)]
        # With more pages, for a slow connection, a scan deals the pages into slots.
        cases = [(*case, "5", "100Mbit/s") for case in cases] + [("masked", 3000, "scan", 900, "30", "100kbit/s")]
        for mode, rows, way, longest, k, line in cases:
            with self.subTest(f"{mode} {way} {longest} {k}"):
                generator = np.random.default_rng(8)
                base = generator.standard_normal((rows, 16)).astype(np.float32)
                # Texts that compress well, and one that hardly compresses.
                letters = bytes(generator.integers(33, 127, longest).tolist()).decode()
                most = 30 if rows == 20000 else 900
                drawn = lambda at: letters if at == 3 else "lorem ipsum " * (at * 37 % most // 12)
                text = lambda at: f"record {at} {drawn(at)}"
                with open(os.path.join(self.folder, "base.jsonl"), "w", encoding="utf-8") as file:
                    for at, vector in enumerate(base.tolist()):
                        file.write(json.dumps({"id": at, "vector": vector, "text": text(at)}) + "\n")
                name = f"{mode}-{way}-{longest}-{k}.index"
                options = ["--mode", mode, "--k", k, "--queries", "1", "--id-column", "id", "--payload-column", "text"]
                options += ["--fetch", way, "--line", line]
                self.run_("index", "build", "base.jsonl", name, "--key", "owner.key", *options)
                address = self.serve(name, "--plaintext", "--anyone")
                queries = [base[at] for at in (3, 50, 3)]
                answers = self.compare(f"http://{address}", queries, k=int(k))
                self.assertEqual(any("truncated" in hit for hit in answers[0]), rows == 20000 and longest > 30)
                for hits in answers:
                    for hit in hits:
                        found, whole = bytes.fromhex(hit["payload"]).decode(), text(int(hit["id"]))
                        self.assertTrue(whole.startswith(found))
                        self.assertEqual(hit.get("truncated", False), found != whole)

    def test_logins_over_tls(self):
        certificate(self.folder)
        self.run_("keys", "new", "client", "alice.key")
        self.run_("keys", "new", "client-public", "alice.pub", "--from", "alice.key")
        index, queries = self.build("masked", 1000, 20, [])
        address = self.serve(index, "--cert", "cert.pem", "--cert-key", "key.pem", "--client", "alice.pub")
        self.compare(f"https://{address}", queries, "--client-key", "alice.key", "--roots", "cert.pem")


if __name__ == "__main__":
    unittest.main()
