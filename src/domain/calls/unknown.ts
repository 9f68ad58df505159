/** The calls of a project whose outcome is unknown, as people search them. */
import { eq, or } from 'drizzle-orm'
import { kindOfId, type IdKind } from '../../core/ids.ts'
import type { Page } from '../../core/page.ts'
import { searchedWords } from '../../core/words.ts'
import type { CreatedRange } from '../../store/db/keyset.ts'
import { hasWords, vectorOfIdentifier } from '../../store/db/search.ts'
import { sql, type SQL } from '../../store/db/sql.ts'
import { toolCalls } from '../../store/db/tables/tools.ts'
import { allows, type Ctx } from '../access/index.ts'
import { foundApprovals } from '../approvals/index.ts'
import { listToolCalls, type ToolCall } from '../tool-calls/index.ts'

/** Which unknown calls are listed: those that match every field that is given. */
export interface UnknownCallFilter extends CreatedRange {
  toolId?: string | null | undefined
  agentId?: string | null | undefined
  /** Words of the tool's name and of the question about the call, an id, or an error code. */
  search?: string | null | undefined
}

/**
 * Unknown calls of a project, newest first. Action `toolCalls:List`; what was asked and said about calls is searched only
 * for callers with `approvals:List`. INVALID for a search of more than 200 characters, or without a letter or digit.
 */
export function listUnknownCalls(
  ctx: Ctx,
  input: {
    projectId?: string | null | undefined
    filter?: UnknownCallFilter | null | undefined
    page: Page
  },
): Promise<ToolCall[]> {
  const { search, ...filter } = input.filter ?? {}
  return listToolCalls(ctx, {
    projectId: input.projectId,
    page: input.page,
    filter: { ...filter, statuses: ['UNKNOWN'] },
    where: typeof search === 'string' ? found(ctx, search) : undefined,
  })
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

/** The condition of a search. It is judged for the unknown calls one by one: they are few, and wait for a person. */
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
