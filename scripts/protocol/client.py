#!/usr/bin/env python3
"""A client of Sordino that was written from docs/protocol alone.

    client.py http://127.0.0.1:7700 --key reader.key --vector "0.1 0.2 ..."

It prints a line of JSON for each query, as `sordino query --jsonl` does. It is a proof of the document and a
pattern, not a product: Python neither erases secrets nor computes in constant time.
"""

import argparse
import json
import os
import struct
import sys

import numpy as np

import checks
import chunks
import column
import dot
import hintless
import metric
import pages
import pir
import scan
from keys import ReaderKeys, digest
from manifest import (
    DOWNLOAD, DOWNLOADED, EXACT, LOCAL, MASKED, NONE, NUMBER, OPEN, PIR, SCAN, SEALED, SUMS, Manifest, ids, numbers,
)
from transport import Connection, Refused

FORMAT = 4
GET_MANIFEST, GET_PARTS, SCORE, FETCH, FETCH_PAYLOADS = 101, 103, 105, 107, 109
MAX_MANIFEST = 8 + (1 << 18) + 4627
TOGETHER = 8 << 20
LARGEST = np.float32(1.0175)


def message(kind, body):
    return b"SRDN" + struct.pack("<HHQ", FORMAT, kind, len(body)) + body


def body_of(reply, kind, length=None):
    expected = message(kind, b"")[:8]
    if reply[:8] != expected or struct.unpack_from("<Q", reply, 8)[0] != len(reply) - 16:
        raise ValueError("a message of another kind or length")
    if length is not None and len(reply) != 16 + length:
        raise ValueError("a message of another length than the manifest says")
    return reply[16:]


class Wrong(Exception):
    """The server's answers do not belong to this index. The client notices this at once, but raises it after the last
    message."""


