// A client of one index at one server, as callers see it.

import { errorOf, SordinoError, translated } from "./errors.js";
import { keystream } from "./keystream.js";
import { post } from "./post.js";
import { storeOf } from "./storage.js";

/** The most changes of the index and restarts of the server that one call follows before it fails. */
const CHANGES = 5;

const BAD_BEFORE = "a reply before the index changed or the server was restarted was not its own: stop using this server, and do not repeat the query";

/** Connects to a server and downloads what searching needs. `engine` gives the WebAssembly module. */
export async function connectWith(engine, url, options = {}) {
  const { signal } = options;
  signal?.throwIfAborted();
  const settings = checked(url, options);
  const { Reader } = await engine();
  const client = new Client(settings);
  const readerKey = bytesOf(options.readerKey, "readerKey");
  const clientKey = options.clientKey === undefined ? undefined : bytesOf(options.clientKey, "clientKey");
  let reader;
  try {
    reader = new Reader(
      readerKey,
      clientKey,
      options.token === undefined ? undefined : tokenOf(options.token),
      settings.index,
      settings.store !== undefined,
    );
  } catch (error) {
    throw translated(error);
  } finally {
    readerKey.fill(0);
    clientKey?.fill(0);
  }
  await client._open(reader, options);
  return client;
}

/** The client of one index. It runs its calls one at a time, in order. */
export class Client {
  #settings;
  #reader;
  #about;
  #pin;
  /** The stored pin that is known to belong to the same history as this client's version. */
  #seen;
  #last = Promise.resolve();
  #distrusted;

  constructor(settings) {
    this.#settings = settings;
  }

  /** How the index is searched: `masked`, `open`, `routed`, `sealed` or `local`. */
  get mode() {
    return this.#about.mode;
  }

  /** The number of coordinates of a vector. */
  get dim() {
    return this.#about.dim;
  }

  /** The most hits of a search. */
  get k() {
    return this.#about.k;
  }

  /** `cosine`, `euclidean` or `innerproduct`. */
  get metric() {
    return this.#about.metric;
  }

  /** The number of records, deleted ones included. */
  get records() {
    return this.#about.records;
  }

  /** The version of the index, a BigInt. */
  get version() {
    return this.#about.version;
  }

  /** The kind of ids: `number` (BigInts here), `text` or `uuid`. */
  get ids() {
    return this.#about.ids;
  }

  /** True if records have payloads. */
  get hasPayloads() {
    return this.#about.payloads;
  }

  /** True if a search may return shortened payloads: `payloads` fetches them whole. */
  get shortens() {
    return this.#about.shortens;
  }

  /** The recall that the owner measured, if it was measured. */
  get recall() {
    return this.#about.recall;
  }

  /** The bytes of one-time downloads. */
  get bytesOnce() {
    return this.#about.bytesOnce;
  }

  /** The line to store and to pass to the next `connect`, so that no server can present an older version. */
  get pin() {
    return this.#pin;
  }

