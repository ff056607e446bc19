// The entry with the WebAssembly module in it.

import base64 from "../target/sordino.base64.js";
import { connectWith } from "./client.js";
import { engineOf } from "./engine.js";

export { Client } from "./client.js";
export * from "./errors.js";
export { IndexedDbStore, MemoryStore } from "./storage.js";

/** Connects to a server. */
export function connect(url, options) {
  return connectWith(() => engineOf(bytes), url, options);
}

function bytes() {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
}
