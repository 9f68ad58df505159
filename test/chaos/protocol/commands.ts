/**
 * The commands of the protocol model: people act, replicas are cut off and reconnect, the upstream is slow, time
 * passes.
 */
import fc from 'fast-check'
import { checkNow } from './invariants.ts'
import type { Model } from './model.ts'
import { decide, decideTogether, type Verdict } from './verdicts.ts'
import { cutPoints, leaseMs, persons, type CutPoint, type World } from './world.ts'
import type { AnswerKind } from './upstream.ts'

type Command = fc.AsyncCommand<Model, World, true>

interface Act {
  name: string
  may(model: Readonly<Model>): boolean
  run(model: Model, world: World): Promise<unknown>
}

/** A command that is followed by a check of every invariant. */
function command({ name, may, run }: Act): Command {
  return {
    check: async (model) => may(model),
    async run(model, world) {
      model.done.set(name.split(' ')[0]!, (model.done.get(name.split(' ')[0]!) ?? 0) + 1)
      await run(model, world)
      await checkNow(world, model)
    },
    toString: () => name,
  }
}

/** Steps of a run; `#` is replaced by a text that makes its calls unique. */
const scripts = {
  charge: 'call charge {"n":"#","amount":1}\nthen\nsay done',
  refund: 'call refund {"n":"#","amount":5}\nthen\nsay done',
  pay: 'call pay {"n":"#","amount":5}\nthen\nsay done',
  pays: 'call pay {"n":"#","amount":5}\ncall charge {"n":"#","amount":2}\nthen\nsay done',
  beside: 'call charge {"n":"#","amount":1}\ncall refund {"n":"#","amount":5}\nthen\nsay done',
  asked:
    'call ask {"n":"#","amount":1}\ncall refund {"n":"#","amount":7}\nthen\ncall charge {"n":"#","amount":1}\nthen\nsay done',
} as const
type ScriptName = keyof typeof scripts

const start = (replica: number, script: ScriptName): Act => ({
  name: `start ${script}@${replica}`,
  may: () => true,
  async run(model, world) {
    const prompt = scripts[script].replaceAll('#', `${model.since}/${++model.begun}`)
    const input = { agentId: world.agentId, prompt, idempotencyKey: `${model.since}/${model.begun}` }
    // A start without a response is repeated with the same key, as clients do.
    for (const at of [replica, replica + 1]) {
      const answer = await world.request(
        world.reachable(at),
        'operator',
        'startGeneration',
        input,
        'generation { id }',
      )
      if (answer?.['generation']) return
    }
  },
})

const callDirect = (replica: number, tool: 'charge' | 'refund'): Act => ({
  name: `callDirect ${tool}@${replica}`,
  may: () => true,
  async run(model, world) {
    const key = `${model.since}/${++model.begun}`
    const input = { toolId: world.tools[tool], arguments: { n: key, amount: 3 }, idempotencyKey: key }
    const asked = [replica, replica + 1].map((at) =>
      world.request(world.reachable(at), 'operator', 'callTool', input, 'toolCall { id status }'),
    )
    // A call that nothing stops has a response when it has run.
    if (tool === 'refund') await Promise.all(asked)
  },
})

const expire = (pick: number): Act => ({
  name: `expire ${pick}`,
  may: (model) => model.begun > 0,
  run: (model, world) =>
    world.rows(`update approvals set expires_at = now(), wake_at = now() where id = (select id from approvals
      where status = 'PENDING' and created_at >= '${model.since}' order by created_at offset ${pick} limit 1)`),
})

const cancel = (replica: number, pick: number): Act => ({
  name: `cancel ${pick}@${replica}`,
  may: (model) => model.begun > 0,
  async run(model, world) {
    const [run] = await world.rows(`select id from generations where created_at >= '${model.since}'
      order by created_at offset ${pick} limit 1`)
    if (!run) return
    const input = { generationId: run['id'] }
    const told = (answer: Record<string, unknown>) => {
      if (answer['generation']) model.cancelled.add(run['id'])
    }
    await world.request(
      world.reachable(replica),
      'operator',
      'cancelGeneration',
      input,
      'generation { id }',
      told,
    )
  },
})

