// Draws bytes as pictures, and computes statistics of them.

const WIDTH = 512;

/** A picture in which each byte is a grey pixel. The pixels after the last byte stay transparent. */
export function pictureOf(bytes) {
  const picture = new ImageData(WIDTH, Math.max(1, Math.ceil(bytes.length / WIDTH)));
  const { data } = picture;
  for (let at = 0; at < bytes.length; at++) {
    data[4 * at] = data[4 * at + 1] = data[4 * at + 2] = bytes[at];
    data[4 * at + 3] = 255;
  }
  return picture;
}

/** The number of positions at which both arrays have the same byte. */
export function same(left, right) {
  let count = 0;
  for (let at = 0; at < Math.min(left.length, right.length); at++) count += left[at] === right[at];
  return count;
}

/** Shannon's entropy of the bytes' frequencies, in bits per byte, at most 8. */
export function entropy(bytes) {
  const counts = new Uint32Array(256);
  for (const byte of bytes) counts[byte] += 1;
  let bits = 0;
  for (const count of counts) if (count > 0) bits -= (count / bytes.length) * Math.log2(count / bytes.length);
  return bits;
}
