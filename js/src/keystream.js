// The platform's AES, which is ten times as fast as AES in WebAssembly.

/** Zeros, whose encryption is the keystream. They are public, so they are kept. */
let zeros = new Uint8Array(0);

/** A keystream of AES-256 in counter mode in words, or `undefined` if the platform has no AES, as on pages without https. */
export async function keystream({ key, counter, length }) {
  try {
    const { subtle } = crypto;
    const imported = await subtle.importKey("raw", key, "AES-CTR", false, ["encrypt"]);
    const algorithm = { name: "AES-CTR", counter, length: 64 };
    if (zeros.length < length) zeros = new Uint8Array(length);
    return new Uint32Array(await subtle.encrypt(algorithm, imported, zeros.subarray(0, length)));
  } catch {
    return undefined;
  } finally {
    key.fill(0);
  }
}
