"""Tables of PostgreSQL with vectors of pgvector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._errors import InputError
from ._store import PAGE, TEXTS, Row, Store, Wanted, client, one_of, reading, usual

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# The types whose values the client converts to Python without loss. Others are read as PostgreSQL writes them.
_PLAIN = ("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bpchar", "name", "uuid", "json", "jsonb", "bytea")
_KEPT = {*_PLAIN, *(f"_{name}" for name in ("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "uuid"))}
_TEXTS = ("text", "varchar", "bpchar")
_OTHERS = ("halfvec", "sparsevec")

_TABLES = """
    select distinct c.oid::regclass::text from pg_attribute a join pg_type t on t.oid = a.atttypid join pg_class c on c.oid = a.attrelid
    where t.typname in ('vector', 'halfvec', 'sparsevec') and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and a.attnum > 0 and not a.attisdropped order by 1"""
_COLUMNS = """
    select a.attname, t.typname, a.atttypmod, n.nspname from pg_attribute a join pg_type t on t.oid = a.atttypid
    join pg_namespace n on n.oid = t.typnamespace where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum"""
_KEYS = """
    select array_agg(a.attname::text) from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
    where i.indrelid = %s::regclass and i.indisprimary"""
_METRICS = """
    select distinct o.opcname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    join pg_opclass o on o.oid = i.indclass[0] where i.indrelid = %s::regclass and a.attname = %s and o.opcname like 'vector\\_%%\\_ops'"""


class PgVector(Store):
    """A table or view, read in one transaction, so that changes by others are not seen."""

    no_metric = "its vectors have no index, whose operator class would name a metric"

    def __init__(self, place: str, wanted: Wanted) -> None:
        self.name = "PostgreSQL"
        package = client("psycopg", "psycopg[binary]>=3.1")
        self._sql = client("psycopg.sql", "psycopg[binary]>=3.1")
        with reading(self.name):
            self._connection = package.connect(place)
        try:
            self._open(wanted)
        except BaseException:
            self.close()
            raise

    def _open(self, wanted: Wanted) -> None:
        with reading(self.name):
            self._do("set transaction isolation level repeatable read, read only")
            # With these settings a policy that hides rows is an error, and instants do not depend on the
            # session.
            for setting in ("row_security = off", "time zone 'UTC'", "datestyle = 'ISO, YMD'", "intervalstyle = iso_8601", "extra_float_digits = 1"):
                self._do(f"set local {setting}")
            tables = [name for (name,) in self._do(_TABLES)]
        table = one_of(None, tables, "table with vectors", "--table") if wanted.collection is None else wanted.collection
        self.name = f"PostgreSQL's table {table}"
        with reading(self.name):
            ((named,),) = self._do("select to_regclass(%s)::text", table)
            if named is None:
                raise InputError(f"no table {table}: found {', '.join(tables) or 'none with vectors'}")
            # PostgreSQL has already quoted the name if needed.
            self._table = self._sql.SQL(named)
            columns = {name: (kind, size, schema) for name, kind, size, schema in self._do(_COLUMNS, named)}
            ((self.count,),) = self._do(self._sql.SQL("select count(*) from {}").format(self._table))
            self._choose(columns, wanted, named)
            ((key,),) = self._do(_KEYS, named)
            words = [word.split("_")[1] for (word,) in self._do(_METRICS, named, self._vector)]
        if len(words) > 1:
            raise InputError(f"column {self._vector!r} has indexes of several metrics, {', '.join(words)}: expected --metric")
        self.metric = words[0] if words else None
        self._id = usual(wanted.id or (key[0] if key and len(key) == 1 else None), list(columns), ("id",), "column")

    def _choose(self, columns: Mapping[str, tuple[str, int, str]], wanted: Wanted, table: str) -> None:
        """Decides what each column means."""
        dense = [name for name, (kind, _, _) in columns.items() if kind == "vector"]
        other = {name: kind for name, (kind, _, _) in columns.items() if kind in _OTHERS}
        if wanted.vector in other or (wanted.vector is None and not dense and other):
            name, kind = (wanted.vector, other[wanted.vector]) if wanted.vector in other else next(iter(other.items()))
            cure = f"create view with_vectors as select *, {name}::vector as whole from {table}"
            raise InputError(f"column {name!r} is a {kind}: expected a vector; of a view it is one (`{cure}`), with --table with_vectors --vector whole")
        self._vector = one_of(wanted.vector, dense, "column of vectors", "--vector")
        _, self._dim, self._schema = columns[self._vector]
        texts = [name for name, (kind, _, _) in columns.items() if kind in _TEXTS]
        self._text = usual(wanted.text, texts, TEXTS, "column of texts")
        self.left = [f"the {columns[name][0]} {name!r}" for name in [*dense, *other] if name != self._vector]
        self._kinds = {name: kind for name, (kind, _, _) in columns.items() if name not in dense and name not in other}

    def _do(self, query: Any, *values: Any) -> Any:
        done = self._connection.execute(query, values or None)
        return done.fetchall() if done.description else []

    def rows(self, vectors: bool) -> Iterator[Row]:
        import numpy as np

        sql = self._sql
        parts = [sql.Identifier(name) if kind in _KEPT else sql.SQL("{}::text").format(sql.Identifier(name)) for name, kind in self._kinds.items()]
        # pgvector's binary form, which has all bits.
        vector = sql.SQL("{}({})").format(sql.Identifier(self._schema, "vector_send"), sql.Identifier(self._vector))
        query = sql.SQL("select {} from {}").format(sql.SQL(", ").join([vector if vectors else sql.SQL("null"), *parts]), self._table)
        with reading(self.name), self._connection.cursor("rows") as cursor:
            cursor.itersize = PAGE
            for sent, *values in cursor.execute(query):
                metadata = {name: _dated(kind, value) for (name, kind), value in zip(self._kinds.items(), values, strict=True)}
                id = None if self._id is None else metadata.pop(self._id)
                text = None if self._text is None else metadata.pop(self._text)
                yield Row(id, None if sent is None else np.frombuffer(sent, ">f4", offset=4), text, metadata)

    def dims(self) -> Mapping[int, int]:
        if self._dim > 0:
            return {self._dim: self.count}
        sql = self._sql
        dims = sql.SQL("{}({})").format(sql.Identifier(self._schema, "vector_dims"), sql.Identifier(self._vector))
        query = sql.SQL("select {}, count(*) from {} where {} is not null group by 1").format(dims, self._table, sql.Identifier(self._vector))
        with reading(self.name):
            return dict(self._do(query))

    def close(self) -> None:
        self._connection.close()


def _dated(kind: str, value: Any) -> Any:
    """Converts an instant to ISO 8601, and leaves other values unchanged."""
    if isinstance(value, str) and kind in ("timestamp", "timestamptz"):
        return value.replace(" ", "T", 1).removesuffix("+00") + ("Z" if value.endswith("+00") else "")
    return value
