// The search, outside the page's thread. It embeds a question, asks the server, and reports each step.
//
// Messages in: {open: config} and {ask: question, number}. Messages out have a `kind`: loading, unkept, ready, answer, problem.

import { connect, init, IndexedDbStore } from "./client/init.js";
import { Embedding } from "./embedding.js";
import { entropy, pictureOf, same } from "./noise.js";

let ready;
let running;
// The requests of the previous answer.
let before;

self.onmessage = ({ data }) => {
  if (data.open) ready = opened(data.open);
  // A failure is reported where it happens.
  else ready?.then((parts) => asked(parts, data), () => {});
};

/** Loads the embedding and opens the client. */
async function opened(config) {
  try {
    await started();
    const store = new Watched();
    const [{ embedding, loaded }, client] = await Promise.all([tableOf(config.table, store), clientOf(config, store)]);
    if (store.lost) postMessage({ kind: "unkept" });
    if (client.dim !== embedding.dim) {
      throw coded("dim", `The index has ${client.dim} coordinates, and the word vectors of this page ${embedding.dim}.`);
    }
    postMessage({ kind: "ready", about: { records: client.records, words: loaded, index: client.bytesOnce } });
    return { embedding, client, exchanges: config.exchanges };
  } catch (error) {
    problem(error);
    throw error;
  }
}

async function started() {
  try {
    await init("client/sordino.wasm");
  } catch (error) {
    throw error.code === "unsupported" ? error : coded("start", `client/sordino.wasm: ${error.message}`);
  }
}

async function clientOf(config, store) {
  config.exchanges = [];
  return connect(config.server, {
    readerKey: config.readerKey,
    cache: store,
    onExchange: (exchange) => {
      config.exchanges.push({ ...exchange, ended: performance.now() });
      postMessage({ kind: "loading", what: "index", bytes: config.exchanges.reduce((sum, { received }) => sum + received, 0) });
    },
  });
}

/** The browser's store, which also records whether the browser keeps what it is given. */
class Watched {
  #store = new IndexedDbStore();
  lost = false;

  get(digest) {
    return this.#store.get(digest);
  }

  async put(digest, part) {
    await this.#store.put(digest, part);
    this.lost ||= (await this.#store.get(digest))?.length !== part.length;
  }

  pin(name) {
    return this.#store.pin(name);
  }

  setPin(name, pin) {
    return this.#store.setPin(name, pin);
  }
}

/** The table of words, from the store or the page's server, and the loaded bytes. The table must have the digest in the settings. */
async function tableOf({ url, bytes, sha256 }, store) {
  const kept = await store.get(sha256);
  if (kept !== undefined && (await digestOf(kept)) === sha256) return { embedding: new Embedding(kept.slice().buffer), loaded: 0 };
  const file = await downloaded(url, bytes);
  const found = await digestOf(file);
  if (found !== sha256) throw coded("table", `${url} has digest ${found}; expected ${sha256}`);
  await store.put(sha256, file);
  return { embedding: new Embedding(file.buffer), loaded: bytes };
}

async function downloaded(url, bytes) {
  const response = await fetch(url).catch((error) => {
    throw coded("start", `${url}: ${error.message}`);
  });
  if (!response.ok) throw coded("start", `${url}: HTTP ${response.status}`);
  const file = new Uint8Array(bytes);
  let at = 0;
  for await (const piece of pieces(response.body)) {
    if (at + piece.length > bytes) throw coded("table", `${url} has more than ${bytes} bytes`);
    file.set(piece, at);
    at += piece.length;
    postMessage({ kind: "loading", what: "words", bytes: at });
  }
  if (at !== bytes) throw coded("table", `${url} has ${at} bytes; expected ${bytes}`);
  return file;
}

async function digestOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The pieces of a stream. Some browsers cannot iterate over streams. */
async function* pieces(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function asked({ embedding, client, exchanges }, { ask, number }) {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  try {
    const began = performance.now();
    const vector = embedding.embed(ask);
    const embedded = performance.now();
    exchanges.length = 0;
    const { hits } = await client.search(vector, { payloads: "text", signal });
    const ended = performance.now();
    const steps = stepsOf([...exchanges], { began, embedded, ended });
    const found = hits.map(({ score, payload }) => ({ score, payload: payload ?? "" }));
    const seen = seenOf(exchanges.map(({ requestBytes }) => requestBytes));
    postMessage({ kind: "answer", number, hits: found, steps, seen }, [seen.picture.data.buffer]);
  } catch (error) {
    if (!signal.aborted) problem(error, number);
  }
}

/** The steps of a search in order, here and at the server. */
function stepsOf(exchanges, { began, embedded, ended }) {
  const steps = [{ step: "embed", ms: embedded - began }];
  let last = embedded;
  for (const { stage, sent, received, ms, ended: then } of exchanges) {
    steps.push({ step: last === embedded ? "encrypt" : "decrypt", ms: then - ms - last }, { step: stage, ms, sent, received });
    last = then;
  }
  steps.push({ step: "decrypt", ms: ended - last });
  return steps;
}

/** What the server saw of a question: its size, how it looks, and how it compares with the question before. */
function seenOf(requests) {
  const bytes = joined(requests);
  const seen = { messages: requests.length, size: bytes.length, bits: entropy(bytes), equal: before && same(before, bytes), picture: pictureOf(bytes) };
  before = bytes;
  return seen;
}

function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** An error with one of the codes of `problems.js`. */
function coded(code, message) {
  return Object.assign(new Error(message), { code });
}

function problem(error, number) {
  postMessage({ kind: "problem", number, code: error.code ?? "internal", message: String(error.message ?? error) });
}