/** The same output on both replicas at once, and then another: the first that was acknowledged is kept. */
const submit = (replica: number, value: 'one' | 'two', twice: boolean): Act => ({
  name: `submit ${value}${twice ? ' twice' : ''}@${replica}`,
  may: (model) => model.begun > 0,
  async run(model, world) {
    const [call] =
      await world.rows(`select id, generation_id as run from tool_calls where created_at >= '${model.since}'
      and runtime_name = 'ask' and child_id is null order by settled_at is null desc, created_at limit 1`)
    if (!call) return
    const input = { generationId: call['run'], outputs: [{ toolCallId: call['id'], output: value }] }
    const told = (answer: Record<string, any>) => {
      const status = answer['outcomes']?.[0]?.status
      if (status === 'ACCEPTED' || status === 'UNCHANGED') model.outputs.set(call['id'], value)
    }
    const times = twice ? [replica, replica + 1] : [replica]
    const asked = times.map((at) =>
      world.request(world.reachable(at), 'operator', 'submitToolOutputs', input, 'outcomes { status }', told),
    )
    await Promise.all(asked)
  },
})

const cutOff = (replica: number, point: CutPoint): Act => ({
  name: `cutOff ${replica} ${point}`,
  may: (model) => model.cut === null,
  async run(model, world) {
    if (world.kind === 'PGlite') return
    model.cut = replica
    if (point === 'beforeWire') model.namesHeld = true
    world.cutOff(replica, point)
  },
})

const thaw: Act = {
  name: 'thaw',
  may: (model) => model.cut !== null,
  async run(model, world) {
    model.cut = null
    world.thaw()
  },
}

/** The others take over what a paused replica holds, and continue it. */
export const takeOver: Act = {
  name: 'takeOver',
  may: (model) => model.cut !== null,
  async run(model, world) {
    if (world.standing() === null) return
    const rest = `select 1 from generations where created_at >= '${model.since}' and finished_at is null and wake_at <= now()
        and status <> 'WAITING'
      union all select 1 from tool_calls where created_at >= '${model.since}' and (status = 'APPROVED'
        or (generation_id is null and wake_at <= now() and settled_at is null))`
    const until = performance.now() + leaseMs * 2.2
    let calm = 0
    for (let begun = performance.now(); performance.now() < until && calm < 3 && world.standing() !== null;) {
      await new Promise((resolve) => setTimeout(resolve, 40))
      const over = performance.now() - begun > leaseMs * 1.1
      calm = over && (await world.rows(rest)).length === 0 ? calm + 1 : 0
    }
  },
}

const holdNames: Act = {
  name: 'holdNames',
  may: (model) => !model.namesHeld,
  async run(model, world) {
    model.namesHeld = true
    world.upstream.holdNames()
  },
}

export const releaseNames: Act = {
  name: 'releaseNames',
  may: (model) => model.namesHeld,
  async run(model, world) {
    model.namesHeld = false
    // A call that was settled until now must not arrive any more.
    await checkNow(world, model)
    world.upstream.releaseNames()
  },
}

const holdAnswers: Act = {
  name: 'holdAnswers',
  may: (model) => !model.answersHeld,
  async run(model, world) {
    model.answersHeld = true
    world.upstream.holdAnswers()
  },
}

const answer = (how: AnswerKind): Act => ({
  name: `answer ${how}`,
  may: (model) => model.answersHeld,
  async run(model, world) {
    model.answersHeld = false
    world.upstream.answer(how)
  },
})

export const changeTool = (tool: 'pay' | 'refund'): Act => ({
  name: `changeTool ${tool}`,
  may: (model) => model.begun > 0,
  run: (_model, world) => world.changeTool(tool),
})

