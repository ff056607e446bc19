// Errors, each with a `code` by which a program decides and a message for a person.

/** Any error of this package. */
export class SordinoError extends Error {
  constructor(message, code, reason, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    if (reason) this.reason = reason;
  }
}

/** An argument, a key, or this platform. */
export class ArgumentError extends SordinoError {}

/** A signature, a digest, a version or a reply is wrong: stop using the server. */
export class UntrustedError extends SordinoError {}

/** The server is away, or has too much to do: the same call may succeed later. */
export class UnavailableError extends SordinoError {}

/** The server refused, for a reason that waiting does not mend. */
export class RefusedError extends SordinoError {}

const CLASSES = {
  argument: ArgumentError,
  key: ArgumentError,
  closed: ArgumentError,
  unsupported: ArgumentError,
  "bad-reply": UntrustedError,
  untrusted: UntrustedError,
  away: UnavailableError,
  busy: UnavailableError,
  stale: UnavailableError,
  refused: RefusedError,
};

/** The error with this code. */
export function errorOf(code, message, reason, cause) {
  const Class = CLASSES[code] ?? SordinoError;
  return new Class(message, code, reason, cause === undefined ? undefined : { cause });
}

/** An error of the WebAssembly module in the classes above. */
export function translated(error) {
  if (error instanceof SordinoError) return error;
  if (typeof error?.code === "string") return errorOf(error.code, error.message, error.reason);
  const text = "the WebAssembly module stopped: connect again, and report this as a bug";
  return errorOf("internal", `${text} (${error?.message ?? error})`, undefined, error);
}
