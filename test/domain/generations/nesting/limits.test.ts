/** Which calls of agents may start, and what a generation does while it has open child runs. */
import { describe, expect, test } from 'vitest'
import { checkSettings, gatesOf } from '../../../../src/domain/agents/agent.ts'
import { shownStatus } from '../../../../src/domain/generations/generation.ts'
import {
  nestingLimits,
  startableNow,
  waitsForChild,
} from '../../../../src/domain/generations/nesting/deadline.ts'
import { decide, type Situation } from '../../../../src/domain/generations/decide.ts'
import { asksAgent } from '../../../../src/domain/tools/index.ts'
import { type ToolCall } from '../../../../src/domain/tool-calls/index.ts'

const call = (id: string, more: Partial<ToolCall> = {}) =>
  ({
    id,
    stepIndex: 1,
    runtimeName: 'x',
    kind: 'http',
    action: null,
    childId: null,
    status: 'PROPOSED',
    deadlineAt: null,
    errorCode: null,
    settledAt: null,
    ...more,
  }) as ToolCall
const agent = (id: string, more: Partial<ToolCall> = {}) => call(id, { kind: 'agent', ...more })
const running = (id: string) => agent(id, { status: 'EXECUTING', childId: `gen_${id}` })
const situation = (calls: ToolCall[], more: Partial<Situation> = {}): Situation => ({
  settings: checkSettings({}, 'proj_a'),
  stepCount: 1,
  cancelRequested: false,
  now: 1000,
  deadlineAt: 10_000,
  calls,
  nextStep: null,
  usedTokens: 0,
  chainBudgets: [],
  usedTokensToday: 0,
  inFlight: new Set(),
  paused: false,
  ...more,
})
const idsOf = (calls: ToolCall[]) => calls.map((one) => one.id)
const none: ReadonlySet<string> = new Set()

test('a platform call that starts a run is a call of an agent, its other actions are not', () => {
  expect(asksAgent({ kind: 'platform', action: 'start-generation' })).toBe(true)
  expect(asksAgent({ kind: 'platform', action: 'agents' })).toBe(false)
  expect(asksAgent({ kind: 'http', action: 'start-generation' })).toBe(false)
  expect(waitsForChild(agent('a'))).toBe(false)
  expect(waitsForChild(running('a'))).toBe(true)
})

describe('what may start', () => {
  const many = Array.from({ length: nestingLimits.openChildren + 2 }, (_, i) => agent(`a${i}`))

  test('child runs start up to the limit, other calls without one', () => {
    const due = [...many, call('b')]
    expect(startableNow(due, due, none, true)).toHaveLength(nestingLimits.openChildren + 1)
    const open = [running('r'), ...due]
    expect(startableNow(due, open, none, true)).toHaveLength(nestingLimits.openChildren)
  })

  test('calls that this worker is about to start count', () => {
    expect(startableNow(many.slice(1), many, new Set(['a0']), true)).toHaveLength(
      nestingLimits.openChildren - 1,
    )
  })

  test('without parallel calls nothing runs beside a child run or before it', () => {
    const due = [call('a'), call('b'), agent('c'), call('d')]
    expect(idsOf(startableNow(due, due, none, false))).toEqual(['a', 'b'])
    expect(idsOf(startableNow(due.slice(2), due, none, false))).toEqual(['c'])
    expect(startableNow([call('d')], [running('c'), call('d')], none, false)).toEqual([])
    expect(idsOf(startableNow([call('d')], [call('d')], none, false))).toEqual(['d'])
  })
})

describe('a generation with child runs', () => {
  test('waits for them, however long ago they started, and never sends their calls again', () => {
    expect(decide(situation([running('a')]))).toEqual({ do: 'wait', until: 10_000 })
  })

  test('lets them end first when it is cancelled or its deadline has passed', () => {
    const calls = [running('a'), agent('b')]
    const ends = { do: 'cancelChildren', calls: [{ id: 'a' }] }
    expect(decide(situation(calls, { cancelRequested: true }))).toMatchObject(ends)
    expect(decide(situation(calls, { now: 10_000 }))).toMatchObject(ends)
    expect(decide(situation([agent('b')], { cancelRequested: true }))).toEqual({ do: 'cancel' })
  })

  test('stops before the next step when the budget of any ancestor is used up', () => {
    const settled = [agent('a', { status: 'SUCCEEDED', settledAt: new Date(1) })]
    const chainBudgets = [
      { used: 5, limit: 100 },
      { used: 70, limit: 70 },
    ]
    expect(decide(situation(settled, { chainBudgets }))).toMatchObject({
      do: 'complete',
      stopReason: 'BUDGET',
    })
    const one = chainBudgets.slice(0, 1)
    expect(decide(situation(settled, { chainBudgets: one }))).toMatchObject({ do: 'model' })
  })

  test('has the status that its descendants wait with, and RUNNING while only child runs are open', () => {
    const asked = (status: 'AWAITING_APPROVAL' | 'AWAITING_CLIENT') => call('x', { status })
    expect(shownStatus('WAITING', [running('a')])).toBe('RUNNING')
    expect(shownStatus('WAITING', [running('a'), asked('AWAITING_APPROVAL')])).toBe('AWAITING_APPROVAL')
    expect(shownStatus('WAITING', [asked('AWAITING_APPROVAL'), asked('AWAITING_CLIENT')])).toBe(
      'REQUIRES_ACTION',
    )
    expect(shownStatus('RUNNING', [asked('AWAITING_CLIENT')])).toBe('RUNNING')
  })
})

test('the gates of all ancestors apply beside its own', () => {
  const gate = checkSettings({ gate: { autoApprove: false } }, 'proj_a').gate!
  const above = { ...gate, quorum: 2 }
  expect(gatesOf({ ...checkSettings({}, 'proj_a'), inheritedGates: [above] })).toEqual([above])
  expect(gatesOf({ ...checkSettings({}, 'proj_a'), gate, inheritedGates: [above] })).toEqual([gate, above])
  expect(
    gatesOf(checkSettings({ inheritedGates: [above] } as never, 'proj_a')),
    'nobody sets them from outside',
  ).toEqual([])
})
