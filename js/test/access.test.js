// Tests of logins and tokens, and of servers that cannot be reached, refuse or lie.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";

import { connect, MemoryStore, RefusedError, SordinoError, UnavailableError, UntrustedError } from "sordino";

import { BIG, Workshop } from "./server.js";

let workshop;
let readerKey;
let clientKey;
let url;

before(async () => {
  workshop = new Workshop();
  readerKey = workshop.read("reader.key");
  clientKey = workshop.read("client.key");
  workshop.build("masked");
  url = await workshop.serve("masked");
  workshop.build("growing");
  for (let version = 1; version <= 4; version += 1) {
    if (version > 1) workshop.add("growing", BigInt(version));
    workshop.copy("growing", `version-${version}`);
    versions[version] = await workshop.serve(`version-${version}`);
  }
});
after(() => workshop?.close());

async function finds(client, at) {
  const { hits } = await client.search(workshop.vectors[at], { k: 1 });
  assert.equal(hits[0].id, BigInt(at) + BIG);
  await client.close();
}

test("a client logs in with its key", async () => {
  const closed = await workshop.serve("masked", "--client", "client-public.key");
  const stages = [];
  const client = await connect(closed, { readerKey, clientKey, onExchange: ({ stage }) => stages.push(stage) });
  assert.deepEqual(stages, ["hello", "login", "manifest", "parts"]);
  await finds(client, 3);
  await assert.rejects(connect(closed, { readerKey }), (error) => {
    assert.ok(error instanceof RefusedError);
    assert.deepEqual([error.code, error.reason], ["refused", "unsigned"]);
    return true;
  });
  workshop.run("keys", "new", "client", "other.key");
  const other = workshop.read("other.key");
  await assert.rejects(connect(closed, { readerKey, clientKey: other }), { code: "refused", reason: "key" });
});

test("a client that no list names shows a token", async () => {
  const guarded = await workshop.serve("masked", "--issuer", "issuer-public.key", "--audience", "tests");
  const id = /^[0-9a-f]{32}/.exec((await connect(url, { readerKey })).pin)[0];
  const issue = ["token", "issue", "--key", "issuer.key", "--holder", "client-public.key", "--audience", "tests"];
  workshop.run(...issue, "--index", id, "--text", "token.txt");
  const token = workshop.read("token.txt");
  await finds(await connect(guarded, { readerKey, clientKey, token }), 4);
  await finds(await connect(guarded, { readerKey, clientKey, token: Buffer.from(token, "base64url") }), 5);
  await assert.rejects(connect(guarded, { readerKey, clientKey }), RefusedError);
  await assert.rejects(connect(guarded, { readerKey, clientKey, token: "AAAA" }), SordinoError);
});

