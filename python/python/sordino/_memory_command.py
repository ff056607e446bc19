"""The command `sordino-memory`: makes a memory for agents, lets others read it, and serves it to an agent."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ._console import command, filled
from ._contributor import Contributor
from ._embedding import DEFAULT, Embedding
from ._errors import Error, InputError, KeyKindError, NetworkError
from ._home import Home, Settings, owner_file
from ._record import Record, instant, iso, label_name
from ._sordino import ReaderPublicKey, WriterPublicKey
from ._writer import Pusher, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

Public = TypeVar("Public", ReaderPublicKey, WriterPublicKey)

_HOME = "~/.sordino-memory"

# The tools of an agent, which people look for here.
_TOOLS = ("remember", "recall", "recent", "update", "forget")

# The seconds for which a writer may add, unless the owner says otherwise.
_YEAR = 365 * 86_400

_REVOKED = """{name} is off the list, and the memory is written again, under keys that {name} never had.
This does: {name} reads nothing that is written from now on, and nothing of the new version, wherever it is served.
This does not: take back what {name} has read or copied. Versions from before that {name} has, or that somebody keeps, stay readable for {name}.
Take {name}'s client key off the server's list too. A holder of owner.key has everything: if that key is lost to somebody, make a new memory."""


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 0 if it succeeds. Otherwise prints a line on standard error, and returns 1."""
    given = filled(_parser(), arguments)
    try:
        return int(given.run(given) or 0)
    except (Error, ImportError) as error:
        print(f"sordino-memory: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sordino-memory", description=__doc__)
    parser.add_argument("--home", default=os.environ.get("SORDINO_MEMORY") or _HOME, help=f"the memory's folder on this machine ({_HOME})")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        return made

    for name, run, text in [
        ("init", _init, "Make a memory, and print the lines for the configuration files of agents"),
        ("join", _join, "Make a reader's keys for somebody else's memory"),
    ]:
        made = add(name, run, text)
        made.add_argument("--name", default=socket.gethostname(), help="the author of what is remembered here")
        made.add_argument("--embedding", default=DEFAULT, help=f"{DEFAULT}, module:function, or https://host/v1/embeddings#model, which is shown all texts")
        made.add_argument("--label", help="the label of what is remembered here")
        made.add_argument("--server", help="the address of the index at its server, https://host:port/NAME")
        made.add_argument("--roots", help="the certificates of which one must have signed the server's, in PEM")
        if name == "init":
            made.add_argument("--client", metavar="FILE", help="your client key for the server, which is copied; a new one is made without it")
        if name == "join":
            made.add_argument("--owner", required=True, help="the owner's public key, owner.pub of the memory's folder")
            made.add_argument("--index", help="the folder of the index, where it is on this machine")
            made.add_argument("--token", help="a token for the server, of sordino token issue")
            made.add_argument("--write", action="store_true", help="make a writer's key, by which memories are added once the owner grants it")
    made = add("serve", _serve, "Serve the memory to an agent, over standard input and output")
    made.add_argument("--http", type=int, metavar="PORT", help="over HTTP on 127.0.0.1, with the token in the file http-token")
    made = add("grant", _grant, "Let an agent or a person read the memory")
    made.add_argument("reader", help="a name of your choosing, which neither the server nor other readers learn")
    made.add_argument("--public", help="the reader's file reader.public, if it is new; compare its digest with the reader")
    made.add_argument("--label", action="append", default=[], help="a label that it may read, and what has no label")
    made.add_argument("--write", action="store_true", help="and add memories, under these labels or without one; it changes and forgets none")
    made.add_argument("--until", help="the end of the right to add, by ISO 8601; a year from now, if nothing is said")
    made = add("revoke", _revoke, "Take a reader off the list, and write the memory again under other keys")
    made.add_argument("reader")
    made = add("take-back", _take_back, "Take out what writers have added since a version, such as by a stolen key")
    made.add_argument("version", type=int, help="the owner's last version, or one that an addition made, as sordino index info shows them")
    made.add_argument("--revoke", metavar="NAME", help="revoke this writer in the same version, so that it cannot add again in between")
    add("who", _who, "Say who can read and add what")
    add("compact", _compact, "Write the memory again without what was forgotten")
    add("push", _push, "Bring the server's copy up to date, and say whether it is")
    add("stats", _stats, "Say what is in the memory")
    made = add("export", _export, "Write all memories that this key can read, as lines of JSON")
    made.add_argument("file", nargs="?", help="a new file; standard output without it, or as -")
    made = add("import", _import, "Remember what export wrote, under new numbers")
    made.add_argument("file")
    add("lines", _lines, "Print the lines for the configuration files of agents")
    for tool in _TOOLS:
        # A parser without help is not in the list of commands.
        made = commands.add_parser(tool, add_help=False, prefix_chars="\0")
        made.set_defaults(run=_tool, tool=tool)
        made.add_argument("words", nargs="*")
    return parser


