// The code of a test page, which each bundler builds. It searches through the entry that its caller
// names.

import * as inlined from "sordino";
import * as separate from "sordino/init";
import * as worker from "sordino/worker";

const wasm = new URL("sordino/sordino.wasm", import.meta.url);
const entries = { inlined, separate, worker };

globalThis.search = async (entry, url, readerKey, vector) => {
  if (entry === "separate") await separate.init(wasm);
  const client = await entries[entry].connect(url, { readerKey, cache: false });
  const { hits } = await client.search(Float32Array.from(vector), { k: 3, payloads: "text" });
  await client.close();
  return hits.map(({ id, score, payload }) => ({ id: String(id), score, payload }));
};
