// Makes dist/ of src/ and of what scripts/js.sh has written to target/.

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
  // Of the generated code, which looks for its module next to itself: here it is always given.
  define: { "import.meta.url": '"about:blank"' },
};
for (const name of ["index", "init"]) {
  const entryPoints = [`src/${name}.js`];
  await build({ ...common, entryPoints, format: "esm", outfile: `dist/${name}.js` });
  await build({ ...common, entryPoints, format: "cjs", outfile: `dist/${name}.cjs` });
}

// The Worker's file stands next to the entry that names it.
const { define, ...own } = common;
await build({ ...own, entryPoints: ["src/worker.js"], format: "esm", outfile: "dist/worker.js" });
await build({ ...common, entryPoints: ["src/worker-thread.js"], format: "esm", outfile: "dist/worker-thread.js" });
