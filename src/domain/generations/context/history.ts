/** The history for the model, as messages: earlier generations of the thread, and the steps so far. */
import { textResult, type ToolResult } from '../../../core/content.ts'
import { isJsonObject } from '../../../core/json.ts'
import type { Database } from '../../../store/db/database.ts'
import { maxWholeBytes } from '../../../store/db/lists.ts'
import { rowsAsJson, rowsOfJson, selectRows, selectRowsWithin } from '../../../store/db/rows.ts'
import { sql, type SQL } from '../../../store/db/sql.ts'
import { generations, steps, threads } from '../../../store/db/tables/generations.ts'
import { loadCallsOf, type StepRange, type ToolCall } from '../../tool-calls/index.ts'
import { generationOf, ownThreadId, type Generation } from '../generation.ts'
import { stepOf, type Step } from '../steps.ts'
import { type Message, type ToolCallPart, type ToolResultPart, callsOf } from '../../models/index.ts'

/** How many earlier generations are read; more would not fit a context window. */
const maxEarlier = 50

/** The steps of these generations in order. Checks no permission. */
export async function loadStepsOf(db: Database, generationIds: readonly string[]): Promise<Step[]> {
  if (generationIds.length === 0) return []
  const rows = await selectRows(db, steps, ofGenerations(generationIds))
  return rows.map(stepOf)
}

/** Reads the steps after those of `known`, which are the first ones of the generation, and adds them to it. */
export async function loadNewSteps(db: Database, generation: Generation, known: Step[]): Promise<void> {
  if (known.length >= generation.stepCount) return
  const rows = await selectRows(
    db,
    steps,
    sql`where generation_id = ${generation.id} and step_index > ${known.length} order by step_index`,
  )
  known.push(...rows.map(stepOf))
}

/** All steps of one generation as a value of a larger statement, in its snapshot. Parse it with `stepsOfJson`. */
export function stepsAsJson(generationId: string): SQL {
  return rowsAsJson(steps, ofGenerations([generationId]))
}

export function stepsOfJson(value: readonly object[]): Step[] {
  return rowsOfJson(steps, value).map(stepOf)
}

/** The same for the API: RESPONSE_TOO_LARGE when they have more than `maxWholeBytes`. */
export async function showStepsOf(db: Database, generationIds: readonly string[]): Promise<Step[]> {
  const rows = await selectRowsWithin(db, steps, ofGenerations(generationIds), maxWholeBytes)
  return rows.map(stepOf)
}

/** Steps of one generation, `from` and `to` included, for the API: RESPONSE_TOO_LARGE as `showStepsOf`. */
export async function showStepsBetween(
  db: Database,
  generationId: string,
  { from, to }: StepRange,
): Promise<Step[]> {
  const between = sql`where generation_id = ${generationId} and step_index between ${from}::int and ${to}::int
    order by step_index`
  return (await selectRowsWithin(db, steps, between, maxWholeBytes)).map(stepOf)
}

function ofGenerations(ids: readonly string[]): SQL {
  return sql`where generation_id in ${[...ids]} order by generation_id, step_index`
}

/** A run whose history is read, and its place in its thread. */
type Placed = Pick<Generation, 'id' | 'threadId' | 'createdAt' | 'input' | 'retryOf'>

/**
 * What was said before the input of a generation, at most `maxEarlier` runs back: the messages that its thread was opened
 * with, and those of the generations of it that had ended when this one was created; for a retry, and in the thread that
 * a retry began, that of the run that was retried, up to its step. Deterministic: a generation that ends later is never
 * included.
 */
export async function loadEarlier(db: Database, generation: Generation): Promise<Message[]> {
  const pieces: Message[][] = []
  let left = maxEarlier
  for (let run: Placed | undefined = generation; run && left > 0; left--) {
    const rows = await endedBefore(db, run, left)
    left -= rows.length
    pieces.unshift(await messagesOfRuns(db, rows))
    if (left <= 0) break
    if (!beganThread(run)) pieces.unshift(await loadFirst(db, run.threadId))
    const { retryOf: retried } = rows[0] ?? run
    if (retried === null) break
    ;[run] = await selectPlaced(db, sql`where id = ${retried.generationId}`)
    if (run && retried.step > 0) pieces.unshift(await messagesOfRuns(db, [run], retried.step))
  }
  return pieces.flat()
}

const beganThread = ({ id, threadId }: Placed) => threadId === ownThreadId(id)

/** The newest generations of its thread that had ended when this one was created, oldest first. */
async function endedBefore(db: Database, run: Placed, most: number): Promise<Placed[]> {
  if (beganThread(run)) return []
  const rows = await selectPlaced(
    db,
    sql`where thread_id = ${run.threadId} and id <> ${run.id} and finished_at <= ${run.createdAt.toISOString()}::timestamptz
      order by created_at desc, id desc limit ${most}::int`,
  )
  return rows.toReversed()
}

async function selectPlaced(db: Database, rest: SQL): Promise<Placed[]> {
  return (await selectRows(db, generations, rest)).map(generationOf)
}

/** Input, steps and results of these generations in order; with `last` no steps after that one. */
async function messagesOfRuns(db: Database, runs: readonly Placed[], last = Infinity): Promise<Message[]> {
  const ids = runs.map(({ id }) => id)
  const [allSteps, allCalls] = await Promise.all([loadStepsOf(db, ids), loadCallsOf(db, ids)])
  return runs.flatMap(({ id, input }) => [
    ...input,
    ...messagesOf(
      allSteps.filter(({ generationId, stepIndex }) => generationId === id && stepIndex <= last),
      allCalls.filter(({ generationId }) => generationId === id),
    ),
  ])
}

/** The messages that the thread was opened with. */
async function loadFirst(db: Database, threadId: string): Promise<Message[]> {
  const [thread] = await selectRows(db, threads, sql`where id = ${threadId}`)
  return (thread?.messages ?? []) as Message[]
}

/** Steps and their results as messages. Every call has a result, in call order, whatever its status. */
export function messagesOf(done: Step[], calls: ToolCall[]): Message[] {
  return done.flatMap((step) => {
    const results = callsOf(step.parts).map((part) => resultPart(part, calls))
    const messages: Message[] = [{ v: 1, role: 'assistant', parts: step.parts }]
    if (results.length > 0) messages.push({ v: 1, role: 'tool', parts: results })
    return messages
  })
}

function resultPart(part: ToolCallPart, calls: ToolCall[]): ToolResultPart {
  const call = calls.find((c) => c.id === part.callId)
  const result: ToolResult =
    call?.result ?? textResult(call ? 'No result: the generation ended first.' : 'Received.')
  return {
    type: 'tool-result',
    callId: part.callId,
    providerCallId: part.providerCallId,
    name: part.name,
    ...withNote(result, call?.editedKeys ?? null),
  }
}

/** Tells the model which of its arguments an approver replaced. */
function withNote(result: ToolResult, editedKeys: string[] | null): ToolResult {
  if (!editedKeys || editedKeys.length === 0) return result
  const note = `A person changed these arguments before the call ran: ${editedKeys.join(', ')}.`
  const { structuredContent: value } = result
  const error = isJsonObject(value) && isJsonObject(value['error']) ? { ...value['error'], note } : null
  return {
    ...result,
    content: [...result.content, { type: 'text', text: note }],
    ...(error ? { structuredContent: { error } } : {}),
  }
}
