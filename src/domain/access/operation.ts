/** Operations: what the domain does for its callers. Each is declared once; every API follows from that. */
import { z } from 'zod'
import { check } from '../../core/check.ts'
import type { RefusalCode } from '../../core/errors.ts'
import { idShape, optional, part } from '../../core/shapes.ts'
import type { Ctx } from './context.ts'
import type { Action } from './policy.ts'

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
export const deletion = part('DeletionPayload', 'What was deleted.', {
  deletedId: idShape(
    'The id of what was deleted; null when there was nothing to delete, and for what has no id.',
  ).nullable(),
  deleted: z.boolean().describe('Whether there was anything to delete.'),
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
