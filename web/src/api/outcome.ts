/** The result of a mutation: a payload, or an error that its author can mend. */
import { messageOf } from './client.ts'

export interface Issue {
  path: readonly string[]
  message: string
}

/** Why a mutation was refused. */
export interface Refused {
  message: string
  issues: readonly Issue[]
}

interface Member {
  __typename: string
  message?: string
  issues?: readonly Issue[]
}

/** Null when the result is a payload. `failure` is what useMutation kept when there is no result at all. */
export function refusalOf(result: object | null | undefined, failure: unknown = null): Refused | null {
  if (!result) return failure === null ? null : { message: messageOf(failure), issues: [] }
  const { __typename: type, message, issues } = result as Member
  return type.endsWith('Payload')
    ? null
    : { message: message ?? 'The server refused this.', issues: issues ?? [] }
}
