"""Indexes in directories: build, open and change them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, Protocol

from . import _arrays, _attributes, _records, _sordino, _tables
from ._errors import AttributesError, IdsError, InputError, KeyKindError, NoIndexError, PayloadError, of_file
from ._files import pem, place
from ._files import token as shown_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from datetime import datetime
    from uuid import UUID

    import numpy as np

    from numpy.typing import ArrayLike

    from ._sordino import ClientKey, OwnerKey, PublicKey, ReaderKey, ReaderPublicKey, WriterKey, WriterPublicKey

    Vectors = ArrayLike | str | os.PathLike[str] | Iterator[ArrayLike] | Iterator[_records.Batch]
    Payloads = Iterable[Any]
    Ids = ArrayLike | list[str] | list[UUID] | UUID

    class Columns(Protocol):
        """A dict or a data frame: columns by name."""

        def items(self) -> Iterable[tuple[Any, Any]]: ...

    # With a data frame, attributes may also be the names of its columns.
    Attributes = Columns | str | list[str]


Mode = Literal["masked", "routed", "open", "sealed", "local"]
Metric = Literal["cosine", "inner-product", "euclidean"]


class Index:
    """An index in a directory, with the key to use it.

    `sordino.build` and `sordino.open` return it. It holds no file open and no lock: each call reads the directory
    again. Each change makes a new version, which is signed and complete before it replaces the old one. If the
    process is killed, the directory has the old version or the new one. Changes need the owner's key.
    """

    def __init__(self, native: _sordino.Index) -> None:
        self._native = native
        #: The columns of a table that the last `build` or `add` took by their usual names, by argument.
        self.taken: dict[str, str] = {}
        #: The recall that the build measured, if it was built here: of held-out vectors or, if it is lower, of questions.
        self.expected_recall: float | None = None

    @property
    def path(self) -> str:
        """The absolute path of the directory."""
        return os.fspath(self._native.path)

    def add(
        self,
        vectors: Vectors,
        ids: Ids | None = None,
        payloads: Payloads | None = None,
        *,
        attributes: Attributes | None = None,
        label: str | None = None,
        leave_empty: bool = False,
    ) -> int:
        """Add records, or replace the records whose ids exist.

        Each call makes a segment, and an index may have 1024 segments: add many records at a time, or `compact`.

        Parameters
        ----------
        vectors : array_like of shape (n, dim), path or iterator
            The vectors, as for `sordino.build`. The call holds all of them in memory.
        ids : sequence of int, str or uuid.UUID, optional
            n ids of the kind that the index has; integers from 0 to 2**64 - 1. Without ids, records get the numbers
            after the highest id, so that vectors added twice are stored twice. Ids, payloads and attributes belong to
            the vectors by their position; the index of a pandas object is ignored.
        payloads : sequence, optional
            The payloads, as for `sordino.build`. If the index had none, the other records get empty ones.
        attributes : mapping or data frame, optional
            The attributes, as for `sordino.build`. A column that exists keeps its type.
        label : str, optional
            The label of all these records, in masked or local mode, for an index with readers of its own. Only readers
            who were granted the label can read them. A replaced record gets this label.
        leave_empty : bool, default False
            Store the records without payloads, or without attributes, although the index has them. A replaced record
            loses the ones that it had. `update` changes payloads and attributes and keeps vectors.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        DimensionError, NotFiniteError, ZeroVectorError, NormError, IdsError, PayloadError, AttributesError
            If the records cannot be stored. Nothing is changed.
        SegmentsError, LockedError, KeyKindError, FileError
            If the index cannot be changed. Nothing is changed.
        AccessError, ModeError
            If the label cannot be used. Nothing is changed.
        """
        records = _records.whole(vectors, ids, payloads, attributes, lambda: str(self.info()["id_kind"]))
        if not isinstance(leave_empty, bool):
            raise InputError(f"leave_empty = {leave_empty!r}: expected True or False")
        if not leave_empty:
            # A column that has only None says of each record that it has no value.
            none = records.attributes is None or (isinstance(attributes, dict) and not attributes)
            self._check_nothing_lost(records.payloads is not None, not none)
            if records.without and _tables.may_lack_members(vectors):
                self._check_replaced(records, vectors)
        if ids is None and "ids" in records.taken and len(records.vectors):
            self._check_guessed_ids(records)
        if records.ids is not None:
            _arrays.check_kind(records.ids, self.info()["id_kind"])
            self._check_whole_ids(records.ids)
        under = None if label is None else _name(label, "label")
        named = None if leave_empty else records.named
        version = self._native.add(records.vectors, records.ids, records.payloads, records.attributes, under, named)
        self.taken = records.taken
        return version

    def _known_ids(self) -> np.ndarray | list[str]:
        """Return all ids in ascending order; none without the owner's key, for no other key replaces records."""
        try:
            return self._native.ids()
        except KeyKindError:
            return []

    def _check_whole_ids(self, ids: np.ndarray | list[str]) -> None:
        """Refuse new ids such as 5.0 if the index has 5: each record would be there twice."""
        odd = [id for id in ids if id.endswith(".0")] if isinstance(ids, list) else []
        known = set(self._known_ids()) if odd else set()
        for id in odd:
            if id not in known and id[:-2] in known:
                raise IdsError(f"id {id}: the index has {id[:-2]}; give whole numbers (in pandas, df['id'].astype('Int64') keeps them whole where some are missing)")

    def _check_guessed_ids(self, records: _records.Whole) -> None:
        """Refuse ids of a column that no argument names, if the index's ids may be row numbers: unrelated records would be replaced."""
        facts = self.info()
        known = self._known_ids() if facts["id_kind"] == "number" else []
        following = int(known[-1]) + 1 if len(known) else None
        # Row numbers begin at 0. Stored records include those that were deleted.
        if following is not None and following <= facts["stored"] and known[0] == 0:
            raise IdsError(
                f"records of {self.path} have the ids 0 to {following - 1}, which may be row numbers. Give "
                f"{_tables.guessed_ids(records.taken, following, len(records.vectors))}"
            )

    def _check_replaced(self, records: _records.Whole, file: Any) -> None:
        """Refuse lines of JSON without a payload, while other lines have one, if they would replace stored records."""
        known, own = set(self._known_ids()), records.ids
        lost = None if own is None else next((at for at in records.without if own[at] in known), None)
        if own is not None and lost is not None:
            name = records.taken.get("payloads", "payload")
            raise PayloadError(
                f"{os.fspath(file)}: the record with id {own[lost]} has no {name}, and would replace one that has. Give the text, or leave_empty=True to do so"
            )

    def _check_nothing_lost(self, payloads: bool, attributes: bool) -> None:
        """Refuse records without payloads or attributes if the index has them: replaced records would lose theirs."""
        facts = {} if payloads and attributes else self.info()
        for name, given, error in [("payloads", payloads, PayloadError), ("attributes", attributes, AttributesError)]:
            if not given and facts[name]:
                raise error(
                    f"no {name}, and this index has {name}: records would be stored without them, and records that are replaced would lose theirs: "
                    f"give {name}=, or leave_empty=True to do so"
                )

    def update(
        self, ids: Ids, payloads: Payloads | None = None, *, attributes: Columns | None = None
    ) -> int:
        """Change payloads or attributes of records, and keep their vectors.

        The old values stay stored, sealed, until `compact`.

        Parameters
        ----------
        ids : sequence of int, str or uuid.UUID
            The ids of existing records, each once.
        payloads : sequence of bytes or str, optional
            One payload for each id.
        attributes : mapping or data frame, optional
            The attributes to change, as for `sordino.build`. Other attributes stay. None removes a record's value. The
            values belong to the ids by their position: the index of a pandas object is ignored.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        UnknownIdError, IdsError, PayloadError, AttributesError
            If a record does not exist, or a value cannot be stored. Nothing is changed.
        SegmentsError, LockedError, KeyKindError, FileError
            If the index cannot be changed. Nothing is changed.
        """
        own, carried, columns, cleared = _records.edited(ids, payloads, attributes)
        facts = self.info()
        if not len(own):
            # A call without changes makes no version.
            return int(facts["version"])
        _arrays.check_kind(own, facts["id_kind"])
        return self._native.update(own, carried, columns, cleared)

    def grant(
        self,
        reader: str,
        public: ReaderPublicKey | None = None,
        *,
        labels: str | Iterable[str] = (),
        groups: str | Iterable[str] = (),
    ) -> int:
        """Let a reader read the index, with labels and groups.

        The first grant gives the index readers of its own, for good. From then on the file of `OwnerKey.reader()` does
        not open new versions. Older records stay under the key that all readers shared, which no listed reader has,
        until `compact`.

        Parameters
        ----------
        reader : str
            A name of your choice. Neither the server nor other readers learn it.
        public : ReaderPublicKey, optional
            The reader's public key, from `ReaderKey.reader_public()`. Needed for a new reader. Compare its `digest()`
            with the reader.
        labels : str or iterable of str, optional
            Labels to add to the reader's own. A new label is made. Every reader may read records without a label.
        groups : str or iterable of str, optional
            Existing groups that the reader joins.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        AccessError, ModeError
            If the grant is not possible; the message has the reason. Indexes whose scores are checked exactly have no
            readers of their own. Nothing is changed.
        LockedError, KeyKindError, FileError
            If the index cannot be changed. Nothing is changed.
        """
        if public is not None and not isinstance(public, _sordino.ReaderPublicKey):
            raise KeyKindError(f"{type(public).__name__}; expected a ReaderPublicKey: ReaderKey.reader_public()")
        return self._native.grant(_name(reader, "reader"), public, _names(labels, "labels"), _names(groups, "groups"))

    def grant_writer(
        self,
        writer: str,
        public: WriterPublicKey | None = None,
        *,
        labels: str | Iterable[str] = (),
        until: datetime | int,
    ) -> int:
        """Let a writer read the index, and add records to it, in masked or local mode.

        A writer adds records with ids that are new, and changes and deletes nothing. Each version shows who added what.

        Parameters
        ----------
        writer : str
            A name of your choice.
        public : WriterPublicKey, optional
            The writer's public key, from `WriterKey.writer_public()`. Needed for a new writer. Compare its `digest()`
            with the writer.
        labels : str or iterable of str, optional
            Labels to read and add under, in addition to the writer's labels so far. Without one, records have no label.
        until : datetime or int
            The end of the right to add: an instant with a time zone, or seconds since 1970.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        AccessError, ModeError, LockedError, KeyKindError, FileError
            As for `grant`.
        """
        if public is not None and not isinstance(public, _sordino.WriterPublicKey):
            raise KeyKindError(f"{type(public).__name__}; expected a WriterPublicKey: WriterKey.writer_public()")
        return self._native.grant_writer(_name(writer, "writer"), public, _names(labels, "labels"), _seconds(until))

    def may_add(self, label: str | None = None) -> bool:
        """Return True if the owner granted this writer's key to add records under a label. Needs a writer's key.

        Parameters
        ----------
        label : str, optional
            The label. Without it, the question is about records without a label.

        Returns
        -------
        bool
            Whether the right exists. `info` has the time of its end, as ``writes_until``.

        Raises
        ------
        AccessError
            If the owner names no such writer.
        KeyKindError
            If the index was opened with another kind of key.
        """
        return self._native.may_add(None if label is None else _name(label, "label"))

    def stop_writing(self, writer: str) -> int:
        """Take a writer's right to add. It can still read, and its records stay.

        Parameters
        ----------
        writer : str
            The writer's name.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        AccessError, ModeError, LockedError, KeyKindError, FileError
            As for `grant`.
        """
        return self._native.stop_writing(_name(writer, "writer"))

    def take_back(self, after: int, *, revoke: str | None = None) -> int:
        """Make a version without what writers added after version `after` and since the owner's last change. No addition is opened.

        Parameters
        ----------
        after : int
            The owner's last version, or one that an addition made.
        revoke : str, optional
            A writer to revoke in the same version, so that it cannot add again in between.

        Returns
        -------
        int
            The new version, which follows from the newest.

        Raises
        ------
        AccessError
            If no additions were made after that version, or nobody has that name.
        LockedError, KeyKindError, FileError
            If the index cannot be changed. Nothing is changed.
        """
        return self._native.take_back(whole_number(after, "after"), None if revoke is None else _name(revoke, "revoke"))

    def push(self, url: str, *, roots: bytes | str | os.PathLike[str] | None = None, wait: float = 10) -> int:
        """Bring a server's index to this version, with the owner's key, or a writer's for its own additions.

        The server has an older version of the index, and runs with `--accept-changes`.

        Parameters
        ----------
        url : str
            The server, "https://host:port" or "https://host:port/NAME".
        roots : bytes or path, optional
            The root certificates to trust, in PEM, or the path of such a file.
        wait : float, default 10
            The seconds to keep trying while the server is busy or cannot be reached.

        Returns
        -------
        int
            The version that the server has.

        Raises
        ------
        ForkError, RollbackError
            If this version does not follow from the server's. `pull` the server's version into another folder, and
            make the change there again.
        NetworkError
            If the server cannot be reached, or refuses.
        """
        return self._native.push(door(url, None, None, roots, wait))

    def withdraw(
        self, reader: str, *, labels: str | Iterable[str] = (), groups: str | Iterable[str] = ()
    ) -> int:
        """Take labels and groups from a reader.

        The reader cannot read records that are written from now on. Older records stay readable until `compact`.

        Parameters
        ----------
        reader : str
            The reader's name.
        labels : str or iterable of str, optional
            Labels to take away.
        groups : str or iterable of str, optional
            Groups that the reader leaves.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        AccessError, ModeError, LockedError, KeyKindError, FileError
            As for `grant`.
        """
        return self._native.withdraw(_name(reader, "reader"), _names(labels, "labels"), _names(groups, "groups"))

    def revoke(self, reader: str) -> int:
        """Remove a reader from the list. Older records stay readable to the reader until `compact`.

        Parameters
        ----------
        reader : str
            The reader's name.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        AccessError, ModeError, LockedError, KeyKindError, FileError
            As for `grant`.
        """
        return self._native.revoke(_name(reader, "reader"))

    def group(self, group: str, labels: str | Iterable[str]) -> int:
        """Set the labels that a group may read. A new group is made.

        Parameters
        ----------
        group : str
            The group's name.
        labels : str or iterable of str
            All labels that the group may read.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        AccessError, ModeError, LockedError, KeyKindError, FileError
            As for `grant`.
        """
        return self._native.group(_name(group, "group"), _names(labels, "labels"))

    def ungroup(self, group: str) -> int:
        """Remove a group from all readers.

        Parameters
        ----------
        group : str
            The group's name.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        AccessError, ModeError, LockedError, KeyKindError, FileError
            As for `grant`.
        """
        return self._native.ungroup(_name(group, "group"))

    def access(self) -> dict[str, Any] | None:
        """Return who can read what. Needs the owner's key.

        Returns
        -------
        dict or None
            None if all readers share a key. `readers` has a dict for each reader, with `name`, `key`, `labels`,
            `groups`, `records` and `until_compacted`. `key` is the digest of the public key, or None for a revoked
            reader. `records` counts what the reader may read, and `until_compacted` what the reader lost and can still
            read. `groups` has the groups, and `labels` the labels with their `records`. `shared_key` counts the records
            that no listed reader can read until `compact`.
        """
        return self._native.access()

    def ids(self) -> list[int] | list[str] | list[UUID]:
        """Return the ids of all records, in ascending order. Needs the owner's key.

        Returns
        -------
        list of int, str or uuid.UUID
            The ids.

        Raises
        ------
        KeyKindError, FileError, IntegrityError
            If the index cannot be read.
        """
        found = self._native.ids()
        if not isinstance(found, list):
            return [int(id) for id in found.tolist()]
        if self.info()["id_kind"] != "uuid":
            return found
        from uuid import UUID

        return [UUID(id) for id in found]

    def __contains__(self, id: object) -> bool:
        """Return True if there is a record with this id. Needs the owner's key."""
        wanted = self._own_ids(id)
        if len(wanted) != 1:
            raise IdsError(f"{len(wanted)} ids: expected one")
        return self._native.contains(wanted)

    def _own_ids(self, ids: Any) -> Any:
        """Return one id or several as the native module takes them, and refuse ids of a kind that differs from the index's."""
        own = _arrays.ids(_arrays.several(ids))
        if len(own):
            _arrays.check_kind(own, self.info()["id_kind"])
        return own

    def labels(self, ids: Ids) -> list[str | None]:
        """Return the label of each record. Needs the owner's key.

        Parameters
        ----------
        ids : int, str, uuid.UUID or a sequence of one kind
            The ids of the records.

        Returns
        -------
        list of str or None
            None for a record without a label, or one that does not exist.
        """
        return self._native.labels(self._own_ids(ids))

    def delete(self, ids: Ids) -> int:
        """Delete records by id: all of them or none.

        Searches no longer find them. Their content stays stored, masked or sealed, until `compact`.

        Parameters
        ----------
        ids : int, str, uuid.UUID or a sequence of one kind
            The ids of the records.

        Returns
        -------
        int
            The new version.

        Raises
        ------
        UnknownIdError, NothingLeftError, IdsError
            If a record does not exist, or none would be left. Nothing is changed.
        LockedError, KeyKindError, FileError
            If the index cannot be changed. Nothing is changed.
        """
        wanted = self._own_ids(ids)
        # A call without ids makes no version.
        return self._native.delete(wanted) if len(wanted) else int(self.info()["version"])

    def compact(self, *, keep_versions: int | None = None) -> int:
        """Rewrite the records in as few segments as possible, under new keys.

        Deleted and replaced records are gone afterwards.

        Parameters
        ----------
        keep_versions : int, optional
            Keep this number of versions before the newest, and remove the signed manifests of older ones, which otherwise
            stay for good. A client that knows a removed version gets `GapError`, as from a server, which shows 256.

        Returns
        -------
        int
            The version.

        Raises
        ------
        LockedError, KeyKindError, FileError
            If the index cannot be changed.
        """
        return self._native.compact(None if keep_versions is None else whole_number(keep_versions, "keep_versions"))

    def payloads(self) -> dict[int | str, bytes] | None:
        """Return all payloads by record id. Needs the owner's key.

        Returns
        -------
        dict or None
            The payloads; UUIDs are str. None if the index has no payloads.
        """
        return self._native.payloads()

    def verify(self) -> dict[str, Any]:
        """Check every byte, as far as the key allows.

        With the owner's key, this checks digests, signatures, the chain of versions, all sealed parts and hints. With
        another key, it checks what a server can check.

        Returns
        -------
        dict
            `version`, `bytes` and `full`, which is True with the owner's key; then also `versions`, `records` and
            `deleted`.

        Raises
        ------
        IntegrityError
            If something is wrong. Stop using the index.
        """
        return self._native.verify()

    def info(self) -> dict[str, Any]:
        """Return the content of the signed manifest: mode, metric, dim, k, version, segments, bytes, and more.

        Returns
        -------
        dict
            `stored` counts records including deleted ones that are not yet compacted; `len(index)` counts without them.

        Raises
        ------
        SignatureError, NoIndexError, KeyKindError
            If the key is another owner's, there is no index, or there is no key.
        """
        return self._native.info()

    def pin(self) -> bytes | None:
        """Return the newest version that the owner's key knows of this index, as the `pin` of a `Client`.

        Returns
        -------
        bytes or None
            56 bytes, which are not secret; None if the key knows none. The index here may show an older version.
        """
        known = self._native.pin()
        if known is None:
            return None
        index, version, manifest = known
        return bytes(index) + version.to_bytes(8, "little") + bytes(manifest)

    def __len__(self) -> int:
        """Return the number of records. Needs the owner's or a reader's key."""
        return self._native.len()

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<sordino.Index {self.path!r}>"

    def __reduce__(self) -> str:
        raise KeyKindError("an Index holds a key, and cannot be copied or pickled: open it again with sordino.open(path, key=OwnerKey.load(file))")


