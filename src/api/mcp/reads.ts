/** resources/read and prompts/get: calls of the tool that they come through, with its gate, and delivered in one answer. */
import { inputRequired, type ServerContext } from '@modelcontextprotocol/server'
import { onAbort } from '../../core/abort.ts'
import { asText, isJsonObject, type JsonObject } from '../../core/json.ts'
import {
  answerWork,
  cancelWork,
  fetched,
  readWork,
  waitForWork,
  type Caller,
  type PlacedRead,
  type Work,
} from '../../domain/bridge/index.ts'
import { codes, faultError, protocolError, toProtocolError } from './errors.ts'
import { protocolFaultOf } from './results.ts'
import { roundCodec, type RoundState } from './rounds.ts'
import type { Visit } from './visit.ts'

/** What is read: its hash tells rounds of one request from those of another. */
export interface Reading {
  requestHash: string
  caller: Caller
  place(): Promise<PlacedRead>
}

/** Answers what was read, what the upstream asks first, or a typed error. One that waits for a person is held a while. */
export async function deliverRead(visit: Visit, mcp: ServerContext, reading: Reading): Promise<object> {
  try {
    const round = mcp.mcpReq.requestState<RoundState>()
    if (round && round.requestHash !== reading.requestHash)
      throw protocolError(codes.invalidParams, 'Invalid or expired requestState', 'invalid_request_state')
    const id = round ? await goOn(visit, mcp, reading, round) : await begin(visit, reading)
    const work = await settled(visit, id)
    if (work.status === 'ASKS') return await askedBack(visit, mcp, reading, work, round?.round ?? 0)
    return await shown(visit, work)
  } catch (error) {
    throw toProtocolError(error, visit.log)
  }
}

async function begin({ ctx, gone }: Visit, { place }: Reading): Promise<string> {
  const { call, running } = await place()
  if (!running) return call.id
  // Nobody is there to hear the answer: the upstream is told.
  const forget = onAbort(gone, () => void cancelWork(ctx, call.id).catch(() => {}))
  await running.finally(forget)
  return call.id
}

async function goOn(visit: Visit, mcp: ServerContext, reading: Reading, round: RoundState): Promise<string> {
  const answers = mcp.mcpReq.inputResponses as JsonObject | undefined
  const given = answers ? await answerWork(visit.ctx, round.workId, answers, reading.caller) : null
  await given?.running
  return round.workId
}

async function settled({ ctx, times, gone }: Visit, id: string): Promise<Work> {
  const work = await readWork(ctx, id)
  const isOpen = (one: Work) => one.status === 'WAITING' || one.status === 'RUNNING'
  if (!isOpen(work)) return work
  return waitForWork(ctx, work, {
    maxMs: times.inlineHoldMs,
    signal: gone,
    enough: (one) => !isOpen(one),
  })
}

async function askedBack(
  { ctx, agentId }: Visit,
  mcp: ServerContext,
  { requestHash }: Reading,
  work: Work,
  rounds: number,
): Promise<object> {
  const state: RoundState = { workId: work.id, round: rounds + 1, requestHash }
  return inputRequired({
    inputRequests: work.asked as never,
    requestState: await roundCodec(ctx, agentId).mint(state, mcp),
  })
}

async function shown({ ctx, times }: Visit, work: Work): Promise<object> {
  const more = { call_id: work.id }
  if (work.status === 'WAITING') {
    const { approvalId, expiresAt } = work.pending!
    throw protocolError(
      codes.conflict,
      'Not read yet: a person has to approve it. Repeat this request unchanged to get the outcome.',
      'pending_approval',
      {
        ...more,
        approval_id: approvalId,
        expires_at: expiresAt.toISOString(),
        retry_after_ms: times.pollMs,
      },
    )
  }
  if (!work.result)
    throw protocolError(codes.internal, 'No answer in time. Repeat this request.', 'timeout', more)
  await fetched(ctx, work)
  const { isError, structuredContent } = work.result
  if (!isError) return structuredContent as object
  const theirs = protocolFaultOf(work.result)
  if (theirs) throw faultError(theirs)
  const error = (structuredContent as { error?: JsonObject } | undefined)?.error
  const { code, message } = isJsonObject(error) ? error : { code: 'upstream_error', message: 'It failed.' }
  throw protocolError(codes.internal, asText(message), asText(code), more)
}
