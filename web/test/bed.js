// The base of the tests: the command that serves a page and its index, a browser, and a proxy between them that changes answers.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** The number of definitions in the tests' index. */
export const COUNT = 4000;

export const temporary = () => mkdtemp(join(tmpdir(), "sordino-web-"));
export const removed = (folder) => rm(folder, { recursive: true, force: true });

/** Starts `sordino-web` with its keys and index in `folder`. Returns its addresses and a function that ends it. */
export async function command(folder, { port = 0, serverPort = 0 } = {}) {
  const [program, ...words] = process.env.SORDINO_WEB.split(" ");
  const settings = ["--folder", folder, "--page", process.env.PAGE, "--limit", COUNT, "--port", port, "--server-port", serverPort];
  const child = spawn(program, [...words, ...settings.map(String)], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  let text = "";
  await new Promise((resolve, reject) => {
    child.stdout.on("data", (piece) => {
      text += piece;
      if (/^Open .*$/m.test(text)) resolve();
    });
    child.on("exit", (code) => reject(new Error(`sordino-web ended with ${code}: ${text}`)));
  });
  return {
    page: text.match(/Open (http:\S+)/)[1],
    server: text.match(/is at (http:\S+?)\.?$/m)[1],
    async stop() {
      child.kill("SIGINT");
      await ended;
    },
  };
}

/** Starts Chromium with additional switches. */
export function browser(...switches) {
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", ...switches] });
}

/** Opens this address in a page with its own context. An uncaught error in the page ends the test. */
export async function opened(chrome, address, options = {}) {
  const context = await chrome.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(error.message));
  await page.goto(address);
  return page;
}

export const status = (page) => page.textContent("#status");

/** Waits until the page can search. */
export async function ready(page) {
  await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("Ready"), null, { timeout: 60_000 });
}

/** Asks a question by keyboard, and waits for the answer. */
export async function ask(page, question) {
  await page.fill("#question", question);
  await page.press("#question", "Enter");
  await answered(page);
}

export async function answered(page) {
  await page.waitForFunction(() => / definitions found in /.test(document.querySelector("#status").textContent), null, { timeout: 60_000 });
}

/** Waits for a problem, and returns its title and its text. */
export async function problem(page) {
  await page.waitForSelector("#problem:not([hidden])", { timeout: 60_000 });
  return `${await page.textContent("#problem h2")}: ${await page.textContent("#problem > p")}`;
}

/** Connects to another server, through the page's own settings. */
export async function connect(page, server, key) {
  if (!(await page.isVisible("#server"))) await page.click("#settings summary");
  if (server !== undefined) await page.fill("#server", server);
  if (key !== undefined) await page.setInputFiles("#key", { name: "reader.key", mimeType: "text/plain", buffer: Buffer.from(key) });
  await page.click("#settings form button");
}

/** A server that passes on `target`'s answers, after `change(path, body)`. */
export async function between(target, change) {
  const server = createServer((asked, answer) => {
    const onward = request(target + asked.url, { method: asked.method, headers: asked.headers }, async (reply) => {
      const pieces = [];
      for await (const piece of reply) pieces.push(piece);
      const body = change(asked.url, Buffer.concat(pieces), asked.method);
      const headers = { ...reply.headers };
      delete headers["transfer-encoding"];
      answer.writeHead(reply.statusCode, { ...headers, "content-length": body.length });
      answer.end(body);
    });
    asked.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
