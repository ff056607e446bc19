"""Records of other vector stores, read by those stores' own clients and made into an index: the command `sordino-migrate`.

    sordino-migrate chroma ./chroma my.index --collection notes --key owner.key
    sordino-migrate qdrant http://127.0.0.1:6333 my.index --collection notes --key owner.key
    sordino-migrate lancedb ./lance my.index --table notes --key owner.key
    sordino-migrate pgvector postgresql:///shop my.index --table notes --key owner.key

A store is read twice, a page of rows at a time: once for its names, types and ids, and once with its vectors. Both times must give the rows that
the store counts. Each store's client is imported when its store is read, and is no part of this package.
"""

from ._command import main

__all__ = ["main"]
