/** How large an answer gets, counted while it is made: what grows beyond the budget ends before it is serialised. */
import {
  defaultFieldResolver,
  getNamedType,
  isObjectType,
  type GraphQLField,
  type GraphQLSchema,
} from 'graphql'
import { AppError } from '../../core/errors.ts'

/** The budget of one answer, or of one message of a stream. */
export interface AnswerMeter {
  /** Counts; throws RESPONSE_TOO_LARGE when that is more than the budget, and from then on each time. */
  take(bytes: number): void
  /** Throws RESPONSE_TOO_LARGE when the budget has been exceeded: nothing more need be read. */
  assertQuota(): void
  exceeded(): AppError | null
  /** Begins anew, for the next message of a stream. */
  renew(): void
}

export function createAnswerMeter(maxBytes: number): AnswerMeter {
  let used = 0
  let fault: AppError | null = null
  const assertQuota = () => {
    if (fault) throw fault
  }
  return {
    take(bytes) {
      used += bytes
      if (used > maxBytes)
        fault ??= new AppError(
          'RESPONSE_TOO_LARGE',
          `The answer has more than ${maxBytes} bytes. Ask for fewer fields, or for smaller pages with first. A mutation has been done.`,
        )
      assertQuota()
    },
    assertQuota,
    exceeded: () => fault,
    renew() {
      used = 0
      fault = null
    },
  }
}

/** Fields of these types may be of any size; every other leaf is small, and operationGuard bounds how many there are. */
const large = new Set(['String', 'JSON', 'JSONObject', 'JSONSchema'])

/** Makes the fields of the schema that can be large count what they give, in the `answer` of the context. Changes it. */
export function meterAnswers(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue
    for (const field of Object.values(type.getFields()))
      if (large.has(getNamedType(field.type).name)) meter(field as GraphQLField<unknown, Metered>)
  }
  return schema
}

interface Metered {
  answer: AnswerMeter
}

function meter(field: GraphQLField<unknown, Metered>): void {
  const resolve = field.resolve ?? (defaultFieldResolver as NonNullable<typeof field.resolve>)
  const counted = (value: unknown, { answer }: Metered): unknown => {
    if (typeof value === 'string') answer.take(value.length)
    else if (typeof value === 'object' && value !== null) answer.take(sizeOf(value))
    return value
  }
  field.resolve = (source, args, context, info) => {
    const value: unknown = resolve(source, args, context, info)
    return value instanceof Promise
      ? value.then((settled) => counted(settled, context))
      : counted(value, context)
  }
}

/** About the bytes of a value as JSON: exact but for escaped characters. Walks iteratively. */
function sizeOf(value: object): number {
  const open: unknown[] = [value]
  let bytes = 0
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'string') bytes += Buffer.byteLength(next) + 3
    else if (Array.isArray(next)) {
      bytes += 2
      for (const item of next) open.push(item)
    } else if (typeof next === 'object' && next !== null) {
      bytes += 2
      for (const [key, item] of Object.entries(next)) {
        bytes += key.length + 4
        open.push(item)
      }
    } else bytes += 6
  }
  return bytes
}