def build(
    path: str | os.PathLike[str],
    vectors: Vectors,
    *,
    key: OwnerKey,
    ids: Ids | None = None,
    payloads: Payloads | None = None,
    attributes: Attributes | None = None,
    mode: Mode = "masked",
    metric: Metric = "cosine",
    recall: float = 0.95,
    k: int = 10,
    progress: Callable[[str, int], object] | None = None,
    queries: int = 100,
    packing: Literal[4, 8, 16, 32, 64] | None = None,
    routing: Literal["downloaded", "encrypted"] | None = None,
    second_look: int | None = None,
    checks: Literal["sums", "exact", "none"] = "sums",
    own_readers: bool = False,
    questions: ArrayLike | None = None,
) -> Index:
    """Build an index in a new directory.

    Parameters
    ----------
    path : path
        The directory. It is created, and must not hold anything else.
    vectors : array_like of shape (n, dim), path or iterator
        The vectors, of up to 8192 dimensions. A file may be larger than memory: .npy, .fvecs, .bvecs, .fbin,
        .u8bin, .i8bin, .parquet, .arrow, .jsonl or .csv. An iterator gives arrays, or `Batch`es with their own ids,
        payloads and attributes, and is read once. Any numeric dtype is converted to float32 in chunks. A float32
        array in C order is not copied as a whole. In a data frame or a file that is a table, columns with usual names
        replace missing arguments: ids from `id`; payloads from the only one of `text`, `content` and `document`;
        vectors from the only one of `vector`, `embedding` and `embeddings`. `Index.taken` and the log `sordino` say
        which. To leave one out, give the vectors as an array.
    key : OwnerKey
        The owner's key, from `sordino.keygen()`. Keep it: without it, nobody can change the index.
    ids : sequence of int, str or uuid.UUID, optional
        n different ids of one kind: integers from 0 to 2**64 - 1, str of 1 to 512 bytes, or uuid.UUID. The default
        is the row's number. The server cannot read ids. For a table, also the name of a column.
    payloads : sequence, optional
        n values of up to 1,048,572 bytes each. They are compressed and packed into pages of one length. A search
        returns the payloads of its results; one that is far longer than the others is cut short. bytes and str (as
        UTF-8) are stored as they are, and None and missing values are empty. Everything else becomes JSON. A value that
        becomes a JSON text is stored without its quotes. Dates and instants become ISO 8601, in UTC if they have a time
        zone. Durations become seconds (`PT90.5S`), and `Decimal` a text of its digits. Lists and dicts may contain such
        values; bytes in them become base64, missing values null. From a data frame, pass a column, its name, or
        `.to_dict("records")`.
    attributes : mapping or data frame, optional
        Columns of n values by name, for filters (`Client.search(where=...)`). A column has one type: 64-bit
        integers, floats, bool, or str of up to 4096 bytes. A list of str, int or bool becomes JSON text, for `has`. Dates
        and instants become ISO 8601, as in payloads. None, NaN and missing values count as no value. For a data frame,
        also the names of its columns. Clients download the attributes sealed. The server learns only their total size,
        up to a factor of two.
    mode : str, default "masked"
        "masked": the server sees neither query nor vectors. "routed": as masked, and it does not see which clusters
        a search scores. "open": the server sees the vectors. "sealed": a search reads some of the buckets. "local":
        clients download everything. `sordino.plan` compares the modes.
    metric : str, default "cosine"
        "cosine", "inner-product" or "euclidean".
    recall : float, default 0.95
        The share of true neighbours that sealed and routed mode look for. The other modes score every vector.
    k : int, default 10
        The largest number of results of a search, 1 to 1024. It is fixed when the index is built.
    progress : callable, optional
        Called as `progress(step, vectors_read)` with the name of each step. An exception in it stops the build
        within a step, as Ctrl-C does.
    queries : int, default 100
        The searches that a client makes in one version. It decides what clients download once.
    packing : {4, 8, 16, 32, 64}, optional
        The coordinates that share a polynomial, in masked and open mode. The default moves the fewest bytes.
    routing : {"downloaded", "encrypted"}, optional
        How clients find their buckets, in sealed mode. The default is the cheaper way.
    second_look : int, optional
        The number of candidates that a search reranks by their exact vectors, k to 64; 32 is a good number. Clients
        fetch these privately and without a hint. For masked, open and routed mode.
    checks : {"sums", "exact", "none"}, default "sums"
        How clients check the server's scores. "sums" refuses changes of more than some hundredths of a cosine.
        "exact", in masked and open mode, refuses every change before anything is decrypted, with replies three
        times as long. "none", in open mode, trusts the server.
    own_readers : bool, default False
        Give the index readers of its own from the first version on. Only the owner can read it until `Index.grant`.
    questions : array_like of shape (m, dim), optional
        The vectors of at least 50 different typical questions, for sealed and routed mode. The build then looks for the
        `recall` of questions, too. Without questions it looks for the recall of vectors like the indexed ones, and short
        questions about longer texts find less. At most 500 are used, and none is stored.

    Returns
    -------
    Index
        The new index.

    Raises
    ------
    ExistsError, FileError, KeyKindError
        If the directory or the key cannot be used. No index is made.
    ShapeError, DtypeError, EmptyError, NotFiniteError, ZeroVectorError, NormError, FormatError
        If the vectors cannot be used. No index is made.
    IdsError, PayloadError, AttributesError, KError, RecallError
        If another argument cannot be used. No index is made.
    """
    if not isinstance(key, _sordino.OwnerKey):
        raise KeyKindError(f"{type(key).__name__}; expected an OwnerKey: sordino.keygen() makes one, and OwnerKey.load(path) reads its file")
    if progress is not None and not callable(progress):
        raise InputError("progress: expected a function of two arguments")
    path = local(path)
    for name, value in [("mode", mode), ("metric", metric), ("routing", routing), ("checks", checks)]:
        if not (isinstance(value, str) or (value is None and name == "routing")):
            raise InputError(f"{name} = {value!r}: expected a text")
    check_fit(mode, packing=packing, routing=routing)
    records = _records.Records(vectors, ids, payloads, attributes)
    settings = {
        "mode": mode,
        "metric": metric,
        "recall": real_number(recall, "recall", any_value=True),
        "k": whole_number(k, "k"),
        "queries": whole_number(queries, "queries"),
        "packing": None if packing is None else whole_number(packing, "packing", 255),
        "id_kind": records.id_kind,
        "routing": routing,
        "checks": checks,
        "own_readers": bool(own_readers),
        "second_look": None if second_look is None else whole_number(second_look, "second_look", 64),
        "size": records.size,
        "questions": None if questions is None else _arrays.matrix(questions, "questions"),
    }
    measured = _sordino.build(path, key, iter(records), settings, progress)
    index = measured_index(Index(_sordino.Index(path, key)), measured, recall, 3)
    index.taken = records.taken
    return index


