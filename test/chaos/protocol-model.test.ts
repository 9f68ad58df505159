/**
 * The protocol of calls, leases and approvals against its model: random sequences of requests and faults, over two
 * replicas on PostgreSQL and one on PGlite. After every command and at the end the rules of invariants.ts must hold.
 * A failure prints its path; CHAOS_SEED and CHAOS_PATH repeat it.
 */
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { hasPostgres } from '../support/databases.ts'
import { dose } from '../support/dose.ts'
import { anyCommand, changeTool, releaseNames, starts, takeOver } from './protocol/commands.ts'
import { checkAtRest, checkFeeds, checkNow } from './protocol/invariants.ts'
import { newModel, type Model } from './protocol/model.ts'
import { openWorld, type Kind, type World } from './protocol/world.ts'
import { drawn, chaosSeed } from '../support/random.ts'

const path = process.env['CHAOS_PATH']
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/**
 * Other replicas take over, tools change, paused work continues, and cut replicas reconnect: then everything is
 * checked.
 */
async function comeToRest(model: Model, world: World): Promise<void> {
  await takeOver.run(model, world)
  for (const tool of ['pay', 'refund'] as const) await changeTool(tool).run(model, world)
  await releaseNames.run(model, world)
  world.upstream.answer('ok')
  world.thaw()
  model.cut = null
  await world.idle()
  await checkAtRest(world, model)
}

/** Ends what still waits for a person, so that the next model begins with nothing. */
async function endAll(model: Model, world: World): Promise<void> {
  const mine = `created_at >= '${model.since}'`
  await world.rows(
    `update approvals set expires_at = now(), wake_at = now() where status = 'PENDING' and ${mine}`,
  )
  const open = () =>
    world.rows(`select id from generations where finished_at is null and ${mine}
    union all select id from tool_calls where settled_at is null and generation_id is null and ${mine}`)
  for (const { id } of await open())
    await world.request(0, 'operator', 'cancelGeneration', { generationId: id }, 'generation { id }')
  await expect.poll(open, { timeout: 90_000, interval: 40 }).toEqual([])
  await checkNow(world, model)
}

const counts = new Map<string, number>()

async function follow(world: World, commands: Iterable<fc.AsyncCommand<Model, World, true>>): Promise<void> {
  const [now] = await world.rows<{ since: string }>('select clock_timestamp()::text as since')
  const model = newModel(now!.since)
  try {
    await fc.asyncModelRun(() => ({ model, real: world }), commands)
    await comeToRest(model, world)
    await endAll(model, world)
  } finally {
    for (const [name, n] of model.done) counts.set(name, (counts.get(name) ?? 0) + n)
  }
}

const doses: Record<Kind, number> = { PostgreSQL: dose(20, 600), PGlite: dose(12, 200) }
/** A slow machine runs fewer models, and the report has their number. In milliseconds. */
const patienceMs = dose(60_000, Infinity)
const kinds: Kind[] = hasPostgres ? ['PostgreSQL', 'PGlite'] : ['PGlite']

test.each(drawn(kinds))(
  'whatever people and failures do on %s, no call runs twice or for votes that were not given, and nothing is left behind',
  { timeout: 360_000 + doses.PostgreSQL * 10_000 },
  async (kind) => {
    const world = await openWorld(kind)
    closers.push(() => world.close())
    counts.clear()
    let models = 0
    const begun = performance.now()
    const more = fc.noBias(fc.array(fc.oneof(...anyCommand), { minLength: 8, maxLength: 20 }))
    const commands = fc.tuple(starts, more).map(([first, rest]) => [first, ...rest])
    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        if (performance.now() - begun > patienceMs) return
        models++
        await follow(world, list)
      }),
      { seed: chaosSeed, numRuns: doses[kind], endOnFailure: true, ...(path ? { path } : {}) },
    )
    const events = await checkFeeds(world)
    const sent = world.upstream.arrivals.length
    const seconds = Math.round((performance.now() - begun) / 1000)
    console.log(`protocol model on ${kind}:`, {
      models,
      seconds,
      events,
      sent,
      ...Object.fromEntries(counts),
    })
    if (path) return
    for (const name of ['start', 'decide', 'decideTogether', 'cancel', 'expire', 'changeTool'])
      expect(counts.get(name) ?? 0, name).toBeGreaterThan(0)
    expect(sent).toBeGreaterThan(0)
    expect(models).toBeGreaterThanOrEqual(8)
  },
)
