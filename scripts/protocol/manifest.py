"""The signed manifest, and the lists of numbers that are sealed: sections 2 and 4 of docs/protocol."""

import struct
from types import SimpleNamespace

import checks
import chunks
import hintless
import pir
import scan
from column import SETS
from keys import digest
from metric import scales_len

# The form of manifests. The other form is for indexes whose readers have their own keys (sections 3.6 and 4.1), which
# this client cannot read.
FORM, WITH_READERS = 11, 12
SIGNATURE_LEN = 4627
METRIC_ADDS = (0, 1, 2)
SEALED, LOCAL, OPEN, MASKED = "sealed", "local", "open", "masked"
# The number of routed mode.
ROUTED = 4
# The numbers of sets by a manifest's choice: t = 4, 8, 64, 16, 32.
PACKED = {OPEN: (1, 2, 12, 10, 11), MASKED: (3, 4, 6, 8, 9)}
NUMBER, TEXT, UUID = range(3)
NONE, SUMS, EXACT = range(3)
DOWNLOADED, ENCRYPTED = range(2)
DOWNLOAD, PIR, HINTLESS, SCAN = range(4)
# The numbers of sets by the packing of a scan: t = 64, 128, 16, 32.
SCANNED = (6, 7, 8, 9)


class Reader:
    """Reads fields one after the other, little-endian."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def bytes(self, length):
        taken = self.data[self.at : self.at + length]
        if len(taken) != length:
            raise ValueError("a manifest that is cut off")
        self.at += length
        return taken

    def number(self, form):
        return struct.unpack("<" + form, self.bytes(struct.calcsize("<" + form)))[0]

    def u32(self):
        return self.number("I")

    def u64(self):
        return self.number("Q")

    def tag(self, count):
        tag = self.u32()
        if tag >= count:
            raise ValueError("an unknown variant")
        return tag

    def option(self, read):
        return {0: lambda: None, 1: read}[self.number("B")]()

    def list(self, read):
        return [read() for _ in range(self.u64())]


class Manifest:
    """A manifest whose signature is the owner's."""

    def __init__(self, signed, keys):
        head = lambda form: struct.pack("<4sHH", b"SRDN", form, 1)
        if signed[:8] == head(WITH_READERS):
            raise ValueError("an index with readers of its own: this client has no pair of keys for it")
        if signed[:8] != head(FORM):
            raise ValueError(f"not a manifest of form {FORM}")
        keys.verify(signed[:-SIGNATURE_LEN], signed[-SIGNATURE_LEN:])
        self.digest = digest(signed)
        self._read(Reader(signed[8:-SIGNATURE_LEN]))
        self.width = self.dim + METRIC_ADDS[self.metric]
        self.edition = struct.pack("<Q", self.version) + self.digest[:16]

    def _read(self, r):
        self.index, self.version, self.previous = r.bytes(16), r.u64(), r.bytes(32)
        self.n, self.dim, self.k = r.u32(), r.u32(), r.u32()
        self.ids = r.tag(3)
        self.metric, self.rotation = r.tag(3), r.bytes(32)
        coded = lambda: SimpleNamespace(len=r.u64(), digest=r.bytes(32))
        self.frame = SimpleNamespace(id=r.bytes(16), version=r.u64(), key=r.u32(), sealed=coded())
        self.deleted = SimpleNamespace(id=r.bytes(16), version=r.u64(), rows=coded())

        def payloads():
            made = SimpleNamespace(id=r.bytes(16), version=r.u64(), records=r.u32(), pages=r.u32())
            made.page_len, made.payloads = r.u32(), bool(r.number("B"))
            made.look = r.option(lambda: SimpleNamespace(candidates=r.u32(), width=r.u32()))
            made.fetched, made.longest = r.u32(), r.u32()
            made.fetch = r.tag(4)
            if made.fetch == PIR:
                made.per_column, made.seed, made.hint = r.u32(), r.bytes(32), r.bytes(32)
            elif made.fetch == HINTLESS:
                made.seed = r.bytes(32)
            elif made.fetch == SCAN:
                made.packing, made.copies = r.tag(4), r.number("B")
                made.seed, made.hint_seed, made.hint = r.bytes(32), r.bytes(32), r.bytes(32)
            made.content, made.places = r.bytes(32), coded()
            made.len = made.page_len + 16
            return made

        def segment():
            made = SimpleNamespace(id=r.bytes(16), version=r.u64(), n=r.u32(), rows=r.bytes(32), ids=coded())
            made.attributes, made.scales = r.option(coded), r.option(lambda: r.bytes(32))
            return made

        def column():
            made = segment()
            made.hint = r.bytes(32)
            made.sums = r.option(lambda: r.bytes(32))
            return made

        self.payloads = r.option(payloads)
        self.recent = r.list(payloads)
        mode = r.tag(5)
        if mode == ROUTED:
            raise ValueError("an index of routed mode, which this client does not have")
        self.mode = (SEALED, LOCAL, OPEN, MASKED)[mode]
        if self.mode == SEALED:
            base, tail = segment(), r.list(segment)
            self.segments = [base, *tail]
            self.clusters, self.probes = r.u32(), r.u32()
            self.layout = chunks.Layout(r.u32(), r.u32(), r.tag(4))
            self.routing, _, _ = r.tag(2), r.u32(), r.u64()
            self.pir_seed, self.buckets, self.digests = r.bytes(32), r.bytes(32), r.bytes(32)
            self.hint, self.centroids = r.option(lambda: r.bytes(32)), r.bytes(32)
            self.codec = chunks.INT8
        elif self.mode == LOCAL:
            self.codec = r.tag(4)
            self.segments = r.list(segment)
            self.sketch = r.option(lambda: (r.u32(), r.u32()))
        else:
            packing, self.checking = r.tag(5), r.tag(3)
            combined = lambda: SimpleNamespace(id=r.bytes(16), version=r.u64(), part=r.bytes(32))
            self.combined, self.seed = r.option(combined), r.bytes(32)
            self.segments = r.list(column)
            number = PACKED[self.mode][packing] + (32 if self.checking == EXACT else 0)
            self.params = next(one for one in SETS if one.number == number)
        if r.at != len(r.data):
            raise ValueError("bytes after the manifest")

    def chunk_layout(self, segment):
        return chunks.Layout(self.width, min(segment.n, 1024), self.codec)

    def given(self):
        """The digest and the length of each part that clients download, in the order of their numbers."""
        parts = [(part.digest, part.len) for part in (self.frame.sealed, self.deleted.rows)]
        for p in ([self.payloads] if self.payloads else []) + self.recent:
            if p.fetch == DOWNLOAD:
                parts.append((p.content, p.pages * p.len))
            parts.append((p.places.digest, p.places.len))
            if p.fetch in (PIR, SCAN):
                parts.append((p.hint, self.payload_params().hint_len))
        coded = lambda part: [(part.digest, part.len)] if part else []
        about = lambda s: coded(s.ids) + coded(s.attributes)

        def chunks_of(s):
            layout = self.chunk_layout(s)
            return [(s.rows, -(-s.n // layout.slots) * layout.sealed_len)]

        if self.mode == SEALED:
            parts.append((self.digests, 32 * self.clusters))
            if self.routing == DOWNLOADED:
                parts.append((self.centroids, self.clusters * self.width + 16))
            if self.hint:
                parts.append((self.hint, self.bucket_params().hint_len))
            parts += about(self.segments[0])
            for s in self.segments[1:]:
                parts += chunks_of(s) + about(s)
        elif self.mode == LOCAL:
            for s in self.segments:
                parts += chunks_of(s) + about(s)
        else:
            if self.combined:
                parts.append((self.combined.part, checks.combined_len(self.params, self.width) + 16))
            for s in self.segments:
                stored = self.stored(s)
                hint = (s.hint, 32 + self.params.blocks(stored) * -(-(2048 * self.params.hint_eighths // 8) // 8))
                scales = (s.scales, scales_len(s.n, self.metric) + 16)
                sums = [(s.sums, checks.held_len(s.n, self.width) + 16)] if s.sums else []
                parts += [hint, scales, *sums, *about(s)]
        return parts

    def stored(self, segment):
        """The number of rows of a segment that are scored."""
        rows = self.mode == MASKED and self.checking == SUMS
        return checks.stored(segment.n, self.width) if rows else segment.n

    def bucket_params(self):
        if self.hint is None:
            return hintless.Params(self.clusters, self.layout.sealed_len, self.probes)
        return pir.Params(self.clusters, self.layout.sealed_len, 1)

    def payload_params(self):
        p = self.payloads
        if p.fetch == HINTLESS:
            return hintless.Params(p.pages, p.len, p.fetched)
        if p.fetch == SCAN:
            outer = next(one for one in SETS if one.number == SCANNED[p.packing])
            return scan.Params(p.pages, p.len, p.fetched, p.copies, outer)
        return pir.Params(p.pages, p.len, p.per_column)


def varint(data, at):
    x = shift = 0
    while True:
        byte = data[at]
        x |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return x, at


def numbers(data, at=0):
    """A set of numbers, coded as runs, and the position where the code ends."""
    runs, at = varint(data, at)
    found, following = [], 0
    for _ in range(runs):
        gap, at = varint(data, at)
        more, at = varint(data, at)
        first = following + gap
        found.extend(range(first, first + more + 1))
        following = first + more + 1
    return found, at


def ids(kind, count, data):
    """The record ids of a segment."""
    if kind == NUMBER:
        found = numbers(data)[0]
    elif kind == UUID:
        found = [data[16 * row :][:16].hex() for row in range(count)]
        found = ["-".join((x[:8], x[8:12], x[12:16], x[16:20], x[20:])) for x in found]
    else:
        found, at = [], 0
        for _ in range(count):
            found.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
    if len(found) != count:
        raise ValueError("another number of ids than of records")
    return [str(x) for x in found]