def open(
    path: str | os.PathLike[str],
    *,
    key: OwnerKey | ReaderKey | WriterKey | PublicKey | None = None,
    restored: bool = False,
    pin: bytes | None = None,
) -> Index:
    """Open an index in a directory.

    The file of versions of an owner's key (`OwnerKey.load`) remembers the newest version. With this key, changes,
    `access` and `payloads` refuse an index that is older or has another history.

    Parameters
    ----------
    path : path
        The directory.
    key : OwnerKey, ReaderKey, WriterKey or PublicKey, optional
        The owner's key for everything; a reader's key for `len`, `info` and `verify`; a writer's for these, `add` and
        `push`; the public key for `info` and `verify`. Without a key only a `Client`, which brings its own, can use the index.
    restored : bool, default False
        Accept the version that is here and remember it as the newest, because you restored a backup or put the
        index here. Say it once, with the owner's key. Revocations and deletions since then are undone.
    pin : bytes, optional
        With a writer's key, the result of `Client.pin()`: additions are refused unless the directory's version is this one or
        follows from it.

    Returns
    -------
    Index
        The index.

    Raises
    ------
    NoIndexError, SignatureError, KeyKindError
        If there is no index, it is another owner's, or the key is of another kind.
    RollbackError, ForkError, OtherIndexError, GapError
        If the index is not the version that its owner knows. Stop, unless you restored a backup on purpose.
    """
    path = place(path)
    if not isinstance(restored, bool):
        raise InputError(f"restored = {restored!r}: expected True or False")
    no_text(key, "an OwnerKey, a ReaderKey, a WriterKey or a PublicKey")
    index = Index(_sordino.Index(path, key, restored, None if pin is None else pin_parts(pin)))
    if key is not None:
        index.info()
    elif not os.path.exists(os.path.join(path, "CURRENT")):
        raise of_file(NoIndexError(f"no index in {path}"), path)
    return index


