/** The most rows of each kind that a project may have. */
import { eq } from 'drizzle-orm'
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core'
import { AppError } from '../../../core/errors.ts'
import type { Database } from '../../../store/db/database.ts'
import { sql } from '../../../store/db/sql.ts'
import type { Ctx } from '../context.ts'

/** Throws LIMITED when the project already has as many rows of the table as the installation allows. */
export async function assertQuota(
  tx: Database,
  ctx: Ctx,
  table: PgTable & { projectId: PgColumn },
  projectId: string,
  what: string,
): Promise<void> {
  const max = ctx.limits.maxRowsPerProject
  const rows = tx
    .select({ one: sql`1` })
    .from(table as PgTable)
    .where(eq(table.projectId, projectId))
    .limit(max)
  const [counted] = await tx.select({ n: sql<number>`count(*)::int` }).from(rows.as('counted'))
  if (counted!.n >= max)
    throw new AppError('LIMITED', `This project has reached its limit of ${max} ${what}.`)
}
