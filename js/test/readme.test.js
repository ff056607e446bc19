// The code of README.md runs as it stands.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { Workshop } from "./server.js";

let workshop;
let url;

before(async () => {
  workshop = new Workshop();
  workshop.build("masked");
  url = await workshop.serve("masked");
});
after(() => workshop?.close());

const text = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = [...text.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);

test("there is code", () => assert.equal(blocks.length, 2));

for (const [at, code] of blocks.entries()) {
  test(`block ${at + 1}`, async () => {
    const [, names, entry] = /^import (\{.*?\}) from "(.*)";$/m.exec(code);
    const body = code.replace(/^import .*$/m, "").replace("https://search.example:7700", url);
    const said = [];
    const run = new Function("module", "readerKey", "vector", "console", `return (async () => { const ${names} = module; ${body} })();`);
    await run(await import(entry), workshop.read("reader.key"), workshop.vectors[1], { log: (...all) => said.push(all) });
    assert.ok(said.length >= 2, `${said.length} lines`);
  });
}