def pull(
    path: str | os.PathLike[str],
    url: str,
    *,
    key: OwnerKey | ReaderKey | WriterKey,
    client_key: ClientKey | None = None,
    token: bytes | str | os.PathLike[str] | None = None,
    roots: bytes | str | os.PathLike[str] | None = None,
    pin: bytes | None = None,
    wait: float = 10,
) -> Index:
    """Bring a directory to the version that a server has, or make it: an owner or a writer on another machine starts there.

    This is for local mode, in which clients download everything. At any moment, the directory has its old version or the new one. Only if
    `pin` gives up a version whose number a new one has, the directory may have no version for a moment.

    Parameters
    ----------
    path : path
        The directory: a new one, or an older copy of the same index.
    url : str
        The server, "https://host:port" or "https://host:port/NAME".
    key : OwnerKey, ReaderKey or WriterKey
        The key that opens the index.
    client_key, token, roots : optional
        As for `Client`.
    pin : bytes, optional
        The result of `Client.pin()`. The server's version must follow from it, and not from the directory's version or from the version
        that the owner's key knows. What else the directory has is given up, such as a writer's addition that the server refused. An owner's key
        then knows no newer version than this one.
    wait : float, default 10
        The seconds to keep trying while the server is busy or cannot be reached.

    Returns
    -------
    Index
        The index.

    Raises
    ------
    ModeError
        If clients do not download all of the index.
    ForkError, RollbackError, GapError, OtherIndexError, IntegrityError
        If the server's version does not follow from the directory's version, or from the version that the owner's key knows. The directory
        stays as it was.
    NetworkError, LockedError, FileError
        If the server cannot be reached, or the directory cannot be written.
    """
    return pulled(path, key, door(url, client_key, token, roots, wait), pin, None)


