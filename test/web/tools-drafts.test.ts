/** Drafts of tools and agents: what they send, and how changes of two people come together. */
import { describe, expect, test } from 'vitest'
import { pressFor } from '../../web/src/parts/press.ts'
import { changedNames, rebase } from '../../web/src/parts/rebase.ts'
import { refusalText, stillTrue } from '../../web/src/parts/told-issues.ts'
import { createInputOf, newDraft as newAgent } from '../../web/src/screens/agents/agent-draft.ts'
import { gateProposal, gateUpdate } from '../../web/src/screens/tools/gate-inputs.ts'
import { presetNames, presetSchema, withPreset } from '../../web/src/screens/tools/preset-schema.ts'
import { previewText } from '../../web/src/screens/tools/preview-text.ts'
import { draftOfTool, newDraft } from '../../web/src/screens/tools/tool-draft.ts'
import { createInputOf as createTool, updateInputOf } from '../../web/src/screens/tools/tool-input.ts'
import type { ToolDetail } from '../../web/src/screens/tools/documents.ts'

const policy: ToolDetail['gate'] = {
  mode: 'ALWAYS',
  when: null,
  source: 'OPERATOR',
  timeoutSeconds: 300,
  quorum: 1,
  excludeRequester: false,
  approvers: [],
  escalateAfterSeconds: null,
  verdictLinks: true,
  responses: true,
  title: 'Write {text}',
}

const shared = {
  id: 'tool_1',
  name: 'crm',
  title: null,
  description: null,
  inputSchema: null,
  fullInputSchema: null,
  outputSchema: null,
  presetParameters: {},
  agentsOnly: false,
  idempotent: null,
  timeoutMs: null,
  version: 4,
  createdAt: '2026-11-22T00:00:00.000Z',
  updatedAt: '2026-11-22T00:00:00.000Z',
  task: { mode: 'OPTIONAL', inputPhase: 'IN_TASK' },
  annotations: {
    title: null,
    readOnlyHint: null,
    destructiveHint: null,
    idempotentHint: null,
    openWorldHint: null,
  },
  gate: policy,
} as const

const mcp = {
  ...shared,
  __typename: 'McpTool',
  url: 'https://crm.test/mcp',
  headers: { 'x-team': 'a' },
  allow: ['read', 'write'],
  deny: [],
  trustHints: true,
  login: 'SHARED',
  relay: { resources: ['doc:*'], prompts: [] },
  auth: {
    kind: 'CLIENT_CREDENTIALS',
    clientId: 'me',
    secretName: 'CRM',
    issuer: 'https://id.test',
    scopes: ['a', 'b'],
    allowedScopes: [],
    omitResource: true,
    audience: null,
    algorithm: null,
  },
  gates: [{ action: 'write', gate: policy }],
  actions: [],
  upstream: null,
} satisfies ToolDetail

const full = {
  type: 'object',
  properties: { amount: { type: 'number' }, tenant: { type: 'string', default: 'acme' } },
  required: ['amount', 'tenant'],
}
const http = {
  ...shared,
  __typename: 'HttpTool',
  method: 'POST',
  url: 'https://pay.test/{amount}',
  headers: {},
  inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
  fullInputSchema: full,
  presetParameters: { tenant: 'acme' },
} satisfies ToolDetail

