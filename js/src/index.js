// The entry that contains the WebAssembly module.

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
  // The platform's own function, if there is one, takes a tenth of the time.
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  if (globalThis.Buffer?.from) return globalThis.Buffer.from(base64, "base64");
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
}
