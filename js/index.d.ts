// Types of `sordino`, `sordino/init` and `sordino/worker`.

/** One request, for a page to show. The server sees no more of a search than these bytes. */
export interface Exchange {
  /** `hello`, `login`, `manifest`, `history`, `parts`, `score`, `fetch` or `payloads`. */
  stage: string;
  /** The bytes of the request's body. */
  sent: number;
  /** The bytes of the answer's body. */
  received: number;
  ms: number;
  /** The request's body as sent. */
  requestBytes: Uint8Array;
}

/** A store for parts that are downloaded once. It returns a whole part or nothing; the client checks each part by its digest. */
export interface Store {
  get(digest: string): Promise<Uint8Array | undefined>;
  put(digest: string, part: Uint8Array): Promise<void>;
  /** The stored pin of an index, by the index's address. */
  pin?(name: string): Promise<string | undefined>;
  /** Stores a pin in one step, if the stored pin is still `seen`. Resolves to the pin that was stored before. */
  setPin?(name: string, pin: string, seen: string | undefined): Promise<string | undefined>;
}

export class MemoryStore implements Store {
  get(digest: string): Promise<Uint8Array | undefined>;
  put(digest: string, part: Uint8Array): Promise<void>;
  pin(name: string): Promise<string | undefined>;
  setPin(name: string, pin: string, seen: string | undefined): Promise<string | undefined>;
}

export class IndexedDbStore implements Store {
  constructor(options?: { name?: string; limit?: number; indexedDB?: unknown });
  get(digest: string): Promise<Uint8Array | undefined>;
  put(digest: string, part: Uint8Array): Promise<void>;
  pin(name: string): Promise<string | undefined>;
  setPin(name: string, pin: string, seen: string | undefined): Promise<string | undefined>;
}

export interface ConnectOptions {
  /** The content of the reader's key file. */
  readerKey: string | Uint8Array;
  /** The name of the index, if the server has several. The name may also follow the address. */
  index?: string;
  /** The content of the client's key file, if the server does not answer everyone. */
  clientKey?: string | Uint8Array;
  /** A token that was issued to the client's key, as bytes or as text. */
  token?: string | Uint8Array;
  /** `true`, the default, uses IndexedDB if it exists; `false` stores nothing. */
  cache?: boolean | "memory" | Store;
  /** An earlier value of `client.pin`. The default is the pin in the cache. */
  pin?: string;
  /** Connects even if the server does not prove that its version follows from the pinned one. Ask the owner first. */
  overGap?: boolean;
  /** Bytes of memory for the pads of masked mode, which make searches fast. The default is 128 MiB; 0 keeps none. */
  padBytes?: number;
  /** Milliseconds to wait for the next piece of an answer. The default is 30,000. A whole answer may take this long, and a second for every 64 kB. */
  timeout?: number;
  signal?: AbortSignal;
  onExchange?: (exchange: Exchange) => void;
  /** A function to use instead of the platform's `fetch`. */
  fetch?: typeof globalThis.fetch;
}

export interface SearchOptions {
  /** The most hits, at most `client.k`, which is the default. */
  k?: number;
  /** A condition on attributes, such as `"year >= 2020 and lang = 'en'"`. The server does not see it. */
  where?: string;
  /** Hits beyond this score or distance are left out. */
  threshold?: number;
  /** `true`, the default, returns bytes, `"text"` strings, and `false` nothing. The server sees no difference. */
  payloads?: boolean | "text";
  /** True to return the attributes of each hit. */
  attributes?: boolean;
  signal?: AbortSignal;
}

/** A BigInt if ids are numbers, otherwise a string. */
export type Id = bigint | string;

export interface Hit {
  id: Id;
  /** The score in the index's metric. Never send it back to the server, not even rounded. */
  score: number;
  payload?: Uint8Array | string;
  /** True if the payload is longer than a search can return: `client.payloads` fetches it completely. */
  truncated?: true;
  attributes?: Record<string, number | bigint | boolean | string | Uint8Array>;
}

export interface Stats {
  /** The time from the call to its result. */
  ms: number;
  /** The part of `ms` spent computing here. */
  clientMs: number;
  /** The part of `ms` spent waiting for the server. */
  networkMs: number;
  bytesSent: number;
  bytesReceived: number;
  exchanges: number;
}

export class Client {
  private constructor();
  readonly mode: "masked" | "open" | "routed" | "sealed" | "local";
  readonly metric: "cosine" | "euclidean" | "innerproduct";
  readonly dim: number;
  readonly k: number;
  /** Records, deleted ones included. */
  readonly records: number;
  readonly version: bigint;
  readonly ids: "number" | "text" | "uuid";
  readonly hasPayloads: boolean;
  /** True if a search may return shortened payloads. */
  readonly shortens: boolean;
  readonly recall: number | undefined;
  readonly bytesOnce: number;
  readonly pin: string;
  search(vector: Float32Array, options?: SearchOptions): Promise<{ hits: Hit[]; stats: Stats }>;
  payloads(ids: Iterable<Id | number>, options?: { signal?: AbortSignal }): Promise<(Uint8Array | undefined)[]>;
  refresh(options?: { signal?: AbortSignal }): Promise<boolean>;
  close(): Promise<void>;
}

/** Connects to a server, and downloads what searches need: `https://host:port`, or `https://host:port/INDEX`. */
export function connect(url: string | URL, options: ConnectOptions): Promise<Client>;

/** The class of all errors of this package. A call that an `AbortSignal` ends throws the signal's reason instead. */
export class SordinoError extends Error {
  readonly code:
    | "argument"
    | "key"
    | "closed"
    | "unsupported"
    | "bad-reply"
    | "untrusted"
    | "away"
    | "busy"
    | "stale"
    | "refused"
    | "internal";
  /** A more specific reason, such as `rollback`, `signature`, `restarted`, or the name of a server's refusal. */
  readonly reason?: string;
}
/** An argument, a key or this platform cannot be used: `argument`, `key`, `closed`, `unsupported`. */
export class ArgumentError extends SordinoError {}
/** Stop using the server: `untrusted`, `bad-reply`. */
export class UntrustedError extends SordinoError {}
/** The same call may succeed later: `away`, `busy`, `stale`. */
export class UnavailableError extends SordinoError {}
/** The server refused: `refused`. */
export class RefusedError extends SordinoError {}
