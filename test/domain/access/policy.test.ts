import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  actions,
  allows,
  checkPolicy,
  policyOfRole,
  roles,
  within,
  type Policy,
} from '../../../src/domain/access/permission/policy.ts'

const policy = (...statement: Policy['statement']): Policy => ({ statement })
const allow = (action: string[], resource = ['*']) => ({ effect: 'Allow' as const, action, resource })
const deny = (action: string[], resource = ['*']) => ({ effect: 'Deny' as const, action, resource })

test('without an Allow it is denied, and a Deny wins over every Allow in any order', () => {
  expect(allows(policy(), 'tools:Call', 'tool/a')).toBe(false)
  for (const both of [
    policy(allow(['*']), deny(['tools:*'], ['tool/a'])),
    policy(deny(['tools:*'], ['tool/a']), allow(['*'])),
  ]) {
    expect(allows(both, 'tools:Call', 'tool/a')).toBe(false)
    expect(allows(both, 'tools:Call', 'tool/b')).toBe(true)
  }
})

test('a star matches any text at any position, and no other character is special', () => {
  expect(allows(policy(allow(['*:Get'])), 'tools:Get', 'tool/a')).toBe(true)
  expect(allows(policy(allow(['*:Get'])), 'tools:List', 'tool/a')).toBe(false)
  expect(allows(policy(allow(['tools:Call'], ['tool/*a'])), 'tools:Call', 'tool/xa')).toBe(true)
  expect(allows(policy(allow(['tools:Call'], ['tool/.'])), 'tools:Call', 'tool/x')).toBe(false)
  expect(allows(policy(allow(['tools:Call'], ['ab*ba'])), 'tools:Call', 'aba')).toBe(false)
})

test('an untrusted pattern cannot make the evaluation slow', () => {
  // With backtracking this does not end before the time limit of a test.
  const pattern = `${'a*'.repeat(99)}b`
  expect(allows(policy(allow(['tools:Call'], [pattern])), 'tools:Call', 'a'.repeat(100_000))).toBe(false)
})

test('a policy with an unknown action is refused with its path', () => {
  expect(() => checkPolicy(policy(allow(['tools:Cal'])), ['input', 'policy'])).toThrow(
    'input.policy.statement.0.action.0',
  )
  expect(() => checkPolicy({ statement: [{ effect: 'Maybe' }] }, ['p'])).toThrow('p.statement.0')
  expect(checkPolicy(policy(allow(['tools:*'])), ['p'])).toEqual(policy(allow(['tools:*'])))
})

test('a key never grants more than it has, and its Deny statements are copied', () => {
  const creator = policy(allow(['tools:*', 'keys:Create']), deny(['tools:Delete']))
  expect(within(creator, policy(allow(['tools:Call'], ['tool/a'])))).toEqual(
    policy(deny(['tools:Delete']), allow(['tools:Call'], ['tool/a'])),
  )
  expect(within(creator, policy(allow(['agents:Get'])))).toBeNull()
  expect(within(policy(allow(['tools:*'], ['tool/a'])), policy(allow(['tools:Call'])))).toBeNull()
})

test('whatever a key grants, the new key may do nothing that the key itself may not do', () => {
  const action = fc.constantFrom('*', 'tools:*', '*:Get', ...actions)
  const resource = fc.constantFrom('*', 'tool/*', 'tool/a', 'agent/b')
  const statement = fc.record({
    effect: fc.constantFrom('Allow' as const, 'Deny' as const),
    action: fc.array(action, { minLength: 1, maxLength: 3 }),
    resource: fc.array(resource, { minLength: 1, maxLength: 3 }),
  })
  const anyPolicy = fc.record({ statement: fc.array(statement, { minLength: 1, maxLength: 4 }) })
  fc.assert(
    fc.property(
      anyPolicy,
      anyPolicy,
      fc.constantFrom(...actions),
      fc.constantFrom('tool/a', 'tool/z', 'agent/b', 'project/x'),
      (creator, wanted, what, where) => {
        const made = within(creator, wanted)
        if (made && allows(made, what, where)) expect(allows(creator, what, where)).toBe(true)
      },
    ),
    { numRuns: 2000 },
  )
})

test('every role allows something, and only admin creates keys and acts for people', () => {
  for (const role of roles) {
    expect(actions.some((action) => allows(policyOfRole(role), action, 'x/y'))).toBe(true)
    expect(allows(policyOfRole(role), 'keys:Create', 'key/*')).toBe(role === 'admin')
    expect(allows(policyOfRole(role), 'persons:ActFor', 'person/usr_x')).toBe(role === 'admin')
  }
})
