/** Limits of keys, projects, agents and tools: rates are set and taken from, rows of a project are counted. */
import * as view from '../../../core/view.ts'
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import { BoundedMap } from '../../../core/bounded.ts'
import { perMinute, type BucketRule } from '../../../core/buckets.ts'
import { AppError, notFound } from '../../../core/errors.ts'
import { choice, entity, idShape, optional, part } from '../../../core/shapes.ts'
import { atomically, type Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import { agents } from '../../../store/db/tables/agents.ts'
import { apiKeys, rateLimits } from '../../../store/db/tables/access.ts'
import { tools } from '../../../store/db/tables/tools.ts'
import type { SharedBuckets } from '../../../store/rates/shared-buckets.ts'
import { projectOf, type Ctx, type Services } from '../context/context.ts'
import type { RateLimiter } from './limiter.ts'
import { inProject, operation } from '../context/operation.ts'
import { assertMay, recordChange } from '../permission/permission.ts'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'

const limitScope = choice('RateLimitScope', 'What a rate limit counts.', {
  PROJECT: 'All requests of all API keys of the project together.',
  KEY: 'All requests of one API key; each message of an MCP batch counts.',
  AGENT: 'Starts of generations of one agent, by any caller.',
  TOOL: 'Calls of one tool. A direct call beyond the limit is refused with retryAfterMs; a call of a generation waits.',
})
type LimitScope = z.output<typeof limitScope>

/** A limit of one project, key, agent or tool. */
export const rateLimit = part(
  'RateLimit',
  'A rate limit over all replicas together: a token bucket that refills evenly.',
  {
    scope: limitScope.describe('What the limit counts.'),
    targetId: view.id('The id of the project, API key, agent or tool.'),
    perMinute: view.int('Requests, starts or calls per minute.'),
    burst: view.int('Requests, starts or calls that may happen at once.'),
    updatedAt: view.date('When the limit was last set.'),
  },
)
export interface RateLimit extends z.output<typeof rateLimit> {
  projectId: string
}

export const RateLimit = entity<RateLimit>()('RateLimit')

/** How long the limits of a project are cached, in milliseconds. A change publishes a hint, which ends that at once. */
const cacheMs = 5000
const maxProjects = 10_000

export interface DefaultRates {
  requestsPerMinute: number
  costPerMinute: number
}

/** `defaults` are the limits of a key without limits of its own. */
export function createRateLimiter(
  services: Pick<Services, 'db' | 'clock' | 'pubsub'>,
  buckets: SharedBuckets,
  defaults: DefaultRates,
): RateLimiter {
  const requestRule = perMinute(defaults.requestsPerMinute)
  const costRule = perMinute(defaults.costPerMinute)
  const known = createKnownRules(services)
  const rulesOf = known.of
  const keyRules = new BoundedMap<string, BucketRule>(maxProjects)
  return {
    async takeRequests(principal, requests) {
      const rules = await rulesOf(principal.projectId)
      const rule = rules.get(`KEY ${principal.id}`) ?? requestRule
      keyRules.set(principal.id, rule)
      const waitMs = await buckets.take(`key:${principal.id}`, rule, requests)
      if (waitMs > 0) throw limited(`This key may send ${shown(rule)} requests a minute.`, waitMs)
      const ofProject = rules.get(`PROJECT ${principal.projectId}`)
      if (!ofProject) return
      const projectMs = await buckets.take(`project:${principal.projectId}`, ofProject, requests)
      if (projectMs === 0) return
      buckets.giveBack(`key:${principal.id}`, rule, requests)
      throw limited(
        `The keys of this project may send ${shown(ofProject)} requests a minute together.`,
        projectMs,
      )
    },
    takeCost: ({ id }, cost) => buckets.take(`cost:${id}`, costRule, cost),
    giveBackCost: ({ id }, cost) => buckets.giveBack(`cost:${id}`, costRule, cost),
    quotas({ id }) {
      const rule = keyRules.get(id) ?? requestRule
      return {
        requests: { name: 'key', rule, left: buckets.left(`key:${id}`, rule) },
        cost: { name: 'cost', rule: costRule, left: buckets.left(`cost:${id}`, costRule) },
      }
    },
    async takeUse(projectId, scope, targetId) {
      const rules = await rulesOf(projectId)
      const rule = rules.get(`${scope} ${targetId}`)
      return rule ? buckets.take(`${scope}:${targetId}`, rule, 1) : 0
    },
    async giveBackUse(projectId, scope, targetId) {
      const rule = (await rulesOf(projectId)).get(`${scope} ${targetId}`)
      if (rule) buckets.giveBack(`${scope}:${targetId}`, rule, 1)
    },
    async limitedTools(projectId) {
      const names = [...(await rulesOf(projectId)).keys()]
      return new Set(names.filter((name) => name.startsWith('TOOL ')).map((name) => name.slice(5)))
    },
    forget: known.forget,
    async close() {
      known.close()
      await buckets.close()
    },
  }
}

type Rules = Map<string, BucketRule>

/** A cache of the limits of projects; without limits when they cannot be read. */
function createKnownRules(services: Pick<Services, 'db' | 'clock' | 'pubsub'>) {
  const known = new BoundedMap<string, { rules: Promise<Rules>; until: number }>(maxProjects)
  const forget = (projectId: string) => void known.delete(projectId)
  const read = (projectId: string): Promise<Rules> =>
    readRules(services, projectId).catch(() => {
      // This request gets the default limits, and the next one reads again.
      forget(projectId)
      return new Map()
    })
  const close = services.pubsub.subscribe((hint) => {
    if (hint.kind === 'signal' && hint.name === 'limits') forget(hint.id)
  })
  return {
    forget,
    close,
    of(projectId: string): Promise<Rules> {
      const now = services.clock.now()
      const found = known.get(projectId)
      if (found && found.until > now) return found.rules
      const rules = read(projectId)
      known.set(projectId, { rules, until: now + cacheMs })
      return rules
    },
  }
}

function shown({ perMs }: BucketRule): number {
  return Math.round(perMs * 60_000)
}

function limited(message: string, waitMs: number): AppError {
  return new AppError('LIMITED', message, { retryAfterMs: Math.ceil(waitMs) })
}

/**
 * Takes the cost of work that the size of a response does not show. Throws LIMITED with the time to wait. One point is worth
 * 0.2 ms of the server's time by default.
 */
export async function assertCost(
  { rates, principal }: Pick<Ctx, 'rates' | 'principal'>,
  points: number,
): Promise<void> {
  const waitMs = await rates.takeCost(principal, points)
  if (waitMs > 0)
    throw limited(`This operation costs ${points} points more, and this key has fewer left.`, waitMs)
}

async function readRules({ db }: Pick<Services, 'db'>, projectId: string): Promise<Map<string, BucketRule>> {
  const rows = await db.select().from(rateLimits).where(eq(rateLimits.projectId, projectId))
  return new Map(
    rows.map(({ scope, targetId, burst, perMinute: count }) => [
      `${scope} ${targetId}`,
      { capacity: burst, perMs: count / 60_000 },
    ]),
  )
}

/** Takes one use of a tool or agent. Throws LIMITED when its limit is reached. */
export async function assertUse(
  ctx: Ctx,
  scope: 'AGENT' | 'TOOL',
  projectId: string,
  id: string,
): Promise<void> {
  const waitMs = await ctx.rates.takeUse(projectId, scope, id)
  if (waitMs > 0)
    throw limited(
      `The rate limit of this ${scope.toLowerCase()} is reached. Try again in ${Math.ceil(waitMs / 1000)} s.`,
      waitMs,
    )
}

const count = z.int().min(1).max(100_000_000)

/** It applies on every replica at once, or within 5 seconds when the hint is lost. Limit and audit entry are written together. */
export const setRateLimit = operation({
  name: 'setRateLimit',
  does:
    'Sets the rate limit of a project, API key, agent or tool, over all replicas together; without perMinute it is ' +
    'removed.',
  permission: 'limits:Set',
  input: z
    .object({
      ...inProject,
      scope: limitScope.describe('What the limit counts.'),
      targetId: idShape('The id of the API key, agent or tool; not given for PROJECT.').nullish(),
      perMinute: count
        .describe('Requests, starts or calls per minute, from 1. When left out, the limit is removed.')
        .nullish(),
      burst: optional(count.describe('Requests, starts or calls that may happen at once.'), 'perMinute'),
    })
    .describe('A rate limit to set or remove.'),
  payload: z
    .object({ rateLimit: RateLimit.nullable().describe('The rate limit; null when it was removed.') })
    .describe('The rate limit after the change.'),
  refuses: ['NOT_FOUND'],
  async run(ctx, { scope, perMinute: wanted, burst, ...given }) {
    const projectId = await projectOf(ctx, given.projectId)
    const resource = `project/${projectId}`
    await assertMay(ctx, 'limits:Set', projectId, resource)
    const targetId = scope === 'PROJECT' ? projectId : (given.targetId ?? '')
    await assertTarget(ctx, projectId, scope, targetId)
    const where = and(
      eq(rateLimits.projectId, projectId),
      eq(rateLimits.scope, scope),
      eq(rateLimits.targetId, targetId),
    )
    const set = await atomically(ctx.db, async (tx) => {
      const details = { scope, targetId, perMinute: wanted ?? null, burst: burst ?? null }
      await recordChange(tx, ctx, { projectId, action: 'limits:Set', resource, details })
      if (!wanted) {
        await tx.delete(rateLimits).where(where)
        return null
      }
      const values = { perMinute: wanted, burst: burst ?? wanted, updatedAt: sql`now()` }
      const [row] = await tx
        .insert(rateLimits)
        .values({ projectId, scope, targetId, ...values })
        .onConflictDoUpdate({
          target: [rateLimits.projectId, rateLimits.scope, rateLimits.targetId],
          set: values,
        })
        .returning()
      return row as RateLimit
    })
    ctx.rates.forget(projectId)
    ctx.pubsub.publish([{ kind: 'signal', name: 'limits', id: projectId }])
    return { rateLimit: set }
  },
})

const tableOf = { KEY: apiKeys, AGENT: agents, TOOL: tools } as const

/** NOT_FOUND unless the project has the target. Reads the tables directly, because their modules are above this one. */
async function assertTarget(ctx: Ctx, projectId: string, scope: LimitScope, id: string): Promise<void> {
  if (scope === 'PROJECT') return
  const table = tableOf[scope]
  const rows = await ctx.db
    .select({ id: table.id })
    .from(table)
    .where(and(eq(table.id, id), eq(table.projectId, projectId)))
  if (rows.length === 0) throw notFound(scope.toLowerCase(), id)
}

/**
 * The limits of a project by scope and target, at most 1000. Action `limits:List`.
 */
export async function listRateLimits(
  ctx: Ctx,
  input: { projectId?: string | null | undefined },
): Promise<RateLimit[]> {
  const projectId = await projectOf(ctx, input.projectId)
  await assertMay(ctx, 'limits:List', projectId, `project/${projectId}`)
  const rows = await ctx.db
    .select()
    .from(rateLimits)
    .where(eq(rateLimits.projectId, projectId))
    .orderBy(rateLimits.scope, rateLimits.targetId)
    .limit(1000)
  return rows as RateLimit[]
}

/** Throws LIMITED when the project already has as many rows of the table as the installation allows. */
export async function assertQuota(
  tx: Database,
  ctx: Ctx,
  table: PgTable & { projectId: PgColumn },
  projectId: string,
  what: string,
): Promise<void> {
  const max = ctx.limits.maxRowsPerProject
  const rows = tx
    .select({ one: sql`1` })
    .from(table as PgTable)
    .where(eq(table.projectId, projectId))
    .limit(max)
  const [counted] = await tx.select({ n: sql<number>`count(*)::int` }).from(rows.as('counted'))
  if (counted!.n >= max)
    throw new AppError('LIMITED', `This project has reached its limit of ${max} ${what}.`)
}
