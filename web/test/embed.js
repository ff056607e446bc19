// Reads texts as lines of JSON, and prints the tokens and the vector of each: node embed.js words.safetensors < texts
import { readFileSync } from "node:fs";
import { Embedding } from "../embedding.js";

const file = readFileSync(process.argv[2]);
const embedding = new Embedding(file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength));
for (const line of readFileSync(0, "utf8").trimEnd().split("\n")) {
  const text = JSON.parse(line);
  console.log(JSON.stringify({ tokens: embedding.tokens(text), vector: [...embedding.embed(text)] }));
}