describe('a tool', () => {
  test('is updated with what was changed alone, on top of the version that was read', () => {
    const base = draftOfTool(http)
    expect(updateInputOf(http, base, base)).toBeNull()
    expect(updateInputOf(http, base, { ...base, title: 'Pay', destructiveHint: 'yes' })).toEqual({
      input: {
        id: 'tool_1',
        expectedVersion: 4,
        title: 'Pay',
        annotations: { ...shared.annotations, destructiveHint: true },
      },
    })
  })

  test('hands back its whole config when a part of it changes, with its presets and the gates of its actions', () => {
    const base = draftOfTool(http)
    expect(updateInputOf(http, base, { ...base, method: 'PUT' })).toMatchObject({
      input: { config: { http: { method: 'PUT', url: http.url, inputSchema: full } } },
    })
    const own = draftOfTool(mcp)
    const { source: _source, when: _when, escalateAfterSeconds: _after, ...gate } = policy
    const written = updateInputOf(mcp, own, { ...own, deny: 'drop\n' })
    expect(written).toEqual({
      input: {
        id: 'tool_1',
        expectedVersion: 4,
        config: {
          mcp: {
            url: mcp.url,
            headers: { 'x-team': 'a' },
            allow: ['read', 'write'],
            deny: ['drop'],
            trustHints: true,
            relay: { resources: ['doc:*'], prompts: [] },
            auth: {
              clientCredentials: {
                clientId: 'me',
                clientSecret: 'CRM',
                issuer: 'https://id.test',
                scopes: ['a', 'b'],
                omitResource: true,
              },
            },
            gates: [{ action: 'write', gate }],
          },
        },
      },
    })
  })

  test('exchanges the sign-in of each person, with a client secret or a key', () => {
    const exchange = {
      ...mcp,
      login: 'PER_PERSON',
      auth: { ...mcp.auth, kind: 'TOKEN_EXCHANGE', omitResource: false, algorithm: 'ES256', audience: 'crm' },
    } satisfies ToolDetail
    const own = draftOfTool(exchange)
    const authOf = (draft: typeof own) => {
      const { config } = (createTool('mcp', { ...draft, name: 'a' }) as any).input
      expect(config.mcp.login).toBe('PER_PERSON')
      return config.mcp.auth
    }
    const common = {
      clientId: 'me',
      issuer: 'https://id.test',
      scopes: ['a', 'b'],
      omitResource: false,
      audience: 'crm',
    }
    expect(authOf(own)).toEqual({ tokenExchange: { ...common, privateKey: 'CRM', algorithm: 'ES256' } })
    expect(authOf({ ...own, ownLogins: false, authIsKey: false })).toEqual({
      tokenExchange: { ...common, clientSecret: 'CRM' },
    })
  })

  test('names the places of texts that are not what they must be', () => {
    expect(
      createTool('http', { ...newDraft, name: 'a', inputSchema: '[]', headers: '{', timeoutMs: '1.5' }),
    ).toEqual({
      issues: [
        { path: ['input', 'timeoutMs'], message: 'must be a whole number' },
        { path: ['input', 'config', 'http', 'headers'], message: expect.stringContaining('is not JSON') },
        { path: ['input', 'config', 'http', 'inputSchema'], message: 'must be a JSON object' },
      ],
    })
    const { input } = createTool('platform', { ...newDraft, name: ' own ', actions: ['tools'] }) as {
      input: object
    }
    expect(input).toMatchObject({ name: 'own', config: { platform: { actions: ['tools'] } } })
    expect(input).not.toHaveProperty('title')
  })

  test('gets the gate of one action without losing the others, at once or as a proposal', () => {
    const next = {
      mode: 'NEVER',
      timeoutSeconds: 300,
      quorum: 1,
      excludeRequester: false,
      verdictLinks: false,
      responses: false,
      approvers: [],
    } as const
    const input = { ...next, approvers: [] }
    expect(gateUpdate(mcp, null, null)).toEqual({ id: 'tool_1', expectedVersion: 4, gate: null })
    expect(gateUpdate(mcp, 'read', input).config?.['mcp' as never]).toMatchObject({
      allow: ['read', 'write'],
      gates: [{ action: 'write' }, { action: 'read', gate: input }],
    })
    expect(gateProposal(mcp, 'write', null, ' why ')).toEqual({
      targetId: 'tool_1',
      note: 'why',
      actionGates: [],
    })
    expect(gateProposal(http, null, null, '')).toEqual({ targetId: 'tool_1', removeGate: true })
  })

  test('has presets for each of its arguments, fixed ones included', () => {
    expect(presetNames(http)).toEqual(['amount', 'tenant'])
    expect(presetNames({ ...http, fullInputSchema: null })).toBeNull()
    expect(presetSchema(http, ['tenant'])).toEqual({
      type: 'object',
      properties: { tenant: full.properties.tenant },
      required: ['tenant'],
      additionalProperties: false,
    })
    expect(withPreset(http, {}, 'tenant')).toEqual({ tenant: 'acme' })
    expect(withPreset(http, {}, 'amount')).toEqual({})
  })
})

test('a new agent sends what has a value, and a number that is none is told', () => {
  expect(
    createInputOf({
      ...newAgent,
      name: 'A',
      toolChoice: 'TOOL',
      toolChoiceTool: 'x',
      stopConditions: 'a\n\nb',
    }),
  ).toMatchObject({
    input: {
      name: 'A',
      maxSteps: 20,
      toolChoice: { tool: 'x' },
      stopConditions: [{ hasToolCall: 'a' }, { hasToolCall: 'b' }],
    },
  })
  expect(createInputOf({ ...newAgent, temperature: 'warm' })).toEqual({
    issues: [{ path: ['input', 'temperature'], message: 'must be a number' }],
  })
})

test('my changes stand on top of theirs, but for those that I give up', () => {
  const base = { a: 1, b: 1, c: 1 }
  const mine = { a: 2, b: 2, c: 1 }
  const theirs = { a: 3, b: 1, c: 3 }
  expect(changedNames(base, mine)).toEqual(['a', 'b'])
  expect(rebase(base, mine, theirs)).toEqual({ a: 2, b: 2, c: 3 })
  expect(rebase(base, mine, theirs, new Set(['a']))).toEqual({ a: 3, b: 2, c: 3 })
})

test('a fault is told until its field is another', () => {
  const issues = [{ path: ['input', 'name'], message: 'is taken' }]
  const refused = { message: 'input.name: is taken', issues }
  expect(stillTrue(issues, { name: 'a' }, { name: 'a' })).toEqual(issues)
  const left = stillTrue(issues, { name: 'a' }, { name: 'b' })
  expect(left).toEqual([])
  expect(refusalText(refused, issues, left)).toBeNull()
  expect(refusalText(refused, issues, issues)).toBe('Some fields need another value.')
  expect(refusalText({ message: 'Gone.', issues: [] }, [], [])).toBe('Gone.')
})

test('a press keeps its key until it is answered or asks something else', () => {
  let made = 0
  const makeKey = () => `k${++made}`
  const first = pressFor(null, 'a', makeKey)
  expect(pressFor(first, 'a', makeKey)).toBe(first)
  expect(pressFor(first, 'b', makeKey).key).toBe('k2')
})

test('a preview is one sentence', () => {
  expect(previewText({ replayed: 200, stopped: 14, newlyStopped: 3, newlyPassing: 1 })).toBe(
    'Stops 14 of 200 calls; 3 newly; 1 no longer.',
  )
  expect(previewText({ replayed: 1, stopped: 0, newlyStopped: 0, newlyPassing: 0 })).toBe(
    'Stops 0 of 1 call; the same as now.',
  )
  expect(previewText({ replayed: 0, stopped: 0, newlyStopped: 0, newlyPassing: 0 })).toContain('No calls')
})
