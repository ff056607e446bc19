// The WebAssembly module, made once.

import { initSync, Reader } from "../target/sordino.js";
import { errorOf } from "./errors.js";

let made = false;

/** A module with one function that needs SIMD. */
const SIMD = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);

/** Makes the module of what `source` gives, bytes or a response of HTTP, unless it is made. */
export async function engineOf(source) {
  if (!made) {
    if (typeof WebAssembly !== "object" || !WebAssembly.validate(SIMD)) {
      const needed = "Chrome 91, Firefox 89, Safari 16.4, Node.js 20 or later";
      throw errorOf("unsupported", `this platform has no WebAssembly with SIMD: use ${needed}`, "simd");
    }
    const given = await source();
    // Of a response a browser compiles while it loads, and keeps what it compiled for the next visit.
    const module = await (given instanceof Response ? WebAssembly.compileStreaming(given) : WebAssembly.compile(given));
    if (!made) initSync({ module });
    made = true;
  }
  return { Reader };
}
