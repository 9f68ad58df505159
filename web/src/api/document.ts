/** Documents are their text; their types come from the schema, and nothing of this is left at run time. */
import type { initGraphQLTada, TadaDocumentNode } from 'gql.tada'
import type { introspection } from './schema-types.d.ts'

interface Setup {
  introspection: introspection
  disableMasking: true
  scalars: {
    DateTime: string
    JSON: unknown
    JSONObject: Record<string, unknown>
    JSONSchema: Record<string, unknown>
  }
}

/** Stands between a document and its fragments, so that one which comes by two ways is sent once. */
const border = '\n#\n'

/** Makes a document of its text and of the fragments that it uses. */
export const graphql = ((text: string, fragments: readonly string[] = []) =>
  [...new Set([...fragments.flatMap((fragment) => fragment.split(border)), text])].join(
    border,
  )) as unknown as ReturnType<typeof initGraphQLTada<Setup>>

/** The text of a document, as it is sent. */
export function textOf<Result, Variables>(document: TadaDocumentNode<Result, Variables>): string {
  return document as unknown as string
}

export type { FragmentOf, ResultOf, TadaDocumentNode, VariablesOf } from 'gql.tada'
