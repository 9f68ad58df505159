import { describe, expect, test } from 'vitest'
import {
  acceptanceAfter,
  knownAcceptance,
  offeredOf,
  shownDescription,
  type AcceptedTools,
} from '../../../../src/domain/generations/step/left-out.ts'
import type { Step } from '../../../../src/domain/generations/steps.ts'
import { ModelError, type ModelPort, type ToolRefusal } from '../../../../src/domain/models/port.ts'
import type { Callable } from '../../../../src/domain/tools/index.ts'

const toolOf = (name: string, version = 1) => ({ id: `tool_${name}`, version }) as Callable
const active = (count: number) =>
  new Map(Array.from({ length: count }, (_, i) => [`t${i}`, toolOf(`t${i}`)] as const))
const port = (providerKind: ModelPort['providerKind']) => ({ name: 'p/m', providerKind }) as ModelPort
const nothing = knownAcceptance(port('compatible'), null, [])
const never = () => false

function refusal(more: Partial<ToolRefusal>): ModelError {
  const toolRefusal = { names: [], mostTools: null, longestDescription: null, ...more }
  return new ModelError('MODEL_BAD_REQUEST', 'No.', { retryable: false, toolRefusal })
}
const offered = (
  count: number,
  accepted: AcceptedTools,
  isNeeded: (name: string) => boolean = never,
  more = 0,
) => offeredOf(active(count), accepted, isNeeded, more)

describe('too many tools', () => {
  test.each([
    ['openai', 128],
    ['google', 512],
  ] as const)('%s takes %i, and the last ones are left out', (kind, most) => {
    const { tools, leftOut } = offered(most + 2, knownAcceptance(port(kind), null, []))
    expect(tools.size).toBe(most)
    expect(leftOut.map(({ name }) => name)).toEqual([`t${most}`, `t${most + 1}`])
    expect(leftOut[0]).toMatchObject({ isRefused: false, toolId: `tool_t${most}`, version: 1 })
    expect(leftOut[0]!.reason).toBe(`The model takes at most ${most} tools in a request; 2 more were there.`)
  })

  test('a tool that the step needs stays, and the hidden one for the answer has a place', () => {
    const { tools, leftOut } = offered(5, { ...nothing, mostTools: 3 }, (name) => name === 't4', 1)
    expect([...tools.keys()]).toEqual(['t0', 't4'])
    expect(leftOut.map(({ name }) => name)).toEqual(['t1', 't2', 't3'])
  })

  test('a note of a thousand tools has the names of the first twenty', () => {
    const { tools, leftOut } = offered(1000, { ...nothing, mostTools: 100 })
    expect([tools.size, leftOut.length]).toEqual([100, 20])
    expect(leftOut[0]!.reason).toContain('900 more')
  })

  test('a limit that the provider tells is learned once', () => {
    const after = acceptanceAfter(nothing, refusal({ mostTools: 3 }), active(5), never)
    expect(after).toEqual({ ...nothing, mostTools: 3 })
    expect(acceptanceAfter(after!, refusal({ mostTools: 3 }), active(3), never)).toBeNull()
    expect(acceptanceAfter(nothing, refusal({ mostTools: 9 }), active(3), never)).toBeNull()
  })
})

test('a refused tool is left out in this version only, with the words of the provider', () => {
  const after = acceptanceAfter(nothing, refusal({ names: ['t1', 'nobody'] }), active(3), never)!
  expect(offered(3, after)).toMatchObject({
    leftOut: [{ name: 't1', toolId: 'tool_t1', version: 1, reason: 'No.', isRefused: true }],
  })
  const mended = active(3).set('t1', toolOf('t1', 2))
  expect(offeredOf(mended, after, never, 0).leftOut).toEqual([])
})

test('a tool that the step needs is not left out: there is nothing else to ask for', () => {
  const isNeeded = (name: string) => name === 't1'
  expect(acceptanceAfter(nothing, refusal({ names: ['t1'] }), active(3), isNeeded)).toBeNull()
  const before = acceptanceAfter(nothing, refusal({ names: ['t1'] }), active(3), never)!
  expect([...offered(3, before, isNeeded).tools.keys()]).toEqual(['t0', 't1', 't2'])
})

test('a description is shortened before its tool is left out', () => {
  const error = refusal({ names: ['t1'], longestDescription: 10 })
  const after = acceptanceAfter(nothing, error, active(3), never)!
  expect(after).toEqual({ ...nothing, longestDescription: 10 })
  expect(shownDescription('a description', after)).toBe('a descrip…')
  expect(shownDescription(null, after)).toBeNull()
  expect(acceptanceAfter(after, error, active(3), never)!.refused.size).toBe(1)
})

test('an error that says nothing of tools changes nothing', () => {
  const error = new ModelError('MODEL_BAD_REQUEST', 'No.', { retryable: false })
  expect(acceptanceAfter(nothing, error, active(3), never)).toBeNull()
})

test('what earlier steps of the run had refused by this model stays out, and what was too much does not', () => {
  const note = (name: string, isRefused: boolean) =>
    ({ name, toolId: `tool_${name}`, version: 1, reason: 'No.', isRefused }) as const
  const step = (model: string, leftOut: Step['leftOut']) => ({ model: { name: model }, leftOut }) as Step
  const steps = [
    step('p/m', [note('t0', true), note('t1', false)]),
    step('p/other', [note('t2', true)]),
    step('p/m', null),
  ]
  expect([...offered(3, knownAcceptance(port('compatible'), null, steps)).tools.keys()]).toEqual(['t1', 't2'])
})
