// Tests that each possible problem has a message that says what to do, and that the page is never
// blank.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { told } from "../problems.js";
import { answered, ask, between, browser, command, connect, opened, problem, ready, removed, status, temporary } from "./bed.js";

let folders;
let served;
let chrome;

before(async () => {
  folders = [await temporary(), await temporary()];
  served = await command(folders[0]);
  chrome = await browser();
});

after(async () => {
  await chrome?.close();
  await served?.stop();
  for (const folder of folders) await removed(folder);
});

/** Opens a page whose requests to a path are answered by `answer`. */
async function altered(path, answer) {
  const context = await chrome.newContext();
  await context.route(`**/${path}`, answer);
  const page = await context.newPage();
  await page.goto(served.page);
  return page;
}

async function closed(page) {
  await page.context().close();
}

test("each code of the client's errors has a sentence of its own", async () => {
  const types = await readFile(join(process.env.CLIENT, "index.d.ts"), "utf8");
  const codes = types.match(/readonly code:([^;]*);/)[1].match(/[a-z-]+/g);
  const place = { origin: "http://page", server: "http://server", message: "its words" };
  const other = told({ code: "none", message: "its words" }, place);
  assert.ok(codes.length > 8 && other.text.length > 0 && other.retry);
  for (const code of codes) {
    const { title, text } = told({ code, message: "its words" }, place);
    assert.ok(text.length > 20 && !text.includes("undefined"), code);
    // A client that was closed, and a fault in the client, are faults of the page.
    assert.equal(title === other.title, ["closed", "internal"].includes(code), code);
  }
});

test("without WebAssembly's SIMD", async () => {
  // A processor without SSE 4.1.
  const old = await browser("--js-flags=--no-enable-sse3 --no-enable-ssse3 --no-enable-sse4-1");
  const page = await opened(old, served.page);
  assert.match(await problem(page), /cannot run the search: It has no WebAssembly with SIMD.*Use Chrome 91/);
  await old.close();
});

test("without WebAssembly", async () => {
  const page = await opened(chrome, "about:blank");
  await page.addInitScript(() => delete globalThis.WebAssembly);
  await page.goto(served.page);
  assert.match(await problem(page), /Use Chrome 91/);
  await closed(page);
});

test("over plain http from another machine, where there is no WebCrypto", async () => {
  // The demo answers only to this machine's names, so this test fetches the other name's files.
  const page = await opened(chrome, "about:blank");
  await page.context().route("http://far.example/**", async (route) => {
    const { pathname } = new URL(route.request().url());
    await route.fulfill({ response: await route.fetch({ url: new URL(pathname, served.page).href }) });
  });
  await page.goto("http://far.example/");
  assert.match(await problem(page), /no cryptography: The page came over plain http.*http:\/\/far\.example.*https/);
  await closed(page);
});

test("a file of the page is missing", async () => {
  for (const path of ["config.json", "client/sordino.wasm", "worker.js", "client/init.js", "words.safetensors"]) {
    const page = await altered(path, (route) => route.fulfill({ status: 404, body: "none" }));
    assert.match(await problem(page), /Part of this page is missing/, path);
    await closed(page);
  }
});

test("the table of words is damaged, and mended", async () => {
  const page = await altered("words.safetensors", async (route) => {
    const answer = await route.fetch();
    const body = await answer.body();
    body[body.length >> 1] ^= 1;
    await route.fulfill({ response: answer, body });
  });
  assert.match(await problem(page), /The word vectors are damaged/);
  await page.context().unroute("**/words.safetensors");
  await page.click("#problem button");
  await ready(page);
  await closed(page);
});

test("JavaScript is switched off", async () => {
  const page = await opened(chrome, served.page, { javaScriptEnabled: false });
  assert.match(await page.innerText("body"), /Allow it for this page/);
  assert.match(await status(page), /If this text stays/);
  await closed(page);
});

