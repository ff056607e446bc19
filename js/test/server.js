// Indexes and servers for tests, made with the command `sordino`.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const COMMAND = process.env.SORDINO_COMMAND;
if (!COMMAND) throw new Error("SORDINO_COMMAND: expected the path of sordino");

export const DIM = 64;
export const RECORDS = 1500;

/** Numbers that look random and are the same each time. */
export function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
}

export function vectorsOf(seed, count, dim = DIM) {
  const next = numbers(seed);
  return Array.from({ length: count }, () => Float32Array.from({ length: dim }, () => Math.fround(next())));
}

/** A folder with keys, records and indexes. */
export class Workshop {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "sordino-js-"));
    this.servers = [];
    for (const [kind, ...from] of [
      ["owner"],
      ["reader", "owner"],
      ["public", "owner"],
      ["client"],
      ["client-public", "client"],
      ["issuer"],
      ["issuer-public", "issuer"],
    ]) {
      this.run("keys", "new", kind, `${kind}.key`, ...from.flatMap((it) => ["--from", `${it}.key`]));
    }
    this.vectors = vectorsOf(7, RECORDS);
    this.write("base.jsonl", this.vectors.map((vector, at) => record(vector, BigInt(at) + BIG, at)));
  }

  path(name) {
    return join(this.folder, name);
  }

  read(name) {
    return readFileSync(this.path(name), "utf8");
  }

  write(name, lines) {
    writeFileSync(this.path(name), `${lines.join("\n")}\n`);
  }

  run(...line) {
    return execFileSync(COMMAND, line, { cwd: this.folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  build(name, ...more) {
    this.run("index", "build", "base.jsonl", name, "--key", "owner.key", "--attribute", "year:int", ...more);
  }

  /** Adds a record with this id to an index, which makes a new version. */
  add(name, id) {
    this.write("added.jsonl", [record(vectorsOf(Number(id), 1)[0], id, Number(id))]);
    this.run("index", "add", name, "added.jsonl", "--key", "owner.key", "--attribute", "year:int");
  }

  copy(name, to) {
    rmSync(this.path(to), { recursive: true, force: true });
    cpSync(this.path(name), this.path(to), { recursive: true });
  }

  /** Serves an index, and returns its address. */
  async serve(name, ...access) {
    return this.serveAt(0, name, ...access);
  }

  /** Serves an index at this port of this machine. */
  async serveAt(at, name, ...access) {
    const who = access.length > 0 ? access : ["--anyone"];
    const line = ["serve", name, "--key", "public.key", "--listen", `127.0.0.1:${at}`, "--plaintext", ...who];
    const server = spawn(COMMAND, line, { cwd: this.folder, stdio: ["ignore", "pipe", "pipe"] });
    this.servers.push(server);
    let said = "";
    const port = await new Promise((resolve, reject) => {
      const hear = (bytes) => {
        said += bytes;
        const found = / on 127\.0\.0\.1:(\d+)/.exec(said);
        if (found) resolve(found[1]);
      };
      server.stdout.on("data", hear);
      server.stderr.on("data", hear);
      server.on("exit", () => reject(new Error(`the server ended: ${said}`)));
    });
    return `http://127.0.0.1:${port}`;
  }

  /** Stops the server that was started last. */
  async stop() {
    const server = this.servers.pop();
    const ended = new Promise((resolve) => server.on("exit", resolve));
    server.kill("SIGTERM");
    await ended;
  }

  /** The hits that the command finds. */
  query(url, vector, ...more) {
    const line = ["query", "--connect", url, "--key", "reader.key", "--no-cache", "--jsonl", ...more];
    const text = this.run(...line, `--vector=${[...vector].join(",")}`);
    const exact = text.replaceAll(/"id":(\d+)/g, '"id":"$1"');
    return JSON.parse(exact).hits.map((hit) => ({ ...hit, id: BigInt(hit.id) }));
  }

  close() {
    for (const server of this.servers) server.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** An id that JavaScript's numbers would round. */
export const BIG = 2n ** 60n + 1n;

function record(vector, id, at) {
  const text = `record ${at} ${"x".repeat(at % 50)}`;
  return `{"id": ${id}, "vector": [${[...vector]}], "text": "${text}", "year": ${1990 + (at % 40)}}`;
}
