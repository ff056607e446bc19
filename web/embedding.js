// Computes vectors of sentences on the page: the mean of the vectors of a sentence's tokens.
//
// The file is a safetensors file that `sordino-web` writes. `tokens` has the tokens' texts, a line each. `pairs` lists the pairs
// of tokens to join, in order of rank. `rows` has each token's vector as signed bytes, and `scales` the factor of each row.

/** The longest text that is embedded, in UTF-16 units. */
export const LONGEST = 2000;

// The tokens that a text can name directly, as in the model's tokenizer.
const NAMED = /(<unk>|<s>|<\/s>)/;
const MARK = "\u2581";
// A pair of tokens is stored under one number. The factor exceeds the number of tokens, which fits 16 bits.
const STRIDE = 65536;
// The most bytes of a safetensors file's header.
const LONGEST_HEADER = 1 << 20;

const BYTES = { F32: 4, U16: 2, I8: 1, U8: 1 };

export class EmbeddingError extends Error {
  /** `code` is "table" for a file in another format, and "long" or "empty" for texts without a vector. */
  constructor(code, message) {
    super(message);
    this.name = "EmbeddingError";
    this.code = code;
  }
}

/** The arrays of a safetensors file: an 8-byte length, a header in JSON, and raw numbers. */
function tensors(file) {
  const wrong = (why) => new EmbeddingError("table", `The file of word vectors is damaged: ${why}. Build it again with sordino-web.`);
  if (file.byteLength < 8) throw wrong(`it has ${file.byteLength} bytes`);
  const length = Number(new DataView(file).getBigUint64(0, true));
  if (length > LONGEST_HEADER || 8 + length > file.byteLength) throw wrong("its header is longer than it");
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  } catch {
    throw wrong("its header is no JSON");
  }
  return (name, kind, width) => {
    const { dtype, shape, data_offsets: at } = header?.[name] ?? {};
    if (dtype !== kind || !Array.isArray(shape) || !Array.isArray(at)) throw wrong(`it lacks ${name} of type ${kind}`);
    const size = shape.reduce((a, b) => a * b, BYTES[kind]);
    const inside = at.every(Number.isInteger) && at[0] >= 0 && 8 + length + at[1] <= file.byteLength;
    if (!inside || size !== at[1] - at[0] || (width !== undefined && shape[1] !== width)) throw wrong(`${name} has another size than it says`);
    // The copy is aligned, so that numbers of any width can be read.
    const bytes = file.slice(8 + length + at[0], 8 + length + at[1]);
    return { bytes, shape };
  };
}

export class Embedding {
  #tokens;
  #pairs = new Map();
  #rows;
  #scales;
  /** The number of coordinates of a vector. */
  dim;

  /** Reads the file that `sordino-web` writes. Throws `EmbeddingError`. */
  constructor(file) {
    const tensor = tensors(file);
    const rows = tensor("rows", "I8");
    const [count, dim] = rows.shape;
    this.dim = dim;
    this.#rows = new Int8Array(rows.bytes);
    this.#scales = new Float32Array(tensor("scales", "F32").bytes);
    const texts = new TextDecoder().decode(tensor("tokens", "U8").bytes).split("\n");
    const pairs = new Uint16Array(tensor("pairs", "U16", 2).bytes);
    if (texts.length !== count || this.#scales.length !== count || count > STRIDE) {
      throw new EmbeddingError("table", `The file of word vectors has ${count} rows and ${texts.length} tokens: build it again with sordino-web.`);
    }
    this.#tokens = new Map(texts.map((text, id) => [text, id]));
    for (let at = 0; at < pairs.length; at += 2) {
      const [left, right] = [pairs[at], pairs[at + 1]];
      const whole = this.#tokens.get(texts[left] + texts[right]);
      if (whole === undefined) throw new EmbeddingError("table", `The file of word vectors joins tokens ${left} and ${right} to none: build it again with sordino-web.`);
      this.#pairs.set(left * STRIDE + right, { rank: at, whole });
    }
  }

  /** The numbers of the tokens in a text. */
  tokens(text) {
    if (text.length > LONGEST) throw new EmbeddingError("long", `The question has ${text.length} characters: ask in at most ${LONGEST}.`);
    const ids = [];
    for (const part of text.split(NAMED)) {
      if (NAMED.test(part)) ids.push(this.#tokens.get(part));
      else if (part !== "") ids.push(...this.#joined(this.#letters(MARK + part.replaceAll(" ", MARK))));
    }
    return ids;
  }

  /** A vector of length 1. Throws `EmbeddingError` if the text is empty or too long. */
  embed(text) {
    const ids = this.tokens(text);
    const sum = new Float64Array(this.dim);
    for (const id of ids) {
      const [first, scale] = [id * this.dim, this.#scales[id]];
      for (let at = 0; at < this.dim; at++) sum[at] += this.#rows[first + at] * scale;
    }
    const length = Math.hypot(...sum);
    if (!(length > 0)) throw new EmbeddingError("empty", "The question has no words: describe what you look for.");
    return Float32Array.from(sum, (x) => x / length);
  }

  /** The token of each character, or a token for each of its bytes if it has none. */
  #letters(text) {
    const ids = [];
    for (const letter of text) {
      const id = this.#tokens.get(letter);
      if (id !== undefined) ids.push(id);
      else for (const byte of new TextEncoder().encode(letter)) ids.push(this.#tokens.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
    }
    return ids;
  }

  /** Joins the leftmost pair of the lowest rank, until no pair can be joined. */
  #joined(ids) {
    for (;;) {
      let best;
      let place;
      for (let at = 0; at + 1 < ids.length; at++) {
        const pair = this.#pairs.get(ids[at] * STRIDE + ids[at + 1]);
        if (pair !== undefined && (best === undefined || pair.rank < best.rank)) [best, place] = [pair, at];
      }
      if (best === undefined) return ids;
      ids.splice(place, 2, best.whole);
    }
  }
}
