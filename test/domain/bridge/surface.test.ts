/** What MCP clients see of an agent: names, reserved arguments, order, and what changes the hash. */
import { expect, test } from 'vitest'
import { bridgeSurface, reservedArguments } from '../../../src/domain/bridge/surface.ts'
import type { Agent } from '../../../src/domain/agents/index.ts'
import { gateDefaults } from '../../../src/domain/gates/policy.ts'
import type { Callable } from '../../../src/domain/tools/index.ts'

const tool = (id: string, more: Partial<Callable> = {}): Callable =>
  ({
    id,
    name: id,
    runtimeName: id,
    action: null,
    definitionHash: null,
    kind: 'http',
    title: null,
    description: null,
    inputSchema: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
    outputSchema: null,
    annotations: {},
    presetParameters: {},
    gate: null,
    version: 1,
    ...more,
  }) as Callable

const agent = (toolIds: string[], more: Partial<Agent> = {}): Agent =>
  ({ id: 'agt_1', name: 'clerk', toolIds, activeToolIds: null, gate: null, ...more }) as Agent

const namesOf = (a: Agent, tools: Callable[]) => bridgeSurface(a, tools).entries.map((entry) => entry.name)
const never = { ...gateDefaults, mode: 'NEVER' as const }
const always = { ...gateDefaults, mode: 'ALWAYS' as const }

test('tools come in the order in which they are given, the first of two with one name, then the agent itself', () => {
  expect(namesOf(agent(['b', 'a']), [tool('b'), tool('a')])).toEqual(['b', 'a', 'clerk'])
  const twice = [tool('a', { description: 'first' }), tool('a', { description: 'second' })]
  expect(namesOf(agent(['a']), twice)).toEqual(['a', 'clerk'])
  expect(bridgeSurface(agent(['a']), twice).byName.get('a')!.description).toBe('first')
})

test('client tools, inactive tools and tools that were deleted are not shown', () => {
  const tools = [tool('a'), tool('b', { kind: 'client' }), tool('c')]
  expect(namesOf(agent(['a', 'b', 'c', 'gone'], { activeToolIds: ['a', 'b'] }), tools)).toEqual([
    'a',
    'clerk',
  ])
})

test('an agent with the name of one of its tools is listed as ask_{name}, and a name with spaces is made valid', () => {
  expect(namesOf(agent(['clerk']), [tool('clerk')])).toEqual(['clerk', 'ask_clerk'])
  expect(namesOf(agent([], { name: 'my agent' }), [])[0]).toMatch(/^my_agent_[0-9a-f]{8}$/)
})

test('approval_wait and approval_cancel are listed when a call can need approval: a gate of a tool or agent, or a destructive hint', () => {
  expect(namesOf(agent(['a']), [tool('a', { gate: always })])).toContain('approval_wait')
  expect(namesOf(agent(['a'], { gate: always }), [tool('a')])).toContain('approval_wait')
  expect(namesOf(agent(['a']), [tool('a', { annotations: { destructiveHint: true } })])).toContain(
    'approval_wait',
  )
  expect(namesOf(agent(['a']), [tool('a', { gate: never })])).not.toContain('approval_wait')
  expect(namesOf(agent(['a']), [tool('a', { gate: always })])).toContain('approval_cancel')
  expect(namesOf(agent(['a']), [tool('a', { gate: never })])).not.toContain('approval_cancel')
})

test('approval_wait and approval_cancel are served where they are not listed: a late call, or one whose gate is gone, names them', () => {
  const { byName } = bridgeSurface(agent(['a']), [tool('a', { gate: never })])
  expect([...byName.keys()]).toEqual(['a', 'clerk', 'approval_wait', 'approval_cancel'])
  const own = bridgeSurface(agent(['approval_wait']), [tool('approval_wait', { gate: never })])
  expect(own.byName.get('approval_wait')!.kind).toBe('tool')
})

test('a client tool with a gate counts too: a run of the agent can stop at it', () => {
  expect(namesOf(agent(['a']), [tool('a', { kind: 'client', gate: always })])).toEqual([
    'clerk',
    'approval_wait',
    'approval_cancel',
  ])
})

test('reserved arguments are listed beside the own ones, and one of the same name stays the tool’s', () => {
  const own = {
    type: 'object',
    properties: { attachments: { type: 'integer' } },
    additionalProperties: false,
  }
  const { byName } = bridgeSurface(agent(['a', 'b']), [tool('a'), tool('b', { inputSchema: own })])
  const shown = byName.get('a')!.inputSchema
  expect(Object.keys(shown['properties'] as object)).toEqual(['a', 'idempotency_key', 'attachments'])
  expect(reservedArguments(shown)).toEqual(['idempotency_key', 'attachments'])
  expect(byName.get('b')!.inputSchema['properties']).toMatchObject({ attachments: { type: 'integer' } })
  expect(reservedArguments(byName.get('b')!.inputSchema)).toEqual(['idempotency_key'])
})

test('a change of description, presets or gate changes the hash; a change that clients do not see does not', () => {
  const hash = (more: Partial<Callable>) => bridgeSurface(agent(['a']), [tool('a', more)]).hash
  const plain = hash({})
  expect(hash({ description: 'new' })).not.toBe(plain)
  expect(hash({ presetParameters: { a: 'x' } })).not.toBe(plain)
  expect(hash({ gate: always })).not.toBe(plain)
  expect(hash({ version: 2, timeoutMs: 5 })).toBe(plain)
})
