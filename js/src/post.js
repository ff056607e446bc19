// Posts requests of gRPC-Web with `fetch`, each once. It reads no more of an answer than an honest server sends.

/** The bytes per millisecond at which an answer must arrive, as in the native client. */
const SLOWEST = 65.536;

const SERVICE = "/sordino.v1.Search/";

/** Posts a request. Returns the answer, or the name of a failure and its description. */
export async function post(step, { base, fetch, timeout, signal }) {
  signal?.throwIfAborted();
  const abort = new AbortController();
  const stop = () => abort.abort(signal.reason);
  let late = false;
  let timer;
  const end = performance.now() + timeout + step.limit / SLOWEST;
  // The time limit applies between two pieces of an answer, until the whole answer has arrived.
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        late = true;
        abort.abort();
      },
      Math.max(0, Math.min(timeout, end - performance.now())),
    );
  };
  signal?.addEventListener("abort", stop);
  try {
    wait();
    const headers = { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" };
    if (step.index !== undefined) headers["sordino-index"] = step.index;
    const response = await fetch(base + SERVICE + step.call, {
      method: "POST",
      headers,
      body: step.body,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: abort.signal,
    });
    const body = await read(response, step.limit, wait);
    if (body === undefined) {
      abort.abort();
      return { failed: "long", why: `the answer has more than ${step.limit} bytes` };
    }
    return { status: response.status, headers: [...response.headers], body };
  } catch (error) {
    signal?.throwIfAborted();
    if (late) return { failed: "deadline", why: String(timeout) };
    return { failed: failureOf(error), why: wordsOf(error) };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** The body, unless it is longer than the limit. */
async function read(response, limit, progress) {
  if (!response.body) {
    const body = new Uint8Array(await response.arrayBuffer());
    return body.length > limit ? undefined : body;
  }
  const reader = response.body.getReader();
  const pieces = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    pieces.push(value);
    progress();
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    body.set(piece, at);
    at += piece.length;
  }
  return body;
}

/** Distinguishes a connection that broke from one that was never made. */
function failureOf(error) {
  const broken = ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"];
  return broken.includes(error?.cause?.code) ? "broken" : "unreachable";
}

function wordsOf(error) {
  const cause = error?.cause;
  const known = cause?.code ?? cause?.message;
  if (known) return String(known);
  // A browser does not tell a page the reason.
  return (
    `${error?.message ?? error}; either no server is there, or it does not admit pages of this origin ` +
    "(sordino serve --allow-origin ORIGIN), or this page is on https and the server is not"
  );
}