  /** Finds the records nearest to a vector. */
  async search(vector, options = {}) {
    const { k, where, threshold, payloads = true, attributes = false, signal } = options;
    if (!(vector instanceof Float32Array)) {
      throw errorOf("argument", "the vector: expected a Float32Array", "vector");
    }
    if (k !== undefined && !(Number.isInteger(k) && k > 0 && k < 2 ** 32)) {
      throw errorOf("argument", `k = ${k}: expected a whole number from 1 on`, "k");
    }
    if (where !== undefined && typeof where !== "string") {
      throw errorOf("argument", "where: expected a condition, such as \"year >= 2020\"", "where");
    }
    if (threshold !== undefined && typeof threshold !== "number") {
      throw errorOf("argument", "threshold: expected a number", "threshold");
    }
    // A copy, so that later changes by the caller have no effect.
    const asked = vector.slice();
    return this.#turn(signal, async (count) => {
      const begin = () =>
        this.#reader.search(asked, k, threshold, where, Boolean(payloads), Boolean(attributes));
      const hits = await this.#following(begin, signal, count);
      if (payloads === "text") {
        const decoder = new TextDecoder();
        for (const hit of hits) {
          if (hit.payload) hit.payload = decoder.decode(hit.payload);
        }
      }
      return { hits, stats: count.stats() };
    });
  }

  /** The payloads of records by their ids; `undefined` for a record that does not exist. */
  async payloads(ids, { signal } = {}) {
    // A copy, so that later changes by the caller have no effect.
    const asked = [...ids];
    return this.#turn(signal, (count) => {
      return this.#following(() => this.#reader.payloads(asked), signal, count);
    });
  }

  /** Follows the index to its newest version. Resolves to true if there was one. */
  async refresh({ signal } = {}) {
    return this.#turn(signal, async (count) => {
      const before = this.version;
      if (await this.#following(() => this.#reader.refresh(), signal, count)) await this.#learn(signal, count);
      return this.version !== before;
    });
  }

  /** Closes the client and erases its keys, after the calls in progress have ended. */
  async close() {
    await this.#last;
    this.#freed(this.#reader);
    this.#reader = undefined;
  }

  /** Frees an object of the WebAssembly module. An object in which the module stopped stays allocated. */
  #freed(object) {
    try {
      object?.free();
    } catch {
      // The call in which it stopped has reported the reason.
    }
  }

  /** Only `connect` calls this. */
  async _open(reader, { pin, overGap = false, signal }) {
    const { store, name } = this.#settings;
    this.#reader = reader;
    try {
      this.#seen = pin === undefined ? await store?.pin?.(name) : undefined;
      const known = pin ?? this.#seen;
      const count = new Count();
      await this.#run(() => reader.connect(known, Boolean(overGap)), signal, count);
      await this.#learn(signal, count);
    } catch (error) {
      this.#freed(reader);
      this.#reader = undefined;
      throw error;
    }
  }

  /** Runs `work` after all earlier calls. */
  #turn(signal, work) {
    const turn = this.#last.then(async () => {
      signal?.throwIfAborted();
      if (!this.#reader) throw errorOf("closed", "this client is closed: connect again");
      if (this.#distrusted) throw this.#distrusted;
      return work(new Count());
    });
    this.#last = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  /** Runs a call, and repeats it with fresh secrets if the index changed or the server was restarted meanwhile. */
  async #following(begin, signal, count) {
    let bad = false;
    for (let changes = 0; ; changes += 1) {
      try {
        const done = await this.#run(begin, signal, count);
        // An earlier bad reply is reported only after the last message.
        if (bad) throw errorOf("bad-reply", BAD_BEFORE);
        return done;
      } catch (error) {
        const ours = error instanceof SordinoError;
        bad ||= ours && error.code === "bad-reply";
        // The client follows the index after a bad reply too, so that its requests do not show whether it noticed
        // one.
        const restarted = ours && error.reason === "restarted";
        if (!ours || !(restarted || error.reason === "stale") || changes === CHANGES) throw this.#ended(error, bad);
        // The repeated call logs in again.
        if (restarted) continue;
        try {
          if (await this.#run(() => this.#reader.refresh(), signal, count)) await this.#learn(signal, count);
        } catch (then) {
          throw this.#ended(then, bad);
        }
      }
    }
  }

  /** After a bad reply the client sends no more requests, since its reactions could tell the server about its
   * queries. */
  #ended(error, bad) {
    if (!bad) return error;
    this.#distrusted = error.code === "bad-reply" ? error : errorOf("bad-reply", BAD_BEFORE, undefined, error);
    return this.#distrusted;
  }

  /** Reads the index's current facts, stores its pin, and expands its pads. */
  async #learn(signal, count) {
    this.#about = this.#reader.about();
    this.#pin = this.#reader.pin();
    await this.#remember(signal, count);
    await this.#run(() => this.#reader.keepPads(this.#settings.padBytes), signal, count);
  }

  /** Stores the pin, unless a newer one is stored. Pins that others stored meanwhile must belong to the same
   * history. */
  async #remember(signal, count) {
    const { store, name } = this.#settings;
    if (!store?.setPin) return;
    for (;;) {
      const stored = await store.setPin(name, this.#pin, this.#seen);
      if (stored === this.#seen || stored === this.#pin || stored === undefined) break;
      try {
        await this.#run(() => this.#reader.checkPin(stored), signal, count);
      } catch (error) {
        if (error.code === "untrusted") this.#distrusted = error;
        throw error;
      }
      this.#seen = stored;
      if (versionOf(stored) > versionOf(this.#pin)) return;
    }
    this.#seen = this.#pin;
  }

  /** Runs the steps of a call. */
  async #run(begin, signal, count) {
    const operation = count.measured(begin);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const step = count.measured(() => operation.next());
        if (step === undefined) return count.measured(() => operation.outcome());
        await this.#step(operation, step, signal, count);
      }
    } catch (error) {
      // The module stopped in the middle of its work, so its state cannot be used.
      if (error.code === "internal") this.#distrusted = error;
      throw error;
    } finally {
      this.#freed(operation);
    }
  }

  async #step(operation, step, signal, count) {
    const { store } = this.#settings;
    if (step.kind === "kept") {
      const part = await store.get(hex(step.digest));
      const whole = part instanceof Uint8Array && part.length === step.length;
      return operation.part(whole ? part : undefined);
    }
    if (step.kind === "keep") {
      await store.put(hex(step.digest), step.body);
      return operation.part(undefined);
    }
    if (step.kind === "encrypt") return operation.words(await keystream(step));
    const began = performance.now();
    const answer = await post(step, { ...this.#settings, signal });
    const ms = performance.now() - began;
    const received = answer.body?.length ?? 0;
    count.exchanged(step.body.length, received, ms);
    this.#settings.onExchange?.({
      stage: step.stage,
      sent: step.body.length,
      received,
      ms,
      requestBytes: step.body,
    });
    if (answer.failed) operation.failed(answer.failed, answer.why);
    else operation.reply(answer.status, answer.headers, answer.body);
  }
}

