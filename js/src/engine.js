// The WebAssembly module, which is instantiated once.

import { initSync, Reader } from "../target/sordino.js";
import { errorOf } from "./errors.js";

let made = false;

/** A module whose only function needs SIMD. */
const SIMD = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

/** Instantiates the module from the bytes or the HTTP response that `source` returns, unless it
 * exists already. */
export async function engineOf(source) {
  if (!made) {
    if (typeof WebAssembly !== "object" || !WebAssembly.validate(SIMD)) {
      const needed = "Chrome 91, Firefox 89, Safari 16.4, Node.js 20 or later";
      throw errorOf("unsupported", `this platform has no WebAssembly with SIMD: use ${needed}`, "simd");
    }
    const given = await source();
    // A browser compiles a response while it loads, and caches the compiled module for the next
    // visit.
    const module = await (given instanceof Response ? WebAssembly.compileStreaming(given) : WebAssembly.compile(given));
    if (!made) initSync({ module });
    made = true;
  }
  return { Reader };
}
