/**
 * Maps AppError to GraphQL: expected refusals become union members, other codes top-level errors; all else is masked.
 */
import { randomUUID } from 'node:crypto'
import { GraphQLError, print, type GraphQLFormattedError } from 'graphql'
import { AppError, errorCodes, type ErrorCode, type Issue, type RefusalCode } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { asAppError } from '../../../domain/access/index.ts'
import { refusalHeaders } from '../../http/replies.ts'
import type { Builder } from './builder.ts'
import { described } from './described.ts'

/** An expected refusal as a member of a result union. Its class selects the GraphQL type. */
class Refusal {
  readonly code: ErrorCode
  readonly message: string
  readonly details: AppError['details']
  constructor(error: AppError) {
    this.code = error.code
    this.message = error.message
    this.details = error.details
  }
}
class NotFoundRefusal extends Refusal {}
class ValidationRefusal extends Refusal {}
class NameTakenRefusal extends Refusal {}
class ConflictRefusal extends Refusal {}
class IdempotencyRefusal extends Refusal {}
class TerminalRefusal extends Refusal {}
class LimitRefusal extends Refusal {}
class DecidedRefusal extends Refusal {}
class LateRefusal extends Refusal {}
class UpstreamRefusal extends Refusal {}

const refusals = {
  NotFoundError: { code: 'NOT_FOUND', make: NotFoundRefusal },
  ValidationError: { code: 'INVALID', make: ValidationRefusal },
  NameTakenError: { code: 'NAME_TAKEN', make: NameTakenRefusal },
  ConflictError: { code: 'CONFLICT', make: ConflictRefusal },
  IdempotencyConflictError: { code: 'IDEMPOTENCY_CONFLICT', make: IdempotencyRefusal },
  GenerationTerminalError: { code: 'GENERATION_TERMINAL', make: TerminalRefusal },
  LimitReachedError: { code: 'LIMITED', make: LimitRefusal },
  ApprovalAlreadyDecidedError: { code: 'APPROVAL_ALREADY_DECIDED', make: DecidedRefusal },
  ApprovalExpiredError: { code: 'APPROVAL_EXPIRED', make: LateRefusal },
  UpstreamError: { code: 'UPSTREAM', make: UpstreamRefusal },
} as const satisfies Record<string, { code: RefusalCode; make: new (error: AppError) => Refusal }>

/** The name of an error type that a mutation may return. */
export type RefusalName = keyof typeof refusals

/** The error type of each code that an operation may refuse with; a code without one does not compile where it is used. */
export const refusalNames = Object.fromEntries(
  Object.entries(refusals).map(([name, { code }]) => [code, name]),
) as { [Code in (typeof refusals)[RefusalName]['code']]: RefusalName }

const descriptions: Record<RefusalName, string> = {
  NotFoundError: 'An object named in the input does not exist for this API key.',
  ValidationError: 'The input is invalid; nothing was written.',
  NameTakenError: 'The project already has an object with this name.',
  ConflictError: 'The current state does not allow this, or another request was faster.',
  IdempotencyConflictError: 'The idempotencyKey was used before with another request.',
  GenerationTerminalError: 'The generation has ended.',
  LimitReachedError: 'A limit of the project or the installation is reached.',
  ApprovalAlreadyDecidedError: 'The approval was decided before; see approval.',
  ApprovalExpiredError: 'The approval expired before the verdict; the call was rejected.',
  UpstreamError: 'A server that Gatehouse called failed or refused.',
}

const codeMeanings: Record<ErrorCode, string> = {
  UNAUTHENTICATED: 'The request has no valid API key or token.',
  FORBIDDEN: 'The API key lacks a permission; extensions.action names it.',
  NOT_FOUND: 'The object does not exist for this API key.',
  INVALID: 'The input is invalid; nothing was written.',
  CONFLICT: 'The current state does not allow this, or another request was faster.',
  NAME_TAKEN: 'The project already has an object with this name.',
  IDEMPOTENCY_CONFLICT: 'The idempotencyKey was used before with another request.',
  GENERATION_TERMINAL: 'The generation has ended.',
  APPROVAL_ALREADY_DECIDED: 'The approval was decided before.',
  APPROVAL_EXPIRED: 'The approval expired before the verdict.',
  BAD_CURSOR: 'The cursor was not issued by this server, or for another list.',
  CURSOR_EXPIRED:
    'The event of the cursor is no longer in the log; continue with extensions.oldestCursor or newestCursor.',
  LIMITED: 'A limit is reached; after retryAfterMs milliseconds, if given, a retry may succeed.',
  RESPONSE_TOO_LARGE: 'The response exceeds the size limit; request fewer fields or smaller pages.',
  EXPIRED: 'The deadline has passed.',
  UPSTREAM: 'A server that Gatehouse called failed.',
  UNAVAILABLE: 'The server cannot process the request now; retry later.',
  INTERNAL: 'The server failed unexpectedly; extensions.errorId identifies the log entry.',
}

