// Errors. Each has a `code` for programs and a message for people.

/** The base class of all errors of this package. */
export class SordinoError extends Error {
  constructor(message, code, reason, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    if (reason) this.reason = reason;
  }
}

/** An argument, a key or this platform cannot be used. */
export class ArgumentError extends SordinoError {}

/** A signature, a digest, a version or a reply is wrong: stop using the server. */
export class UntrustedError extends SordinoError {}

/** The server cannot be reached or is busy: the same call may succeed later. */
export class UnavailableError extends SordinoError {}

/** The server refused for a reason that does not pass with time. */
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

/** Converts an error of the WebAssembly module to one of the classes above. */
export function translated(error) {
  if (error instanceof SordinoError) return error;
  if (typeof error?.code === "string") return errorOf(error.code, error.message, error.reason);
  const text = "the WebAssembly module stopped: connect again, and report this as a bug";
  return errorOf("internal", `${text} (${error?.message ?? error})`, undefined, error);
}
