/**
 * One run, answered in two APIs at the same instant: it goes on exactly once. Whoever says the same gets the state, and
 * whoever says something else is told of the conflict in the words of its API.
 */
import { describe, expect, test } from 'vitest'
import { dose } from '../support/dose.ts'
import { adminKey, openHarness } from '../support/harness.ts'
import { runApis, type Door, type KnownRun, type Outcome, type RunApi } from '../support/run-apis.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const door = async (name: string, more: object) => ({
  url: h.url,
  key: adminKey,
  agent: { name, id: await fixtures.agent({ name, ...more }) },
})
const plain = await door('plain', {})
const gated = await door('gated', { gate: { mode: 'ALWAYS' } })

let count = 0
/** A run that waits, in a thread with an id of the client's; `open` is the call or the question. */
async function waiting({ agent }: Door, prompt: string, state: string) {
  const externalId = `thread ${++count}`
  const { thread } = await h.mutate('createThread', { agentId: agent.id, externalId }, 'thread { id }')
  const id = await fixtures.start(agent.id, prompt, { threadId: thread.id })
  const found = await h.until(id, [state], 'requiredAction { approvals { id } }')
  const { toolCalls, approvals } = found['requiredAction']
  return { run: { id, externalId } satisfies KnownRun, open: (toolCalls[0] ?? approvals[0]).id as string }
}

/** The calls of the run, and how often it went on, from the log. */
async function told(id: string) {
  const { data } = await h.gql(
    `query($id: ID!) { generation(id: $id) { toolCalls { name status content }
      events(first: 100) { nodes { type } } } }`,
    { id },
  )
  const types = data['generation'].events.nodes.map(({ type }: { type: string }) => type) as string[]
  return {
    calls: data['generation'].toolCalls as { name: string; status: string; content: unknown }[],
    resumed: types.filter((type) => type === 'GENERATION_RESUMED').length,
  }
}
const acted = () => fixtures.upstream.seen.length

/** Pairs of the APIs that can do this: each with the next one, and all pairs with `npm run chaos`. */
function pairsOf(can: keyof RunApi): [string, string][] {
  const names = Object.entries(runApis).flatMap(([name, one]) => (one[can] ? [name] : []))
  return names.flatMap((one, i) =>
    names.slice(i + 1, dose(i + 2, names.length)).map((other): [string, string] => [one, other]),
  )
}
const api = (name: string) => runApis[name as keyof typeof runApis]
const conflicts: Record<string, RegExp> = {
  graphql: /^(CONFLICT|GENERATION_TERMINAL|APPROVAL_ALREADY_DECIDED)$/,
  rest: /^(CONFLICT|GENERATION_TERMINAL)$/,
  responses: /^(conflict|generation_terminal|approval_already_decided)$/,
  completions: /^(conflict|generation_terminal)$/,
  chat: /^(CONFLICT|GENERATION_TERMINAL|APPROVAL_ALREADY_DECIDED)$/,
  agUi: /^(CONFLICT|GENERATION_TERMINAL|APPROVAL_ALREADY_DECIDED)$/,
  a2a: /^(CONFLICT|UNSUPPORTED_OPERATION|APPROVAL_ALREADY_DECIDED)$/,
}
/** Exactly one was taken; returns which. */
function winner(names: readonly string[], outcomes: readonly Outcome[]): number {
  const taken = outcomes.map(({ code }) => code === null)
  expect(taken.filter(Boolean), JSON.stringify(outcomes)).toHaveLength(1)
  const lost = taken.indexOf(false)
  expect(outcomes[lost]!.code).toMatch(conflicts[names[lost]!]!)
  return taken.indexOf(true)
}

describe('a call of the client', () => {
  const prompt = 'call ask {"word":"w"}\nthen\ncall act {"word":"w"}\nthen\nsay done'

  test.each(pairsOf('answer'))('with the same output in %s and %s', async (...names) => {
    const { run, open } = await waiting(plain, prompt, 'REQUIRES_ACTION')
    const before = acted()
    const outcomes = await Promise.all(names.map((name) => api(name).answer!(plain, run, open, 'yes')))
    expect(outcomes).toEqual([
      { status: 200, code: null },
      { status: 200, code: null },
    ])
    expect(await h.until(run.id, ['COMPLETED'])).toMatchObject({ output: { text: 'done' }, stepCount: 3 })
    const { calls, resumed } = await told(run.id)
    expect(calls).toMatchObject([
      { name: 'ask', status: 'SUCCEEDED', content: [{ text: 'yes' }] },
      { name: 'act', status: 'SUCCEEDED' },
    ])
    expect([resumed, acted() - before]).toEqual([1, 1])
  })

  test.each(pairsOf('answer'))('with different outputs in %s and %s', async (...names) => {
    const { run, open } = await waiting(plain, prompt, 'REQUIRES_ACTION')
    const before = acted()
    const outcomes = await Promise.all(names.map((name) => api(name).answer!(plain, run, open, `of ${name}`)))
    const won = names[winner(names, outcomes)]!
    await h.until(run.id, ['COMPLETED'])
    const { calls, resumed } = await told(run.id)
    expect(calls[0]).toMatchObject({ content: [{ text: `of ${won}` }] })
    expect([resumed, acted() - before]).toEqual([1, 1])
  })
})

describe('a question of the gate', () => {
  test.each(pairsOf('decide'))('approved in %s and rejected in %s', async (...names) => {
    const { run, open } = await waiting(gated, 'call act {"word":"w"}\nthen\nsay done', 'AWAITING_APPROVAL')
    const before = acted()
    const outcomes = await Promise.all(names.map((name, i) => api(name).decide!(gated, run, open, i === 0)))
    const isApproved = winner(names, outcomes) === 0
    expect(await h.until(run.id, ['COMPLETED'])).toMatchObject({ output: { text: 'done' } })
    const { calls } = await told(run.id)
    expect(calls).toMatchObject([{ name: 'act', status: isApproved ? 'SUCCEEDED' : 'REJECTED' }])
    expect(acted() - before).toBe(isApproved ? 1 : 0)
  })

  test.each(pairsOf('decide'))('approved in %s and in %s', async (...names) => {
    const { run, open } = await waiting(gated, 'call act {"word":"w"}\nthen\nsay done', 'AWAITING_APPROVAL')
    const before = acted()
    await Promise.all(names.map((name) => api(name).decide!(gated, run, open, true)))
    await h.until(run.id, ['COMPLETED'])
    expect((await told(run.id)).calls).toMatchObject([{ name: 'act', status: 'SUCCEEDED' }])
    expect(acted() - before).toBe(1)
  })
})
