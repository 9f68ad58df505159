/** Columns that many tables share. */
import { bigint, customType, integer, text, timestamp } from 'drizzle-orm/pg-core'
import { writeJson } from '../../../core/json.ts'

/** JSON as the drivers read it, with all digits; Drizzle's own column would write numbers that it does not know as texts. */
export const jsonb = customType<{ data: unknown }>({ dataType: () => 'jsonb', toDriver: writeJson })

/** A timestamp with millisecond precision, as a JavaScript Date has: with more digits a cursor could skip a row. */
export const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

export const createdAt = () => moment('created_at').notNull().defaultNow()
export const updatedAt = () => moment('updated_at').notNull().defaultNow()

/** Tables of work rows: with the columns id, wake_at and epoch. */
export type WorkTable =
  | 'generations'
  | 'tool_calls'
  | 'upstreams'
  | 'webhook_cursors'
  | 'slack_integrations'
  | 'triggers'
  | 'retentions'

/** The columns of a work row (see store/work): when a worker must claim it, and its fencing token. */
export const workColumns = () => ({
  wakeAt: moment('wake_at'),
  epoch: integer('epoch').notNull().default(0),
})

export const projectId = () => text('project_id').notNull()
export const count = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0)

/** Words that are searched for (see store/db/lists.ts). The column is written and compared, and never read. */
export const searchColumn = customType<{ data: null }>({ dataType: () => 'tsvector' })
