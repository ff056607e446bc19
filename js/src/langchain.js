// The entry for LangChain: a vector store that reads the documents of an index.

import { Document } from "@langchain/core/documents";
import { VectorStore } from "@langchain/core/vectorstores";

import { errorOf } from "./errors.js";

export * from "./errors.js";

const FORMS = ["text", "documents"];

/** An id of each kind to fill up a fetch, so that the server sees the same number of ids each time. */
const FILLING = { number: 0n, text: "", uuid: "00000000-0000-0000-0000-000000000000" };

/** A read-only vector store on a client of `sordino`, `sordino/init` or `sordino/worker`. */
export class SordinoVectorStore extends VectorStore {
  #client;
  #form;

  constructor(embeddings, { client, payloads = "text" } = {}) {
    // LangChain would show the settings, and a client has keys, so no settings are passed on.
    super(embeddings, {});
    if (typeof client?.search !== "function") throw wrong("client: expected what connect() of sordino gave", "client");
    if (!FORMS.includes(payloads)) throw wrong('payloads: expected "text" or "documents"', "payloads");
    if (!client.hasPayloads) throw wrong("this index has no payloads, and so no documents: build it with texts", "client");
    this.#client = client;
    this.#form = payloads;
  }

  _vectorstoreType() {
    return "sordino";
  }

  async similaritySearchVectorWithScore(query, k, filter) {
    const most = this.#form === "documents" ? this.#client.k - 1 : this.#client.k;
    if (!(Number.isInteger(k) && k > 0 && k <= most)) {
      throw wrong(`k = ${k}: expected 1 to ${most}, the most hits of a search of this index`, "k");
    }
    if (filter !== undefined && typeof filter !== "string") {
      throw wrong('filter: expected a condition on attributes, such as "year >= 2020"', "filter");
    }
    const { hits } = await this.#client.search(Float32Array.from(query), { where: filter, attributes: true });
    const texts = await this.#texts(hits);
    const found = hits.map((hit, at) => [this.#document(hit, texts[at]), hit.score]);
    // The record that keeps an index of documents from being empty is not a document.
    return found.filter(([document]) => document !== undefined).slice(0, k);
  }

  /** Refused: this store is read-only. */
  async addDocuments() {
    throw readOnly();
  }

  /** Refused: this store is read-only. */
  async addVectors() {
    throw readOnly();
  }

  /** Refused: this store is read-only. */
  async delete() {
    throw readOnly();
  }

  /** Refused: this store is read-only. */
  static async fromTexts() {
    throw readOnly();
  }

  /** Refused: this store is read-only. */
  static async fromDocuments() {
    throw readOnly();
  }

  /** The complete texts of hits. If a search may shorten texts, all are fetched, so that the server does not
   * see whether one was shortened. */
  async #texts(hits) {
    const client = this.#client;
    let payloads = hits.map(({ payload }) => payload);
    if (client.shortens) {
      const ids = hits.map(({ id }) => id);
      while (ids.length < client.k) ids.push(FILLING[client.ids]);
      payloads = await client.payloads(ids);
    }
    const decoder = new TextDecoder();
    return hits.map((_, at) => decoder.decode(payloads[at] ?? new Uint8Array()));
  }

  /** The document of a hit; `undefined` for the record that is not a document. */
  #document({ id, attributes }, text) {
    if (this.#form === "text") return new Document({ id: String(id), pageContent: text, metadata: attributes });
    if (text === "") return undefined;
    const [name, document] = parsed(text);
    const [pageContent, metadata] = Array.isArray(document) ? document : [];
    if (typeof name !== "string" || typeof pageContent !== "string") {
      const words = 'this index holds no documents of LangChain\'s store in Python; for plain texts say payloads: "text"';
      throw wrong(words, "payloads");
    }
    return new Document({ id: name, pageContent, metadata: metadata ?? {} });
  }
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function wrong(message, reason) {
  return errorOf("argument", message, reason);
}

function readOnly() {
  const words = "this store only reads: the index's owner adds and deletes documents, by the command sordino or in Python";
  return errorOf("unsupported", words, "read-only");
}
