/** Programs that call for people: their keys, and requests that say for whom they are. */
import type { Harness } from './harness.ts'
import { addPerson, type Person } from './own-logins.ts'

const rights = [
  'tools:*',
  'agents:*',
  'generations:*',
  'toolCalls:*',
  'approvals:Get',
  'keys:Get',
  'events:Subscribe',
]

/** The key of a program that may act for these people; without them for everybody in its project. */
export function addProgram(
  h: Harness,
  people: readonly Pick<Person, 'keyId'>[] | null = null,
  more: object = {},
): Promise<Person> {
  const resource = people ? people.map(({ keyId }) => `person/${keyId}`) : ['person/*']
  const statement = [
    { effect: 'Allow', action: rights, resource: ['*'] },
    { effect: 'Allow', action: ['persons:ActFor'], resource },
  ]
  return addPerson(h, 'program', { role: null, policy: { statement }, votes: false, ...more })
}

/** The headers of a request of the program, for this person if there is one. */
export function headersOf(program: Pick<Person, 'key'>, person: string | null): Record<string, string> {
  return {
    authorization: `Bearer ${program.key}`,
    'content-type': 'application/json',
    ...(person === null ? {} : { 'Gatehouse-Acts-For': person }),
  }
}

/** A GraphQL request of the program for a person; the whole reply. */
export async function askFor(
  url: string,
  program: Pick<Person, 'key'>,
  person: string | null,
  query: string,
  variables: object = {},
): Promise<Record<string, any>> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: headersOf(program, person),
    body: JSON.stringify({ query, variables }),
  })
  return { status: response.status, ...((await response.json()) as object) }
}

/** A mutation of the program for a person; its union member. */
export async function mutateFor(
  h: Pick<Harness, 'url'>,
  program: Pick<Person, 'key'>,
  person: Pick<Person, 'keyId'>,
  name: string,
  input: object,
  fields: string,
): Promise<Record<string, any>> {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
  const payload =
    { callTool: 'ToolCallPayload', startGeneration: 'GenerationPayload' }[name] ?? `${type}Payload`
  const document = `mutation($input: ${type}Input!) { ${name}(input: $input) {
    ... on ${payload} { ${fields} } ... on Error { code message } } }`
  const { data, errors } = await askFor(h.url, program, person.keyId, document, { input })
  if (errors) throw new Error(JSON.stringify(errors))
  return data[name] as Record<string, any>
}
