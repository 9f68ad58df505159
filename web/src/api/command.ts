/** Mutations of which a page only asks whether they were refused: their documents follow from their names. */
import { graphql, type TadaDocumentNode } from './document.ts'
import { faults } from './faults.ts'
import type { introspection } from './schema-types.d.ts'

type Name = keyof introspection['types']['Mutation']['fields']
type Input<Field extends string> = ReturnType<typeof graphql.scalar<`${Capitalize<Field>}Input`>>
type Answer =
  | { __typename: `${string}Payload` }
  | { __typename: `${string}Error`; code: string; message: string }
type Command<Field extends string> = TadaDocumentNode<Record<Field, Answer>, { input: Input<Field> }>

/** The document of the mutation with this name, whose input is called after it. */
export function command<const Field extends Name>(field: Field): Command<Field> {
  const type = field.replace(/^./, (first) => first.toUpperCase())
  const text = `mutation ${type}($input: ${type}Input!) { ${field}(input: $input) { __typename ...Faults } }`
  return [faults, text].join('\n') as unknown as Command<Field>
}
