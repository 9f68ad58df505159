/** The calls that runs ask their client for. */
import type { Ctx } from '../../domain/access/index.ts'
import { loadAskedUnder, type Generation } from '../../domain/generations/index.ts'
import { loadOpenCallsOf, type ToolCall } from '../../domain/tool-calls/index.ts'

/** Open calls for the client, of these runs and of the runs under them, each with the run that shows it. */
export async function openCallsOf(
  { db }: Ctx,
  runs: readonly Generation[],
): Promise<{ runId: string; call: ToolCall }[]> {
  // Also of those that run: a call that runs here may go on beside the client's.
  const ids = runs.filter(({ stepCount, finishedAt }) => stepCount > 0 && !finishedAt).map(({ id }) => id)
  if (ids.length === 0) return []
  const [own, under] = await Promise.all([loadOpenCallsOf(db, ids), loadAskedUnder(db, ids)])
  return [
    ...own.map((call) => ({ runId: call.generationId!, call })),
    ...under.map(({ top, call }) => ({ runId: top, call })),
  ].filter(({ call: { status, kind } }) => status === 'AWAITING_CLIENT' && kind === 'client')
}
