/** The one translation of errors for GraphQL: what a caller must handle is data, everything else is masked. */
import { randomUUID } from 'node:crypto'
import { GraphQLError, print } from 'graphql'
import { AppError, errorCodes, type ErrorCode, type Issue } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { asAppError } from '../../domain/access/index.ts'
import type { Builder } from './builder.ts'
import { described } from './described.ts'

/** An expected refusal as a member of a result union. The class decides the member. */
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
  NotFoundError: { codes: ['NOT_FOUND'], make: NotFoundRefusal },
  ValidationError: { codes: ['INVALID'], make: ValidationRefusal },
  NameTakenError: { codes: ['NAME_TAKEN'], make: NameTakenRefusal },
  ConflictError: { codes: ['CONFLICT'], make: ConflictRefusal },
  IdempotencyConflictError: { codes: ['IDEMPOTENCY_CONFLICT'], make: IdempotencyRefusal },
  GenerationTerminalError: { codes: ['GENERATION_TERMINAL'], make: TerminalRefusal },
  LimitReachedError: { codes: ['LIMITED'], make: LimitRefusal },
  ApprovalAlreadyDecidedError: { codes: ['APPROVAL_ALREADY_DECIDED'], make: DecidedRefusal },
  ApprovalExpiredError: { codes: ['APPROVAL_EXPIRED'], make: LateRefusal },
  UpstreamError: { codes: ['UPSTREAM'], make: UpstreamRefusal },
} as const satisfies Record<string, { codes: ErrorCode[]; make: new (error: AppError) => Refusal }>

/** The name of an error type that a mutation may answer. */
export type RefusalName = keyof typeof refusals

const descriptions: Record<RefusalName, string> = {
  NotFoundError: 'Something that was named does not exist for this key.',
  ValidationError: 'The input is faulty; nothing was written.',
  NameTakenError: 'The project has something of that name already.',
  ConflictError: 'The state does not allow this, or somebody was faster.',
  IdempotencyConflictError: 'The idempotencyKey was used with another request before.',
  GenerationTerminalError: 'The generation has ended.',
  LimitReachedError: 'A limit of the project or the installation is reached.',
  ApprovalAlreadyDecidedError: 'Somebody was faster; see approval.',
  ApprovalExpiredError: 'The verdict came too late; the call was rejected.',
  UpstreamError: 'Another server failed or refused.',
}

const codeMeanings: Record<ErrorCode, string> = {
  UNAUTHENTICATED: 'No valid API key was sent.',
  FORBIDDEN: 'The key may not do this; extensions.action names what it lacks.',
  NOT_FOUND: 'It does not exist for this key.',
  INVALID: 'The input is faulty; nothing was written.',
  CONFLICT: 'The state does not allow this, or somebody was faster.',
  NAME_TAKEN: 'The project has something of that name already.',
  IDEMPOTENCY_CONFLICT: 'The idempotencyKey was used with another request before.',
  GENERATION_TERMINAL: 'The generation has ended.',
  APPROVAL_ALREADY_DECIDED: 'Somebody was faster.',
  APPROVAL_EXPIRED: 'The time for the verdict is over.',
  BAD_CURSOR: 'The cursor was not issued here, or for another list.',
  CURSOR_EXPIRED:
    'The event of the cursor is not in the log any more; extensions.oldestCursor and newestCursor are where to go on.',
  LIMITED: 'A limit is reached; with retryAfterMs another try may succeed then.',
  RESPONSE_TOO_LARGE: 'The answer would be larger than the server gives; ask for less at once.',
  EXPIRED: 'The time for it is over.',
  UPSTREAM: 'Another server failed.',
  UNAVAILABLE: 'It cannot be done now; try again later.',
  INTERNAL: 'A fault of the server; extensions.errorId finds it in the log.',
}

