/** Lists of generations between bounds have those whose shown duration and cost lie between them, and no others. */
import { expect, test } from 'vitest'
import { chaosSeed, randomSchedule } from '../../support/random.ts'
import { openDeployment } from '../../support/deployment.ts'
import { forFile } from '../../support/for-file.ts'

interface Shown {
  id: string
  startedAt: string | null
  finishedAt: string | null
  totalCost: number | null
}

const deployment = await forFile(openDeployment('PGlite'))
const h = deployment.replicas[0]!
const random = randomSchedule()
const below = (most: number) => Math.floor(random() * most)
const models = ['openai/gpt-4o-2024-08-06', 'anthropic/claude-sonnet-4', 'corp/own', 'corp/unpriced', null]

/** Generations of which each third has child runs, with random times, models and tokens. */
async function makeRuns(): Promise<void> {
  const helper = await deployment.fixtures.agent({ name: 'helper' })
  const agent = await deployment.fixtures.agent({ name: 'boss', agentIds: [helper] })
  const ask = 'call helper {"message":"say a"}'
  const ids: string[] = []
  for (let at = 0; at < 30; at++)
    ids.push(await deployment.fixtures.start(agent, at % 3 === 0 ? `${ask}\n${ask}` : 'say a'))
  for (const id of ids) await h.until(id, ['COMPLETED'])
  for (const { id } of await deployment.rows<{ id: string }>('select id from generations')) {
    const model = models[below(models.length)] ?? null
    const [input, cached, output] = [below(3000), below(3000), below(2000)]
    await deployment.rows(
      `update generations set model = ${model === null ? 'null' : `'${model}'`}, input_tokens = ${input},
        cached_input_tokens = ${cached}, output_tokens = ${output},
        started_at = ${below(9) === 0 ? 'null' : "'2026-01-01T00:00:00Z'"},
        finished_at = timestamptz '2026-01-01T00:00:00Z' + interval '1 ms' * ${below(5) * 1000 + below(3)}
        where id = '${id}'`,
    )
  }
}

async function list(filter: object): Promise<Shown[]> {
  const { data, errors } = await h.gql(
    `query($filter: GenerationFilter) { generations(filter: $filter, first: 100) {
      nodes { id startedAt finishedAt totalCost } }
      generationTally(filter: $filter) { total { completed open } } }`,
    { filter },
  )
  expect(errors).toBeUndefined()
  const { nodes } = data['generations']
  const { completed, open } = data['generationTally'].total
  expect(completed + open).toBe(nodes.length)
  return nodes
}

const secondsOf = ({ startedAt, finishedAt }: Shown) =>
  startedAt && finishedAt ? (Date.parse(finishedAt) - Date.parse(startedAt)) / 1000 : null

const pricing = { model: 'corp/own', input: 0.1, cachedInput: 0.07, output: 0.3 }
await h.mutate('setModelPrice', pricing, 'price { model }')
await makeRuns()

test('a filter finds exactly those whose shown duration and cost it allows, counted as they are listed', async () => {
  const all = await list({})
  expect(all).toHaveLength(50)
  expect(all.some(({ totalCost }) => totalCost === null)).toBe(true)
  const [seconds, costs] = [all.map(secondsOf), all.map(({ totalCost }) => totalCost)]
  // Bounds are values that are shown, so that each lies on an edge.
  const drawn = (values: (number | null)[]) => {
    const known = values.filter((one) => one !== null)
    return known[below(known.length)]!
  }
  for (let round = 0; round < 60; round++) {
    const [a, b, c, d] = [drawn(seconds), drawn(seconds), drawn(costs), drawn(costs)]
    const filter = {
      ...(below(2) === 0 && { minDurationSeconds: Math.min(a, b) }),
      ...(below(2) === 0 && { maxDurationSeconds: Math.max(a, b) }),
      ...(below(2) === 0 && { minCost: Math.min(c, d) }),
      ...(below(2) === 0 && { maxCost: Math.max(c, d) }),
    }
    const within = (value: number | null, least?: number, most?: number) =>
      (least === undefined && most === undefined) ||
      (value !== null && value >= (least ?? 0) && value <= (most ?? Infinity))
    const expected = all.filter(
      (run) =>
        within(secondsOf(run), filter.minDurationSeconds, filter.maxDurationSeconds) &&
        within(run.totalCost, filter.minCost, filter.maxCost),
    )
    const found = await list(filter)
    expect(
      found.map(({ id }) => id),
      `seed ${chaosSeed}, ${JSON.stringify(filter)}`,
    ).toEqual(expected.map(({ id }) => id))
  }
})

test('a run that goes on is as long as it runs so far', async () => {
  const agent = await deployment.fixtures.agent({ name: 'asker' })
  const id = await deployment.fixtures.start(agent, 'call ask {"word":"a"}')
  await h.until(id, ['REQUIRES_ACTION'])
  await deployment.rows(`update generations set started_at = now() - interval '1 hour' where id = '${id}'`)
  const found = async (filter: object) => (await list({ agentId: agent, ...filter })).length
  expect(await found({ minDurationSeconds: 3600 })).toBe(1)
  expect(await found({ minDurationSeconds: 7200 })).toBe(0)
  expect(await found({ maxDurationSeconds: 3500 })).toBe(0)
})

test.each([
  [{ minCost: -1 }, 'minCost'],
  [{ maxDurationSeconds: -0.5 }, 'maxDurationSeconds'],
  [{ minCost: 2, maxCost: 1 }, 'maxCost'],
  [{ minDurationSeconds: 2, maxDurationSeconds: 1.5 }, 'maxDurationSeconds'],
])('bounds that nothing can keep are refused: %j', async (filter, field) => {
  for (const query of [
    'query($filter: GenerationFilter) { generations(filter: $filter) { nodes { id } } }',
    'query($filter: GenerationFilter) { generationTally(filter: $filter) { isComplete } }',
  ]) {
    const { errors } = await h.gql(query, { filter })
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID', issues: [{ path: ['filter', field] }] })
  }
})