/** A server that changes the answers of another server. */
async function liar(change, from = () => url) {
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const headers = { "content-type": request.headers["content-type"] };
    const answer = await fetch(from() + request.url, { method: "POST", headers, body });
    const changed = change(Buffer.from(await answer.arrayBuffer()), answer, body);
    response.writeHead(changed.status ?? answer.status, changed.headers ?? Object.fromEntries(answer.headers));
    response.end(changed.body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** The kind of a message, which follows the magic number and the version. */
function kindOf(request) {
  const at = request.indexOf(Buffer.from([0x53, 0x52, 0x44, 0x4e, 4, 0]));
  return at < 0 ? undefined : request.readUInt16LE(at + 6);
}

const MANIFEST = 101;
const PARTS = 103;
const SCORE = 105;

/** The addresses of the versions 1 to 4 of one index. */
const versions = [];

function plain(answer) {
  const headers = Object.fromEntries(answer.headers);
  delete headers["transfer-encoding"];
  return headers;
}

test("a server may be restarted between two calls", async () => {
  const access = ["--client", "client-public.key"];
  const address = await workshop.serve("version-1", ...access);
  const client = await connect(address, { readerKey, clientKey });
  const port = Number(new URL(address).port);
  for (const name of ["version-1", "version-2"]) {
    await workshop.stop();
    await assert.rejects(client.search(workshop.vectors[9], { k: 1 }), { code: "away" });
    assert.equal(await workshop.serveAt(port, name, ...access), address);
    if (name === "version-1") assert.equal(await client.refresh(), false);
    const { hits } = await client.search(workshop.vectors[9], { k: 1 });
    assert.equal(hits[0].id, 9n + BIG);
  }
  assert.equal(client.version, 2n);
  await client.close();
});

test("a manifest or a part that was changed is refused", async () => {
  for (const [kind, reason] of [[MANIFEST, "signature"], [PARTS, "digest"]]) {
    const lies = await liar((body, answer, request) => {
      if (kindOf(request) === kind) body[body.length - 60] ^= 1;
      return { body, headers: plain(answer) };
    });
    await assert.rejects(connect(lies.url, { readerKey }), (error) => {
      assert.ok(error instanceof UntrustedError, `${kind} ${error.code} ${error.message}`);
      assert.deepEqual([error.code, error.reason], ["untrusted", reason]);
      return true;
    });
    lies.close();
  }
});

test("after a bad reply nothing is asked any more", async () => {
  let lying = false;
  let asked = 0;
  const lies = await liar((body, answer) => {
    asked += 1;
    if (lying) for (let at = 200; at < 1200; at += 1) body[at] ^= 0xff;
    return { body, headers: plain(answer) };
  });
  const client = await connect(lies.url, { readerKey });
  lying = true;
  const bad = (error) => error instanceof UntrustedError && error.code === "bad-reply";
  await assert.rejects(client.search(workshop.vectors[1]), bad);
  lying = false;
  const before = asked;
  await assert.rejects(client.search(workshop.vectors[1]), bad);
  await assert.rejects(client.refresh(), bad);
  assert.equal(asked, before);
  await client.close();
  lies.close();
});

test("a bad reply is told, and the last, also where the index changes after it", async () => {
  let at = 1;
  let bad = true;
  let asked = 0;
  const change = (body, answer, request) => {
    asked += 1;
    if (bad && kindOf(request) === SCORE) {
      for (let place = 200; place < 1200; place += 1) body[place] ^= 0xff;
      at = 2;
    }
    if (bad && at === 2 && kindOf(request) === MANIFEST) return { status: 503, headers: {}, body: "later" };
    return { body, headers: plain(answer) };
  };
  const lies = await liar(change, () => versions[at]);
  const client = await connect(lies.url, { readerKey });
  await assert.rejects(client.search(workshop.vectors[1]), { code: "bad-reply" });
  bad = false;
  const before = asked;
  await assert.rejects(client.search(workshop.vectors[1]), { code: "bad-reply" });
  assert.equal(asked, before);
  await client.close();
  lies.close();
});

test("no server goes back to a version before the one that is stored", async () => {
  let at = 1;
  const server = await liar((body, answer) => ({ body, headers: plain(answer) }), () => versions[at]);
  const cache = new MemoryStore();
  const open = (more) => connect(server.url, { readerKey, cache, ...more });
  const one = await open();
  const other = await open();
  const { pin } = other;
  at = 4;
  assert.equal(await one.refresh(), true);
  at = 2;
  const goneBack = { code: "untrusted", reason: "rollback" };
  await assert.rejects(other.refresh(), goneBack);
  await assert.rejects(other.search(workshop.vectors[1]), goneBack);
  await assert.rejects(open(), goneBack);
  await assert.rejects(open({ pin }), goneBack);
  at = 4;
  const next = await open({ pin });
  assert.equal(next.version, 4n);
  for (const client of [one, other, next]) await client.close();
  server.close();
});

test("ids are read once, when they are given", async () => {
  let at = 1;
  const server = await liar((body, answer) => ({ body, headers: plain(answer) }), () => versions[at]);
  const client = await connect(server.url, { readerKey });
  at = 2;
  const found = await client.payloads([1n, 2n].map((record) => BIG + record).values());
  const decoder = new TextDecoder();
  assert.deepEqual(found.map((it) => decoder.decode(it)), ["record 1 x", "record 2 xx"]);
  const ids = [BIG];
  const later = client.payloads(ids);
  ids.length = 0;
  assert.equal((await later).length, 1);
  await client.close();
  server.close();
});

test("a search that is given up between two requests makes no other", async () => {
  const abort = new AbortController();
  const stages = [];
  const onExchange = ({ stage }) => {
    stages.push(stage);
    if (stage === "score") abort.abort(new Error("enough"));
  };
  workshop.build("fetched", "--fetch", "pir");
  const client = await connect(await workshop.serve("fetched"), { readerKey, onExchange });
  const { signal } = abort;
  await assert.rejects(client.search(workshop.vectors[8], { signal }), /enough/);
  assert.equal(stages.at(-1), "score");
  await finds(client, 8);
});

test("names that no honest server sends are no way to stop the client", async () => {
  const names = Array.from({ length: 34_000 }, (_, at) => `${at.toString(36).padStart(3, "0")}:\n`).join("");
  const text = Buffer.from(`${names}grpc-status:0\r\n`);
  const frame = Buffer.alloc(5);
  frame[0] = 0x80;
  frame.writeUInt32BE(text.length, 1);
  const lies = await liar((body, answer, request) => {
    return { body: kindOf(request) === PARTS ? Buffer.concat([frame, text]) : body, headers: plain(answer) };
  });
  await assert.rejects(connect(lies.url, { readerKey }), { code: "untrusted" });
  await finds(await connect(url, { readerKey }), 9);
  lies.close();
});

test("answers that are none of a Sordino server are refused by name", async () => {
  const cases = [
    [() => ({ status: 404, headers: {}, body: "no" }), "refused"],
    [() => ({ status: 503, headers: {}, body: "later" }), "away"],
    [() => ({ status: 200, headers: { "content-type": "text/html" }, body: "<p>hello" }), "refused"],
    [(body, answer) => ({ headers: plain(answer), body: body.subarray(0, body.length - 20) }), "away"],
    [(body, answer) => ({ headers: plain(answer), body: Buffer.concat([body, body]) }), "untrusted"],
    [(body, answer) => ({ headers: plain(answer), body: Buffer.alloc(64 << 20) }), "untrusted"],
  ];
  for (const [at, [change, code]] of cases.entries()) {
    const lies = await liar(change);
    await assert.rejects(connect(lies.url, { readerKey }), (error) => {
      assert.ok(error instanceof SordinoError);
      assert.equal(error.code, code, `${at}: ${error.message}`);
      return true;
    });
    lies.close();
  }
});

test("a server that is not there, or says nothing, is told", async () => {
  await assert.rejects(connect("http://127.0.0.1:9", { readerKey }), (error) => {
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.code, "away");
    return true;
  });
  const silent = createServer(() => {});
  await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${silent.address().port}`;
  await assert.rejects(connect(address, { readerKey, timeout: 200 }), { reason: "deadline" });
  const signal = AbortSignal.timeout(100);
  await assert.rejects(connect(address, { readerKey, signal }), { name: "TimeoutError" });
  silent.closeAllConnections();
  silent.close();
  // Each piece arrives in time, and the whole answer never.
  const slow = createServer((request, response) => {
    response.writeHead(200, { "content-type": "application/grpc-web+proto" });
    const drip = setInterval(() => response.write("\0"), 50);
    response.on("close", () => clearInterval(drip));
  });
  await new Promise((resolve) => slow.listen(0, "127.0.0.1", resolve));
  const dripping = `http://127.0.0.1:${slow.address().port}`;
  await assert.rejects(connect(dripping, { readerKey, clientKey, timeout: 200 }), { reason: "deadline" });
  slow.closeAllConnections();
  slow.close();
});

test("a search that is given up leaves the client as it was", async () => {
  const client = await connect(url, { readerKey });
  const abort = new AbortController();
  const search = client.search(workshop.vectors[6], { signal: abort.signal });
  abort.abort(new Error("enough"));
  await assert.rejects(search, /enough/);
  await assert.rejects(client.search(workshop.vectors[6], { signal: abort.signal }), /enough/);
  await finds(client, 6);
});

test("arguments that are wrong are refused with words", async () => {
  const damaged = readerKey.replace(/.\n$/, readerKey.at(-2) === "0" ? "1\n" : "0\n");
  const keys = [
    [{ readerKey: undefined }, "key", "readerKey"],
    [{ readerKey: "" }, "key", "readerKey"],
    [{ readerKey: damaged }, "key", "readerKey"],
    [{ readerKey: clientKey }, "key", "readerKey"],
    [{ readerKey, clientKey: readerKey }, "key", "clientKey"],
    [{ readerKey, pin: "7" }, "argument", "pin"],
    [{ readerKey, pin: 7 }, "argument", "pin"],
    [{ readerKey, index: "a/b" }, "argument", "index"],
    [{ readerKey, cache: 7 }, "argument", "cache"],
    [{ readerKey, timeout: -1 }, "argument", "timeout"],
    [{ readerKey, padBytes: -1 }, "argument", "padBytes"],
  ];
  for (const [options, code, reason] of keys) {
    await assert.rejects(connect(url, options), { code, reason }, JSON.stringify(options));
  }
  for (const wrong of ["", "localhost:7700", "ftp://localhost", "http://me@localhost", "http://localhost/a/b", "http://localhost/?k=3"]) {
    await assert.rejects(connect(wrong, { readerKey }), { code: "argument", reason: "url" }, wrong);
  }
  await assert.rejects(connect("http://me:secret@localhost", { readerKey }), (error) => !error.message.includes("secret"));
  const client = await connect(url, { readerKey });
  const vector = workshop.vectors[0];
  const searches = [
    [[...vector], {}],
    [new Float32Array(3), {}],
    [new Float32Array(64), {}],
    [new Float32Array(64).fill(NaN), {}],
    [vector, { k: 0 }],
    [vector, { k: 1.5 }],
    [vector, { k: 10_000 }],
    [vector, { where: "year >" }],
    [vector, { where: "colour = 1" }],
    [vector, { where: 7 }],
    [vector, { threshold: "high" }],
  ];
  for (const [query, options] of searches) {
    await assert.rejects(client.search(query, options), (error) => {
      assert.equal(error.code, "argument", `${JSON.stringify(options)}: ${error.message}`);
      return true;
    });
  }
  await assert.rejects(client.payloads(["seven"]), { code: "argument", reason: "id" });
  await finds(client, 2);
  await assert.rejects(client.search(vector), { code: "closed" });
});

test("a pin refuses another index", async () => {
  workshop.build("other");
  const other = await workshop.serve("other");
  const { pin } = await connect(url, { readerKey });
  await finds(await connect(url, { readerKey, pin }), 7);
  await assert.rejects(connect(other, { readerKey, pin }), { code: "untrusted", reason: "other-index" });
});
