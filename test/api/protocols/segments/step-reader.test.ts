/** The steps of a long run are read a few at a time, whatever the run has in all. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createStepReader } from '../../../../src/api/protocols/segments/segment-log.ts'
import type { Ctx } from '../../../../src/domain/access/index.ts'
import { query } from '../../../../src/store/db/database.ts'
import { aroundStatements } from '../../../support/around-statements.ts'
import { openHarness } from '../../../support/harness.ts'
import { makeFixtures, objectSchema } from '../../../support/fixtures.ts'
import { forFile } from '../../../support/for-file.ts'

const steps = 40
let statements = 0

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const config = { http: { url: `${fixtures.upstream.url}/echo`, inputSchema: objectSchema({}) } }
const { tool } = await h.mutate('createTool', { name: 'glance', config }, 'tool { id }')
const agentId = await fixtures.agent({ toolIds: [tool.id], maxSteps: steps + 1 })
const prompt = [...Array.from({ length: steps - 1 }, () => 'call glance {}'), 'say done'].join('\nthen\n')
const { generation } = await h.mutate('startGeneration', { agentId, prompt }, 'generation { id }')
const id: string = generation.id
await h.until(id, ['COMPLETED'])
aroundStatements(h.app.services.db, ({ params, execute }) => {
  // The server has work of its own meanwhile.
  if (JSON.stringify(params).includes(id)) statements += 1
  return execute()
})

const readAll = async () => {
  const stepAt = createStepReader(h.app.services as unknown as Ctx, id)
  const found = []
  for (let index = 1; index <= steps; index++) found.push((await stepAt(index))!)
  return { found, next: await stepAt(steps + 1) }
}

test('every step comes with its own calls, sixteen steps with two statements', async () => {
  statements = 0
  const { found, next } = await readAll()
  // Three times sixteen steps, and once for the step that is not there.
  expect(statements).toBe(2 * 4)
  expect(next).toBeUndefined()
  expect(found.map(({ step }) => step.stepIndex)).toEqual(Array.from({ length: steps }, (_, i) => i + 1))
  expect(found.map(({ calls }) => calls.map((call) => call.stepIndex))).toEqual(
    found.map(({ step }) => (step.stepIndex < steps ? [step.stepIndex] : [])),
  )
})

test('a run with more than one response may hold is read step by step', async () => {
  await query(
    h.app.services.db,
    sql`update tool_calls set result = jsonb_build_object('content', jsonb_build_array(
        jsonb_build_object('type', 'text', 'text', repeat('x', 5000000))))
      where generation_id = ${id} and step_index <= 14`,
  )
  const { found } = await readAll()
  expect(found).toHaveLength(steps)
  expect(JSON.stringify(found[13]!.calls).length).toBeGreaterThan(5_000_000)
})
