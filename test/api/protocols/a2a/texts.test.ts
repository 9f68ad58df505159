/** Whatever pieces come, are missing or are given up: a client that follows the rules of `append` has what was committed. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTexts } from '../../../../src/api/protocols/a2a/updates.ts'
import type { RunUpdate } from '../../../../src/api/protocols/segments/segment-log.ts'
import type { Generation, Step } from '../../../../src/domain/generations/index.ts'

const generation = { id: 'gen_a', threadId: 'thr_a' } as Generation
const step = (stepIndex: number, text: string) =>
  ({
    type: 'step',
    seq: 1,
    step: { stepIndex, parts: [{ type: 'text', text }] } as unknown as Step,
    calls: [],
  }) satisfies RunUpdate
const piece = (stepIndex: number, attempt: number, offset: number, text: string) =>
  ({ type: 'text', seq: 1, stepIndex, attempt, offset, text }) as const

/** The texts that the client has after these happenings, and how often a text was replaced. */
function follow(happenings: RunUpdate[]) {
  const texts: Record<string, string> = {}
  let replaced = 0
  const made = createTexts(generation)
  for (const one of happenings)
    for (const { artifactUpdate } of made.add(one) as Iterable<Record<string, any>>) {
      const { artifact, append } = artifactUpdate
      if (!append && artifact.artifactId in texts) replaced++
      texts[artifact.artifactId] = (append ? texts[artifact.artifactId] : '') + artifact.parts[0].text
    }
  return { texts, replaced }
}

test('pieces are appended, and the rest comes with the commit', () => {
  const live = [piece(1, 1, 0, 'he'), piece(1, 1, 2, 'll')]
  expect(follow([...live, step(1, 'hello')])).toEqual({ texts: { 'text-1': 'hello' }, replaced: 0 })
})

test('text that is given up is taken back, also when no other comes', () => {
  const live = [piece(1, 1, 0, 'he'), { type: 'reset', seq: 1 } as const]
  expect(follow(live)).toEqual({ texts: { 'text-1': '' }, replaced: 1 })
  expect(follow([...live, piece(1, 2, 0, 'ho'), step(1, 'hop')]).texts).toEqual({ 'text-1': 'hop' })
  const ended = { type: 'end', seq: 1, generation } as const
  expect(follow([piece(1, 1, 0, 'he'), ended]).texts).toEqual({ 'text-1': '' })
})

test('text of an attempt is taken back when the next one begins, which may end without any', () => {
  const live = [piece(1, 1, 0, 'he'), piece(1, 2, 5, 'later')]
  expect(follow([...live, step(1, '')]).texts).toEqual({ 'text-1': '' })
})

test('a response without text has no artifact', () => {
  expect(follow([step(1, ''), step(2, 'x')]).texts).toEqual({ 'text-2': 'x' })
})

test('for all pieces, resets and attempts', () => {
  const one = fc.oneof(
    fc.record({
      attempt: fc.integer({ min: 1, max: 3 }),
      from: fc.integer({ min: 0, max: 20 }),
      length: fc.integer({ min: 1, max: 8 }),
    }),
    fc.constant('reset' as const),
  )
  const attempts = fc.tuple(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), fc.string())
  fc.assert(
    fc.property(attempts, fc.array(one, { maxLength: 30 }), (words, made) => {
      const happenings = made.flatMap((what): RunUpdate[] => {
        if (what === 'reset') return [{ type: 'reset', seq: 1 }]
        const text = words[what.attempt - 1]!.slice(what.from, what.from + what.length)
        return text ? [piece(1, what.attempt, what.from, text)] : []
      })
      const whole = words[2]
      const { texts } = follow([...happenings, step(1, whole)])
      expect(texts['text-1'] ?? '').toBe(whole)
    }),
  )
})
