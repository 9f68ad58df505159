/** Documents as callers give them, and where their types come from. */

/**
 * A document with the types of its result and variables: what GraphQL Code Generator (string mode) and gql.tada make. An
 * AST must have kept its source, as those of graphql-js and graphql-tag do.
 */
export interface TypedDocument<Result, Variables> {
  __apiType?: (variables: Variables) => Result
}

/** A text with the types of one of this client's own operations. */
export const typed = <Result, Variables>(text: string) => text as unknown as TypedDocument<Result, Variables>

/** The text of a document. Throws for an AST without its source. */
export function textOf(document: string | object): string {
  if (typeof document === 'string') return document
  // An object made by `new String`, as generated code has it.
  if (Object.prototype.toString.call(document) === '[object String]') return String(document)
  const { loc } = document as { loc?: { source?: { body?: unknown } } }
  if (typeof loc?.source?.body === 'string') return loc.source.body
  throw new TypeError('This document has no text. Pass a string, or print(document) of graphql.')
}