def _init(given: argparse.Namespace) -> None:
    embedding = Embedding(given.embedding)
    settings = Settings(given.name, given.embedding, given.server, None, given.label, _path(given.roots))
    home = Home.init(given.home, settings, embedding, given.client)
    print(f"A memory in {home.folder}. Keep a copy of owner.key offline: it reads and writes everything.")
    print(embedding.shows)
    if given.server:
        name = given.server.rstrip("/").rpartition("/")[2]
        print(
            f"Once, copy {home.index} to the server as ROOT/{name}, {home.folder / 'owner.pub'} as ROOT/{name}.pub, and {home.folder / 'client.pub'} as "
            f"{name}-owner.pub; there:\n"
            f"  sordino serve --root ROOT --accept-changes --cert chain.pem --cert-key key.pem --client {name}-owner.pub\n"
            f'or in the file of --config: client = ["{name}-owner.pub"]\n'
            f"Then: sordino-memory --home {home.folder} push"
        )
    _print_lines(home)


def _join(given: argparse.Namespace) -> None:
    settings = Settings(
        given.name, given.embedding, given.server, _path(given.index), given.label, _path(given.roots), _path(given.token)
    )
    Embedding(given.embedding)
    home = Home.join(given.home, settings, owner_file(given.owner), given.write)
    if given.write:
        file, more, digest = "writer.public", " --write", _digest(WriterPublicKey.load(home.folder / "writer.public"))
    else:
        file, more, digest = "reader.public", "", _digest(ReaderPublicKey.load(home.folder / "reader.public"))
    print(f"Keys in {home.folder}. Give the memory's owner {file}, and the server's keeper client.pub.")
    print(f"The owner: sordino-memory grant {given.name} --public {file}{more}, once this is compared: {digest}")
    _print_lines(home)


def _serve(given: argparse.Namespace) -> None:
    from .mcp import serve

    serve(given.home, given.http)


def _grant(given: argparse.Namespace) -> int:
    home = Home(given.home)
    writer = Writer(home)
    public: ReaderPublicKey | WriterPublicKey | None = None
    if given.public is None:
        _check_known(given, writer)
    if given.write:
        until = instant(given.until, "until") if given.until else int(time.time()) + _YEAR
        if until <= time.time():
            raise InputError(f"--until {given.until}: {iso(until)} is over, and nothing could be added; expected a later instant, or sordino-memory revoke")
        public = _member(given, WriterPublicKey, "join --write", "writer.public")
        writer.grant_writer(given.reader, public, given.label, until)
        under = f"under {', '.join(given.label)}" if given.label else "without a label"
        print(f"{given.reader} can add memories {under}, until {iso(until)}")
    else:
        if given.until:
            raise InputError("--until without --write: reading has no end but sordino-memory revoke")
        public = _member(given, ReaderPublicKey, "join", "reader.public")
        writer.grant(given.reader, public, given.label)
    print(f"{given.reader} can read the memory" + (f", and the labels {', '.join(given.label)}" if given.label else ", but for what has a label"))
    if public is not None:
        print(f"To be compared with {given.reader}: {_digest(public)}")
    return _pushed(home)


def _member(given: argparse.Namespace, kind: type[Public], join: str, file: str) -> Public | None:
    """The public key of a member's file."""
    try:
        return None if given.public is None else kind.load(given.public)
    except KeyKindError as error:
        raise KeyKindError(f"{error}. It is the file {file} of the folder where {given.reader} ran sordino-memory {join}") from None


def _check_known(given: argparse.Namespace, writer: Writer) -> None:
    """Refuses a grant without a public key if the index has no such key of this reader or writer."""
    found = [reader for reader in writer.access()["readers"] if reader["name"] == given.reader and reader["key"] is not None]
    if found and (not given.write or found[0]["writes"] is not None):
        return
    file = "writer.public" if given.write else "reader.public"
    words = ["sordino-memory", "--home", given.home, "grant", given.reader, "--public", file, *(["--write"] if given.write else [])]
    words += [word for label in given.label for word in ("--label", label)] + (["--until", given.until] if given.until else [])
    what = "has a reader's key alone" if found else "is new here"
    join = "sordino-memory join --write" if given.write else "sordino-memory join"
    raise InputError(f"{given.reader} {what}: expected the file {file} that {given.reader}'s {join} made: {shlex.join(words)}")


