/** Queries of one object and of lists, as every module has them. */
import type { ObjectRef } from '@pothos/core'
import { z } from 'zod'
import { idPrefixes, type IdKind } from '../../../core/ids.ts'
import type { Page } from '../../../core/page.ts'
import { inProject, type Ctx } from '../../../domain/access/index.ts'
import { actionMark, listOf } from './action-mark.ts'
import type { BuilderTypes } from './builder.ts'
import { listCost, page } from './connections.ts'
import type { Loaders } from './context.ts'
import type { Refs } from './refs.ts'

interface OneOptions {
  name: string
  type: unknown
  kind: IdKind
  /** What people call it, with its article: "An agent". */
  words: string
  permission: string
  /** Makes the query a platform action too: the selection of its result. */
  action?: string
  load(loaders: Loaders, id: string): Promise<unknown>
}

/** Adds the query of one object by its id. */
export function addById({ builder }: Refs, { name, kind, words, load, ...options }: OneOptions): void {
  const [, bare] = /^An? (.*)$/.exec(words)!
  builder.queryField(name, (t) =>
    t.field({
      type: options.type as ObjectRef<BuilderTypes, object>,
      nullable: true,
      description: `${words} by id; null when it does not exist for this API key. Permission: ${options.permission}.`,
      ...(options.action ? actionMark(options.action) : {}),
      args: {
        id: t.arg.id({
          required: true,
          description: `The id of the ${bare}; it begins with ${idPrefixes[kind]}_.`,
        }),
      },
      resolve: (_root, { id }, { loaders }) => load(loaders, id) as Promise<object | null>,
    }),
  )
}

type ArgumentsOf<Args extends z.ZodRawShape> = z.output<z.ZodObject<Args>>

interface ListOptions<Args extends z.ZodRawShape, Row> {
  name: string
  /** The connection. */
  type: unknown
  /** In whole sentences, with the order and the permission. */
  description: string
  /** The arguments beside the project and those of the page. */
  args?: Args
  /** The project is not an argument. */
  ofAnyProject?: true
  /** Makes the query a platform action too: the selection of an entry. */
  action?: string
  list(ctx: Ctx, input: ArgumentsOf<typeof inProject> & ArgumentsOf<Args> & { page: Page }): Promise<Row[]>
  /** The time by which the list is ordered. Default: when a row was created. */
  momentOf?(input: ArgumentsOf<Args>): (row: Row) => Date
}

/** Adds the query of a list in pages. */
export function addList<
  Row extends { id: string; createdAt: Date },
  Args extends z.ZodRawShape = Record<never, never>,
>({ builder, shapes }: Refs, options: ListOptions<Args, Row>): void {
  const { name, args = {}, action, list, momentOf } = options
  const own = options.ofAnyProject ? args : { ...inProject, ...args }
  builder.queryField(name, (t) =>
    t.field({
      type: options.type as ObjectRef<BuilderTypes, object>,
      description: options.description,
      ...(action ? actionMark(listOf(action)) : {}),
      args: { ...shapes.args(t, own), ...t.arg.connectionArgs() },
      complexity: listCost,
      resolve: (_root, { first, last, after, before, ...given }, { ctx }) => {
        const input = given as ArgumentsOf<typeof inProject> & ArgumentsOf<Args>
        return page(
          { first, last, after, before },
          (p) => list(ctx, { ...input, page: p }),
          momentOf?.(input),
        )
      },
    }),
  )
}
