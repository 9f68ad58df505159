/** Mutations of which a page only asks whether they were refused: their documents follow from their names. */
import { graphql, type TadaDocumentNode } from './document.ts'
import { faults } from './faults.ts'
import type { introspection } from './schema-types.d.ts'

type Name = keyof introspection['types']['Mutation']['fields']
type Answer =
  | { __typename: `${string}Payload` }
  | { __typename: `${string}Error`; code: string; message: string }
type Command<Field extends string, Input extends string> = TadaDocumentNode<
  Record<Field, Answer>,
  { input: ReturnType<typeof graphql.scalar<Input>> }
>

/** The document of the mutation with this name. Its input is called after it, unless it shares one with others. */
export function command<const Field extends Name, const Input extends string = `${Capitalize<Field>}Input`>(
  field: Field,
  sharedInput?: Input,
): Command<Field, Input> {
  const type = field.replace(/^./, (first) => first.toUpperCase())
  const input = sharedInput ?? `${type}Input`
  const text = `mutation ${type}($input: ${input}!) { ${field}(input: $input) { __typename ...Faults } }`
  return [faults, text].join('\n') as unknown as Command<Field, Input>
}
