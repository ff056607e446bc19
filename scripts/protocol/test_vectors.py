"""The client against the vectors that `cargo run --example protocol_vectors` prints: VECTORS names the file."""

import csv
import json
import os
import pathlib
import unittest

import numpy as np

import checks
import column
import metric
from client import Client
from keys import ReaderKeys, derive
from blake3 import blake3

PATH = os.environ.get("VECTORS")


def floats(digits):
    return np.frombuffer(bytes.fromhex(digits), "<f4")


def drawn(digits):
    """Gives out the random bytes that were recorded, and nothing twice."""
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
                # Logarithms differ in their last bits.
                self.assertAlmostEqual(checks.tolerance(masked[t], width, [n]) / expected, 1, 5, row)
        self.assertEqual(packings, {4, 8, 16, 32, 64})


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
                found = [(h["id"], h["score"].tobytes().hex(), h["payload"].hex()) for h in hits]
                self.assertEqual(found, [(h["id"], h["score"], h["payload"]) for h in v["hits"]])


if __name__ == "__main__":
    unittest.main()
