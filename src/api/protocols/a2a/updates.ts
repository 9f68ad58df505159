/** What happens to a task, as the events of a stream: first the task as it is, then its text and its next states. */
import type { JsonObject } from '../../../core/json.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import type { Generation } from '../../../domain/generations/index.ts'
import { endsSegment, readSegment, type RunUpdate } from '../segments/segment-log.ts'
import { artifactUpdate, resultArtifact, stateOf, statusUpdate, taskOf } from './shapes.ts'
import { asksCaller, hasEnded, readState, readTask, type TaskState } from './task.ts'
import { createTexts } from './texts.ts'

interface Watched {
  id: string
  historyLength: number | null
  /** Also behind a question that is open when the stream begins. */
  behindQuestion: boolean
}

/**
 * The events until the task has ended or begins to ask this caller, or the signal fires. Nothing is lost between the first
 * event and the next. Actions `generations:Get` and `events:Subscribe`, checked before it resolves.
 */
export async function followTask(
  ctx: Ctx,
  { id, historyLength, behindQuestion }: Watched,
  signal: AbortSignal,
): Promise<AsyncGenerator<JsonObject, void, undefined>> {
  const task = await readTask(ctx, id)
  const isOver = hasEnded(task) || (asksCaller(task) && !behindQuestion)
  const first = isOver ? null : await segmentAfter(ctx, task.generation, task.generation.lastSeq, signal)
  return events(ctx, task, first, historyLength, signal)
}

function segmentAfter(ctx: Ctx, generation: Generation, after: number, signal: AbortSignal) {
  return readSegment(ctx, generation, { generationId: generation.id, after }, true, signal)
}

async function* events(
  ctx: Ctx,
  begun: TaskState,
  first: AsyncGenerator<RunUpdate, void, undefined> | null,
  historyLength: number | null,
  signal: AbortSignal,
): AsyncGenerator<JsonObject, void, undefined> {
  const { generation } = begun
  yield { task: taskOf(begun, { historyLength, artifacts: true }) }
  const texts = createTexts(generation)
  let shown = stateOf(begun)
  for (let segment = first; segment;) {
    let last: RunUpdate | null = null
    for await (const one of segment) {
      const isNews = shown !== 'TASK_STATE_WORKING' && !endsSegment(one)
      // Of what was asked a part may be left.
      if (isNews && !asksCaller(await readState(ctx, generation.id))) {
        shown = 'TASK_STATE_WORKING'
        yield statusUpdate({
          ...begun,
          generation: { ...generation, storedStatus: 'RUNNING' },
          asked: nothing,
        })
      }
      yield* texts.add(one)
      last = one
    }
    if (!last || !endsSegment(last)) return
    const now = await readTask(ctx, generation.id)
    const result = last.type === 'end' ? resultArtifact(now.generation) : null
    if (result) yield artifactUpdate(generation, result, false, true)
    const state = stateOf(now)
    // Somebody may have answered already: then the task went on, and so does the stream.
    if (state !== shown || asksCaller(now)) yield statusUpdate(now)
    shown = state
    segment = hasEnded(now) || asksCaller(now) ? null : await segmentAfter(ctx, generation, last.seq, signal)
  }
}

const nothing = { calls: [], approvals: [] }
