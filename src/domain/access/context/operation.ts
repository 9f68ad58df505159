/**
 * Operations: what the domain does for its callers. Each is declared once; every API follows from that, and so do its
 * faults.
 */
import { z } from 'zod'
import { check } from '../../../core/check.ts'
import { type RefusalCode, AppError } from '../../../core/errors.ts'
import { idShape, optional, part } from '../../../core/shapes.ts'
import type { Ctx, Services } from './context.ts'
import type { Action } from '../permission/policy.ts'
import { writeJson } from '../../../core/json.ts'
import { isUniqueViolation, sqlState } from '../../../store/db/database.ts'
import { BucketFaultError, DiskFaultError } from '../../../store/blobs/blobs.ts'
import { isOutage } from '../../../store/db/storage-error.ts'

/** What is known about an operation without running it. */
export interface Declaration<
  Input extends z.ZodObject = z.ZodObject,
  Payload extends z.ZodObject = z.ZodObject,
> {
  name: string
  /** What it does, for people and models, in sentences. */
  does: string
  /** The actions that a caller needs; with a text, only for what it says. */
  permission: Action | readonly (Action | readonly [Action, string])[]
  input: Input
  payload: Payload
  /** Errors that a client must handle, beside INVALID. */
  refuses: readonly RefusalCode[]
  /** Agents can call it as a tool, and see its payload, or these fields of it. */
  isAction?: boolean | readonly string[]
  /** Fields of the input that may loosen a rule: an agent's call with one of them is stopped by default. */
  loosening?: readonly (keyof z.input<Input> & string)[]
}

/**
 * Checks its input and does what is declared; what it returns is its payload. `More` is what it needs of the request beside the
 * caller's context.
 */
export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Payload extends z.ZodObject = z.ZodObject,
  More = never,
> {
  (ctx: Ctx, input: z.input<Input>, more: More): Promise<z.output<Payload>>
  readonly declaration: Declaration<Input, Payload>
}

/** What an operation is given. */
export type InputOf<One extends (ctx: Ctx, input: never) => unknown> = Parameters<One>[1]

/**
 * Declares an operation. With `checksItself`, `run` is given the input as it came: it keeps it as it came, or reports each fault in
 * its own way.
 */
export function operation<Input extends z.ZodObject, Payload extends z.ZodObject, More = void>(
  declaration: Declaration<Input, Payload> & {
    checksItself?: false
    run(ctx: Ctx, given: z.output<Input>, more: More): Promise<z.output<Payload>>
  },
): Operation<Input, Payload, More>
export function operation<Input extends z.ZodObject, Payload extends z.ZodObject, More = void>(
  declaration: Declaration<Input, Payload> & {
    checksItself: true
    run(ctx: Ctx, input: z.input<Input>, more: More): Promise<z.output<Payload>>
  },
): Operation<Input, Payload, More>
export function operation<Input extends z.ZodObject, Payload extends z.ZodObject, More>({
  run,
  checksItself = false,
  ...declaration
}: Declaration<Input, Payload> & {
  checksItself?: boolean
  run(ctx: Ctx, given: never, more: More): Promise<z.output<Payload>>
}): Operation<Input, Payload, More> {
  const checked = async (ctx: Ctx, input: z.input<Input>, more: More) =>
    run(ctx, (checksItself ? input : check(declaration.input, input)) as never, more)
  return Object.assign(checked, { declaration })
}

/** The operations among the exports of a module. */
export function operationsIn(module: object): Operation[] {
  return Object.values(module).filter(
    (one: unknown): one is Operation => typeof one === 'function' && 'declaration' in one,
  )
}

/** The actions that a caller needs whatever the input. */
export function actionsOf({ permission }: Pick<Declaration, 'permission'>): Action[] {
  return [permission].flat().filter((one): one is Action => typeof one === 'string')
}

/** What an operation returns that deletes something. */
export const deletion = part('DeletionPayload', 'What the mutation deleted.', {
  deletedId: idShape(
    'The id of what was deleted; null when there was nothing to delete, and for what has no id.',
  ).nullable(),
  deleted: z.boolean().describe('Whether the object existed.'),
})

/** Which project is meant. */
export const inProject = {
  projectId: optional(idShape('The id of the project.'), 'the project of the API key'),
}

/** Protects a change from being made on top of another one. */
export const ofVersion = {
  expectedVersion: optional(
    z
      .int()
      .describe('The version to change: with another current version the mutation returns ConflictError.'),
    'any version',
  ),
}

type Named = 'agent' | 'tool'

/** Tells every replica, after the commit, that events of the project were written. */
export function publishNews({ pubsub }: Pick<Services, 'pubsub'>, projectId: string): void {
  pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
}

/** Tells every replica, after the commit, that events were written and that what clients see may have changed. */
export function publishSurface(ctx: Ctx, projectId: string): void {
  ctx.pubsub.publish([
    { kind: 'news', projectId, generationId: null, seq: null },
    { kind: 'signal', name: 'surface', id: projectId },
  ])
}

/** Throws NAME_TAKEN when the project has another one of this name. */
export async function guardName<T>(what: Named, name: string, save: () => Promise<T>): Promise<T> {
  try {
    return await save()
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    const article = what === 'agent' ? 'an' : 'a'
    const message = `This project already has ${article} ${what} named ${writeJson(name)}.`
    throw new AppError('NAME_TAKEN', message, {}, error)
  }
}

export function changedMeanwhile(what: Named): AppError {
  return new AppError(
    'CONFLICT',
    `The ${what} was changed or deleted by another request. Read it again and repeat the change.`,
  )
}

/** When the client may try again, in milliseconds. */
const retryMs = 1000
/** The same for what a person must fix first. */
const diskRetryMs = 30_000

/** The error as an AppError that a client may see, or null for an internal error. */
export function asAppError(error: unknown): AppError | null {
  if (error instanceof AppError) return error
  if (isOutage(error))
    return new AppError(
      'UNAVAILABLE',
      'The database is unavailable or too busy. The request may have taken effect: repeat it with the same idempotency key.',
      { retryAfterMs: retryMs },
      error,
    )
  if (error instanceof DiskFaultError)
    return new AppError(
      'UNAVAILABLE',
      'The disk of files takes no bytes, because it is full or faulty. Nothing was stored: try again later.',
      { retryAfterMs: diskRetryMs },
      error,
    )
  if (error instanceof BucketFaultError)
    return new AppError(
      'UNAVAILABLE',
      'The object store of files cannot be used now. The request changed no file: try again later.',
      { retryAfterMs: error.isLasting ? diskRetryMs : retryMs },
      error,
    )
  const state = sqlState(error)
  // NUL in a text or in JSON has codes of its own; PostgreSQL reports a lone surrogate as invalid JSON syntax.
  const loneSurrogate = state === '22P02' && innermost(error).message.includes('for type json')
  if (state !== '22P05' && state !== '22021' && !loneSurrogate) return null
  const message = 'contains a character that cannot be stored (NUL, or a lone surrogate)'
  return new AppError('INVALID', `input: ${message}`, { issues: [{ path: ['input'], message }] })
}

function innermost(error: unknown): Error {
  let at = error as Error
  while (at.cause instanceof Error) at = at.cause
  return at
}
