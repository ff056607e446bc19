"""Pages of payloads: section 9.4 of docs/protocol."""

import struct
from secrets import randbelow

import zstandard

from ring import bits_of

MAGIC = b"\x28\xb5\x2f\xfd"
LONGEST = (1 << 20) - 4


def step_of(pages, page_len):
    """The step of first bytes, and the largest number of steps."""
    length, step = pages * page_len, 1
    while step < (length >> 32) + 1:
        step *= 2
    return step, min(length // step, 2**32 - 1)


def elias_fano(data, count, most):
    """`count` ascending numbers up to `most`, and the number of bytes that they take."""
    size = lambda low: count * (low + 1) + (most >> low)
    low = min(range(32), key=size)
    length, ones = -(-size(low) // 8), count + (most >> low)
    if len(data) < length:
        raise ValueError("a list that is cut off")
    bits = bits_of(data[:length])
    places = [int(at) for at in bits[:ones].nonzero()[0]]
    if len(places) != count or bits[ones + count * low :].any():
        raise ValueError("a list of another number of things")
    found = []
    for i, place in enumerate(places):
        own = bits[ones + i * low :][:low]
        found.append((place - i << low) | sum(int(bit) << at for at, bit in enumerate(own)))
    if any(a >= b for a, b in zip(found, found[1:])) or (found and found[-1] > most):
        raise ValueError("first bytes that do not ascend")
    return found, length


class Pages:
    """The places of records among the pages of one version, and the records' payloads."""

    def __init__(self, payloads, keys, sealed, read_numbers):
        self.payloads, self.keys, p = payloads, keys, payloads
        code = keys.open("ids", p.id, p.version, 0, b"", sealed)
        places_len, dictionary_len = struct.unpack_from("<II", code)
        places = read_numbers(code[8 : 8 + places_len])[0]
        if len(places) != p.records:
            raise ValueError("another number of payloads than of records")
        step, most = step_of(p.pages, p.page_len)
        rest = code[8 + places_len :]
        steps, length = elias_fano(rest, p.records, most)
        dictionary = rest[length:]
        if len(dictionary) != dictionary_len:
            raise ValueError("a dictionary of another length")
        self.dictionary = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
        starts = [at * step for at in steps]
        ends = starts[1:] + [p.pages * p.page_len]
        order = keys.order("slot order", p.id, p.records)
        # For each place: the first byte, and the pages that it touches.
        self.extents = {}
        for position, rank in enumerate(order.tolist()):
            start, end = starts[position], ends[position]
            self.extents[places[rank]] = (start, (end - 1) // p.page_len - start // p.page_len + 1)
        self.shape = struct.pack("<IB", p.page_len, p.payloads)

    def shares(self, places, records):
        """For each of `records` records, the pages that a search fetches: the first of the pages that it touches. A random page for
        a missing record.
        """
        left, shares = self.payloads.fetched - records, []
        for place in places + [None] * (records - len(places)):
            start, count = (0, 1) if place is None else self.extents[place]
            first, more = start // self.payloads.page_len, min(count - 1, left)
            if place is None:
                first = randbelow(self.payloads.pages)
            left -= more
            shares.append([first + at for at in range(1 + more)])
        return shares

    def whole(self, place):
        """All pages that a record touches."""
        start, count = self.extents[place]
        first = start // self.payloads.page_len
        return range(first, first + count)

    def asked(self, shares):
        """The pages of a request, always `fetched` of them, filled up with random pages."""
        pages = [page for share in shares for page in share]
        rest = range(self.payloads.fetched - len(pages))
        return pages + [randbelow(self.payloads.pages) for _ in rest]

    def open(self, page, sealed):
        p = self.payloads
        return self.keys.open("payload", p.id, p.version, page, self.shape, sealed)

    def payload(self, place, content):
        """The payload of a record, from the contents of its first pages, and whether it is longer."""
        data = content[self.extents[place][0] % self.payloads.page_len :]
        head, shift, at = 0, 0, 0
        while True:
            head |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                break
        length, compressed = head >> 1, head & 1
        if length > LONGEST:
            raise ValueError("a payload that is longer than any")
        body, truncated = data[at : at + length], len(data) - at < length
        plain = self._decompressed(body, truncated) if compressed else body
        return (whole_characters(plain) if truncated else plain), truncated

    def _decompressed(self, body, truncated):
        """The content of a frame without its first four bytes. If the frame is cut off, the content of its whole
        blocks."""
        decoder = zstandard.ZstdDecompressor(dict_data=self.dictionary).decompressobj()
        plain = decoder.decompress(MAGIC + body)
        if len(plain) > LONGEST or not (truncated or decoder.eof) or decoder.unused_data:
            raise ValueError("a payload that no owner compressed")
        return plain


def whole_characters(plain):
    """The bytes without an incomplete character at their end, if they are text."""
    try:
        plain.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return plain[: error.start]
    return plain
