/** Events that a statement builds in SQL equal those that the constructors make. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import {
  approvalExpired,
  eventColumns,
  eventKinds,
  eventName,
  isCopiedToRoot,
  toolCallSettled,
} from '../../../src/domain/events/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { connect } from '../../../src/store/db/connect.ts'
import { memoryDatabase } from '../../support/databases.ts'
import { eventTypes } from './samples.ts'
import { forFile } from '../../support/for-file.ts'

const connection = await forFile(connect(await memoryDatabase()))

test('eventColumns gives the type and data of the constructor', async () => {
  const call = { toolCallId: 'call_1', name: "o'clock" }
  const rows = await query(
    connection.db,
    sql`select ${eventColumns(approvalExpired, { approvalId: sql`'apr_1'::text`, toolCallId: sql`${call.toolCallId}::text`, name: sql`${call.name}::text` })}
      union all
      select ${eventColumns(toolCallSettled, { toolCallId: sql`${call.toolCallId}::text`, name: sql`${call.name}::text`, status: sql`'EXPIRED'::text` })}`,
  )
  expect(rows).toEqual([
    approvalExpired({ ...call, approvalId: 'apr_1' }),
    toolCallSettled({ ...call, status: 'EXPIRED' }),
  ])
})

test('isCopiedToRoot is true for the kinds that are declared so, and for no other', async () => {
  const types = sql.join(
    eventTypes.map((type) => sql`(${eventName(eventKinds[type])})`),
    sql`, `,
  )
  const rows = await query<{ type: string; copied: boolean }>(
    connection.db,
    sql`select type, ${isCopiedToRoot(sql`type`)} as copied from (values ${types}) as v(type)`,
  )
  expect(rows).toEqual(eventTypes.map((type) => ({ type, copied: eventKinds[type].traits.copiedToRoot })))
})
