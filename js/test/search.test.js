// Tests searches against a real server: the hits must be the same as the command's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import * as inlined from "sordino";
import * as separate from "sordino/init";
import * as worker from "sordino/worker";

import { BIG, RECORDS, vectorsOf, Workshop } from "./server.js";

const FORMS = {
  masked: [],
  open: ["--mode", "open"],
  local: ["--mode", "local"],
  routed: ["--mode", "routed"],
  look: ["--second-look"],
  sealed: ["--mode", "sealed"],
  pir: ["--fetch", "pir"],
  scan: ["--fetch", "scan"],
  hintless: ["--fetch", "hintless"],
};
let workshop;
let readerKey;
const urls = {};

before(async () => {
  workshop = new Workshop();
  readerKey = workshop.read("reader.key");
  for (const [name, more] of Object.entries(FORMS)) {
    workshop.build(name, ...more);
    urls[name] = await workshop.serve(name);
  }
});
after(() => workshop?.close());

/** Asserts that the hits are the same. Scores may carry the encryption's noise; then a hit that is as good as the last may
 * take its place. */
function close(found, expected, step) {
  assert.equal(found.length, expected.length);
  const near = (a, b) => Math.abs(a - b) < step;
  for (const [at, { id, score }] of found.entries()) {
    assert.ok(near(score, expected[at].score), `${score} ${expected[at].score}`);
    const same = expected.find((hit) => hit.id === id);
    assert.ok(near(score, (same ?? expected.at(-1)).score), `${id}: ${score}`);
  }
}

for (const [name, more] of Object.entries(FORMS)) {
  test(`${name}: hits, payloads and attributes are those of the command`, async () => {
    const client = await inlined.connect(urls[name], { readerKey });
    assert.equal(client.mode, more[0] === "--mode" ? more[1] : "masked");
    assert.deepEqual([client.dim, client.records, client.version, client.ids], [64, RECORDS, 1n, "number"]);
    const queries = [workshop.vectors[3], ...vectorsOf(99, 3)];
    for (const query of queries) {
      const { hits, stats } = await client.search(query, { k: 4, payloads: "text", attributes: true });
      const expected = workshop.query(urls[name], query, "--k", "4");
      // Scores of open mode carry the encryption's noise; scores of a second look do not.
      close(hits, expected, name === "look" ? 1e-6 : 1e-3);
      for (const hit of hits) {
        assert.equal(typeof hit.id, "bigint");
        const at = Number(hit.id - BIG);
        assert.equal(hit.payload, `record ${at} ${"x".repeat(at % 50)}`);
        assert.deepEqual(hit.attributes, { year: 1990 + (at % 40) });
      }
      assert.ok(stats.ms >= stats.clientMs && stats.exchanges === (name === "local" ? 0 : stats.exchanges));
    }
    const where = "year >= 2020 and year < 2025";
    const { hits } = await client.search(queries[1], { k: 5, where, payloads: false });
    close(hits, workshop.query(urls[name], queries[1], "--k", "5", "--where", where), 1e-3);
    assert.ok(hits.every((hit) => !("payload" in hit)));
    const found = await client.payloads([BIG + 7n, 5n]);
    assert.equal(new TextDecoder().decode(found[0]), "record 7 xxxxxxx");
    assert.equal(found[1], undefined);
    await client.close();
  });
}

test("every search sends and receives what any other does", async () => {
  for (const name of Object.keys(FORMS).filter((name) => name !== "local")) {
    const seen = [];
    const onExchange = ({ stage, sent, received, requestBytes }) => {
      assert.equal(requestBytes.length, sent);
      seen.push({ stage, sent, received });
    };
    const client = await inlined.connect(urls[name], { readerKey, onExchange });
    assert.equal(seen[0].stage, "manifest");
    // A first search may download keys that later searches use.
    await client.search(workshop.vectors[0]);
    const once = seen.length;
    const queries = [new Float32Array(64).fill(1e30), new Float32Array(64).fill(-1e-30), ...vectorsOf(5, 3)];
    const options = [{}, { k: 1 }, { where: "year = 1" }, { payloads: false }, { threshold: 0.9 }];
    for (const [at, query] of queries.entries()) await client.search(query, options[at]);
    const searches = seen.slice(once);
    const each = searches.length / queries.length;
    assert.ok(Number.isInteger(each) && each >= 1, `${name}: ${searches.length}`);
    for (let at = 0; at < searches.length; at += each) {
      assert.deepEqual(searches.slice(at, at + each), searches.slice(0, each), name);
    }
    await client.close();
  }
});

