// Tests that closing a client erases its keys from the module's memory.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Workshop } from "./server.js";

const memories = [];
const { Instance } = WebAssembly;
WebAssembly.Instance = function (module, imports) {
  const made = new Instance(module, imports);
  memories.push(made.exports.memory);
  return made;
};
WebAssembly.Instance.prototype = Instance.prototype;
const { connect } = await import("sordino");

let workshop;
before(() => {
  workshop = new Workshop();
});
after(() => workshop?.close());

/** The pieces of a reader's secret that the memory contains. The secret is the beginning of the
 * key. */
function pieces(key) {
  const digits = key.trim().split(":")[1].slice(0, 64);
  const memory = Buffer.from(memories[0].buffer);
  const found = [];
  for (let at = 0; at + 32 <= digits.length; at += 32) {
    const piece = Buffer.from(digits.slice(at, at + 32), "hex");
    if (memory.includes(piece)) found.push(at);
  }
  return found;
}

test("nothing of a reader's secrets is left after close", async () => {
  workshop.build("kept");
  const url = await workshop.serve("kept");
  const readerKey = workshop.read("reader.key");
  const client = await connect(url, { readerKey });
  await client.search(workshop.vectors[3]);
  assert.deepEqual(pieces(readerKey), [0, 32], "a client has its key");
  await client.close();
  assert.deepEqual(pieces(readerKey), []);
});
