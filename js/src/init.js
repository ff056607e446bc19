// The entry without the WebAssembly module; callers pass the module to `init`.

import { connectWith } from "./client.js";
import { engineOf } from "./engine.js";
import { errorOf } from "./errors.js";

export { Client } from "./client.js";
export * from "./errors.js";
export { IndexedDbStore, MemoryStore } from "./storage.js";

let source;

/** Sets the module by its bytes or its address. */
export async function init(urlOrBytes) {
  source = async () => {
    if (urlOrBytes instanceof ArrayBuffer || ArrayBuffer.isView(urlOrBytes)) return urlOrBytes;
    const response = await fetch(urlOrBytes);
    if (!response.ok) throw errorOf("argument", `${urlOrBytes}: HTTP ${response.status}`, "wasm");
    return response.headers.get("content-type") === "application/wasm" ? response : response.arrayBuffer();
  };
  await engineOf(source);
}

/** Connects to a server, after `init`. */
export function connect(url, options) {
  return connectWith(
    () => {
      if (!source) throw errorOf("argument", "call init(urlOrBytes) before connect", "init");
      return engineOf(source);
    },
    url,
    options,
  );
}