def pulled(
    path: str | os.PathLike[str],
    key: OwnerKey | ReaderKey | WriterKey,
    door: dict[str, Any],
    pin: bytes | None,
    seen: bytes | None,
) -> Index:
    """Do the work of `pull`. The server's version must also follow from `seen`, which another program with this key has read."""
    no_text(key, "an OwnerKey, a ReaderKey or a WriterKey")
    after, read = (None if one is None else pin_parts(one) for one in (pin, seen))
    _sordino.pull(local(path), key, door, after, read)
    return open(path, key=key)


def door(
    url: str,
    client_key: ClientKey | None,
    token: bytes | str | os.PathLike[str] | None,
    roots: bytes | str | os.PathLike[str] | None,
    wait: float,
) -> dict[str, Any]:
    """Return what a connection needs, in the form that the native module takes."""
    if not (client_key is None or isinstance(client_key, _sordino.ClientKey)):
        raise KeyKindError(f"client_key is a {type(client_key).__name__}: expected a ClientKey")
    door = {"url": _name(url, "url"), "client_key": client_key, "token": shown_token(token)}
    return door | {"roots": pem(roots, "roots"), "wait": real_number(wait, "wait")}


def no_text(key: Any, expected: str) -> None:
    """Refuse the path of a key's file, or its content, where a key is expected."""
    if isinstance(key, (str, bytes, os.PathLike)):
        raise KeyKindError(f"key is a {type(key).__name__}; expected {expected}: sordino.OwnerKey.load(path) reads the owner's file, and the other classes theirs")


