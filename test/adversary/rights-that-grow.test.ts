/** Overrides of a run, tokens of one person, keys made by keys: none of them gains a right. */
import { describe, expect, test } from 'vitest'
import { sql } from 'drizzle-orm'
import { query } from '../../src/store/db/database.ts'
import { openHarness } from '../support/harness.ts'
import { makeFixtures } from '../support/fixtures.ts'
import { startTokenIssuer } from '../support/token-issuer.ts'
import { forFile } from '../support/for-file.ts'

const claims: Record<string, unknown> = {}
const provider = await forFile(startTokenIssuer(claims))
const h = await forFile(openHarness({ oidc: provider.oidc }))
const fixtures = await forFile(makeFixtures(h))
const projectId: string = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
Object.assign(claims, { aud: 'gatehouse', gatehouse_project: projectId, gatehouse_role: 'admin' })

const makeKey = (input: object, by?: string) =>
  h.mutate(
    'createApiKey',
    { name: 'k', ...input },
    'apiKey { id expiresAt votes createdBy revokedAt } secret',
    by,
  )

describe('overrides of a run', () => {
  const start = (agentId: string, overrides: object, key?: string) =>
    h.mutate('startGeneration', { agentId, prompt: 'say hi', ...overrides }, 'generation { id }', key)

  const tight = () => ({
    instructions: 'Never pay more than 10.',
    toolIds: [fixtures.tools.look, fixtures.tools.act],
    activeToolIds: [fixtures.tools.look],
    toolChoice: { mode: 'NONE' },
    stepRules: [{ step: 2, activeToolIds: [] }],
    stopConditions: [{ hasToolCall: 'look' }],
    maxSteps: 3,
    maxOutputTokens: 100,
    maxContextMessages: 10,
    finalAnswerOnLimit: false,
    parallelToolCalls: false,
    outputSchema: { type: 'object' },
    budget: { tokensPerGeneration: 1000, tokensPerDay: 5000 },
    clientTimeoutMs: 5000,
    timeoutMs: 60_000,
  })

  const looser = (): [object, string[]][] => [
    [{ maxSteps: 4 }, ['input', 'maxSteps']],
    [{ maxOutputTokens: 101 }, ['input', 'maxOutputTokens']],
    [{ maxContextMessages: 11 }, ['input', 'maxContextMessages']],
    [{ clientTimeoutMs: 5001 }, ['input', 'clientTimeoutMs']],
    [{ timeoutMs: 60_001 }, ['input', 'timeoutMs']],
    [{ finalAnswerOnLimit: true }, ['input', 'finalAnswerOnLimit']],
    [{ parallelToolCalls: true }, ['input', 'parallelToolCalls']],
    [{ budget: { tokensPerGeneration: 1001 } }, ['input', 'budget', 'tokensPerGeneration']],
    [{ budget: { tokensPerDay: 5001 } }, ['input', 'budget', 'tokensPerDay']],
    [{ activeToolIds: [fixtures.tools.look, fixtures.tools.act] }, ['input', 'activeToolIds', '1']],
    [{ stepRules: [{ step: 1 }] }, ['input', 'stepRules']],
    [{ toolChoice: { mode: 'AUTO' } }, ['input', 'toolChoice']],
    [{ outputSchema: { type: 'array' } }, ['input', 'outputSchema']],
    [{ instructions: 'x'.repeat(99_990) }, ['input', 'instructions']],
  ]

  test('that loosen a setting are refused, each with its path', async () => {
    const agentId = await fixtures.agent(tight())
    for (const [given, path] of looser()) {
      const answer = await start(agentId, given)
      expect([given, answer]).toMatchObject([given, { __typename: 'ValidationError', issues: [{ path }] }])
    }
  })

  test("that tighten are applied, together with the agent's own settings", async () => {
    const agentId = await fixtures.agent(tight())
    const made = await start(agentId, {
      instructions: 'Be brief.',
      maxSteps: 2,
      budget: { tokensPerGeneration: 500 },
      activeToolIds: [],
      stopConditions: [],
    })
    const [row] = await query<{ settings: any }>(
      h.app.services.db,
      sql`select settings from generations where id = ${made['generation'].id}`,
    )
    expect(row!.settings).toMatchObject({
      instructions: 'Never pay more than 10.\n\nBe brief.',
      maxSteps: 2,
      budget: { tokensPerGeneration: 500, tokensPerDay: 5000 },
      activeToolIds: [],
      stopConditions: [{ hasToolCall: 'look' }],
      stepRules: [{ step: 2, activeToolIds: [] }],
    })
  })

  test('that are empty or null take nothing of the agent away', async () => {
    const agentId = await fixtures.agent(tight())
    const settingsOf = async (overrides: object) => {
      const made = await start(agentId, overrides)
      expect(made['generation'], JSON.stringify([overrides, made])).toBeTruthy()
      const [row] = await query<{ settings: any }>(
        h.app.services.db,
        sql`select settings from generations where id = ${made['generation'].id}`,
      )
      return row!.settings
    }
    const own = await settingsOf({})
    const names = Object.keys(tight()).filter((name) => name !== 'toolIds')
    for (const name of names) expect(await settingsOf({ [name]: null }), name).toEqual(own)
    const empty = { stepRules: [], stopConditions: [], instructions: '', budget: {} }
    for (const [name, value] of Object.entries(empty))
      expect(await settingsOf({ [name]: value }), name).toEqual(own)
    expect(await settingsOf(empty)).toEqual(own)
  })

  test('leave other settings unchanged', async () => {
    const { look, act } = fixtures.tools
    const stepRules = [{ step: 2, activeToolIds: [act] }]
    const agentId = await fixtures.agent({ toolIds: [look, act], activeToolIds: [look], stepRules })
    const made = await start(agentId, { maxSteps: 2 })
    const [row] = await query<{ settings: any }>(
      h.app.services.db,
      sql`select settings from generations where id = ${made['generation'].id}`,
    )
    expect(row!.settings).toMatchObject({ activeToolIds: [look], stepRules })
  })

  test('with an outputSchema take one of a bounded size', async () => {
    const agentId = await fixtures.agent({ toolIds: [] })
    const big = { type: 'object', description: 'd'.repeat(70_000) }
    const answer = await start(agentId, { outputSchema: big })
    expect(answer).toMatchObject({ issues: [{ path: ['input', 'outputSchema'] }] })
  })

  test('name another model only with the permission to change the agent', async () => {
    const agentId = await fixtures.agent({ toolIds: [] })
    const caller = await makeKey({ role: 'CALLER' })
    const dearer = start(agentId, { model: 'openai/dearest' }, caller['secret'])
    await expect(dearer).rejects.toThrow(/FORBIDDEN.*agents:Update/)
    expect((await start(agentId, { model: 'builtin/rehearsal' }))['generation'].id).toBeTruthy()
  })

  test('cannot be sent later, with the outputs of the client', async () => {
    const { ask, act } = fixtures.tools
    const agentId = await fixtures.agent({ toolIds: [ask, act], activeToolIds: [ask] })
    const id = await fixtures.start(agentId, 'call ask {"word":"w"}\nthen\ncall act {"word":"w"}')
    const waiting = await h.until(id, ['REQUIRES_ACTION'])
    const [call] = waiting['requiredAction'].toolCalls
    const outputs = [{ toolCallId: call.id, output: 'o' }]
    await h.mutate(
      'submitToolOutputs',
      { generationId: id, outputs, activeToolIds: [act] },
      'generation { id }',
    )
    await h.until(id, ['COMPLETED', 'FAILED'])
    expect(fixtures.upstream.seen.filter(({ url }) => url === '/act')).toEqual([])
  })
})

