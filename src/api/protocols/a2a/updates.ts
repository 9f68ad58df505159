/**
 * What happens to a task, as the events of a stream: first the task as it is, then its text as updates of one artifact
 * for each response, and its next states.
 */
import type { JsonObject } from '../../../core/json.ts'
import type { Generation, Step } from '../../../domain/generations/index.ts'
import { textOf } from '../../../domain/models/index.ts'
import { type RunUpdate, endsSegment, readSegment } from '../segments/segment-log.ts'
import { newTextOf } from '../segments/presentation.ts'
import { artifactUpdate, textArtifact, resultArtifact, stateOf, statusUpdate, taskOf } from './shapes.ts'
import type { Ctx } from '../../../domain/access/index.ts'
import { asksCaller, hasEnded, readState, readTask, type TaskState } from './task.ts'

/** Turns what happens into updates: whoever follows the rules of `append` has each committed text, and no other one. */
export function createTexts(generation: Generation) {
  let open: { stepIndex: number; attempt: number; text: string } | null = null
  const update = (stepIndex: number, text: string, append: boolean, isLast: boolean) =>
    artifactUpdate(generation, textArtifact(stepIndex, text), append, isLast)

  function* piece(one: Extract<RunUpdate, { type: 'text' }>) {
    const { stepIndex, attempt } = one
    // The text of another attempt is taken back at once: this one may end without any.
    if (open && (open.stepIndex !== stepIndex || open.attempt !== attempt)) yield* reset()
    const known = open?.text.length ?? 0
    const more = newTextOf(one, known)
    if (!more) return
    open = { stepIndex, attempt, text: (open?.text ?? '') + more }
    yield update(stepIndex, more, known > 0, false)
  }

  function* committed({ stepIndex, parts }: Step) {
    const whole = textOf(parts)
    const sent = open?.stepIndex === stepIndex ? open.text : ''
    open = null
    if (!whole && !sent) return
    const continues = sent !== '' && whole.startsWith(sent)
    yield update(stepIndex, continues ? whole.slice(sent.length) : whole, continues, true)
  }

  /** Text on its way that will not be committed is taken back. */
  function* reset() {
    if (open) yield update(open.stepIndex, '', false, false)
    open = null
  }

  return {
    *add(one: RunUpdate): Generator<JsonObject, void, undefined> {
      if (one.type === 'text') yield* piece(one)
      else if (one.type === 'step') yield* committed(one.step)
      else if (one.type === 'reset' || one.type === 'end') yield* reset()
    },
  }
}

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
