// Tests the content of the npm package: each file that an entry names, and the licences of the code
// inside.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("..", import.meta.url);
const own = (name) => readFileSync(new URL(name, root), "utf8");

/** The addresses of files within a value of package.json. */
const filesOf = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(filesOf));

test("the package has the files of its entries, and all licences", () => {
  const told = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8" });
  const [{ files }] = Object.values(JSON.parse(told));
  const packed = files.map(({ path }) => path);
  const { exports, main, module, types } = JSON.parse(own("package.json"));
  const named = [...filesOf(exports), main, module, types].map((path) => path.replace(/^\.\//, ""));
  for (const path of [...named, "dist/worker-thread.js", "README.md", "LICENSE-APACHE", "LICENSE-MIT", "NOTICES"]) {
    assert.ok(packed.includes(path), `${path} is not packed`);
  }
  assert.ok(packed.every((path) => !path.startsWith("src") && !path.startsWith("test")), packed.join(" "));
});

test("the notices are of the crates inside, and of no others", () => {
  const lines = new Set(own("NOTICES").split("\n").map((line) => line.replace(/ [0-9].*$/, "")));
  for (const crate of ["blake3", "chacha20", "js-sys", "wasm-bindgen", "zeroize"]) assert.ok(lines.has(crate), `${crate} is missing`);
  for (const crate of ["ring", "rustls", "socket2", "arrow-array"]) assert.ok(!lines.has(crate), `${crate} is none of them`);
});