/** Adds `interface Error` and the types that implement it; returns their refs, the types by name. */
export function addErrorTypes(builder: Builder) {
  const code = builder.enumType('ErrorCode', {
    description: 'A stable code of an error. Clients must expect new codes.',
    values: described(errorCodes, codeMeanings),
  })
  const error = builder.interfaceRef<Pick<Refusal, 'code' | 'message'>>('Error').implement({
    description:
      'An expected refusal of a mutation, as data. Select `... on Error` to handle types that are added later.',
    fields: (t) => ({
      message: t.exposeString('message', {
        description: 'An explanation for people that names the path and the fix.',
      }),
      code: t.field({
        type: code,
        description: 'The stable code of the error, for programs.',
        resolve: (refusal) => refusal.code,
      }),
    }),
  })
  const issue = builder.objectRef<Issue>('ValidationIssue').implement({
    description: 'One fault in the input of a mutation.',
    fields: (t) => ({
      path: t.exposeStringList('path', { description: 'The path from `input` to the faulty value.' }),
      message: t.exposeString('message', {
        description: 'An explanation of the fault; it never repeats the value.',
      }),
    }),
  })
  const names = Object.keys(refusals) as RefusalName[]
  const types = names.map((name) =>
    builder.objectRef<Refusal>(name).implement({
      description: descriptions[name],
      interfaces: [error],
      isTypeOf: (value) => value instanceof refusals[name].make,
    }),
  )
  builder.objectField(types[names.indexOf('ValidationError')]!, 'issues', (t) =>
    t.field({
      type: [issue],
      description: 'All faults that were found.',
      resolve: (refusal) => refusal.details.issues ?? [],
    }),
  )
  builder.objectField(types[names.indexOf('LimitReachedError')]!, 'retryAfterMs', (t) =>
    t.int({
      nullable: true,
      description: 'Milliseconds after which a retry may succeed; null when waiting does not help.',
      resolve: (refusal) => refusal.details.retryAfterMs ?? null,
    }),
  )
  const byName = Object.fromEntries(names.map((name, i) => [name, types[i]!])) as Record<
    RefusalName,
    (typeof types)[number]
  >
  return { Error: error, errors: byName }
}

/** The union member of a caught error when the mutation lists it; rethrows any other error. */
export function refusalOf(error: unknown, listed: readonly RefusalName[]): Refusal {
  const known = asAppError(error)
  if (known)
    for (const name of listed) if (refusals[name].code === known.code) return new refusals[name].make(known)
  throw error
}

const httpStatus: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  LIMITED: 429,
  UNAVAILABLE: 503,
}

/**
 * A top-level error as clients may see it. An AppError keeps its code and message, a fault of the document its message.
 * Every other error becomes INTERNAL with an `errorId`, under which its cause is logged.
 */
export function maskError(error: unknown, log: Log): GraphQLError {
  const original = error instanceof GraphQLError ? (error.originalError ?? null) : error
  const known = asAppError(original)
  if (known) {
    if (known.code === 'UNAVAILABLE')
      log.warn({ err: known.cause }, 'a request failed because the database was unavailable')
    const status = httpStatus[known.code]
    const { retryAfterMs, oldestCursor, newestCursor, removedAt } = known.details
    const headers = refusalHeaders(known)
    const extensions = {
      code: known.code,
      ...(known.details.action ? { action: known.details.action } : {}),
      ...(known.details.issues ? { issues: known.details.issues } : {}),
      ...(retryAfterMs ? { retryAfterMs } : {}),
      ...(oldestCursor ? { oldestCursor, newestCursor } : {}),
      ...(removedAt ? { removedAt } : {}),
      ...(status ? { http: { status, headers } } : {}),
    }
    return at(error, known.message, extensions)
  }
  if (error instanceof GraphQLError && (original === null || original instanceof GraphQLError))
    return documentFault(error)
  const errorId = randomUUID()
  log.error({ err: original, errorId }, 'an unexpected error reached a caller')
  return at(error, `Unexpected error. Its number is ${errorId}.`, { code: 'INTERNAL', errorId })
}

/**
 * A fault that graphql-js found in the document, with its message, but without literal values (they may be secrets) and
 * without suggestions. Nothing ran, so the HTTP status is 400.
 */
export function documentFault(error: GraphQLError): GraphQLError {
  const { nodes, source, positions, path } = error
  const { originalError: _original, ...extensions } = error.extensions
  let message = error.message
    .replace(/ ?Did you mean [^?]*\?/g, '')
    .replace(/^(Syntax Error: .*\b(?:BlockString|String|Int|Float)) "[^]*"/, '$1')
  for (const node of nodes ?? [])
    if (node.kind.endsWith('Value')) message = message.replace(print(node), () => '…')
  // `spec` leaves the status at 200 for clients that ask for application/json, as GraphQL over HTTP wants it.
  const given = (extensions['http'] as object | undefined) ?? { spec: true, status: 400 }
  const http = extensions['code'] === 'BAD_REQUEST' ? { ...given, spec: false } : given
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: path ? extensions : { ...extensions, http },
  })
}

function at(error: unknown, message: string, extensions: Record<string, unknown>): GraphQLError {
  const { nodes = null, path = null } = error instanceof GraphQLError ? error : {}
  return new GraphQLError(message, { nodes, path, extensions })
}

/** The GraphQL type of a refusal; null for any other value. */
export function refusalNameOf(value: unknown): RefusalName | null {
  if (!(value instanceof Refusal)) return null
  const names = Object.keys(refusals) as RefusalName[]
  return names.find((name) => value instanceof refusals[name].make) ?? null
}

/** An error as a client gets it, without the HTTP status and headers. */
export function withoutHttp(error: GraphQLError | GraphQLFormattedError): GraphQLFormattedError {
  const { extensions: { http: _http, ...extensions } = {}, ...rest } =
    error instanceof GraphQLError ? error.toJSON() : error
  return { ...rest, ...(Object.keys(extensions).length > 0 ? { extensions } : {}) }
}
