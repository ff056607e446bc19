export * from "./index.js";

/** Names the WebAssembly module, `sordino/sordino.wasm`: its bytes, or where they are. To be awaited before `connect`. */
export function init(urlOrBytes: string | URL | ArrayBuffer | ArrayBufferView): Promise<void>;
