/** The calls of a project, and the search among those whose outcome is unknown. */
import { invalidAt } from '../../core/errors.ts'
import { eq, or } from 'drizzle-orm'
import { kindOfId, type IdKind } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { searchedWords } from '../../core/check.ts'
import { hasWords, vectorOfIdentifier } from '../../store/db/lists.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { allows, type Ctx } from '../access/index.ts'
import { foundApprovals } from '../approvals/index.ts'
import { listToolCalls, type ToolCall, type ToolCallFilter } from '../tool-calls/index.ts'

/**
 * Calls of a project, newest first, all or those that match the filter. Action `toolCalls:List`; what was asked and said about
 * calls is searched only for callers with `approvals:List`. INVALID for a search among other calls than unknown ones, of more
 * than 200 characters, or without a letter or digit.
 */
export async function listCalls(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    filter?: ToolCallFilter | null | undefined
    page: Page
  },
): Promise<ToolCall[]> {
  const { search, ...filter } = input.filter ?? {}
  if (typeof search !== 'string') return listToolCalls(ctx, { ...input, filter })
  // Each is judged by itself: unknown calls are few.
  if (filter.statuses?.length !== 1 || filter.statuses[0] !== 'UNKNOWN')
    throw invalidAt(['filter', 'search'], 'goes with statuses: [UNKNOWN] only')
  return listToolCalls(ctx, { ...input, filter, where: found(ctx, search) })
}

/** The columns that have an id of this kind. */
const columnsById: Partial<Record<IdKind, keyof typeof toolCalls.$inferSelect>> = {
  toolCall: 'id',
  approval: 'approvalId',
  generation: 'generationId',
  agent: 'agentId',
  tool: 'toolId',
  apiKey: 'requestedBy',
  person: 'requestedBy',
}

/** The condition of a search. */
function found({ principal }: Ctx, search: string): SQL {
  const t = toolCalls
  const words = searchedWords(search)
  const wanted = search.trim()
  const column = columnsById[kindOfId(wanted) ?? 'step']
  const asked = sql`exists (select 1 from approvals where approvals.id = ${t.approvalId} and ${foundApprovals(search)})`
  return or(
    hasWords(vectorOfIdentifier(sql`${t.runtimeName}`), words),
    eq(t.errorCode, wanted.toLowerCase()),
    ...(column ? [eq(t[column], wanted)] : []),
    ...(allows(principal.policy, 'approvals:List', 'approval/*') ? [asked] : []),
  )!
}