def pin_parts(pin: bytes) -> tuple[bytes, int, bytes]:
    """Return a pin's index, version and digest."""
    if not isinstance(pin, bytes) or len(pin) != 56:
        raise InputError("pin: expected the 56 bytes that Client.pin() gives")
    return pin[:16], int.from_bytes(pin[16:24], "little"), pin[24:]


def _seconds(until: datetime | int) -> int:
    """Return an instant in seconds since 1970."""
    if hasattr(until, "timestamp"):
        if getattr(until, "tzinfo", None) is None:
            raise InputError(f"until = {until!r}: expected an instant with a time zone, or seconds since 1970")
        return whole_number(int(until.timestamp()), "until")
    return whole_number(until, "until")


def check_fit(mode: str, *, packing: Any, routing: Any) -> None:
    """Refuse settings that an index of this mode would ignore."""
    for name, value, known, own in [
        ("packing", packing, mode in ("masked", "open"), "masked and open mode"),
        ("routing", routing, mode == "sealed", "sealed mode"),
    ]:
        if value is not None and not known:
            raise InputError(f"{name} = {value!r}: it is for {own}, and this index is of mode {mode!r}")


def local(path: str | os.PathLike[str]) -> str:
    """Return the absolute path of an index's directory on this machine, and refuse a URL."""
    found = place(path, expected="a directory")
    if isinstance(path, (str, os.PathLike)) and "://" in os.fspath(path):
        raise InputError(f"path = {os.fspath(path)!r}: indexes are made in directories of this machine; `sordino index build` makes them in object stores")
    return found


