// The code that runs in the Worker of `worker.js`.

import { connect } from "./index.js";

const parent = globalThis.process?.getBuiltinModule?.("node:worker_threads")?.parentPort;
const post = (message) => (parent ?? globalThis).postMessage(message);
const aborts = new Map();
let client;

async function answer({ id, method, values }) {
  if (method === "abort") return aborts.get(id)?.abort();
  const abort = new AbortController();
  aborts.set(id, abort);
  try {
    post({ id, value: await done(method, values, abort.signal), about: about() });
  } catch (error) {
    const { message, reason } = error;
    const code = typeof error.code === "string" ? error.code : "internal";
    post({ id, error: { code, message: String(message), reason }, about: about() });
  } finally {
    aborts.delete(id);
  }
  return undefined;
}

async function done(method, values, signal) {
  switch (method) {
    case "connect": {
      const [url, options] = values;
      const onExchange = (exchange) => post({ exchange });
      client = await connect(url, { ...options, onExchange, signal });
      return undefined;
    }
    case "search":
      return client.search(values[0], { ...values[1], signal });
    case "payloads":
      return client.payloads(values[0], { signal });
    case "refresh":
      return client.refresh({ signal });
    default:
      return client.close();
  }
}

/** The client's facts about the index. */
function about() {
  if (!client) return undefined;
  const { mode, dim, k, metric, records, version, ids, hasPayloads, shortens, recall, bytesOnce, pin } = client;
  return { mode, dim, k, metric, records, version, ids, hasPayloads, shortens, recall, bytesOnce, pin };
}

if (parent) parent.on("message", answer);
else globalThis.onmessage = ({ data }) => answer(data);