/** Waits until an event is written, or a short time. */
const pass: Act = {
  name: 'pass',
  may: (model) => model.begun > 0,
  async run(_model, world) {
    const newest = async () =>
      (await world.rows('select max(id)::text as id from events'))[0]!['id'] as string
    const before = await newest()
    for (let i = 0; i < 10 && (await newest()) === before; i++)
      await new Promise((resolve) => setTimeout(resolve, 25))
  },
}

const replica = fc.nat(1)
const pick = fc.nat(3)
const verdict: fc.Arbitrary<Verdict> = fc.record({
  by: fc.constantFrom(...persons),
  what: fc.constantFrom('APPROVE', 'APPROVE', 'APPROVE', 'EDIT_SMALL', 'EDIT_LARGE', 'REJECT'),
  saysDigest: fc.boolean(),
})
const editing: fc.Arbitrary<Verdict> = fc.record({
  by: fc.constantFrom('admin', 'otherAdmin'),
  what: fc.constantFrom('EDIT_SMALL', 'EDIT_LARGE'),
  saysDigest: fc.boolean(),
})
const asked = (model: Readonly<Model>) => model.begun > 0

const decideOne = fc.tuple(replica, pick, verdict).map(([at, which, one]) =>
  command({
    name: `decide ${which}@${at} ${JSON.stringify(one)}`,
    may: asked,
    run: (model, world) => decide(model, world, at, which, one),
  }),
)
const agreeing: fc.Arbitrary<Verdict> = fc.record({
  by: fc.constantFrom('approver', 'otherApprover', 'otherAdmin'),
  what: fc.constant('APPROVE'),
  saysDigest: fc.boolean(),
})
const decideTwo = fc
  .tuple(replica, pick, fc.oneof(editing, verdict), fc.oneof(agreeing, verdict))
  .map(([at, which, one, two]) =>
    command({
      name: `decideTogether ${which}@${at} ${JSON.stringify([one, two])}`,
      may: asked,
      run: (model, world) => decideTogether(model, world, at, which, [one, two]),
    }),
  )
/** As many people as the quorum needs approve, one after the other. */
const agree = fc.tuple(replica, pick).map(([at, which]) =>
  command({
    name: `agree ${which}@${at}`,
    may: asked,
    async run(model, world) {
      for (const by of ['admin', 'otherAdmin'] as const)
        await decide(model, world, at, which, { by, what: 'APPROVE', saysDigest: true })
    },
  }),
)
/** Every model begins with one of these. */
export const starts = fc
  .tuple(replica, fc.constantFrom(...(Object.keys(scripts) as ScriptName[])))
  .map(([at, script]) => command(start(at, script)))
const cuts = fc
  .tuple(
    replica,
    fc.constantFrom<CutPoint>('readsTool', 'readsTool', 'beforeWire', 'beforeWire', ...cutPoints),
  )
  .map(([at, point]) => command(cutOff(at, point)))

/** The most important commands are listed more than once, to be chosen more often. */
export const anyCommand: fc.Arbitrary<Command>[] = [
  starts,
  starts,
  fc
    .tuple(replica, fc.constantFrom('charge', 'refund', 'refund'))
    .map(([at, tool]) => command(callDirect(at, tool as 'charge'))),
  decideOne,
  decideOne,
  agree,
  agree,
  decideTwo,
  decideTwo,
  decideTwo,
  pick.map((which) => command(expire(which))),
  fc.tuple(replica, pick).map(([at, which]) => command(cancel(at, which))),
  fc
    .tuple(replica, fc.constantFrom('one', 'two'), fc.boolean())
    .map(([at, value, twice]) => command(submit(at, value as 'one', twice))),
  cuts,
  cuts,
  fc.constant(command(thaw)),
  fc.constant(command(takeOver)),
  fc.constant(command(holdNames)),
  fc.constant(command(releaseNames)),
  fc.constant(command(holdAnswers)),
  fc.constantFrom('ok', 'ok', 'fail', 'cut').map((how) => command(answer(how as AnswerKind))),
  fc.constantFrom('pay', 'refund').map((tool) => command(changeTool(tool as 'pay'))),
  fc.constant(command(pass)),
]
