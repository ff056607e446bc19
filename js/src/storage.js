// Stores for parts that are downloaded once. The server has the same bytes, and readers check them by their digest.

const PARTS = "parts";
const PINS = "pins";

/** A store in memory, which lasts as long as the page or process. */
export class MemoryStore {
  #parts = new Map();
  #pins = new Map();

  async get(digest) {
    return this.#parts.get(digest);
  }

  async put(digest, part) {
    this.#parts.set(digest, part);
  }

  async pin(name) {
    return this.#pins.get(name);
  }

  async setPin(name, pin, seen) {
    const stored = this.#pins.get(name);
    if (stored === seen) this.#pins.set(name, pin);
    return stored;
  }
}

/** A store in the browser's IndexedDB. If that is full or forbidden, nothing is stored. */
export class IndexedDbStore {
  #limit;
  #open;

  constructor({ name = "sordino", limit = 512 << 20, indexedDB = globalThis.indexedDB } = {}) {
    this.#limit = limit;
    this.#open = opened(indexedDB, name).catch(() => undefined);
  }

  async get(digest) {
    const found = await this.#do(PARTS, "readwrite", (store) => {
      const request = store.get(digest);
      request.onsuccess = () => {
        if (request.result) store.put({ ...request.result, used: Date.now() }, digest);
      };
      return request;
    });
    return found?.part;
  }

  async put(digest, part) {
    if (part.length > this.#limit) return;
    await this.#do(PARTS, "readwrite", (store) => {
      return store.put({ part, length: part.length, used: Date.now() }, digest);
    });
    await this.#trim();
  }

  async pin(name) {
    return this.#do(PINS, "readonly", (store) => store.get(name));
  }

  async setPin(name, pin, seen) {
    return this.#do(PINS, "readwrite", (store) => {
      const request = store.get(name);
      request.onsuccess = () => {
        if (request.result === seen) store.put(pin, name);
      };
      return request;
    });
  }

  /** Removes the least recently used parts until the rest is within the limit. */
  async #trim() {
    await this.#do(PARTS, "readwrite", (store) => {
      const kept = [];
      const request = store.openCursor();
      request.onsuccess = () => {
        const cursor = request.result;
        if (cursor) {
          kept.push([cursor.value.used, cursor.value.length, cursor.key]);
          return cursor.continue();
        }
        let bytes = kept.reduce((sum, [, length]) => sum + length, 0);
        for (const [, length, digest] of kept.sort(([a], [b]) => a - b)) {
          if (bytes <= this.#limit) break;
          bytes -= length;
          store.delete(digest);
        }
      };
      return request;
    });
  }

  async #do(name, mode, work) {
    const db = await this.#open;
    if (!db) return undefined;
    try {
      const transaction = db.transaction(name, mode);
      const request = work(transaction.objectStore(name));
      await new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onerror = transaction.onabort = () => reject(transaction.error);
      });
      return request.result;
    } catch {
      return undefined;
    }
  }
}

function opened(indexedDB, name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(PARTS);
      request.result.createObjectStore(PINS);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error);
  });
}

/** Returns the store that an option names. */
export function storeOf(cache) {
  switch (cache) {
    case false:
      return undefined;
    case "memory":
      return new MemoryStore();
    case undefined:
    case true:
      return typeof indexedDB === "object" ? new IndexedDbStore() : undefined;
    default:
      return typeof cache?.get === "function" && typeof cache?.put === "function" ? cache : null;
  }
}
