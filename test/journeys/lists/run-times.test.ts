/** The times of steps, their failed attempts, and all runs below a run: what a timeline shows. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDeployment, type Deployment } from '../../support/deployment.ts'
import { statementsDuring } from '../../support/statements.ts'

let deployment: Deployment
beforeAll(async () => void (deployment = await openDeployment('PGlite')))
afterAll(() => deployment?.close())

async function read(id: string, fields: string): Promise<any> {
  const { data, errors } = await deployment.replicas[0]!.gql(
    `query($id: ID!) { generation(id: $id) { createdAt finishedAt ${fields} } }`,
    { id },
  )
  if (errors) throw new Error(JSON.stringify(errors))
  return data['generation']
}

const attempts = 'failedAttempts { stepIndex attempt model code message httpStatus startedAt failedAt }'

test('a step says when its request was sent and first answered, and which attempts failed before', async () => {
  const agentId = await deployment.fixtures.agent()
  const id = await deployment.fixtures.start(agentId, 'fail 429 x2\nslow 30ms\nsay one two three four')
  await deployment.replicas[0]!.until(id, ['COMPLETED'])
  const run = await read(
    id,
    `steps { index attempt startedAt firstTokenAt createdAt ${attempts} } ${attempts}`,
  )
  const [step] = run.steps
  expect(step).toMatchObject({ index: 1, attempt: 3 })
  const codes = step.failedAttempts.map((failed: any) => [failed.stepIndex, failed.attempt, failed.code])
  expect(codes).toEqual([
    [1, 1, 'MODEL_RATE_LIMITED'],
    [1, 2, 'MODEL_RATE_LIMITED'],
  ])
  expect(run.failedAttempts).toEqual(step.failedAttempts)
  const [first, second] = step.failedAttempts
  const inOrder = [
    run.createdAt,
    first.startedAt,
    first.failedAt,
    second.startedAt,
    second.failedAt,
    step.startedAt,
    step.firstTokenAt,
    step.createdAt,
    run.finishedAt,
  ].map((at: string) => Date.parse(at))
  expect(inOrder).not.toContain(NaN)
  expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b))
  // The model pauses 30 ms between words, and the pause before a retry is half a second at least.
  expect(Date.parse(step.createdAt) - Date.parse(step.firstTokenAt)).toBeGreaterThanOrEqual(60)
  expect(Date.parse(step.startedAt) - Date.parse(second.failedAt)).toBeGreaterThanOrEqual(400)
})

test('the attempts of a step that never succeeded are those of the generation', async () => {
  const id = await deployment.fixtures.start(await deployment.fixtures.agent(), 'fail 400\nsay never')
  await deployment.replicas[0]!.until(id, ['FAILED'])
  const run = await read(id, `steps { index } ${attempts}`)
  expect(run.steps).toEqual([])
  const message = 'The provider did not accept the request.'
  expect(run.failedAttempts).toMatchObject([
    { stepIndex: 1, attempt: 1, code: 'MODEL_BAD_REQUEST', httpStatus: 400, message },
  ])
})

test('rows of an older release have no times', async () => {
  const id = await deployment.fixtures.start(await deployment.fixtures.agent(), 'say one')
  await deployment.replicas[0]!.until(id, ['COMPLETED'])
  await deployment.rows(
    `update steps set started_at = null, first_token_at = null where generation_id = '${id}'`,
  )
  const run = await read(id, 'steps { startedAt firstTokenAt failedAttempts { code } }')
  expect(run.steps).toEqual([{ startedAt: null, firstTokenAt: null, failedAttempts: [] }])
})

test('all descendants in pages, parents before children, and none of another run', async () => {
  const { fixtures } = deployment
  const h = deployment.replicas[0]!
  const leaf = await fixtures.agent({ name: 'leaf' })
  const mid = await fixtures.agent({ name: 'mid', agentIds: [leaf], toolIds: [] })
  const top = await fixtures.agent({ name: 'top', agentIds: [mid], toolIds: [] })
  const say = (agent: string, message: string) => `call ${agent} ${JSON.stringify({ message })}`
  const inner = say('mid', `${say('leaf', 'say a')}\n${say('leaf', 'say b')}`)
  const id = await fixtures.start(top, `${inner}\n${inner}`)
  const other = await fixtures.start(top, say('mid', 'say c'))
  for (const one of [id, other]) await h.until(one, ['COMPLETED'])
  // As after a clock that was set back: each level is older than the one above it, and only their depth orders them.
  await deployment.rows(
    `update generations set created_at = timestamptz '2026-01-01' - depth * interval '1 hour' where root_id = '${id}'`,
  )
  const all = await read(id, 'descendants(first: 100) { nodes { id depth parent { id } root { id } } }')
  const nodes: any[] = all.descendants.nodes
  expect(nodes.map(({ depth }) => depth)).toEqual([1, 1, 2, 2, 2, 2])
  expect(new Set(nodes.map(({ root }) => root.id))).toEqual(new Set([id]))
  nodes.forEach(({ parent }, i) =>
    expect([id, ...nodes.slice(0, i).map((node) => node.id)]).toContain(parent.id),
  )
  const ids = nodes.map((node) => node.id)
  for (const backward of [false, true]) {
    const found: string[] = []
    let cursor: string | null = null
    for (;;) {
      const args: string = backward ? 'last: 2, before: $cursor' : 'first: 2, after: $cursor'
      const answer: any = await h.gql(
        `query($id: ID!, $cursor: String) { generation(id: $id) { descendants(${args}) {
          nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }`,
        { id, cursor },
      )
      const page: any = answer.data.generation.descendants
      const got = page.nodes.map((node: any) => node.id)
      if (backward) found.unshift(...got)
      else found.push(...got)
      if (backward ? !page.pageInfo.hasPreviousPage : !page.pageInfo.hasNextPage) break
      cursor = backward ? page.pageInfo.startCursor : page.pageInfo.endCursor
    }
    expect(found, backward ? 'backward' : 'forward').toEqual(ids)
  }
  const ofMid = await read(ids[0], 'descendants { nodes { depth parent { id } } }')
  expect(ofMid.descendants.nodes).toEqual([1, 2].map(() => ({ depth: 2, parent: { id: ids[0] } })))
})

test('the failed attempts of a page of runs are read by one statement', async () => {
  const db = deployment.replicas[0]!.app.services.db
  const seen = await statementsDuring(db, async () => {
    const { data } = await deployment.replicas[0]!.gql(
      '{ generations(first: 20) { nodes { failedAttempts { code } steps { failedAttempts { code } } } } }',
    )
    expect(data['generations'].nodes.length).toBeGreaterThan(5)
  })
  expect(seen.filter((text) => /from "?model_attempts/.test(text))).toHaveLength(1)
})
