// Builds the page with the named bundler: node build.mjs vite, or node build.mjs webpack. The page is written to a folder of that
// name.

import { copyFile } from "node:fs/promises";
import { join } from "node:path";

const root = import.meta.dirname;

const bundlers = {
  async vite() {
    const { build } = await import("vite");
    await build({ root, base: "./", logLevel: "warn", build: { outDir: "vite", minify: false } });
  },
  async webpack() {
    const { default: webpack } = await import("webpack");
    const output = { path: join(root, "webpack"), filename: "main.js" };
    const settings = { mode: "production", context: root, entry: "./main.js", output, performance: false };
    const stats = await new Promise((resolve, reject) => {
      // Minifying takes most of the time, and does not concern the package.
      webpack({ ...settings, optimization: { minimize: false } }, (error, stats) => {
        if (error) reject(error);
        else resolve(stats);
      });
    });
    if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString("errors-warnings"));
    await copyFile(join(root, "index.html"), join(output.path, "index.html"));
  },
};

await bundlers[process.argv[2]]();
