/** An idempotent call whose worker dies each time is not repeated for ever. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { query } from '../../src/store/db/database.ts'
import { callFields, gateFixtures } from '../support/gate-fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { startLoopback } from '../support/loopback.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { forFile } from '../support/for-file.ts'

const h = await forFile(openHarness())
const deadly = await forFile(startLoopback(() => {}))
const fixtures = await forFile(makeFixtures(h))
const gate = gateFixtures(h, fixtures)

const refused = { status: 'ERRORED', errorCode: 'too_many_attempts', attempt: 5 }

/** Takes the row from its worker each time the call was sent, as a crash does. */
async function lose(
  table: 'generations' | 'tool_calls',
  id: string,
  path: string,
  isOver: () => Promise<boolean>,
) {
  for (let sent = 1; !(await isOver());) {
    if (deadly.seen.filter((seen) => seen.url === path).length < sent)
      await new Promise((resolve) => setImmediate(resolve))
    else {
      sent++
      await query(h.app.services.db, sql`update ${sql.raw(table)} set wake_at = now() where id = ${id}`)
      h.app.services.pubsub.publish([{ kind: 'work', table }])
    }
  }
  return deadly.seen.filter((seen) => seen.url === path).length
}

async function deadlyTool(name: string) {
  const config = { http: { url: `${deadly.url}/${name}`, method: 'GET', inputSchema: objectSchema({}) } }
  const { tool } = await h.mutate('createTool', { name, config }, 'tool { id }')
  return tool.id as string
}

test('in a run: after five times it is an error, and the model gets it', async () => {
  const agentId = await fixtures.agent({ toolIds: [await deadlyTool('deadly')] })
  const id = await fixtures.start(agentId, 'call deadly {}\nthen\nsay went on')
  const read = async () =>
    (
      await h.gql(
        `query($id: ID!) { generation(id: $id) { status output { text } toolCalls { ${callFields} } } }`,
        {
          id,
        },
      )
    ).data['generation']
  const sent = await lose('generations', id, '/deadly', async () => (await read()).status === 'COMPLETED')
  expect(sent).toBe(5)
  expect(await read()).toMatchObject({ output: { text: 'went on' }, toolCalls: [refused] })
})

test('outside a run: the same', async () => {
  const toolId = await deadlyTool('deadly_alone')
  void gate.call(toolId, {}).catch(() => {})
  while (!deadly.seen.some((seen) => seen.url === '/deadly_alone'))
    await new Promise((resolve) => setImmediate(resolve))
  const [row] = await query<{ id: string }>(
    h.app.services.db,
    sql`select id from tool_calls where tool_id = ${toolId}`,
  )
  const settled = async () => (await gate.toolCall(row!.id))['status'] === 'ERRORED'
  expect(await lose('tool_calls', row!.id, '/deadly_alone', settled)).toBe(5)
  expect(await gate.toolCall(row!.id)).toMatchObject(refused)
})
