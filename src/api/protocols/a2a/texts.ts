/** The text of the model as updates of one artifact for each response, while it is written and when it is committed. Pure. */
import type { JsonObject } from '../../../core/json.ts'
import { type Generation, type Step } from '../../../domain/generations/index.ts'
import { textOf } from '../../../domain/models/index.ts'
import type { RunUpdate } from '../segments/segment-log.ts'
import { addedBy } from '../segments/texts.ts'
import { artifactUpdate, textArtifact } from './shapes.ts'

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
    const more = addedBy(one, known)
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
