/** Documents of mutations, which follow from their names: what is shown of the payload is a fragment. */
import { compose, nameOf, type Fragment, type graphql, type TadaDocumentNode } from './document.ts'
import { faults } from './faults.ts'
import type { introspection } from './schema-types.d.ts'

type Types = introspection['types']
type Fields = Types['Mutation']['fields']
type Name = keyof Fields
type Input<Field extends string> = ReturnType<typeof graphql.scalar<`${Capitalize<Field>}Input`>>
type Member<Field extends Name> = Types[Fields[Field]['type']['ofType']['name']]['possibleTypes']
type Paid<Field extends Name> = Extract<Member<Field>, `${string}Payload`>
type Answer<Field extends Name, Payload> =
  | (Payload & { __typename: Paid<Field> })
  | { __typename: Exclude<Member<Field>, Paid<Field>>; code: string; message: string }
type Command<Field extends Name, Payload> = TadaDocumentNode<
  Record<Field, Answer<Field, Payload>>,
  { input: Input<Field> }
>

/** The mutation with this name, whose input is called after it; without a fragment one asks only whether it was refused. */
export function command<const Field extends Name, Payload = unknown>(
  field: Field,
  payload?: Fragment<Payload>,
): Command<Field, Payload> {
  const type = field.replace(/^./, (first) => first.toUpperCase())
  const shown = payload ? `...${nameOf(payload)} ...Faults` : '...Faults'
  const text = `mutation ${type}($input: ${type}Input!) { ${field}(input: $input) { __typename ${shown} } }`
  return compose(text, ...(payload ? [payload, faults] : [faults]))
}
