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
export function mutationText(name: string, fields: string): string {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}`
  return `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename
    ... on ${payloadOf(name)} { ${fields} } ... on Error { message code } } }`
}

/** The type of the payload of a mutation. */
export function payloadOf(name: string): string {
  const field = schemaOf().getMutationType()!.getFields()[name]
  const members = field ? (getNamedType(field.type) as GraphQLUnionType).getTypes() : []
  return members.find((member) => member.name.endsWith('Payload'))?.name ?? 'UnknownPayload'
}

/** Runs the mutation and returns its payload; throws with the message of any error. */
export async function mutate(
  url: string,
  key: string,
  name: string,
  input: object,
  fields: string,
): Promise<Record<string, any>> {
  const { data, errors } = await ask(url, key, mutationText(name, fields), { input })
  if (errors?.length) throw new Error(`${name}: ${errors.map((error) => error.message).join('; ')}`)
  const answer = data[name]
  if (answer.__typename.endsWith('Payload')) return answer
  throw new Error(`${name}: ${answer.code} ${answer.message}`)
}