def _digest(public: ReaderPublicKey | WriterPublicKey) -> str:
    """The digest of a key that two people compare, as `who` shows it. A writer's digest is the digest of the key by which the writer reads."""
    if isinstance(public, ReaderPublicKey):
        return f"key {_short(public)}"
    return f"key {_short(public.reader_public())}, writer's key {_short(public)}"


def _short(public: ReaderPublicKey | WriterPublicKey) -> str:
    digest = public.digest()
    return "-".join(digest[at : at + 4] for at in range(0, 32, 4))


def _take_back(given: argparse.Namespace) -> int:
    home = Home(given.home)
    version = Writer(home).take_back(given.version, given.revoke)
    then = f"; {given.revoke} is revoked" if given.revoke else ". Revoke the writer whose key was stolen"
    print(f"version {version}, without what writers added after version {given.version}{then}")
    return _pushed(home)


def _revoke(given: argparse.Namespace) -> int:
    home = Home(given.home)
    writer = Writer(home)
    names = [reader["name"] for reader in writer.access()["readers"]]
    if given.reader not in names:
        # A revocation may have been stopped before it wrote the memory again.
        again = "; the memory was written again, as an earlier command had left to do" if writer.compact() else ""
        raise InputError(f"there is no reader {given.reader}: expected one of those that sordino-memory who lists, {', '.join(names) or 'none so far'}{again}")
    writer.revoke(given.reader)
    print(_REVOKED.format(name=given.reader))
    return _pushed(home)


def _who(given: argparse.Namespace) -> None:
    writer = Writer(Home(given.home))
    try:
        writer.follow()
    except NetworkError as error:
        print(f"sordino-memory: what others have added since may be missing: {error}", file=sys.stderr)
    report = writer.access()
    print("owner: everything, and writes")
    for reader in report["readers"]:
        labels = ", ".join(reader["labels"]) or "none"
        lost = reader["until_compacted"]
        key = "revoked" if reader["key"] is None else f"key {reader['key']}"
        more = f"; still {lost} that were written before, until sordino-memory compact" if lost else ""
        writes = ""
        if reader["writes"] is not None:
            under = ", ".join(label or "no label" for label in reader["writes"])
            writes = f"; adds under {under} until {iso(reader['writes_until'])}"
        # A record that all readers can read names the model of the memory.
        print(f"{reader['name']}: {max(reader['records'] - 1, 0)} memories, labels {labels}, {key}{more}{writes}")


def _compact(given: argparse.Namespace) -> int:
    home = Home(given.home)
    print("compacted: nothing that was forgotten is in the folder" if Writer(home).compact() else "nothing to compact")
    return _pushed(home)


def _push(given: argparse.Namespace) -> int:
    home = Home(given.home)
    if home.settings.server is None:
        raise InputError("this memory has no server: it is the folder")
    return _pushed(home)


def _stats(given: argparse.Namespace) -> None:
    memory = _memory(given)
    try:
        # Others chose some of the words, and a terminal would obey them.
        print("".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in json.dumps(memory.stats(), indent=2, ensure_ascii=False)))
    finally:
        memory.close()


def _export(given: argparse.Namespace) -> int:
    memory = _memory(given)
    try:
        number, unlabelled = 0, False
        # If no memory can be read, no file is made.
        memories, why = memory.exported()
        with _new(given.file) as file:
            for number, one in enumerate(memories, 1):
                record = one.record
                line = {"id": one.id, "text": record.text, "tags": list(record.tags), "when": iso(record.when), "by": record.by}
                if one.labelled:
                    line["label"] = one.label
                else:
                    unlabelled = True
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
        print(f"{number} memories" + (f". {note}" if (note := memory.note()) else ""), file=sys.stderr)
        if unlabelled:
            print("Labels are not in it: only the owner's key reads them. An import puts them under the label of its memory.json, or under none", file=sys.stderr)
        if why is not None:
            print(f"Others cannot be read: these are what this folder has, remembered here or taken before. {why}", file=sys.stderr)
        return 0 if why is None else 1
    except BrokenPipeError:
        raise
    except OSError as error:
        # An error of this package has a full message.
        if isinstance(error, Error):
            raise
        raise InputError(f"{given.file}: {error.strerror}; expected the name of a new file, and room for it") from None
    finally:
        memory.close()


