/** One GraphQL request over HTTP, for programs that talk to processes which start and stop. */

import { getNamedType, type GraphQLUnionType } from 'graphql'
import { schemaOf } from '../../src/api/graphql/types/schema.ts'
export interface GraphqlResponse<Data> {
  data: Data
  errors?: { message: string; extensions?: Record<string, unknown> }[]
}

/** Sends the operation; throws when the server cannot be reached or does not return JSON. */
export async function ask<Data = Record<string, any>>(
  url: string,
  key: string,
  query: string,
  variables: object = {},
): Promise<GraphqlResponse<Data>> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ query, variables }),
  })
  return (await response.json()) as GraphqlResponse<Data>
}

/** The text of a mutation `name(input: …)` that selects these fields of the payload. */
export function mutationText(name: string, fields: string, payload = payloadOf(name)): string {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
  return `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename
    ... on ${payload} { ${fields} } ... on Error { message code } } }`
}

/** The type of the payload of a mutation at the release before, whose replicas serve beside ours during an upgrade. */
const payloadBefore = (name: string) => `${name[0]!.toUpperCase()}${name.slice(1)}Payload`

/** The type of the payload of a mutation. */
export function payloadOf(name: string): string {
  const field = schemaOf().getMutationType()!.getFields()[name]
  const members = field ? (getNamedType(field.type) as GraphQLUnionType).getTypes() : []
  return members.find((member) => member.name.endsWith('Payload'))?.name ?? 'UnknownPayload'
}

/** Sends a mutation that selects these fields of the payload, to a server of this release or of the one before. */
export async function askMutation(
  url: string,
  key: string,
  name: string,
  input: object,
  fields: string,
): Promise<GraphqlResponse<Record<string, any>>> {
  const payload = payloadOf(name)
  const result = await ask(url, key, mutationText(name, fields), { input })
  const isOfBefore = result.errors?.some(({ message }) => message.includes(`Unknown type "${payload}"`))
  return isOfBefore ? ask(url, key, mutationText(name, fields, payloadBefore(name)), { input }) : result
}

/** Runs the mutation and returns its payload; throws with the message of any error. */
export async function mutate(
  url: string,
  key: string,
  name: string,
  input: object,
  fields: string,
): Promise<Record<string, any>> {
  const { data, errors } = await askMutation(url, key, name, input, fields)
  if (errors?.length) throw new Error(`${name}: ${errors.map((error) => error.message).join('; ')}`)
  const answer = data[name]
  if (answer.__typename.endsWith('Payload')) return answer
  throw new Error(`${name}: ${answer.code} ${answer.message}`)
}
