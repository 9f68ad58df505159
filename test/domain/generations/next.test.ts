/** The pure decision: what is next, whatever the situation. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkSettings } from '../../../src/domain/agents/agent.ts'
import { next, planOf, type Situation } from '../../../src/domain/generations/next.ts'
import { isOpen, toolCallStatuses, type ToolCall } from '../../../src/domain/tools/index.ts'

const call = (more: Partial<ToolCall>): ToolCall =>
  ({
    id: 'call_x',
    stepIndex: 1,
    runtimeName: 'look',
    status: 'SUCCEEDED',
    deadlineAt: null,
    errorCode: null,
    settledAt: null,
    ...more,
  }) as ToolCall
const situation = (more: Partial<Situation> = {}): Situation => ({
  settings: checkSettings({}),
  stepCount: 1,
  cancelRequested: false,
  now: 1000,
  deadlineAt: 10_000,
  calls: [],
  nextStep: null,
  usedTokens: 0,
  usedTokensToday: 0,
  inHand: new Set(),
  ...more,
})

test('what was sent is heard out before a cancel, and nothing new is sent', () => {
  const calls = [call({ id: 'a', status: 'EXECUTING' }), call({ id: 'b', status: 'PROPOSED' })]
  expect(next(situation({ calls, cancelRequested: true }))).toMatchObject({ do: 'run', calls: [{ id: 'a' }] })
  expect(next(situation({ calls }))).toMatchObject({ do: 'run', calls: [{ id: 'a' }, { id: 'b' }] })
})

test('cancel comes before the deadline, the deadline before open calls', () => {
  const calls = [call({ status: 'AWAITING_CLIENT', deadlineAt: new Date(500) })]
  expect(next(situation({ calls, cancelRequested: true, now: 20_000 }))).toEqual({ do: 'cancel' })
  expect(next(situation({ calls, now: 20_000 }))).toEqual({ do: 'expire' })
  expect(next(situation({ calls }))).toMatchObject({ do: 'giveUp' })
})

test('a wait ends at the nearest deadline', () => {
  const calls = [
    call({ status: 'AWAITING_CLIENT', deadlineAt: new Date(5000) }),
    call({ status: 'AWAITING_CLIENT', deadlineAt: new Date(3000) }),
  ]
  expect(next(situation({ calls }))).toEqual({ do: 'wait', until: 3000 })
})

test('a budget with the reserve of an answer ends before a stop condition is looked at', () => {
  const settings = checkSettings({
    budget: { tokensPerGeneration: 100 },
    maxOutputTokens: 30,
    stopConditions: [{ hasToolCall: 'look' }],
  })
  const calls = [call({})]
  expect(next(situation({ settings, calls, usedTokens: 70 }))).toMatchObject({ stopReason: 'STOP_CONDITION' })
  expect(next(situation({ settings, calls, usedTokens: 71 }))).toMatchObject({ stopReason: 'BUDGET' })
})

test('a rule for the step wins over the agent, what came with outputs wins over both, and a forced tool is forced once', () => {
  const settings = checkSettings({
    toolIds: ['t1', 't2'],
    toolChoice: { tool: 'look' },
    stepRules: [{ fromStep: 2, toStep: 2, toolChoice: { mode: 'NONE' }, activeToolIds: ['t1'] }],
  })
  expect(planOf({ settings, stepCount: 0, nextStep: null })).toMatchObject({
    toolChoice: { tool: 'look' },
    activeToolIds: null,
  })
  expect(planOf({ settings, stepCount: 1, nextStep: null })).toMatchObject({
    toolChoice: { mode: 'NONE' },
    activeToolIds: ['t1'],
  })
  expect(planOf({ settings, stepCount: 1, nextStep: { activeToolIds: [] } })).toMatchObject({
    activeToolIds: [],
  })
  expect(planOf({ settings, stepCount: 2, nextStep: null })).toMatchObject({
    toolChoice: { mode: 'AUTO' },
    activeToolIds: null,
  })
})

test('no situation is without a next act, and the model is asked only when nothing of the step is open', () => {
  const anyCall = fc.record({
    status: fc.constantFrom(...toolCallStatuses),
    deadline: fc.option(fc.integer({ min: 0, max: 20_000 })),
    step: fc.integer({ min: 1, max: 3 }),
  })
  const any = fc.record({
    calls: fc.array(anyCall, { maxLength: 6 }),
    stepCount: fc.integer({ min: 0, max: 3 }),
    now: fc.integer({ min: 0, max: 20_000 }),
    cancelRequested: fc.boolean(),
    maxSteps: fc.integer({ min: 1, max: 4 }),
    used: fc.integer({ min: 0, max: 200 }),
  })
  fc.assert(
    fc.property(any, ({ calls, stepCount, now, cancelRequested, maxSteps, used }) => {
      const made = calls.map((one, i) =>
        call({
          id: `c${i}`,
          stepIndex: one.step,
          status: one.status,
          deadlineAt: one.deadline === null ? null : new Date(one.deadline),
        }),
      )
      const settings = checkSettings({ maxSteps, budget: { tokensPerGeneration: 100 } })
      const s = situation({ calls: made, stepCount, now, cancelRequested, settings, usedTokens: used })
      const decision = next(s)
      const open = made.filter((one) => one.stepIndex === stepCount && isOpen(one))
      if (decision.do === 'model' || decision.do === 'complete') expect(open).toEqual([])
      if (decision.do === 'model') {
        expect(decision.plan.stepIndex).toBe(stepCount + 1)
        expect(decision.plan.final !== null).toBe(stepCount >= maxSteps)
      }
      if (decision.do === 'run') expect(decision.calls.some((one) => s.inHand.has(one.id))).toBe(false)
      if (decision.do === 'wait') expect(decision.until).toBeGreaterThan(now)
      expect(next(s)).toEqual(decision)
    }),
    { numRuns: 1000 },
  )
})