describe('tokens of one person', () => {
  const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

  /** A run that waits for its client and then calls a tool, started with this token. */
  async function waitingRun(token: string): Promise<{ id: string; callId: string }> {
    const platform = await platformTool()
    const agentId = await fixtures.agent({ toolIds: [fixtures.tools.ask, fixtures.tools.act, platform] })
    const prompt = `call ask {"word":"w"}\nthen\ncall own_tools {}`
    const { generation } = await h.mutate(
      'startGeneration',
      { agentId, prompt },
      'generation { id requestedBy }',
      token,
    )
    const waiting = await h.until(generation.id, ['REQUIRES_ACTION'])
    return { id: generation.id, callId: waiting['requiredAction'].toolCalls[0].id }
  }

  let made: string | null = null
  async function platformTool(): Promise<string> {
    made ??= (
      await h.mutate(
        'createTool',
        { name: 'own', config: { platform: { actions: ['tools'] } } },
        'tool { id }',
      )
    )['tool'].id as string
    return made
  }

  async function outcome({ id, callId }: { id: string; callId: string }): Promise<string | null> {
    const outputs = [{ toolCallId: callId, output: 'o' }]
    await h.mutate('submitToolOutputs', { generationId: id, outputs }, 'generation { id }')
    const done = await h.until(id, ['COMPLETED'], 'toolCalls { name errorCode }')
    return done['toolCalls'].find((call: { name: string }) => call.name === 'own_tools').errorCode
  }

  /** Moves the end of the token that started the run into the past. */
  async function end(id: string): Promise<void> {
    const past = new Date(Date.now() - 60_000).toISOString()
    await query(
      h.app.services.db,
      sql`update generations set requester = jsonb_set(requester, '{until}', to_jsonb(${past}::text)) where id = ${id}`,
    )
  }

  test('start runs with their own role: that of a later token does not apply to them', async () => {
    const weak = await provider.token({ sub: 'mallory', gatehouse_role: 'developer' })
    const agentless = await provider.token({ sub: 'mallory', gatehouse_role: 'viewer' })
    const run = await waitingRun(weak)
    const [row] = await query<{ requester: object }>(
      h.app.services.db,
      sql`select requester from generations where id = ${run.id}`,
    )
    expect(row!.requester).toMatchObject({ role: 'developer', until: expect.stringMatching(/Z$/) })
    // The newest token of the same person has the role viewer: the run keeps the role that it was started with.
    await h.gql('{ viewer { id } }', {}, agentless)
    expect(await outcome(run)).toBeNull()
  })

  test('do not give a stronger role to a run of a weaker one', async () => {
    const run = await waitingRun(await provider.token({ sub: 'eve', gatehouse_role: 'caller' }))
    await query(
      h.app.services.db,
      sql`update generations set requester = jsonb_set(requester, '{role}', '"viewer"') where id = ${run.id}`,
    )
    await h.gql('{ viewer { id } }', {}, await provider.token({ sub: 'eve', gatehouse_role: 'admin' }))
    expect(await outcome(run)).toBe('forbidden')
  })

  test('end at their own time: a longer token of the same person extends nothing', async () => {
    const run = await waitingRun(await provider.token({ sub: 'trent', exp: inSeconds(60) }))
    await h.gql('{ viewer { id } }', {}, await provider.token({ sub: 'trent', exp: inSeconds(100_000) }))
    await end(run.id)
    expect(await outcome(run)).toBe('forbidden')
  })

  test("let runs continue for as long as the project's setting says", async () => {
    const { project } = await h.mutate(
      'updateProject',
      { id: projectId, runGraceSeconds: 600 },
      'project { runGraceSeconds }',
    )
    expect(project.runGraceSeconds).toBe(600)
    const run = await waitingRun(await provider.token({ sub: 'grace' }))
    await end(run.id)
    expect(await outcome(run)).toBeNull()
    await h.mutate('updateProject', { id: projectId, runGraceSeconds: 0 }, 'project { id }')
  })

  test('decide nothing after their own end, however long another one lives', async () => {
    const { assertStillValid } = await import('../../src/domain/access/index.ts')
    const long = await provider.token({ sub: 'oscar', exp: inSeconds(100_000) })
    const { data } = await h.gql('{ viewer { id } }', {}, long)
    const over = { id: data['viewer'].id, expiresAt: new Date(Date.now() - 1000) }
    await expect(assertStillValid(h.app.services.db, over)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test.each([
    ['an empty subject', ''],
    ['a blank subject', '  '],
    ['a subject of 256 characters', 's'.repeat(256)],
    ['a subject that is a number', 7],
    ['a subject that is a list', ['ada']],
  ])('with %s are refused', async (_what, sub) => {
    const asked = await h.gql('{ viewer { id } }', {}, await provider.token({ sub }))
    expect(asked.errors![0]!.extensions!['code']).toBe('UNAUTHENTICATED')
  })
})

describe('a key made by a key', () => {
  const soon = () => new Date(Date.now() + 3_600_000).toISOString()

  test('ends no later than the key that made it', async () => {
    const parent = await makeKey({ role: 'ADMIN', expiresAt: soon() })
    const { expiresAt } = parent['apiKey']
    const later = new Date(Date.parse(expiresAt) + 1000).toISOString()
    expect(await makeKey({ role: 'VIEWER', expiresAt: later }, parent['secret'])).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'expiresAt'] }],
    })
    const child = await makeKey({ role: 'VIEWER' }, parent['secret'])
    expect(child['apiKey']).toMatchObject({ expiresAt, createdBy: parent['apiKey'].id })
  })

  test('may vote only if the key that made it may', async () => {
    const program = await makeKey({ role: 'ADMIN', votes: false })
    expect(program['apiKey'].votes).toBe(false)
    expect(await makeKey({ role: 'APPROVER', votes: true }, program['secret'])).toMatchObject({
      issues: [{ path: ['input', 'votes'] }],
    })
    const child = await makeKey({ role: 'APPROVER' }, program['secret'])
    expect(child['apiKey'].votes).toBe(false)
  })

  const works = async (secret: string) => (await h.gql('{ viewer { id } }', {}, secret)).errors === undefined

  test('ends with the key that made it, and so do those that it made', async () => {
    const parent = await makeKey({ role: 'ADMIN' })
    const child = await makeKey({ role: 'ADMIN' }, parent['secret'])
    const grandchild = await makeKey({ role: 'VIEWER' }, child['secret'])
    const other = await makeKey({ role: 'VIEWER' })
    expect(await works(grandchild['secret'])).toBe(true)
    await h.mutate('revokeApiKey', { id: parent['apiKey'].id }, 'apiKey { id }')
    expect(await Promise.all([parent, child, grandchild, other].map((one) => works(one['secret'])))).toEqual([
      false,
      false,
      false,
      true,
    ])
    const { data } = await h.gql('{ auditEntries(first: 3) { nodes { action resource details } } }')
    expect(data['auditEntries'].nodes).toContainEqual({
      action: 'keys:Revoke',
      resource: `key/${grandchild['apiKey'].id}`,
      details: expect.objectContaining({ madeWith: parent['apiKey'].id }),
    })
  })

  test('survives when the revocation says so, and can be revoked later', async () => {
    const parent = await makeKey({ role: 'ADMIN' })
    const child = await makeKey({ role: 'VIEWER' }, parent['secret'])
    const revoke = (keepMade: boolean) =>
      h.mutate('revokeApiKey', { id: parent['apiKey'].id, keepMade }, 'apiKey { id }')
    await revoke(true)
    expect([await works(parent['secret']), await works(child['secret'])]).toEqual([false, true])
    await revoke(false)
    expect(await works(child['secret'])).toBe(false)
  })

  test('is not made by a key that is being revoked at that instant', async () => {
    const parent = await makeKey({ role: 'ADMIN' })
    const [, ...children] = await Promise.all([
      h.mutate('revokeApiKey', { id: parent['apiKey'].id }, 'apiKey { id }'),
      ...Array.from({ length: 5 }, () =>
        makeKey({ role: 'ADMIN' }, parent['secret']).catch(() => ({ secret: null })),
      ),
    ])
    for (const { secret } of children as { secret: string | null }[])
      if (secret) expect(await works(secret)).toBe(false)
  })
})
