// Tests the packed package in pages that Vite and webpack build. Each entry must find what the command finds, in a page without
// COOP and COEP.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { Workshop } from "../../js/test/server.js";
import { browser, opened } from "./bed.js";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
const { BUNDLERS } = process.env;

let chrome;
let pages;
let workshop;
let index;

before(async () => {
  pages = createServer(async (asked, answer) => {
    const path = join(BUNDLERS, new URL(asked.url, "http://page").pathname);
    try {
      const body = await readFile(path);
      answer.writeHead(200, { "content-type": TYPES[extname(path)] }).end(body);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((resolve) => pages.listen(0, "127.0.0.1", resolve));
  workshop = new Workshop();
  workshop.build("index");
  index = await workshop.serve("index", "--anyone", "--allow-origin", origin());
  chrome = await browser();
});

after(async () => {
  await chrome?.close();
  workshop?.close();
  pages?.close();
});

const origin = () => `http://127.0.0.1:${pages.address().port}`;

for (const bundler of ["vite", "webpack"]) {
  test(bundler, async () => {
    await promisify(execFile)(process.execPath, ["build.mjs", bundler], { cwd: BUNDLERS });
    const page = await opened(chrome, `${origin()}/${bundler}/index.html`);
    const asked = [];
    page.context().on("request", (request) => asked.push(new URL(request.url())));
    await page.waitForFunction(() => globalThis.search);
    assert.equal(await page.evaluate(() => crossOriginIsolated), false);
    for (const [at, entry] of ["inlined", "separate", "worker"].entries()) {
      const vector = workshop.vectors[at];
      const values = [entry, index, workshop.read("reader.key"), [...vector]];
      const hits = await page.evaluate((values) => globalThis.search(...values), values);
      const expected = workshop.query(index, vector, "--k", "3");
      assert.equal(hits.length, 3);
      hits.forEach(({ id, score, payload }, place) => {
        assert.ok(Math.abs(score - expected[place].score) < 1e-3, `${entry}: ${score}`);
        assert.ok(place > 0 || BigInt(id) === expected[0].id, `${entry}: ${id}`);
        assert.match(payload, /^record \d+ x*$/);
      });
    }
    const files = asked.filter((url) => url.origin === origin()).map(({ pathname }) => pathname);
    // The module in its own file, the Worker's script, and the scripts that it imports.
    assert.ok(files.some((path) => path.endsWith(".wasm")) && files.length >= 2, files.join(" "));
    assert.ok(files.every((path) => path.startsWith(`/${bundler}/`)), files.join(" "));
    assert.deepEqual(page.errors, []);
    await page.context().close();
  });
}
