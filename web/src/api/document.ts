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

/** Joins a text with the fragments that it uses. */
const join = (text: string, fragments: readonly string[] = []): string =>
  [...new Set([...fragments.flatMap((fragment) => fragment.split(border)), text])].join(border)

/** Makes a document of its text and of the fragments that it uses. */
export const graphql = join as unknown as ReturnType<typeof initGraphQLTada<Setup>>

/** A fragment that reads this of an object. */
export type Fragment<Shape> = TadaDocumentNode<Shape, object, unknown>

/** Makes a document whose text is composed, and whose type its composer knows. */
export const compose = <Document>(text: string, ...fragments: readonly object[]): Document =>
  join(text, fragments as unknown as string[]) as Document

/** The name of a fragment. */
export const nameOf = (fragment: Fragment<unknown>): string =>
  /fragment (\w+)/.exec(String(fragment).split(border).at(-1)!)![1]!

/** The text of a document, as it is sent. */
export function textOf<Result, Variables>(document: TadaDocumentNode<Result, Variables>): string {
  return document as unknown as string
}

export type { FragmentOf, ResultOf, TadaDocumentNode, VariablesOf } from 'gql.tada'
