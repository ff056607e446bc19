// Tests LangChain's own classes on the store, against a real server.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { Embeddings } from "@langchain/core/embeddings";
import { RunnableLambda } from "@langchain/core/runnables";
import { VectorStore } from "@langchain/core/vectorstores";
import { connect } from "sordino";
import { ArgumentError, SordinoVectorStore } from "sordino/langchain";
import * as worker from "sordino/worker";

import { BIG, DIM, Workshop } from "./server.js";

let workshop;
let readerKey;
let url;

/** Embeds "record 7 …" as the vector of record 7. */
class Known extends Embeddings {
  constructor() {
    super({});
  }

  async embedDocuments(texts) {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }

  async embedQuery(text) {
    return [...workshop.vectors[Number(/\d+/.exec(text)[0])]];
  }
}

before(async () => {
  workshop = new Workshop();
  readerKey = workshop.read("reader.key");
  workshop.build("index");
  url = await workshop.serve("index");
});
after(() => workshop?.close());

test("searches by text, with scores, and by a retriever in a chain", async () => {
  const client = await connect(url, { readerKey });
  const store = new SordinoVectorStore(new Known(), { client });
  assert.ok(store instanceof VectorStore);
  const expected = workshop.query(url, workshop.vectors[21], "--k", "3");
  const found = await store.similaritySearchWithScore("record 21", 3);
  assert.equal(found.length, 3);
  found.forEach(([document, score], at) => assert.ok(Math.abs(score - expected[at].score) < 1e-3, document.id));
  const [[first]] = found;
  assert.deepEqual({ ...first }, { id: String(BIG + 21n), pageContent: `record 21 ${"x".repeat(21)}`, metadata: { year: 2011 } });
  assert.equal((await store.similaritySearch("record 21")).length, 4);
  const chain = store.asRetriever(2).pipe(RunnableLambda.from((documents) => documents.map(({ metadata }) => metadata.year)));
  const years = await chain.batch(["record 3", "record 39"]);
  assert.deepEqual(years.map(([year]) => year), [1993, 2029]);
  await client.close();
});

test("a filter is a condition on attributes", async () => {
  const client = await worker.connect(url, { readerKey });
  const store = new SordinoVectorStore(new Known(), { client });
  const retriever = store.asRetriever({ k: 5, filter: "year >= 2020 and year < 2025" });
  const documents = await retriever.invoke("record 4");
  const expected = workshop.query(url, workshop.vectors[4], "--k", "5", "--where", "year >= 2020 and year < 2025");
  assert.equal(documents.length, 5);
  assert.ok(documents.every(({ metadata }) => metadata.year >= 2020 && metadata.year < 2025));
  assert.equal(documents[0].id, String(expected[0].id));
  await assert.rejects(store.similaritySearch("record 4", 1, { year: 2020 }), /filter: expected a condition/);
  await assert.rejects(store.similaritySearch("record 4", 1, "no such = 1"), { code: "argument" });
  await client.close();
});

test("what does not fit is refused with a sentence", async () => {
  const client = await connect(url, { readerKey });
  const embeddings = new Known();
  const store = new SordinoVectorStore(embeddings, { client });
  const refused = [
    () => store.addDocuments([]),
    () => store.addVectors([], []),
    () => store.asRetriever().addDocuments([]),
    () => store.delete({}),
    () => SordinoVectorStore.fromTexts(["a"], {}, embeddings, {}),
    () => SordinoVectorStore.fromDocuments([], embeddings, {}),
  ];
  for (const call of refused) await assert.rejects(call, { code: "unsupported", message: /only reads: the index's owner adds/ });
  for (const k of [0, 1.5, client.k + 1]) await assert.rejects(store.similaritySearch("record 1", k), /k = .*: expected 1 to 10/);
  await assert.rejects(store.similaritySearchVectorWithScore(Array(DIM - 1).fill(1), 1), { code: "argument" });
  assert.throws(() => new SordinoVectorStore(embeddings, {}), ArgumentError);
  assert.throws(() => new SordinoVectorStore(embeddings, { client, payloads: "json" }), /payloads: expected/);
  // A client's key is in none of the forms in which LangChain shows or stores an object.
  assert.ok(!JSON.stringify(store).includes(readerKey.slice(-40, -8)));
  const documents = new SordinoVectorStore(embeddings, { client, payloads: "documents" });
  await assert.rejects(documents.similaritySearch("record 1", 2), /holds no documents of LangChain's store/);
  await client.close();
});

test("documents of the Python store, of which one is empty and one too long for a search", async () => {
  // The text hardly compresses, so that a search cannot return all of it.
  const words = Array.from({ length: 300 }, (_, at) => createHash("sha256").update(`word ${at}`).digest("hex"));
  const long = words.join(" ");
  const lines = workshop.vectors.slice(0, 200).map((vector, at) => {
    const document = [`name ${at}`, [at === 9 ? long : `text ${at}`, { at, tags: ["a", null] }]];
    const text = at === 0 ? "" : JSON.stringify(document);
    return JSON.stringify({ id: at, vector: [...vector], text });
  });
  workshop.write("documents.jsonl", lines);
  workshop.run("index", "build", "documents.jsonl", "documents", "--key", "owner.key", "--fetch", "pir");
  const seen = [];
  const onExchange = ({ stage, sent, received }) => seen.push([stage, sent, received]);
  const client = await connect(await workshop.serve("documents"), { readerKey, onExchange });
  assert.equal(client.shortens, true);
  const { SordinoVectorStore: Store } = createRequire(import.meta.url)("sordino/langchain");
  const store = new Store(new Known(), { client, payloads: "documents" });
  const traffic = [];
  for (const [question, k] of [["record 9", 2], ["record 7", 9], ["record 0", 1]]) {
    seen.length = 0;
    const found = await store.similaritySearch(question, k);
    traffic.push([...seen]);
    assert.equal(found.length, k);
    assert.ok(found.every(({ id, pageContent }) => id.startsWith("name ") && pageContent !== ""));
    if (question === "record 9") {
      assert.deepEqual({ ...found[0] }, { id: "name 9", pageContent: long, metadata: { at: 9, tags: ["a", null] } });
    }
  }
  assert.ok(traffic[0].length > 0);
  assert.deepEqual(traffic[1], traffic[0]);
  assert.deepEqual(traffic[2], traffic[0]);
  await assert.rejects(store.similaritySearch("record 9", client.k), /expected 1 to 9/);
  await client.close();
});
