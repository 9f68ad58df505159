/**
 * AG-UI 1.0 over the runs of agents, for front ends. A thread has the client's own id, and every run
 * of AG-UI is a part of a run here, up to the next pause or the end.
 */
import type { AppError } from '../../../core/errors.ts'
import { findAgentToStart } from '../../../domain/agents/index.ts'
import { decoded, type ApiCall, type AuthenticatedApi } from '../../http/authenticated-api.ts'
import { RunRendering, type ClientTraits } from './events.ts'
import { beginPart } from './begin.ts'
import { readInput } from './input.ts'
import { sendRuns } from './send-runs.ts'

const client: Omit<ClientTraits, 'isCurrent'> = { runsOpenCalls: false, isAskedLast: false }

export const agUiApi: AuthenticatedApi = {
  resource: '/ag-ui',
  routes: [{ method: 'POST', path: '/ag-ui/{agent}', run }],
  errorBody,
}

/** The client of AG-UI puts the body into the message of its error. */
function errorBody({ code, message, details }: AppError): object {
  const at = details.issues?.[0]?.path.join('.')
  return { error: { code, message, ...(at ? { path: at } : {}) } }
}

async function run({ request: { ctx, body }, response, params }: ApiCall): Promise<null> {
  const agent = await findAgentToStart(ctx, decoded(params['agent']!, 'agent'))
  const given = readInput(await body())
  const { generation, segment } = await beginPart(ctx, agent, given)
  const { isCurrent, seen } = given
  const rendering = new RunRendering(given, seen, generation.id, { ...client, isCurrent })
  return sendRuns(ctx, response, [{ generation, segment, rendering, opening: rendering.begin() }])
}