@contextlib.contextmanager
def _new(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a new file that no other user may read, because it has the texts unencrypted. An incomplete file is removed."""
    if path is None or path == "-":
        yield sys.stdout
        return
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(opened, "w", encoding="utf-8") as file:
            yield file
    except BaseException:
        os.unlink(path)
        raise


def _import(given: argparse.Namespace) -> None:
    records, labels, lines = [], [], []
    settings = Home(given.home).settings
    try:
        with open(given.file, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    one = json.loads(line)
                    by = one.get("by", settings.name) if isinstance(one, dict) else None
                    if not isinstance(by, str):
                        raise InputError("expected an object with text, tags, when and by")
                    if unknown := set(one) - {"id", "text", "tags", "when", "by", "label"}:
                        raise InputError(f"{', '.join(sorted(unknown))}: expected text, tags, when, by and label, and an id, for which a new one is given")
                    records.append(Record.made(one.get("text"), one.get("tags"), one.get("when"), by))
                    labels.append(label_name(one.get("label", settings.label)))
                    lines.append(number)
                except (ValueError, RecursionError, Error) as error:
                    raise InputError(f"{given.file}, line {number}: {error}. Nothing was remembered") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{given.file}: {error}; expected lines of JSON in UTF-8. Nothing was remembered") from None
    except OSError as error:
        raise InputError(f"{given.file}: {error.strerror}") from None
    memory = _memory(given)
    done = 0
    try:
        for change in memory.remember_all(records, labels):
            print(f"{len(change.ids)} memories, to {change.ids[-1]}", file=sys.stderr)
            done += len(change.ids)
    except (Error, OSError) as error:
        if not done:
            raise
        rest = f"tail -n +{lines[done - 1] + 1} {shlex.quote(given.file)}"
        raise InputError(f"{error}. Lines 1 to {lines[done - 1]} of {given.file} are remembered; the others are not: import what this prints: {rest}") from None
    finally:
        memory.close()


def _tool(given: argparse.Namespace) -> None:
    raise InputError(
        f"{given.tool} is a tool of the server that an agent starts: sordino-memory lines prints what to put into the agent's configuration. Without an agent, "
        "import remembers the lines of a file, and export prints all memories"
    )


def _lines(given: argparse.Namespace) -> None:
    _print_lines(Home(given.home))


def _memory(given: argparse.Namespace) -> Any:
    from ._memory import Memory

    home = Home(given.home)
    return Memory(home, Embedding(home.settings.embedding))


def _pushed(home: Home) -> int:
    """Sends the newest version, if there is a server, and tells whether the server has it."""
    if home.settings.server is None:
        return 0
    writer = Contributor(home) if home.adds and not home.owns else Writer(home)
    if isinstance(writer, Contributor) or writer.shared:
        # With writers, a change is at the server when it is complete.
        writer.flush()
        print("the server has it")
        return 0
    pusher = Pusher(home)
    pusher.want(writer.version())
    said = pusher.said(writer.version(), 600)
    print(said)
    return 0 if said == "the server has it" else 1


def _print_lines(home: Home) -> None:
    command = shutil.which("sordino-memory") or os.path.abspath(sys.argv[0])
    arguments = ["--home", os.fspath(home.folder), "serve"]
    entry = {"command": command, "args": arguments}
    quoted = json.dumps(arguments)
    print(f"""
Claude Code:      claude mcp add sordino-memory -- {shlex.join([command, *arguments])}
Claude Desktop, Cursor, Windsurf, Gemini CLI (mcpServers of claude_desktop_config.json, .cursor/mcp.json, mcp_config.json, settings.json):
  {json.dumps({"mcpServers": {"sordino-memory": entry}})}
VS Code (.vscode/mcp.json):
  {json.dumps({"servers": {"sordino-memory": {"type": "stdio"} | entry}})}
Codex (config.toml):
  [mcp_servers.sordino-memory]
  command = {json.dumps(command)}
  args = {quoted}""")


def _path(given: str | None) -> str | None:
    """A path that is valid in any working directory from which an agent starts the command."""
    return None if given is None else os.fspath(Path(given).expanduser().absolute())


if __name__ == "__main__":
    sys.exit(main())
