// Tests that the code in README.md runs as written.

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

/** An embedding that is the same vector for each question. */
const embeddings = {
  embedQuery: async () => [...workshop.vectors[1]],
};

test("there is code", () => assert.equal(blocks.length, 4));

for (const [at, code] of blocks.entries()) {
  test(`block ${at + 1}`, async () => {
    const imports = /^import (\{.*?\}) from "(.*)";$/gm;
    const modules = await Promise.all([...code.matchAll(imports)].map(([, , entry]) => import(entry)));
    const names = [...code.matchAll(imports)].map(([, names], at) => `const ${names} = modules[${at}];`);
    // Node.js has the module in a file, which its `fetch` cannot read.
    const inPlace = code.replace(imports, "").replace('new URL("sordino/sordino.wasm", import.meta.url)', "wasm");
    const body = inPlace.replace("https://search.example:7700", url);
    const said = [];
    const values = {
      modules,
      embeddings,
      readerKey: workshop.read("reader.key"),
      vector: workshop.vectors[1],
      wasm: readFileSync(new URL("../dist/sordino.wasm", import.meta.url)),
      console: { log: (...all) => said.push(all) },
    };
    const run = new Function(...Object.keys(values), `return (async () => { ${names.join(" ")} ${body} })();`);
    await run(...Object.values(values));
    assert.ok(said.length >= 2 || !code.includes("console.log"), `${said.length} lines`);
  });
}
