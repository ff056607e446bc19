// Types of `sordino`, `sordino/init` and `sordino/worker`.

/** What a page can show of one request: its bytes are all that the server sees of a search. */
export interface Exchange {
  /** `hello`, `login`, `manifest`, `history`, `parts`, `score`, `fetch` or `payloads`. */
  stage: string;
  /** Bytes of the request's body. */
  sent: number;
  /** Bytes of the answer's body. */
  received: number;
  ms: number;
  /** The body as it was sent. */
  requestBytes: Uint8Array;
}

/** Where parts that were downloaded once are kept. A part comes back whole or not at all: it is checked by its digest. */
export interface Store {
  get(digest: string): Promise<Uint8Array | undefined>;
  put(digest: string, part: Uint8Array): Promise<void>;
  /** The pin of an index, by its address. */
  pin?(name: string): Promise<string | undefined>;
  /** Stores a pin if the stored one is still `seen`, in one step. Resolves to the one that was stored before. */
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
  /** The name of the index, where the server has several; it may stand behind the address instead. */
  index?: string;
  /** The content of the client's key file, where the server does not answer everyone. */
  clientKey?: string | Uint8Array;
  /** A token that was issued to that key: its bytes, or its text. */
  token?: string | Uint8Array;
  /** `true`, the default, is IndexedDB where there is one; `false` keeps nothing. */
  cache?: boolean | "memory" | Store;
  /** What `client.pin` was the last time. The default is the pin that the cache keeps. */
  pin?: string;
  /** Connects also where the server does not show how its version follows from the pinned one. Ask the owner first. */
  overGap?: boolean;
  /** Bytes of memory for the pads of masked mode, which make searches fast. The default is 128 MiB; 0 keeps none. */
  padBytes?: number;
  /** Milliseconds to wait for the next piece of an answer. The default is 30,000. A whole answer may take this long, and a second for every 64 kB. */
  timeout?: number;
  signal?: AbortSignal;
  onExchange?: (exchange: Exchange) => void;
  /** In place of the platform's. */
  fetch?: typeof globalThis.fetch;
}

export interface SearchOptions {
  /** Hits wanted, at most `client.k`, which is the default. */
  k?: number;
  /** A condition on attributes, such as `"year >= 2020 and lang = 'en'"`. The server does not see it. */
  where?: string;
  /** Hits further than this are left out. */
  threshold?: number;
  /** `true`, the default: bytes; `"text"`: strings; `false`: left out. The server sees the same. */
  payloads?: boolean | "text";
  /** True for the attributes of each hit. */
  attributes?: boolean;
  signal?: AbortSignal;
}

/** A BigInt where ids are numbers, else a string. */
export type Id = bigint | string;

export interface Hit {
  id: Id;
  /** In the index's metric. It must not go back to the server, not even rounded. */
  score: number;
  payload?: Uint8Array | string;
  /** True if the payload is longer than a search has room for: `client.payloads` fetches all of it. */
  truncated?: true;
  attributes?: Record<string, number | bigint | boolean | string | Uint8Array>;
}

export interface Stats {
  /** From the call to its result. */
  ms: number;
  /** Of it, computing here. */
  clientMs: number;
  /** Of it, waiting for the server. */
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
  /** True if a search may bring payloads that are shortened. */
  readonly shortens: boolean;
  readonly recall: number | undefined;
  readonly bytesOnce: number;
  readonly pin: string;
  search(vector: Float32Array, options?: SearchOptions): Promise<{ hits: Hit[]; stats: Stats }>;
  payloads(ids: Iterable<Id | number>, options?: { signal?: AbortSignal }): Promise<(Uint8Array | undefined)[]>;
  refresh(options?: { signal?: AbortSignal }): Promise<boolean>;
  close(): Promise<void>;
}

/** Connects to a server, and downloads what searching needs: `https://host:port`, or `https://host:port/INDEX`. */
export function connect(url: string | URL, options: ConnectOptions): Promise<Client>;

/** Any error of this package but those of an `AbortSignal`, which are its reason. */
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
  /** What it is known by more closely, such as `rollback`, `signature`, or the name of a server's refusal. */
  readonly reason?: string;
}
/** An argument, a key, or this platform: `argument`, `key`, `closed`, `unsupported`. */
export class ArgumentError extends SordinoError {}
/** Stop using the server: `untrusted`, `bad-reply`. */
export class UntrustedError extends SordinoError {}
/** The same call may succeed later: `away`, `busy`, `stale`. */
export class UnavailableError extends SordinoError {}
/** The server refused: `refused`. */
export class RefusedError extends SordinoError {}