/** Adds `interface Error` and its members; answers their refs, the members by name. */
export function addErrorTypes(builder: Builder) {
  const code = builder.enumType('ErrorCode', {
    description: 'Stable codes of errors. Clients must expect new ones.',
    values: described(errorCodes, codeMeanings),
  })
  const error = builder.interfaceRef<Pick<Refusal, 'code' | 'message'>>('Error').implement({
    description:
      'An expected refusal, as data. New members may come: spread `... on Error` to be ready for them.',
    fields: (t) => ({
      message: t.exposeString('message', { description: 'For people. Names the path and the fix.' }),
      code: t.field({ type: code, description: 'For programs.', resolve: (refusal) => refusal.code }),
    }),
  })
  const issue = builder.objectRef<Issue>('ValidationIssue').implement({
    description: 'One fault of an input.',
    fields: (t) => ({
      path: t.exposeStringList('path', { description: 'From `input` down to the faulty place.' }),
      message: t.exposeString('message', { description: 'What is wrong there; the value is not repeated.' }),
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
      description: 'Every fault that was found.',
      resolve: (refusal) => refusal.details.issues ?? [],
    }),
  )
  builder.objectField(types[names.indexOf('LimitReachedError')]!, 'retryAfterMs', (t) =>
    t.int({
      nullable: true,
      description:
        'After so many milliseconds another try may succeed; null when time alone changes nothing.',
      resolve: (refusal) => refusal.details.retryAfterMs ?? null,
    }),
  )
  const byName = Object.fromEntries(names.map((name, i) => [name, types[i]!])) as Record<
    RefusalName,
    (typeof types)[number]
  >
  return { Error: error, errors: byName }
}

/** The refusal of a caught error when the mutation lists it, else the error is thrown on. */
export function refusalOf(error: unknown, listed: readonly RefusalName[]): Refusal {
  const known = asAppError(error)
  if (known)
    for (const name of listed)
      if ((refusals[name].codes as readonly ErrorCode[]).includes(known.code))
        return new refusals[name].make(known)
  throw error
}

const httpStatus: Partial<Record<ErrorCode, number>> = { UNAUTHENTICATED: 401, LIMITED: 429 }

/**
 * What strangers see of a top-level error: our own codes as they are, faults of the document as they are, and for
 * everything else a number under which the operator finds it in the log.
 */
export function maskError(error: unknown, log: Log): GraphQLError {
  const original = error instanceof GraphQLError ? (error.originalError ?? null) : error
  const known = asAppError(original)
  if (known) {
    if (known.code === 'UNAVAILABLE') log.warn({ err: known.cause }, 'a request met a database that was away')
    const status = httpStatus[known.code]
    const { retryAfterMs, oldestCursor, newestCursor } = known.details
    const headers: Record<string, string> = {
      ...(known.code === 'UNAUTHENTICATED' ? { 'www-authenticate': 'Bearer' } : {}),
      ...(retryAfterMs ? { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) } : {}),
    }
    const extensions = {
      code: known.code,
      ...(known.details.action ? { action: known.details.action } : {}),
      ...(known.details.issues ? { issues: known.details.issues } : {}),
      ...(retryAfterMs ? { retryAfterMs } : {}),
      ...(oldestCursor ? { oldestCursor, newestCursor } : {}),
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
 * A fault that graphql found in the document, in its own words, but without what the caller wrote as a value (it may
 * be a secret) and without suggestions. Nothing ran, which is told as a status of 400.
 */
export function documentFault(error: GraphQLError): GraphQLError {
  const { nodes, source, positions, path } = error
  const { originalError: _words, ...extensions } = error.extensions
  let message = error.message
    .replace(/ ?Did you mean [^?]*\?/g, '')
    .replace(/^(Syntax Error: .*\b(?:BlockString|String|Int|Float)) "[^]*"/, '$1')
  for (const node of nodes ?? [])
    if (node.kind.endsWith('Value')) message = message.replace(print(node), () => '…')
  // `spec` leaves the status at 200 for clients that ask for application/json, as GraphQL over HTTP wants it.
  const told = (extensions['http'] as object | undefined) ?? { spec: true, status: 400 }
  const http = extensions['code'] === 'BAD_REQUEST' ? { ...told, spec: false } : told
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

/** The type of a refusal, or null for anything else. */
export function refusalNameOf(value: unknown): RefusalName | null {
  if (!(value instanceof Refusal)) return null
  const names = Object.keys(refusals) as RefusalName[]
  return names.find((name) => value instanceof refusals[name].make) ?? null
}
