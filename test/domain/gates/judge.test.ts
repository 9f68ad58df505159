/** The strictest of all policies that stop a call: adding one never makes the result laxer. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { roles } from '../../../src/domain/access/permission/policy.ts'
import { judgeGate, meets, stricter, type Requirement } from '../../../src/domain/gates/evaluate.ts'
import {
  gateDefaults,
  gateInput,
  gateMode,
  gateOf,
  type GatePolicy,
} from '../../../src/domain/gates/policy.ts'

const big = { properties: { amount: { exclusiveMinimum: 100 } }, required: ['amount'] }

const policy: fc.Arbitrary<GatePolicy> = fc.record({
  mode: fc.constantFrom(...gateMode.options),
  when: fc.constant(big),
  timeoutSeconds: fc.integer({ min: 5, max: 1000 }),
  quorum: fc.integer({ min: 1, max: 10 }),
  excludeRequester: fc.boolean(),
  approvers: fc.uniqueArray(fc.constantFrom(...roles)),
  escalateAfterSeconds: fc.option(fc.integer({ min: 1, max: 1000 })),
})
const merged = fc.record({ amount: fc.integer({ min: 0, max: 200 }) })

/** The roles that can decide: those in every list. */
const mayDecide = ({ approvers }: Requirement) =>
  roles.filter((role) => approvers.every((list) => list.includes(role)))

test('one more policy never lets a stopped call pass, and makes no part of it laxer', () => {
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 4 }), policy, merged, (policies, more, args) => {
      const before = judgeGate(policies, args, 'proj_a')
      const after = judgeGate([...policies, more], args, 'proj_a')
      if (before === null) return
      expect(after).not.toBeNull()
      expect(after!.timeoutSeconds).toBeLessThanOrEqual(before.timeoutSeconds)
      expect(after!.quorum).toBeGreaterThanOrEqual(before.quorum)
      if (before.excludeRequester) expect(after!.excludeRequester).toBe(true)
      for (const role of mayDecide(after!)) expect(mayDecide(before)).toContain(role)
      // An escalation is dropped only for an earlier deadline.
      if (before.escalateAfterSeconds !== null)
        expect(after!.escalateAfterSeconds ?? 0).toBeLessThanOrEqual(before.escalateAfterSeconds)
    }),
  )
})

test('neither the order of the policies nor a repeated one matters', () => {
  const plain = (made: Requirement | null) =>
    made && {
      ...made,
      approvers: [...new Set(made.approvers.map((list) => list.toSorted().join()))].toSorted(),
    }
  fc.assert(
    fc.property(fc.array(policy, { minLength: 1, maxLength: 4 }), merged, (policies, args) => {
      const judged = plain(judgeGate(policies, args, 'proj_a'))
      expect(plain(judgeGate(policies.toReversed(), args, 'proj_a'))).toEqual(judged)
      expect(plain(judgeGate([...policies, policies[0]!], args, 'proj_a'))).toEqual(judged)
    }),
  )
})

test('an escalation comes before the deadline or not at all', () => {
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 4 }), merged, (policies, args) => {
      const { escalateAfterSeconds, timeoutSeconds } = judgeGate(policies, args, 'proj_a') ?? {
        escalateAfterSeconds: null,
        timeoutSeconds: 0,
      }
      if (escalateAfterSeconds !== null) expect(escalateAfterSeconds).toBeLessThan(timeoutSeconds)
    }),
  )
})

test('a call is stopped exactly when a policy says ALWAYS, or WHEN and its arguments fit', () => {
  fc.assert(
    fc.property(fc.array(policy, { maxLength: 4 }), merged, (policies, args) => {
      const says = policies.some(({ mode }) => mode === 'ALWAYS' || (mode === 'WHEN' && args.amount > 100))
      expect(judgeGate(policies, args, 'proj_a') !== null).toBe(says)
    }),
  )
})

test('a policy whose schema does not compile stops every call', () => {
  for (const when of [null, { type: 'nonsense' }])
    expect(judgeGate([{ ...gateDefaults, mode: 'WHEN', when }], {}, 'proj_a')).not.toBeNull()
})