class Client:
    """A client of one version of an index. `random` returns the given number of fresh random bytes."""

    def __init__(self, call, keys, random=os.urandom):
        self.call, self.keys, self.random = call, keys, random
        self.session, self.left, self.known = None, 0, False
        reply = call(message(GET_MANIFEST, b""), 16 + MAX_MANIFEST)
        self.manifest = m = Manifest(body_of(reply, 102), keys)
        self.parts = self._download(m.given())
        f = m.frame
        frame = self.keys.open("frame", f.id, f.version, 0, b"", self.parts[f.sealed.digest])
        self.frame = metric.Frame(m.metric, m.dim, metric.Rotation(m.width, m.rotation), frame)
        self._records()
        if m.mode == SEALED:
            self._open_sealed()
        elif m.mode == LOCAL:
            self.here = [self._open_chunks(at) for at in range(len(m.segments))]
        else:
            self._open_columns()
        if m.payloads:
            self._open_payloads()

    def _request(self, kind, body):
        return message(kind, self.manifest.edition + body)

    def _download(self, given):
        """All parts, checked by their digests. A request asks for several parts, as long as they have at most 8 MiB
        together."""
        parts, batch = {}, []

        def fetch():
            asked = b"".join(struct.pack("<H", number) for number, _, _ in batch)
            length = sum(part for _, _, part in batch)
            reply = self.call(self._request(GET_PARTS, asked), 16 + length)
            body, at = body_of(reply, 104, length), 0
            for _, name, part in batch:
                parts[name], at = body[at : at + part], at + part
                if digest(parts[name]) != name:
                    raise ValueError("a part of another digest")

        for number, (name, length) in enumerate(given):
            if batch and sum(part for _, _, part in batch) + length > TOGETHER:
                fetch()
                batch = []
            batch.append((number, name, length))
        fetch()
        return parts

    def _records(self):
        """The record ids and deleted rows of each segment, and the order of all ids, which ranks equal scores."""
        m = self.manifest
        d = m.deleted
        list_ = self.keys.open("deleted", d.id, d.version, 0, b"", self.parts[d.rows.digest])
        self.dead, at = [], 0
        for _ in m.segments:
            dead, at = numbers(list_, at)
            self.dead.append(set(dead))
        self.ids = []
        for s in m.segments:
            opened = self.keys.open("ids", s.id, s.version, 0, b"", self.parts[s.ids.digest])
            self.ids.append(ids(m.ids, s.n, opened))
        names = [(int if m.ids == NUMBER else str)(name) for some in self.ids for name in some]
        self.rank = np.argsort(sorted(range(len(names)), key=names.__getitem__)).tolist()
        self.first = np.cumsum([0] + [s.n for s in m.segments])

    def _open_columns(self):
        m = self.manifest
        self.column = column.Client(m.params, m.seed, m.width)
        self.at = [self.column.extend(self.parts[s.hint]) for s in m.segments]
        identity = lambda s: np.arange(s.n)
        order = lambda s: self.keys.order("row order", s.id, s.n)
        self.orders = [(order if m.mode == MASKED else identity)(s) for s in m.segments]
        scales = lambda s: self.keys.open("scales", s.id, s.version, 0, b"", self.parts[s.scales])
        self.scales = [metric.scales(m.metric, s.n, scales(s)) for s in m.segments]
        if m.checking == EXACT:
            c = m.combined
            opened = self.keys.open("combination", c.id, c.version, 0, b"", self.parts[c.part])
            self.combined = checks.combinations(m.params, m.width, opened)
            copies = checks.copies(m.params)
            lists = [checks.weights(self.keys.subkey("weights", s.id), s.n, copies) for s in m.segments]
            self.weighted = [(own, first, s.n) for own, first, s in zip(lists, self.at, m.segments)]
        elif m.mode == OPEN and m.checking == SUMS:
            seal = lambda s: self.keys.open("sums", s.id, s.version, 0, b"", self.parts[s.sums])
            self.held = [seal(s) for s in m.segments]

    def _open_chunks(self, at, sealed=None, layout=None, purpose="chunk"):
        """The rows of a segment's chunks and the residuals of their vectors, without deleted rows."""
        m, s = self.manifest, self.manifest.segments[at]
        layout = layout or m.chunk_layout(s)
        sealed = sealed or dict(enumerate(split(self.parts[s.rows], layout.sealed_len)))
        read = []
        for number, one in sealed.items():
            plain = self.keys.open(purpose, s.id, s.version, number, layout.shape, one)
            read.append(layout.read(plain, self.frame))
        rows, bases, residuals = (np.concatenate(some) for some in zip(*read))
        alive = np.array([int(row) not in self.dead[at] for row in rows], bool)
        return rows[alive], chunks.Residuals(self.frame, bases[alive], residuals[alive])

    def _open_sealed(self):
        m, base = self.manifest, self.manifest.segments[0]
        self.pir = self._retrieval(m.bucket_params(), m.pir_seed, m.hint)
        self.digests = split(self.parts[m.digests], 32)
        self.here = [None] + [self._open_chunks(at) for at in range(1, len(m.segments))]
        if m.routing == DOWNLOADED:
            codes = self.keys.open("centroids", base.id, base.version, 0, b"", self.parts[m.centroids])
            self.route = np.stack([chunks.unit_of_int8(code) for code in split(codes, m.width)])

    def _open_payloads(self):
        p = self.manifest.payloads
        if p.look:
            raise ValueError("an index with a second look, which this client does not take")
        opened = lambda p: pages.Pages(p, self.keys, self.parts[p.places.digest], numbers)
        self.pages = opened(p)
        self.recent = [(opened(p), split(self.parts[p.content], p.len)) for p in self.manifest.recent]
        if p.fetch == DOWNLOAD:
            self.sealed = split(self.parts[p.content], p.len)
        elif p.fetch == SCAN:
            params = self.manifest.payload_params()
            self.payload_pir = scan.Client(params, p.seed, p.hint_seed, self.parts[p.hint])
        else:
            hint = p.hint if p.fetch == PIR else None
            self.payload_pir = self._retrieval(self.manifest.payload_params(), p.seed, hint)

    def _retrieval(self, params, seed, hint):
        return pir.Client(params, seed, self.parts[hint]) if hint else hintless.Client(params, seed)

    def search(self, vector):
        """The hits, best first: id, score, payload."""
        m = self.manifest
        asked = metric.Asked(self.frame, vector)
        steps = {SEALED: self._search_sealed, LOCAL: self._search_local}
        wrong = None
        try:
            hits = steps.get(m.mode, self._search_columns)(asked)
        except Wrong as error:
            wrong, hits = error, []
        hits = [(asked.score(key), place) for key, place in hits]
        sign = 1 if m.metric == metric.EUCLIDEAN else -1
        hits.sort(key=lambda hit: (sign * float(hit[0]), self.rank[hit[1]]))
        try:
            payloads = self._payloads([place for _, place in hits]) if m.payloads else []
        except Refused as error:
            raise wrong or error
        if wrong:
            raise wrong
        hits = [{"id": self._id(place), "score": score} for score, place in hits]
        for hit, (payload, truncated) in zip(hits, payloads):
            hit["payload"] = payload
            if truncated:
                hit["truncated"] = True
        return hits

    def _place(self, segment, row):
        """A record's row, counted after the rows of all earlier segments."""
        return int(self.first[segment] + row)

    def _id(self, place):
        segment = int(np.searchsorted(self.first, place, side="right")) - 1
        return self.ids[segment][place - self.first[segment]]

    def _best(self, scored, k):
        return sorted(scored, key=lambda hit: (-float(hit[0]), self.rank[hit[1]]))[:k]

    def _search_columns(self, asked):
        m = self.manifest
        query = asked.unit
        if m.mode == MASKED:
            query = np.rint(query.astype(np.float64) * (2**26 / 2.05) ** 0.5).astype(np.int64)
        secret, sent = self.column.encrypt(query, self.random(32))
        length = 32 + -(-(self.column.count * m.params.reply_bits) // 8)
        reply = self.call(self._request(SCORE, sent), 16 + length)
        try:
            body = body_of(reply, 106, length)
            answers = self.column.answers(body)
        except ValueError as error:
            raise Wrong(error) from None
        # This check comes before any decryption.
        if m.checking == EXACT and not checks.exact(
            m.params, self.combined, self.column.sent(sent), answers, self.weighted
        ):
            raise Wrong("answers that do not belong to the rows")
        scores = self.column.decrypt(secret, body)
        scored, possible, off = [], True, 0
        for at, (first, s) in enumerate(zip(self.at, m.segments)):
            if m.mode == MASKED:
                stored = m.stored(s)
                pads = self.keys.pads(s.id, s.version, stored, m.width)
                products = (pads * query.astype(np.uint32)).sum(axis=1, dtype=np.uint32)
                bare = column.centre(scores[first : first + stored] - products.astype(np.int64), 26)
                if m.checking == SUMS:
                    off = max(off, checks.off(self.keys.subkey("checks", s.id), bare, s.n, m.width))
                mine = (bare[: s.n] * (2.05 / 2**26)).astype(np.float32)
            else:
                mine = scores[first : first + s.n]
            possible &= bool((np.abs(mine) <= LARGEST).all())
            rows = self.orders[at]
            keys = asked.keys(mine, *(values[rows] for values in self.scales[at]))
            scored += [(key, self._place(at, row)) for key, row in zip(keys, rows) if int(row) not in self.dead[at]]
        if m.checking == NONE and not possible:
            raise Wrong("a score that no two unit vectors have")
        if m.mode == OPEN and m.checking == SUMS:
            steps, _ = self.column.steps(secret, body)
            most = checks.held_tolerances(m.params, m.width, [s.n for s in m.segments])
            messages = self.column.messages(query)
            for first, s, sums, tolerances in zip(self.at, m.segments, self.held, most):
                key = self.keys.subkey("checks", s.id)
                found = checks.held_off(key, sums, steps[first : first + s.n], messages, m.params.q)
                if any(x > most for x, most in zip(found, tolerances)):
                    raise Wrong("scores whose sums do not belong to the rows")
        if m.mode == MASKED and m.checking == SUMS and off > checks.tolerance(m.params, m.width, [s.n for s in m.segments]):
            raise Wrong("a check row that is not the sum of its group")
        return self._best(scored, m.k)

    def _search_here(self, asked, at):
        rows, residuals = self.here[at]
        keys = residuals.keys(asked)
        return self._best([(key, self._place(at, row)) for key, row in zip(keys, rows)], self.manifest.k)

    def _search_local(self, asked):
        hits = [hit for at in range(len(self.here)) for hit in self._search_here(asked, at)]
        return self._best(hits, self.manifest.k)

    def _routed(self, unit):
        m = self.manifest
        if m.routing == DOWNLOADED:
            return chunks.dots(self.route, unit)
        secret, sent = dot.encrypt(unit, self.random(32))
        _, _, per = dot.shape(m.width)
        here = [min(per, m.clusters - at) for at in range(0, m.clusters, per)]
        length = 16 + sum(3 * count + -(-count // 8) + 3 * 2048 + 256 for count in here)
        reply = self.call(self._request(SCORE, sent), 16 + length)
        return dot.decrypt(secret, m.width, m.clusters, body_of(reply, 106, length))

    def _search_sealed(self, asked):
        m, wrong = self.manifest, None
        try:
            scores = self._routed(asked.lifted())
        except ValueError as error:
            # The client still fetches buckets, which it chooses at random.
            wrong, scores = error, np.zeros(m.clusters, np.float32)
        buckets = sorted(int(x) for x in np.lexsort((np.arange(m.clusters), -scores))[: m.probes])
        try:
            fetched = self._fetch(self.pir, FETCH, buckets)
            good = wrong is None and all(digest(x) == self.digests[b] for b, x in zip(buckets, fetched))
            rows, residuals = self._open_chunks(0, dict(zip(buckets, fetched)), m.layout, "bucket")
        except Refused:
            raise
        except Exception as error:
            raise Wrong(error) from None
        if not good:
            raise Wrong("a bucket of another digest")
        keys, best, seen = residuals.keys(asked), [], set()
        for key, place in self._best([(key, self._place(0, r)) for key, r in zip(keys, rows)], 4 * m.k):
            if place not in seen and len(best) < m.k:
                best.append((key, place))
            seen.add(place)
        tail = [hit for at in range(1, len(self.here)) for hit in self._search_here(asked, at)]
        return self._best(best + tail, m.k)

    def _fetch(self, client, kind, indices):
        """Fetches records by PIR, in one message."""
        if isinstance(client, hintless.Client):
            return self._fetch_hintless(client, kind, indices)
        if isinstance(client, scan.Client):
            secret, sent = client.query(indices, self.random)
            length = client.params.answer_len
            return client.recover(secret, body_of(self.call(self._request(kind, sent), 16 + length), kind + 1, length))
        asked = [client.query(indices, t, self.random(32)) for t in range(len(indices))]
        length = len(indices) * client.params.answer_len
        reply = self.call(self._request(kind, b"".join(sent for _, sent in asked)), 16 + length)
        answers = split(body_of(reply, kind + 1, length), client.params.answer_len)
        return [client.recover(secret, i, answer) for (secret, _), i, answer in zip(asked, indices, answers)]

    def _fetch_hintless(self, client, kind, indices):
        """The first request of a session brings the keys. The client sends them again if the server has dropped
        them."""
        if self.left == 0:
            self.session, self.left, self.known = hintless.Session(self.random), hintless.REQUESTS, False
        self.left -= 1
        asked, sent = client.query(self.session, indices, self.random(32))
        limit = 16 + client.params.answer_len
        try:
            reply = self.call(self._request(kind, (b"" if self.known else self.session.keys) + sent), limit)
        except Refused as refused:
            if not self.known or refused.name != "session":
                raise
            asked, sent = client.query(self.session, indices, self.random(32))
            reply = self.call(self._request(kind, self.session.keys + sent), limit)
        self.known = True
        return client.recover(self.session, asked, body_of(reply, kind + 1, client.params.answer_len))

    def _payload(self, place, content, newest):
        if newest is None:
            return self.pages.payload(place, content)
        opened, sealed = newest
        return opened.payload(place, b"".join(opened.open(page, sealed[page]) for page in opened.whole(place)))

    def _payloads(self, places):
        """The payloads of these records, and whether each is longer. The number of requested pages does not depend on
        the results."""
        p, k = self.manifest.payloads, self.manifest.k
        # A record is in the newest part that has a place for it. The client asks for a page in any case.
        newest = [next((it for it in reversed(self.recent) if place in it[0].extents), None) for place in places]
        shares = self.pages.shares([None if part else place for place, part in zip(places, newest)], k)
        asked = self.pages.asked(shares)
        try:
            if p.fetch == DOWNLOAD:
                sealed = [self.sealed[page] for page in asked]
            else:
                sealed = self._fetch(self.payload_pir, FETCH_PAYLOADS, asked)
            plain = iter([self.pages.open(page, one) for page, one in zip(asked, sealed)])
            read = [b"".join(next(plain) for _ in share) for share in shares]
            return [self._payload(*found) for found in zip(places, read, newest)]
        except Refused:
            raise
        except Exception as error:
            raise Wrong(error) from None


def split(data, length):
    return [data[at : at + length] for at in range(0, len(data), length)]


def main():
    parser = argparse.ArgumentParser(description="Searches an index of a Sordino server.")
    parser.add_argument("server", help="http://host:port or https://host:port")
    parser.add_argument("--key", required=True, help="a reader's key file")
    parser.add_argument("--client-key", help="log in with this client's key")
    parser.add_argument("--roots", help="certificates in PEM, one of which must have signed the server's")
    parser.add_argument("--vector", help="numbers, separated by commas or spaces; else a vector a line")
    args = parser.parse_args()
    connection = Connection(args.server, args.client_key, args.roots)
    client = Client(connection.call, ReaderKeys.read(args.key))
    lines = [args.vector] if args.vector else sys.stdin
    wrong = None
    for number, line in enumerate(lines):
        try:
            hits = client.search([float(x) for x in line.replace(",", " ").split()])
        except Wrong as error:
            # The client still searches for the other queries. Otherwise the server would see which one was wrong.
            wrong = error
            continue
        for hit in hits:
            hit["score"] = float(hit["score"])
            if "payload" in hit:
                hit["payload"] = hit["payload"].hex()
        print(json.dumps({"query": number, "hits": hits}), flush=True)
    if wrong is not None:
        raise wrong


if __name__ == "__main__":
    main()
