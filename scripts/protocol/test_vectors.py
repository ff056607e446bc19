"""The client against the vectors that `cargo run --example protocol_vectors` prints: VECTORS names the file."""

import csv
import json
import os
import pathlib
import struct
import unittest
from types import SimpleNamespace

import numpy as np
import zstandard

import checks
import chunks
import column
import metric
import pages
from client import Client
from keys import ReaderKeys, derive
from blake3 import blake3

PATH = os.environ.get("VECTORS")


def floats(digits):
    return np.frombuffer(bytes.fromhex(digits), "<f4")


def drawn(digits):
    """Returns the recorded random bytes. It returns each of them once."""
    data, at = bytes.fromhex(digits), 0

    def random(length):
        nonlocal at
        at += length
        if at > len(data):
            raise ValueError("more random bytes than were drawn")
        return data[at - length : at]

    return random


class Tolerances(unittest.TestCase):
    def test_section_7_7_has_the_tolerances_of_every_packing(self):
        table = pathlib.Path(__file__).parents[2] / "crates/index/tests/checks.csv"
        masked = {params.t: params for params in column.SETS if params.log_p == 26 and not params.whole}
        packings = set()
        with table.open() as file:
            for row in csv.DictReader(file):
                t, width, n, expected = (int(row[name]) for name in ("t", "width", "n", "tolerance"))
                packings.add(t)
                # The last bits of logarithms differ.
                self.assertAlmostEqual(checks.tolerance(masked[t], width, [n]) / expected, 1, 5, row)
        self.assertEqual(packings, {4, 8, 16, 32, 64})


class Frames(unittest.TestCase):
    """Compares the formulas of section 5 with the metrics that they implement."""

    def setUp(self):
        generator, dim = np.random.default_rng(3), 21
        drawn = generator.standard_normal((45, dim)).astype(np.float32)
        self.query, self.rows, self.centre, bases = drawn[0], drawn[1:41], drawn[41] / 8, drawn[42:] / 8
        self.rows[0] = self.centre
        self.frames = []
        for adds, kind in enumerate((metric.COSINE, metric.INNER_PRODUCT, metric.EUCLIDEAN)):
            # The centre is the only base for the cosine.
            own = bases[: 0 if kind == metric.COSINE else None]
            padded = np.pad(np.vstack([own, np.zeros((1, dim), np.float32)]), ((0, 0), (0, adds)))
            content = struct.pack("<hIH", 4, 900_000, len(padded)) + self.centre.tobytes() + padded.tobytes()
            self.frames.append(metric.Frame(kind, dim, metric.Rotation(dim + adds, bytes(32)), content))

    def test_keys_give_the_metric(self):
        rows, query = self.rows.astype(np.float64), self.query.astype(np.float64)
        products = rows @ query
        wanted = [products / metric.length(query), products, np.linalg.norm(rows - query, axis=1)]
        for frame, expected in zip(self.frames, wanted):
            if frame.metric == metric.COSINE:
                rows, expected = rows / np.linalg.norm(rows, axis=1)[:, None], expected / np.linalg.norm(rows, axis=1)
            else:
                rows = self.rows.astype(np.float64)
            left = np.stack([frame.rotated(row - frame.centre) for row in rows])
            bases = np.array([frame.nearest(one) for one in left])
            self.assertEqual(len(set(bases.tolist())) > 1, frame.metric != metric.COSINE)
            # The row at the centre, whose base is zero, has no residual.
            held, asked = chunks.Residuals(frame, bases, left - frame.bases[bases]), metric.Asked(frame, self.query)
            found = [asked.score(key) for key in held.keys(asked)]
            self.assertLess(np.abs(found - expected).max(), 0.003)
            # A base that does not exist is replaced by the first one.
            held.bases = np.where(bases == 0, 200, bases)
            self.assertEqual([asked.score(key) for key in held.keys(asked)], found)

    def test_a_euclidean_query_may_be_the_centre(self):
        asked = metric.Asked(self.frames[2], self.centre)
        self.assertEqual(asked.unit.tolist(), [1.0] + [0.0] * 22)
        keys = asked.keys([0.5, 0.5], np.array([3, 3]), np.array([2.0, 0.0]), np.array([2.0, 0.0]))
        self.assertEqual([float(asked.score(key)) for key in keys], [2.0, 0.0])

    def test_queries_that_are_refused(self):
        zero, one = np.zeros(21, np.float32), np.eye(1, 21, dtype=np.float32)[0]
        for frame, longest in zip(self.frames, (None, 2.0**46, 2.0**80)):
            bad = [one + np.float32("nan"), one + np.float32("inf"), one[:20]]
            if longest is not None:
                metric.Asked(frame, one * np.float32(longest))
                bad.append(one * np.float32(1.001 * longest))
            for query in bad + [zero] * (frame.metric != metric.EUCLIDEAN):
                self.assertRaises(ValueError, metric.Asked, frame, query)


