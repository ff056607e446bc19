// Builds dist/ from src/ and from the files that scripts/js.sh has written to target/.

import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const wasm = await readFile("target/sordino_bg.wasm");
await writeFile("target/sordino.base64.js", `export default ${JSON.stringify(wasm.toString("base64"))};\n`);
await rm("dist", { recursive: true, force: true });
await mkdir("dist");
await copyFile("target/sordino_bg.wasm", "dist/sordino.wasm");

const common = {
  bundle: true,
  minifySyntax: true,
  target: ["es2022", "node20"],
  platform: "neutral",
  legalComments: "none",
  // The generated code would look for its module next to itself; here the module is always passed to
  // it.
  define: { "import.meta.url": '"about:blank"' },
};
for (const name of ["index", "init", "langchain"]) {
  const one = { ...common, entryPoints: [`src/${name}.js`], external: ["@langchain/core"] };
  await build({ ...one, format: "esm", outfile: `dist/${name}.js` });
  await build({ ...one, format: "cjs", outfile: `dist/${name}.cjs` });
}

// The Worker's file must be next to the entry that names it, and next to the client that it runs.
const { define, ...own } = common;
for (const name of ["worker", "worker-thread"]) {
  await build({ ...own, entryPoints: [`src/${name}.js`], external: ["./index.js"], format: "esm", outfile: `dist/${name}.js` });
}