const backtracking = (text: string): GatePolicy => ({
  ...gateDefaults,
  mode: 'WHEN',
  when: { properties: { query: { pattern: `^(\\w+\\s?)*${text}$` } } },
})

test('a call of which a policy cannot be told to apply is stopped, and so is the next one', () => {
  const rule = backtracking('; delete from users')
  const query = `${'word '.repeat(20_000)}!; delete from users`
  expect(judgeGate([rule], { query }, 'proj_a')).not.toBeNull()
  // For some seconds nothing is judged by this schema.
  expect(judgeGate([rule], { query: 'select 1' }, 'proj_a')).not.toBeNull()
})

test('what one project cannot have judged is judged for another, by an equal policy', () => {
  const rule = backtracking('; drop table')
  const query = `${'word '.repeat(20_000)}!`
  expect(judgeGate([rule], { query }, 'proj_a')).not.toBeNull()
  expect(judgeGate([rule], { query: 'select 1!' }, 'proj_b')).toBeNull()
})

test('the requirement of edited arguments is added to the original one, and removes nothing', () => {
  fc.assert(
    fc.property(policy, policy, (a, b) => {
      const always = (one: GatePolicy) => judgeGate([{ ...one, mode: 'ALWAYS' }], {}, 'proj_a')!
      const [asked, more] = [always(a), always(b)]
      const both = stricter(asked, more)
      expect(both.quorum).toBe(Math.max(asked.quorum, more.quorum))
      expect(both.excludeRequester).toBe(asked.excludeRequester || more.excludeRequester)
      expect(mayDecide(both)).toEqual(
        roles.filter((role) => mayDecide(asked).includes(role) && mayDecide(more).includes(role)),
      )
      // The deadline has already started.
      expect(both.timeoutSeconds).toBe(asked.timeoutSeconds)
      expect(stricter(asked, null)).toEqual(asked)
      expect(stricter(both, more)).toEqual(both)
    }),
  )
})

test('approvals that meet a requirement meet each that is no stricter, and itself', () => {
  fc.assert(
    fc.property(policy, policy, (a, b) => {
      const always = (one: GatePolicy) => judgeGate([{ ...one, mode: 'ALWAYS' }], {}, 'proj_a')!
      const [one, two] = [always(a), always(b)]
      expect(meets(one, one)).toBe(true)
      expect(meets(stricter(one, two), one) && meets(stricter(one, two), two)).toBe(true)
      if (!meets(one, two)) return
      expect(one.quorum).toBeGreaterThanOrEqual(two.quorum)
      for (const role of mayDecide(one)) expect(mayDecide(two)).toContain(role)
    }),
  )
})

describe('a stored policy', () => {
  test('is valid input again with the same meaning', () => {
    const given = fc.record({
      mode: fc.constantFrom(...gateMode.options),
      timeoutSeconds: fc.integer({ min: 5, max: 604_800 }),
      quorum: fc.integer({ min: 1, max: 10 }),
      excludeRequester: fc.boolean(),
      approvers: fc.array(fc.constantFrom(...roles), { maxLength: 5 }),
    })
    fc.assert(
      fc.property(given, (input) => {
        const read = gateInput.parse({ ...input, when: input.mode === 'WHEN' ? big : null })
        expect(gateInput.parse(read)).toEqual(read)
      }),
    )
  })

  test.each([
    [{ gate: null, annotations: {} }, 'NEVER', 'DEFAULT'],
    [{ annotations: { destructiveHint: false } }, 'NEVER', 'DEFAULT'],
    [{ gate: null, annotations: { destructiveHint: true } }, 'ALWAYS', 'DESTRUCTIVE_HINT'],
    [
      { gate: { ...gateDefaults, mode: 'NEVER' as const }, annotations: { destructiveHint: true } },
      'NEVER',
      'OPERATOR',
    ],
  ])('%j is %s by %s', (definition, mode, source) => {
    expect(gateOf(definition)).toMatchObject({ mode, source })
  })
})
