export * from "./index.js";

/** Sets the WebAssembly module, `sordino/sordino.wasm`, by its bytes or its address. Await it before `connect`. */
export function init(urlOrBytes: string | URL | ArrayBuffer | ArrayBufferView): Promise<void>;