/** The costs of a call. */
class Count {
  #began = performance.now();
  #client = 0;
  #network = 0;
  #sent = 0;
  #received = 0;
  #exchanges = 0;

  /** Runs work of the WebAssembly module, measures its time, and converts its errors to the classes of this
   * package. */
  measured(work) {
    const began = performance.now();
    try {
      return work();
    } catch (error) {
      throw translated(error);
    } finally {
      this.#client += performance.now() - began;
    }
  }

  exchanged(sent, received, ms) {
    this.#exchanges += 1;
    this.#sent += sent;
    this.#received += received;
    this.#network += ms;
  }

  stats() {
    return {
      ms: performance.now() - this.#began,
      clientMs: this.#client,
      networkMs: this.#network,
      bytesSent: this.#sent,
      bytesReceived: this.#received,
      exchanges: this.#exchanges,
    };
  }
}

/** Checks the settings of a client, and throws an error that explains a fault. */
function checked(url, options) {
  const { index, cache, pin, timeout = 30_000, padBytes = 128 << 20, onExchange, fetch = globalThis.fetch } = options;
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    parsed = undefined;
  }
  const path = parsed?.pathname.replace(/\/$/, "").slice(1);
  const wrong =
    !parsed ||
    !["http:", "https:"].includes(parsed.protocol) ||
    parsed.username ||
    parsed.password ||
    parsed.search ||
    parsed.hash ||
    path.includes("/");
  if (wrong) {
    const expected = "https://host:port, or https://host:port/INDEX where the server has several indexes";
    // The message must not show a password.
    const shown = parsed?.username || parsed?.password ? "with a name or a password" : JSON.stringify(String(url));
    throw errorOf("argument", `the address ${shown}: expected ${expected}`, "url");
  }
  if (index !== undefined && path && path !== index) {
    throw errorOf("argument", `the address names the index ${path}, and index is ${index}`, "index");
  }
  if (!(timeout > 0)) throw errorOf("argument", "timeout: expected milliseconds", "timeout");
  if (!(padBytes >= 0 && padBytes < 2 ** 32)) throw errorOf("argument", "padBytes: expected bytes", "padBytes");
  if (pin !== undefined && typeof pin !== "string") {
    throw errorOf("argument", "pin: expected what client.pin was", "pin");
  }
  const store = storeOf(cache);
  if (store === null) {
    const expected = 'true, false, "memory" or an object with get and put';
    throw errorOf("argument", `cache: expected ${expected}`, "cache");
  }
  return {
    base: parsed.origin,
    index: index ?? (path || undefined),
    name: `${parsed.origin}/${index ?? path}`,
    store,
    timeout,
    padBytes,
    onExchange,
    fetch: (...all) => fetch(...all),
  };
}

/** A copy of the bytes of a key file, which is erased after use. */
function bytesOf(key, name) {
  if (typeof key === "string") return new TextEncoder().encode(key);
  if (key instanceof Uint8Array) return key.slice();
  throw errorOf("key", `${name}: expected the content of a key file, as text or a Uint8Array`, name);
}

/** A token's bytes, of which its text is the base64url. */
function tokenOf(token) {
  if (token instanceof Uint8Array) return token;
  try {
    const text = token.trim().replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/");
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    throw errorOf("argument", "token: expected its bytes, or its text in base64url", "token");
  }
}

/** The version that a pin names. */
function versionOf(pin) {
  return BigInt(/^\S+ (\d+) /.exec(pin)?.[1] ?? 0);
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