test("the server is gone, and comes back", async () => {
  const [port, serverPort] = [served.page, served.server].map((address) => new URL(address).port);
  const page = await opened(chrome, served.page);
  await ready(page);
  await served.stop();
  await page.fill("#question", "frozen water");
  await page.press("#question", "Enter");
  assert.match(await problem(page), new RegExp(`does not answer: .*${serverPort} runs, and admits this page \\(--allow-origin http://127.0.0.1:${port}\\)`));
  served = await command(folders[0], { port, serverPort });
  await page.click("#problem button");
  await answered(page);
  assert.ok(await page.isHidden("#problem"));
  await closed(page);
});

test("the server is one of another owner", async () => {
  const other = await command(folders[1]);
  const page = await opened(chrome, served.page);
  await ready(page);
  await connect(page, other.server);
  // The server does not admit this page, since each command admits only its own page.
  assert.match(await problem(page), /does not answer.*--allow-origin/);
  await closed(page);
  // A second server, whose page has the first one's key: its index is signed by another owner.
  const second = await opened(chrome, other.page);
  await ready(second);
  await connect(second, undefined, await readFile(join(folders[0], "reader.key")));
  assert.match(await problem(second), /cannot be trusted.*another index is served there/);
  await connect(second, undefined, await readFile(join(folders[1], "reader.key")));
  await ready(second);
  await closed(second);
  await other.stop();
});

test("keys are malformed", async () => {
  const page = await opened(chrome, served.page);
  await ready(page);
  const key = await readFile(join(folders[0], "reader.key"), "utf8");
  const owner = await readFile(join(folders[0], "owner.key"), "utf8");
  for (const wrong of ["", "no key", key.slice(0, -20), key.replace(/[0-9a-f]{4}$/m, "zzzz"), owner.slice(0, 60), "\0".repeat(5000)]) {
    await connect(page, undefined, wrong);
    assert.match(await problem(page), /key cannot be used: Expected the whole content of a file/, JSON.stringify(wrong.slice(0, 30)));
  }
  await closed(page);
});

test("an address is none", async () => {
  const page = await opened(chrome, served.page);
  await ready(page);
  await connect(page, "ftp://127.0.0.1");
  assert.match(await problem(page), /A setting cannot be used: .*Correct it under “Server and key”/);
  await closed(page);
});

test("the server lies", async () => {
  let lie = false;
  const liar = await between(served.server, (path, body) => {
    // The middle of a long answer has ciphertexts.
    if (lie && body.length > 5000) for (let at = body.length >> 2; at < body.length >> 1; at++) body[at] ^= 0x55;
    return body;
  });
  const page = await opened(chrome, served.page);
  await ready(page);
  await connect(page, liar.address);
  await ready(page);
  lie = true;
  await page.fill("#question", "frozen water");
  await page.press("#question", "Enter");
  assert.match(await problem(page), /The server gave a wrong answer.*no result is shown/);
  assert.ok(await page.isHidden("#found"));
  // The client asks the server nothing more, even after it is honest again.
  lie = false;
  await page.fill("#question", "frozen water");
  await page.press("#question", "Enter");
  assert.match(await problem(page), /The server gave a wrong answer/);
  await closed(page);
  liar.close();
});

test("what is downloaded is changed on the way", async () => {
  const liar = await between(served.server, (path, body) => {
    if (body.length > 100_000) body[body.length >> 1] ^= 1;
    return body;
  });
  const page = await opened(chrome, served.page);
  await ready(page);
  // Without the stored downloads the page must download them again.
  await page.evaluate(async () => {
    for (const { name } of await indexedDB.databases()) indexedDB.deleteDatabase(name);
  });
  await connect(page, liar.address);
  assert.match(await problem(page), /cannot be trusted|wrong answer/);
  await closed(page);
  liar.close();
});

test("storage is full, or forbidden", async () => {
  const page = await opened(chrome, "about:blank");
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Storage.overrideQuotaForOrigin", { origin: served.page, quotaSize: 1000 });
  await page.goto(served.page);
  await ready(page);
  assert.match(await page.textContent("#notice"), /keeps nothing for this page: its storage is full or forbidden.*Searching works/);
  await ask(page, "frozen water");
  await closed(page);
});
