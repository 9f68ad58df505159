/** What happens to a webhook between two statements of whoever holds its place: no event that follows is lost by it. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { query } from '../../../src/store/db/database.ts'
import { aroundStatements } from '../../support/around-statements.ts'
import { hasPostgres, postgresDatabase } from '../../support/databases.ts'
import { holdRow } from '../../support/held-row.ts'
import { holdResponse } from '../../support/held-statement.ts'
import { openHarness } from '../../support/harness.ts'
import { openReceiver, type Receiver } from '../../support/webhook-receiver.ts'
import { forFile } from '../../support/for-file.ts'

let before: Receiver
let after: Receiver
let webhookId: string
const database = hasPostgres ? await forFile(postgresDatabase()) : null
const h = await forFile(openHarness({ databaseUrl: database?.url ?? null }))
beforeEach(async () => {
  before = await openReceiver()
  after = await openReceiver()
  const input = { url: before.url, types: ['AGENT_CREATED'] }
  webhookId = (await h.mutate('createWebhook', input, 'webhook { id }'))['webhook'].id
})
afterEach(async () => {
  await h.mutate('deleteWebhook', { webhookId }, '__typename')
  await Promise.all([before, after].map((one) => one.close()))
})

const agent = (name: string) => h.mutate('createAgent', { name }, 'agent { id }')
const has =
  (name: string) =>
  (received: Receiver['received']): boolean =>
    received.some(({ data }) => data['name'] === name)

/** Everything that was committed has its position. */
const untilNumbered = () =>
  expect
    .poll(() => query(h.app.services.db, sql`select 1 from events where position is null`), { interval: 5 })
    .toEqual([])

/** So many polls of the schedule have ended from now on, and what each of them began has been sent. */
const polls = (count: number) =>
  new Promise<void>((resolve) => {
    const stop = aroundStatements(h.app.services.leaseDb, async ({ text, execute }) => {
      const rows = await execute()
      if (text.startsWith('select jsonb_build_object') && --count < 0) resolve(stop())
      return rows
    })
  })

/** Lets `meanwhile` happen after the holder of a place has read the endpoint, and before it reads the log. */
async function whileHeld(meanwhile: () => Promise<unknown>): Promise<void> {
  const read = holdResponse(h.app.services.db, { begins: 'select c.webhook_id as webhookId' })
  await agent(`before ${webhookId}`)
  await read.done
  await meanwhile()
  await untilNumbered()
  read.release()
}

test('an event after a change of the URL goes to the new one', async () => {
  await whileHeld(async () => {
    await h.mutate('updateWebhook', { webhookId, url: after.url }, 'webhook { id }')
    await agent('later')
  })
  await after.until(has('later'))
})

test('an event of a type that was added before it happened is sent', async () => {
  await whileHeld(async () => {
    const types = ['AGENT_CREATED', 'AGENT_DELETED']
    await h.mutate('updateWebhook', { webhookId, types }, 'webhook { id }')
    const { agent: made } = await agent('gone')
    await h.mutate('deleteAgent', { id: made.id }, '__typename')
  })
  await before.until((received) => received.some(({ type }) => type === 'agent.deleted'))
})

test.skipIf(!hasPostgres)(
  'an event is sent although the place was locked when it was looked for',
  async () => {
    await agent('free')
    await before.until(has('free'))
    const places = () =>
      query<{ status: string }>(
        h.app.services.db,
        sql`select status from webhook_cursors where id = ${webhookId}`,
      )
    await expect.poll(places).toEqual([{ status: 'IDLE' }])
    const held = await holdRow(database!.url, 'webhook_cursors', webhookId)
    await agent('locked')
    await untilNumbered()
    await polls(3)
    await held.release()
    await before.until(has('locked'))
  },
)