test("what was downloaded once is kept, and checked when it comes back", async () => {
  const cache = new inlined.MemoryStore();
  const first = await inlined.connect(urls.masked, { readerKey, cache });
  const pin = first.pin;
  const stages = [];
  const onExchange = ({ stage }) => stages.push(stage);
  const second = await inlined.connect(urls.masked, { readerKey, cache, onExchange });
  assert.deepEqual(stages, ["manifest"]);
  assert.equal(second.pin, pin);
  const damaged = {
    get: async (digest) => {
      const part = (await cache.get(digest))?.slice();
      if (part) part[part.length - 1] ^= 1;
      return part;
    },
    put: (digest, part) => cache.put(digest, part),
  };
  const third = await inlined.connect(urls.masked, { readerKey, cache: damaged, onExchange });
  assert.deepEqual(stages, ["manifest", "manifest", "parts"]);
  const query = workshop.vectors[9];
  const all = [first, second, third];
  for (const client of all) {
    assert.equal((await client.search(query, { k: 1 })).hits[0].id, BIG + 9n);
    await client.close();
  }
});

test("pads that are not kept are made again", async () => {
  const client = await inlined.connect(urls.masked, { readerKey, padBytes: 0 });
  const query = workshop.vectors[11];
  const { hits } = await client.search(query, { k: 3 });
  close(hits, workshop.query(urls.masked, query, "--k", "3"), 1e-3);
  await client.close();
});

test("searches of one client wait for each other", async () => {
  const client = await inlined.connect(urls.masked, { readerKey });
  const some = [4, 5, 6, 7];
  const found = await Promise.all(some.map((at) => client.search(workshop.vectors[at], { k: 1 })));
  assert.deepEqual(found.map(({ hits }) => hits[0].id), some.map((at) => BigInt(at) + BIG));
  await client.close();
});

test("the other entries are the same client", async () => {
  const query = workshop.vectors[21];
  const expected = workshop.query(urls.masked, query, "--k", "2");
  await assert.rejects(separate.connect(urls.masked, { readerKey }), { code: "argument", reason: "init" });
  await separate.init(readFileSync(new URL("../dist/sordino.wasm", import.meta.url)));
  const required = createRequire(import.meta.url)("sordino");
  for (const { connect } of [separate, required]) {
    const client = await connect(urls.masked, { readerKey });
    close((await client.search(query, { k: 2 })).hits, expected, 1e-3);
    await client.close();
  }
});

test("a Worker answers as the client does", async () => {
  const query = workshop.vectors[22];
  const seen = [];
  const onExchange = ({ stage, requestBytes }) => seen.push([stage, requestBytes.constructor.name]);
  const client = await worker.connect(urls.look, { readerKey, onExchange });
  assert.deepEqual([client.mode, client.dim, client.version], ["masked", 64, 1n]);
  const { hits } = await client.search(query, { k: 2, payloads: "text" });
  close(hits, workshop.query(urls.look, query, "--k", "2"), 1e-6);
  assert.match(hits[0].payload, /^record 22 /);
  assert.deepEqual(seen[0], ["manifest", "Uint8Array"]);
  await assert.rejects(client.search(query, { k: 1000 }), worker.ArgumentError);
  const abort = new AbortController();
  const aborted = client.search(query, { signal: abort.signal });
  abort.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
  assert.equal((await client.search(query, { k: 1 })).hits[0].id, BIG + 22n);
  await client.close();
  await assert.rejects(client.search(query), { code: "closed" });
});

test("a change of the index is followed", async () => {
  workshop.build("changing");
  const url = await workshop.serve("changing");
  const cache = new inlined.MemoryStore();
  const client = await inlined.connect(url, { readerKey, cache });
  const query = workshop.vectors[31];
  assert.equal((await client.search(query, { k: 1 })).hits[0].id, BIG + 31n);
  assert.equal(await client.refresh(), false);
  assert.equal(client.version, 1n);
  await client.close();
});
