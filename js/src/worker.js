// The entry that computes in a Worker, so that a page stays responsive. Its client has the same
// calls.

import { errorOf } from "./errors.js";

export * from "./errors.js";

/** Connects to a server from a new Worker, which `close` ends. */
export async function connect(url, options = {}) {
  const { onExchange, signal, ...rest } = options;
  signal?.throwIfAborted();
  if (rest.fetch !== undefined) {
    throw errorOf("argument", "fetch: a Worker has its own; connect from sordino to give another", "fetch");
  }
  const { cache } = rest;
  if (cache !== undefined && typeof cache !== "boolean" && cache !== "memory") {
    throw errorOf("argument", 'cache: a Worker has its own; expected true, false or "memory"', "cache");
  }
  const client = new WorkerClient(onExchange);
  try {
    await client._call("connect", [String(url), rest], signal);
  } catch (error) {
    client._end();
    throw error;
  }
  return client;
}

/** A client that runs in a Worker. */
class WorkerClient {
  #worker;
  #onExchange;
  #waiting = new Map();
  #next = 0;
  #about = {};
  #gone;

  constructor(onExchange) {
    this.#onExchange = onExchange;
    this.#worker = started(
      (message) => this.#answered(message),
      (why) => this.#failed(why),
    );
  }

  get mode() {
    return this.#about.mode;
  }

  get dim() {
    return this.#about.dim;
  }

  get k() {
    return this.#about.k;
  }

  get metric() {
    return this.#about.metric;
  }

  get records() {
    return this.#about.records;
  }

  get version() {
    return this.#about.version;
  }

  get ids() {
    return this.#about.ids;
  }

  get hasPayloads() {
    return this.#about.hasPayloads;
  }

  get shortens() {
    return this.#about.shortens;
  }

  get recall() {
    return this.#about.recall;
  }

  get bytesOnce() {
    return this.#about.bytesOnce;
  }

  get pin() {
    return this.#about.pin;
  }

  search(vector, { signal, ...options } = {}) {
    return this._call("search", [vector, options], signal);
  }

  payloads(ids, { signal } = {}) {
    return this._call("payloads", [[...ids]], signal);
  }

  refresh({ signal } = {}) {
    return this._call("refresh", [], signal);
  }

  async close() {
    if (this.#gone) return;
    await this._call("close", []);
    this._end();
  }

  /** For this file only. */
  _end() {
    this.#failed("closed");
    this.#worker.terminate();
  }

  async _call(method, values, signal) {
    signal?.throwIfAborted();
    if (this.#gone) throw this.#gone;
    const id = this.#next;
    this.#next += 1;
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#worker.postMessage({ id, method: "abort" });
        this.#waiting.delete(id);
        reject(signal.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
      const done = () => signal?.removeEventListener("abort", stop);
      this.#waiting.set(id, { resolve, reject, done });
      try {
        this.#worker.postMessage({ id, method, values });
      } catch (error) {
        this.#waiting.delete(id);
        done();
        reject(errorOf("argument", `an argument cannot be sent to a Worker: ${error.message}`, "clone", error));
      }
    });
  }

  #answered({ id, exchange, about, value, error }) {
    if (exchange) return this.#onExchange?.(exchange);
    if (about) this.#about = about;
    const call = this.#waiting.get(id);
    if (!call) return undefined;
    this.#waiting.delete(id);
    call.done();
    if (error) return call.reject(errorOf(error.code, error.message, error.reason));
    return call.resolve(value);
  }

  #failed(why) {
    const text = why === "closed" ? "this client is closed: connect again" : `the Worker stopped: ${why}`;
    this.#gone ??= errorOf(why === "closed" ? "closed" : "internal", text);
    for (const call of this.#waiting.values()) {
      call.done();
      call.reject(this.#gone);
    }
    this.#waiting.clear();
  }
}

/** Starts a Worker in a browser, or a thread in Node.js. */
function started(onMessage, onError) {
  const threads = globalThis.process?.getBuiltinModule?.("node:worker_threads");
  if (threads) {
    // Bundlers include each file whose plain address they find; this file is only for Node.js.
    const worker = new threads.Worker(new URL(import.meta.url.replace(/[^/]*$/, "worker-thread.js")));
    worker.on("message", onMessage);
    worker.on("error", (error) => onError(error.message));
    return worker;
  }
  if (typeof Worker !== "function") {
    throw errorOf("unsupported", "this platform has no Worker: use Node.js 20.16 or later, or the entry sordino", "worker");
  }
  const worker = new Worker(new URL("./worker-thread.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data }) => onMessage(data);
  worker.onerror = ({ message }) => onError(message);
  return worker;
}