def measured_index(index: Index, measured: tuple[float, bool] | None, recall: float, depth: int) -> Index:
    """Return an index with the recall that its build measured, and warn the caller `depth` levels up if it is low."""
    if measured is not None:
        index.expected_recall, reached = measured
        if not reached:
            import warnings

            warnings.warn(
                f"recall {index.expected_recall:.3f}, as the build measured it, is below the {recall} that was asked for. In sealed and routed "
                "mode the vectors have too little structure to be searched in parts: sordino.plan shows the other modes. In the "
                "other modes neighbours differ by less than scores can tell: second_look=32 reranks candidates by exact vectors",
                stacklevel=depth,
            )
    return index


def _name(value: Any, what: str) -> str:
    """Check that a value is a text."""
    if not isinstance(value, str):
        raise InputError(f"{what} = {value!r}: expected a text")
    return value


def _names(values: str | Iterable[str], what: str) -> list[str]:
    """Return one text or several as a list."""
    if isinstance(values, str):
        return [values]
    try:
        names = list(values)
    except TypeError:
        raise InputError(f"{what} = {values!r}: expected texts") from None
    return [_name(name, what) for name in names]


def whole_number(value: Any, what: str, most: int = 2**63 - 1) -> int:
    """Return a number from 0 to `most`, of any integer type."""
    from operator import index

    try:
        number = index(value)
    except TypeError:
        raise InputError(f"{what} = {value!r}: expected a whole number") from None
    if not 0 <= number <= most:
        raise InputError(f"{what} = {number}: expected 0 to {most}")
    return number


def real_number(value: Any, what: str, *, any_value: bool = False) -> float:
    """Return a finite number of at least 0; with `any_value`, any number, whose bounds are checked elsewhere."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what} = {value!r}: expected a number") from None
    if isinstance(value, (str, bytes)):
        raise InputError(f"{what} = {value!r}: expected a number, and found a {type(value).__name__}")
    if not (any_value or 0 <= number < float("inf")):
        raise InputError(f"{what} = {value!r}: expected a finite number of at least 0")
    return number
