import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import type { DocumentInterface } from "@langchain/core/documents";
import { VectorStore } from "@langchain/core/vectorstores";
import type { Client } from "./index.js";

export { ArgumentError, RefusedError, SordinoError, UnavailableError, UntrustedError } from "./index.js";

export interface SordinoVectorStoreOptions {
  /** The result of `connect` of `sordino`, `sordino/init` or `sordino/worker`. */
  client: Client;
  /**
   * `"text"`, the default: payloads are texts, and attributes are metadata. `"documents"`: the index was made by
   * `SordinoVectorStore` of the Python package, with ids, texts and metadata of its own.
   */
  payloads?: "text" | "documents";
}

/** Documents of an index whose server does not learn the queries. The store is read-only: methods that add or delete are
 * refused. */
export class SordinoVectorStore extends VectorStore {
  /** A condition on attributes, such as `"year >= 2020 and lang = 'en'"`. The server does not see it. */
  FilterType: string;
  constructor(embeddings: EmbeddingsInterface, options: SordinoVectorStoreOptions);
  _vectorstoreType(): string;
  /** The nearest documents, with scores in the index's metric, which must not go back to the server. */
  similaritySearchVectorWithScore(query: number[], k: number, filter?: string): Promise<[DocumentInterface, number][]>;
  addDocuments(): Promise<never>;
  addVectors(): Promise<never>;
}
