/** The size of a response, counted while it is resolved: one that exceeds the budget fails before it is serialised. */
import {
  defaultFieldResolver,
  getNamedType,
  isObjectType,
  type GraphQLField,
  type GraphQLSchema,
} from 'graphql'
import { AppError } from '../../../core/errors.ts'
import { walkJson } from '../../../core/json.ts'

/** The byte budget of one response, or of one message of a stream. */
export interface AnswerMeter {
  /** Counts bytes. Throws RESPONSE_TOO_LARGE when the total exceeds the budget, and on each call after that. */
  take(bytes: number): void
  /** Throws RESPONSE_TOO_LARGE when the budget is exceeded, so that nothing more is read. */
  assertQuota(): void
  /** The error when the budget is exceeded, else null. */
  exceeded(): AppError | null
  /** Resets the count for the next message of a stream. */
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
          `The response has more than ${maxBytes} bytes. Request fewer fields, or smaller pages with first. ` +
            'A mutation has been done.',
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

/** Scalars of any size. Values of every other leaf type are small, and operationGuard limits their number. */
const large = new Set(['String', 'JSON', 'JSONObject', 'JSONSchema'])

/**
 * Wraps the resolvers of large fields so that they count their bytes in `answer` of the context. Mutates the schema.
 */
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

/** About the size of a value as JSON, in bytes: exact but for escaped characters. */
function sizeOf(value: object): number {
  let bytes = 0
  walkJson(value, (next, _depth, key) => {
    if (key !== null) bytes += key.length + 4
    if (typeof next === 'string') bytes += Buffer.byteLength(next) + 3
    else bytes += typeof next === 'object' && next !== null ? 2 : 6
    return true
  })
  return bytes
}
