/** Columns that many tables share, spelled once. */
import { bigint, integer, text, timestamp } from 'drizzle-orm/pg-core'

/** A moment with millisecond precision: what a JavaScript Date can hold, so that a cursor never skips a row. */
export const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'date' })

export const createdAt = () => moment('created_at').notNull().defaultNow()
export const updatedAt = () => moment('updated_at').notNull().defaultNow()

/** What makes a row a work row (see store/work): when somebody must look at it, and the fence. */
export const workColumns = () => ({
  wakeAt: moment('wake_at'),
  epoch: integer('epoch').notNull().default(0),
})

export const projectId = () => text('project_id').notNull()
export const count = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0)
