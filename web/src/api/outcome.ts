/** The result of a mutation: a payload, or an error that its author can mend. */
import { messageOf } from './client.ts'
import { errorText } from './error-text.ts'
import { t } from '../texts/texts.tsx'

export interface Issue {
  path: readonly string[]
  message: string
}

/** Why a mutation was refused. */
export interface MutationRefusal {
  /** The code of the error; undefined when there is no result at all. */
  code?: string | undefined
  message: string
  issues: readonly Issue[]
}

interface Member {
  __typename: string
  code?: string
  message?: string
  issues?: readonly Issue[]
}

/** Null when the result is a payload. `failure` is what useMutation kept when there is no result at all. */
export function refusalOf(
  result: object | null | undefined,
  failure: unknown = null,
): MutationRefusal | null {
  if (!result) return failure === null ? null : { message: messageOf(failure), issues: [] }
  const { __typename: type, code, message, issues } = result as Member
  return type.endsWith('Payload')
    ? null
    : {
        code,
        message: message === undefined ? t('The server refused this.') : errorText(code, message),
        issues: issues ?? [],
      }
}

/** The message with those of its issues, for forms that have no fields to show them at. */
export const wholeText = (refused: MutationRefusal | null): string | null =>
  refused && [refused.message, ...refused.issues.map(({ message }) => message)].join(' ')

/** The message where no issue says more at its field. */
export const unplacedText = (refused: MutationRefusal | null): string | null =>
  refused && refused.issues.length === 0 ? refused.message : null