class Payloads(unittest.TestCase):
    """Section 9.4: payloads that are cut off, and lists of first bytes."""

    def test_a_payload_is_read_as_far_as_its_blocks_are_whole(self):
        plain = "".join(f"line {at}, {at * at % 1009} \u00e9\n" for at in range(900)).encode()
        encoder = zstandard.ZstdCompressor().compressobj()
        pieces = [plain[at : at + 1000] for at in range(0, len(plain), 1000)]
        frame = b"".join(
            encoder.compress(piece) + encoder.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for piece in pieces
        )
        frame = (frame + encoder.flush())[4:]
        opened = pages.Pages.__new__(pages.Pages)
        opened.dictionary, opened.payloads = None, SimpleNamespace(page_len=1 << 20)
        opened.extents = {7: (5, 1)}
        head = struct.pack("<BBB", len(frame) << 1 & 0x7F | 0x81, len(frame) >> 6 & 0x7F | 0x80, len(frame) >> 13)
        before = 0
        for cut in range(1, len(frame) + 1):
            found, truncated = opened.payload(7, bytes(5) + head + frame[:cut])
            self.assertEqual(truncated, cut < len(frame))
            self.assertTrue(plain.startswith(found) and len(found) >= before)
            found.decode()
            before = len(found)
        self.assertEqual(before, len(plain))

    def test_numbers_of_elias_and_fano(self):
        # Three numbers up to 20, cut at 2 bits: ones at 0 + (1 >> 2), 1 + (6 >> 2), 2 + (20 >> 2); then 1, 2, 0.
        row = sum(1 << at for at in (0, 2, 7)) | 1 << 8 | 2 << 10
        self.assertEqual(pages.elias_fano(row.to_bytes(2, "little"), 3, 20), ([1, 6, 20], 2))
        self.assertRaises(ValueError, pages.elias_fano, bytes(2), 3, 20)


@unittest.skipUnless(PATH, "VECTORS names no file")
class Vectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PATH, encoding="ascii") as file:
            cls.vectors = json.load(file)
        cls.master = bytes.fromhex(cls.vectors["keys"]["master"])
        cls.keys = ReaderKeys.of_master(cls.master)
        cls.segment = bytes.fromhex(cls.vectors["keys"]["segment"])

    def test_keys(self):
        v = self.vectors["keys"]
        self.assertEqual(self.keys.content.hex(), v["content"])
        self.assertEqual(self.keys.owner.hex(), v["owner"])
        self.keys.verify(b"message", bytes.fromhex(v["manifest_signature"]))
        for one in v["seals"]:
            place = (one["purpose"], self.segment, v["version"], v["part"], bytes.fromhex(v["shape"]))
            self.assertEqual(self.keys.open(*place, bytes.fromhex(one["sealed"])).hex(), v["plain"])

    def test_content_id(self):
        v = self.vectors["keys"]["content_id"]
        hasher = blake3(bytes.fromhex(v["fresh"]), key=derive(self.master, "sordino 2026 content ids"))
        for piece in (bytes.fromhex(v["binding"]), bytes.fromhex(v["ids"])):
            hasher.update(len(piece).to_bytes(8, "little") + piece)
        hasher.update(np.array(v["words"], "<u4").tobytes())
        self.assertEqual(hasher.digest(16).hex(), v["id"])

    def test_orders(self):
        for v in self.vectors["orders"]:
            for purpose, name in (("row order", "rows"), ("slot order", "slots")):
                self.assertEqual(self.keys.order(purpose, self.segment, v["n"]).tolist(), v[name])

    def test_pads(self):
        v, version = self.vectors["pad"], self.vectors["keys"]["version"]
        pads = self.keys.pads(self.segment, version, len(v["rows"]), len(v["query"]))
        self.assertEqual(column.centre(pads.astype(np.int64), 26).tolist(), v["rows"])
        query = np.array(v["query"], np.int64).astype(np.uint32)
        self.assertEqual((pads * query).sum(axis=1, dtype=np.uint32).tolist(), v["products"])

    def test_rotations(self):
        for v in self.vectors["rotations"]:
            vector = floats(v["vector"])
            rotated = metric.Rotation(len(vector), bytes.fromhex(v["seed"])).apply(vector)
            self.assertEqual(rotated.tobytes().hex(), v["rotated"])

    def test_columns(self):
        for v in self.vectors["columns"]:
            with self.subTest(v["set"]):
                params = next(one for one in column.SETS if one.name == v["set"])
                client = column.Client(params, bytes.fromhex(v["seed"]), v["dim"])
                client.extend(bytes.fromhex(v["hint"]))
                real = params.log_p is None
                query = floats(v["query"]) if real else v["query"]
                secret, sent = client.encrypt(query, bytes.fromhex(v["random"]))
                self.assertEqual(sent.hex(), v["sent"])
                scores = client.decrypt(secret, bytes.fromhex(v["reply"]))
                self.assertEqual(scores.tobytes().hex() if real else scores.tolist(), v["scores"])

    def test_searches(self):
        for v in self.vectors["searches"]:
            with self.subTest(v["name"]):
                exchanges = [(bytes.fromhex(e["request"]), bytes.fromhex(e["reply"])) for e in v["exchanges"]]

                def call(request, limit):
                    expected, reply = exchanges.pop(0)
                    self.assertEqual(request[:64].hex(), expected[:64].hex())
                    self.assertTrue(request == expected, "the request's body")
                    self.assertLessEqual(len(reply), limit)
                    return reply

                client = Client(call, self.keys, drawn(v["random"]))
                hits = client.search(floats(v["query"]))
                self.assertEqual(exchanges, [])
                found = [(h["id"], h["payload"].hex()) for h in hits]
                self.assertEqual(found, [(h["id"], h["payload"]) for h in v["hits"]])
                # Sums in another order differ in their last bits. A distance is the root of such a sum, so a distance
                # near 0 differs by more.
                euclidean = client.manifest.metric == metric.EUCLIDEAN
                for hit, expected in zip(hits, v["hits"]):
                    (expected,) = struct.unpack("<f", bytes.fromhex(expected["score"]))
                    delta = max(2e-6, 5e-8 / expected) if euclidean else 2e-6
                    self.assertAlmostEqual(float(hit["score"]), expected, delta=delta)


if __name__ == "__main__":
    unittest.main()
