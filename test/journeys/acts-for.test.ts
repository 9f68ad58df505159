/** One program calls for many people: each call has the login of the person for whom it is made, and no other's. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { principalById } from '../../src/domain/access/index.ts'
import { relayCompletion } from '../../src/domain/bridge/relay.ts'
import { createSurfaces } from '../../src/domain/bridge/surfaces.ts'
import { reservedNames } from '../../src/domain/bridge/surface.ts'
import { loginOfCall } from '../../src/domain/upstream/oauth/person-logins.ts'
import { loadRows } from '../../src/domain/upstream/state.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { addProgram, askFor, headersOf, mutateFor } from '../support/acts-for.ts'
import { callRaw, rpc } from '../support/bridge.ts'
import { browse } from '../support/browser.ts'
import { hasPostgres, postgresDatabase } from '../support/databases.ts'
import { openHarness, type Harness } from '../support/harness.ts'
import { oidcAt, startIdentityProvider } from '../support/identity-provider.ts'
import { modernRpc, tasksCapability } from '../support/mcp-wire.ts'
import { asking, makeAgent } from '../support/nested-fixtures.ts'
import {
  addPerson,
  callOf,
  logIn,
  openOwnLogins,
  type OwnLogins,
  type Person,
} from '../support/own-logins.ts'
import { hasPeers } from '../support/peers.ts'
import { signIn } from '../support/signed-in.ts'
import { freePort } from '../support/upstream-servers.ts'

const callFields =
  'id status errorCode content actsFor { id name } requester { id } approval { id status requirement { loginOf actsFor { id } } }'

/** Somebody who reaches only what was requested with the key. */
const caller = { role: 'CALLER' }

describe.skipIf(!hasPeers || !hasPostgres)('a program that calls for people', () => {
  let database: Awaited<ReturnType<typeof postgresDatabase>>
  let h: Harness
  let other: Harness
  let logins: OwnLogins
  let toolName: string
  let ada: Person
  let bob: Person
  let program: Person
  let mark = 0

  beforeAll(async () => {
    database = await postgresDatabase()
    const held = { mcp: { inlineHoldMs: 50, roundHoldMs: 50 } }
    h = await openHarness({ databaseUrl: database.url }, held)
    other = await openHarness({ databaseUrl: database.url, publicUrl: h.url }, held)
    logins = await openOwnLogins(h)
    const named = 'query($id: ID!) { tool(id: $id) { name } }'
    toolName = (await h.gql(named, { id: logins.toolId })).data['tool'].name
  })
  afterAll(async () => {
    await logins?.close()
    await Promise.all([h?.stop(), other?.stop()])
    await database?.drop()
  })
  beforeEach(async () => {
    mark++
    logins.calls.length = 0
    ada = await addPerson(h, 'ada')
    bob = await addPerson(h, 'bob')
    program = await addProgram(h)
  })

  const callFor = async (at: Harness, person: Person, message: string, more: object = {}) => {
    const input = { toolId: logins.toolId, action: 'echo', arguments: { message }, ...more }
    const made = await mutateFor(at, program, person, 'callTool', input, `toolCall { ${callFields} }`)
    if (!made['toolCall']) throw new Error(JSON.stringify(made))
    return made['toolCall']
  }
  const statusOf = async (id: string) => (await callOf(h, id)).status
  const said = () => logins.calls.map(({ account, message }) => `${account}: ${String(message)}`).toSorted()
  const bothLogIn = async () => {
    await logIn(h, logins, ada)
    await logIn(other, logins, bob)
  }
  const startFor = (at: Harness, person: Person, input: object) =>
    mutateFor(at, program, person, 'startGeneration', input, 'generation { id actsFor { id } thread { id } }')

  /** Another key of the person, which may decide. */
  const adminOf = async (person: Person) => {
    const key = await addPerson(h, `${person.name} again`, { role: 'ADMIN' })
    const made = sql`update api_keys set created_by = ${person.keyId} where id = ${key.keyId}`
    await query(h.app.services.db, made)
    return key
  }

  test('each call arrives with the token of the person whom it names, over two replicas at once', async () => {
    await bothLogIn()
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        callFor(i % 2 ? h : other, i % 3 ? ada : bob, i % 3 ? `a${i}` : `b${i}`),
      ),
    )
    expect(made.map(({ status }) => status)).toEqual(Array(20).fill('SUCCEEDED'))
    expect(logins.calls).toHaveLength(20)
    for (const { account, message } of logins.calls) expect(account[0]).toBe(String(message)[0])
    expect(made[1]).toMatchObject({
      requester: { id: program.keyId },
      actsFor: { id: ada.keyId, name: 'ada' },
    })
    const entries = `{ auditEntries(first: 50) { nodes { action principal { id } details } } }`
    const { data } = await h.gql(entries)
    const mine = data['auditEntries'].nodes.filter((one: any) => one.principal.id === program.keyId)
    expect(mine).toHaveLength(20)
    expect(new Set(mine.map((one: any) => one.details.actsFor))).toEqual(new Set([ada.keyId, bob.keyId]))
  })

  test('a call without a login asks the person whom it names, and goes on with that login', async () => {
    await logIn(h, logins, bob)
    const [carol, dave] = [await addPerson(h, 'carol', caller), await addPerson(h, 'dave', caller)]
    const waits = await callFor(h, carol, 'later')
    expect(waits).toMatchObject({
      status: 'AWAITING_APPROVAL',
      approval: { requirement: { loginOf: carol.keyId, actsFor: { id: carol.keyId } } },
    })
    expect(await callFor(h, bob, 'now')).toMatchObject({ status: 'SUCCEEDED' })
    const mine = 'query($id: ID!) { approval(id: $id) { viewerMustLogIn } }'
    const shown = async (person: Person) =>
      (await h.gql(mine, { id: waits.approval.id }, person.key)).data['approval']
    expect([await shown(carol), await shown(dave)]).toEqual([{ viewerMustLogIn: true }, null])
    expect(await h.mutate('logInToUpstream', { toolId: logins.toolId }, 'url', program.key)).toMatchObject({
      code: 'INVALID',
    })
    await logIn(other, logins, carol)
    await expect.poll(() => statusOf(waits.id)).toBe('SUCCEEDED')
    expect(said()).toEqual(['bob: now', 'carol: later'])
  })

  test('runs and nested runs act for the person for whom the root was started', async () => {
    await bothLogIn()
    const child = await makeAgent(h, { name: `child${mark}`, toolIds: [logins.toolId] })
    const parent = await makeAgent(h, { name: `parent${mark}`, agentIds: [child], toolIds: [logins.toolId] })
    const prompt = (who: string) =>
      `call ${toolName}_echo {"message":"${who} root"}\nthen\n${asking(
        `child${mark}`,
        `call ${toolName}_echo {"message":"${who} nested"}\nthen\nsay done`,
      )}`
    const runs = await Promise.all(
      [ada, bob, ada, bob].map((person, i) =>
        startFor(i < 2 ? h : other, person, { agentId: parent, prompt: prompt(person.name) }),
      ),
    )
    for (const { generation } of runs) await h.until(generation.id, ['COMPLETED'])
    expect(said()).toEqual(
      ['ada', 'bob'].flatMap((who) =>
        ['nested', 'root'].flatMap((at) => Array(2).fill(`${who}: ${who} ${at}`)),
      ),
    )
    expect(runs.map(({ generation }) => generation.actsFor.id)).toEqual([
      ada.keyId,
      bob.keyId,
      ada.keyId,
      bob.keyId,
    ])
    const tree = 'query($id: ID!) { generation(id: $id) { children { nodes { actsFor { id } } } } }'
    const { data } = await h.gql(tree, { id: runs[1]!['generation'].id })
    expect(data['generation'].children.nodes).toEqual([{ actsFor: { id: bob.keyId } }])
    const named = await query<{ who: string | null; n: number }>(
      h.app.services.db,
      sql`select details->>'actsFor' as who, count(*)::int as n from audit_entries
        where principal_id = ${program.keyId} and outcome = 'EXECUTED' group by 1`,
    )
    expect(new Map(named.map(({ who, n }) => [who, n]))).toEqual(
      new Map([
        [ada.keyId, 6],
        [bob.keyId, 6],
      ]),
    )
  })

  test('over MCP a repeat for another person is another call, and one for the same person is not', async () => {
    const agent = await makeAgent(h, {
      name: `bridge${mark}`,
      toolIds: [logins.toolId],
      mcp: { enabled: true },
    })
    const ask = async (at: Harness, person: Person, message: string) => {
      const { body } = await callRaw(
        `${at.url}/mcp/${agent}`,
        program.key,
        `${toolName}_echo`,
        { message },
        { 'Gatehouse-Acts-For': person.keyId },
      )
      return body['result']
    }
    const first = await ask(h, ada, 'same')
    const second = await ask(other, bob, 'same')
    expect(first.structuredContent).toMatchObject({ status: 'pending_approval' })
    expect(second.structuredContent.call_id).not.toBe(first.structuredContent.call_id)
    expect((await ask(other, ada, 'same')).structuredContent.call_id).toBe(first.structuredContent.call_id)
    const outcome = async (person: Person, callId: string) => {
      const named = { 'Gatehouse-Acts-For': person.keyId }
      const { body } = await callRaw(
        `${h.url}/mcp/${agent}`,
        program.key,
        reservedNames.wait,
        { call_id: callId },
        named,
      )
      return body['result']?.structuredContent?.call_id ?? null
    }
    const { call_id: ofAda } = first.structuredContent
    expect([await outcome(ada, ofAda), await outcome(bob, ofAda)]).toEqual([ofAda, null])
    await bothLogIn()
    for (const one of [first, second])
      await expect.poll(() => statusOf(one.structuredContent.call_id)).toBe('SUCCEEDED')
    for (const person of [bob, ada]) expect((await ask(h, person, 'same')).content[0].text).toBe('echoed')
    expect(said()).toEqual(['ada: same', 'bob: same'])
  })

  test('a session of MCP belongs to the person for whom it was opened', async () => {
    const agent = await makeAgent(h, {
      name: `session${mark}`,
      toolIds: [logins.toolId],
      mcp: { enabled: true },
    })
    const at = (url: string) => `${url}/mcp/${agent}`
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    }
    const named = (person: Person) => ({
      'Gatehouse-Acts-For': person.keyId,
      accept: 'application/json, text/event-stream',
    })
    const opened = await rpc(
      at(h.url),
      program.key,
      { jsonrpc: '2.0', id: 1, method: 'initialize', params },
      named(ada),
    )
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
    const statusFor = async (person: Person) =>
      (await rpc(at(other.url), program.key, list, { ...named(person), ...session })).status
    expect(await statusFor(ada)).toBe(200)
    expect(await statusFor(bob)).toBe(404)
  })

  test('what a client of MCP brings back is that of the person for whom it was given', async () => {
    const agent = await makeAgent(h, {
      name: `modern${mark}`,
      toolIds: [logins.toolId],
      mcp: { enabled: true },
    })
    const ask = async (person: Person, method: string, params: object, capabilities = {}) => {
      const named = { 'Gatehouse-Acts-For': person.keyId }
      const url = `${h.url}/mcp/${agent}`
      return (await modernRpc(url, program.key, method, params, capabilities, named)).body
    }
    const params = { name: `${toolName}_echo`, arguments: { message: 'round' } }
    const { requestState } = (await ask(ada, 'tools/call', params))['result']
    expect(requestState).toEqual(expect.any(String))
    const again = { ...params, requestState }
    expect((await ask(bob, 'tools/call', again))['error'].message).toContain('requestState')
    expect((await ask(ada, 'tools/call', again))['result'].requestState).toEqual(expect.any(String))
    const { taskId } = (await ask(ada, 'tools/call', params, tasksCapability))['result']
    expect((await ask(bob, 'tasks/get', { taskId }, tasksCapability))['error'].message).toBe('Unknown task')
    expect((await ask(ada, 'tasks/get', { taskId }, tasksCapability))['result'].status).toBe('working')
  })

  test('reads and completions over MCP have the login of the person', async () => {
    const read = await openOwnLogins(h, { issuer: logins.issuer, config: { relay: { prompts: ['*'] } } })
    const seen: string[] = []
    const believing = read.server.guard!
    read.server.guard = async (request, response, body) => {
      if (await believing(request, response, body)) return true
      const [, method] = /"method":"(prompts\/get|completion\/complete)"/.exec(body) ?? []
      const [, claims] = (request.headers.authorization ?? '').split('.')
      if (method) seen.push(`${JSON.parse(Buffer.from(claims!, 'base64url').toString()).sub} ${method}`)
      return false
    }
    const surfaces = createSurfaces(h.app.services)
    try {
      for (const person of [ada, bob]) await logIn(h, read, person)
      const toolIds = [read.toolId]
      const agent = await makeAgent(h, { name: `reads${mark}`, toolIds, mcp: { enabled: true } })
      const named = 'query($id: ID!) { tool(id: $id) { name } }'
      const name = `${(await h.gql(named, { id: read.toolId })).data['tool'].name}_greet`
      const principal = (await principalById(h.app.services.db, program.keyId, Date.now()))!
      for (const person of [ada, bob, ada]) {
        const headers = { 'Gatehouse-Acts-For': person.keyId }
        const get = { jsonrpc: '2.0', id: 1, method: 'prompts/get', params: { name } }
        const { body } = await rpc(`${other.url}/mcp/${agent}`, program.key, get, headers)
        expect(body['result'].messages).toHaveLength(1)
        const ctx = h.app.ctxOf({ ...principal, actsFor: person.keyId })
        const asked = { ref: { type: 'ref/prompt', name }, argument: { name: 'who', value: '' } }
        const how = { relay: null, signal: new AbortController().signal }
        await relayCompletion(ctx, await surfaces.of(ctx, agent), asked, how)
      }
      const both = (who: string) => [`${who} prompts/get`, `${who} completion/complete`]
      expect(seen).toEqual([...both('ada'), ...both('bob'), ...both('ada')])
    } finally {
      surfaces.close()
      await read.close()
    }
  })

  test('a call through a platform tool is made for the same person', async () => {
    await bothLogIn()
    const config = { platform: { actions: ['call-tool'] } }
    const { tool } = await h.mutate('createTool', { name: `own${mark}`, config }, 'tool { id }')
    for (const person of [ada, bob]) {
      const inner = { toolId: logins.toolId, action: 'echo', arguments: { message: person.name } }
      const input = { toolId: tool.id, action: 'call-tool', arguments: inner }
      const made = await mutateFor(h, program, person, 'callTool', input, 'toolCall { status }')
      expect(made).toEqual({ toolCall: { status: 'SUCCEEDED' } })
    }
    expect(said()).toEqual(['ada: ada', 'bob: bob'])
  })

  test('an idempotency key of a program is not used again for another person', async () => {
    await bothLogIn()
    const key = { idempotencyKey: `once${mark}` }
    const first = await callFor(h, ada, 'once', key)
    expect((await callFor(other, ada, 'once', key)).id).toBe(first.id)
    await expect(callFor(other, bob, 'once', key)).rejects.toThrow('IDEMPOTENCY_CONFLICT')
    const agentId = await makeAgent(h, { name: `once${mark}` })
    const run = { agentId, prompt: 'say done', ...key }
    const { generation } = await startFor(h, ada, run)
    expect((await startFor(other, ada, run))['generation'].id).toBe(generation.id)
    expect(await startFor(other, bob, run)).toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' })
    expect(said()).toEqual(['ada: once'])
  })

  test('a thread that a program names by an id of its own is another one for each person', async () => {
    const agentId = await makeAgent(h, { name: `thread${mark}` })
    const threadOf = async (person: Person) =>
      (await startFor(h, person, { agentId, prompt: 'say done', externalThreadId: 'main' }))['generation']
    const [mine, theirs] = [await threadOf(ada), await threadOf(bob)]
    expect(mine.thread.id).not.toBe(theirs.thread.id)
    await h.until(mine.id, ['COMPLETED'])
    expect((await threadOf(ada)).thread.id).toBe(mine.thread.id)
  })

  test('the person for whom a call is made has requested it: another person decides', async () => {
    const gate = { autoApprove: false, timeoutSeconds: 60, excludeRequester: true }
    const gated = await openOwnLogins(h, { issuer: logins.issuer, input: { gate } })
    try {
      await logIn(h, gated, ada)
      const carol = await addPerson(h, 'carol', { role: 'ADMIN' })
      const second = await adminOf(ada)
      const input = { toolId: gated.toolId, action: 'echo', arguments: { message: 'gated' } }
      const made = await mutateFor(h, program, ada, 'callTool', input, `toolCall { ${callFields} }`)
      const { id, approval } = made['toolCall']
      const decide = (who: Person) =>
        h.mutate(
          'decideApproval',
          { approvalId: approval.id, verdict: 'APPROVE' },
          'approval { id }',
          who.key,
        )
      const listed = async (who: Person) => {
        const mine = '{ approvals(first: 50, forMe: true) { nodes { id } } }'
        const { data } = await h.gql(mine, {}, who.key)
        return data['approvals'].nodes.some((one: any) => one.id === approval.id)
      }
      await expect(decide(second)).rejects.toThrow('another person must decide')
      expect([await listed(second), await listed(carol)]).toEqual([false, true])
      await decide(carol)
      await expect.poll(() => statusOf(id)).toBe('SUCCEEDED')
      expect(gated.calls).toMatchObject([{ account: 'ada', message: 'gated' }])
    } finally {
      await gated.close()
    }
  })

  test('a grant covers the calls for one person, and not those of the same program for another', async () => {
    const gated = await openOwnLogins(h, {
      issuer: logins.issuer,
      input: { gate: { autoApprove: false, timeoutSeconds: 60 } },
    })
    try {
      for (const person of [ada, bob]) await logIn(h, gated, person)
      const make = async (person: Person) => {
        const input = { toolId: gated.toolId, action: 'echo', arguments: { message: 'granted' } }
        const made = await mutateFor(h, program, person, 'callTool', input, `toolCall { ${callFields} }`)
        return made['toolCall']
      }
      const first = await make(ada)
      const grant = { holder: 'CALLER', scope: 'EXACT', maxUses: 5, expiresInSeconds: 600 }
      await h.mutate(
        'decideApproval',
        { approvalId: first.approval.id, verdict: 'APPROVE', grant },
        'approval { id }',
      )
      await expect.poll(() => statusOf(first.id)).toBe('SUCCEEDED')
      const asked = await make(bob)
      expect(asked.status).toBe('AWAITING_APPROVAL')
      const longer = { approvalId: asked.approval.id, until: new Date(Date.now() + 3_600_000).toISOString() }
      const extend = async (who: Person) =>
        h.mutate('extendApproval', longer, 'approval { id }', (await adminOf(who)).key)
      await expect(extend(bob)).rejects.toThrow('Whoever requested the call cannot give it longer time')
      expect((await extend(ada))['approval'].id).toBe(asked.approval.id)
      expect((await make(ada)).status).toBe('SUCCEEDED')
    } finally {
      await gated.close()
    }
  })

  test('a person who leaves: what was asked never runs, what was approved is refused, and so is the next request', async () => {
    const gated = await openOwnLogins(h, {
      issuer: logins.issuer,
      input: { gate: { autoApprove: false, timeoutSeconds: 60 } },
    })
    try {
      await logIn(h, gated, ada)
      const input = { toolId: gated.toolId, action: 'echo', arguments: { message: 'gone' } }
      const made = await mutateFor(h, program, ada, 'callTool', input, `toolCall { ${callFields} }`)
      const asked = await callFor(h, ada, 'gone')
      expect(asked.approval.requirement.loginOf).toBe(ada.keyId)
      await h.mutate('revokeApiKey', { id: ada.keyId }, 'apiKey { id }')
      // A login of hers that had stayed would not be used either.
      await query(
        h.app.services.db,
        sql`insert into person_logins (id, upstream_id, project_id, person, connected_at)
          select 'stale ' || id, id, project_id, ${ada.keyId}, now() from upstreams`,
      )
      const { approval, id } = made['toolCall']
      await h.mutate('decideApproval', { approvalId: approval.id, verdict: 'APPROVE' }, 'approval { id }')
      await expect.poll(() => callOf(h, id)).toMatchObject({ status: 'ERRORED', errorCode: 'forbidden' })
      await query(
        h.app.services.db,
        sql`update approvals set wake_at = now() where id = ${asked.approval.id}`,
      )
      await expect
        .poll(() => callOf(h, asked.id))
        .toMatchObject({ status: 'ERRORED', errorCode: 'forbidden' })
      // Not even when nothing has asked before it is sent.
      const [row] = await loadRows(h.app.services.db, [logins.toolId])
      const sent = { requestedBy: program.keyId, actsFor: ada.keyId }
      await expect(loginOfCall(h.app.services, row!, sent)).rejects.toMatchObject({ code: 'no_person' })
      await expect(callFor(h, ada, 'again')).rejects.toThrow(
        'names no person of this project who may act now',
      )
      expect([...gated.calls, ...logins.calls]).toEqual([])
    } finally {
      await gated.close()
      await query(h.app.services.db, sql`delete from person_logins where id like 'stale %'`)
    }
  })

  test('a run whose person leaves in the middle makes no further call', async () => {
    await logIn(h, logins, ada)
    const agentId = await makeAgent(h, { name: `middle${mark}`, toolIds: [logins.toolId] })
    const one = (message: string) => `call ${toolName}_echo {"message":"${message}"}\nthen\n`
    const { run } = logins.server.tools.get('echo')!
    logins.server.tools.get('echo')!.run = async (args, context) => {
      if (args['message'] === 'before') await h.mutate('revokeApiKey', { id: ada.keyId }, 'apiKey { id }')
      return run(args, context)
    }
    try {
      const { generation } = await startFor(h, ada, {
        agentId,
        prompt: `${one('before')}${one('after')}say done`,
      })
      const ended = await h.until(generation.id, ['COMPLETED', 'FAILED'], 'toolCalls { status errorCode }')
      expect(ended['toolCalls']).toEqual([
        { status: 'SUCCEEDED', errorCode: null },
        { status: 'ERRORED', errorCode: 'forbidden' },
      ])
      expect(said()).toEqual(['ada: before'])
    } finally {
      logins.server.tools.get('echo')!.run = run
    }
  })

  test('a socket names the person in its connection, and REST in its header', async () => {
    await bothLogIn()
    const callOn = (connectionParams: object) =>
      new Promise<any>((resolve, reject) => {
        const document = `mutation($input: CallToolInput!) { callTool(input: $input) {
          ... on ToolCallPayload { toolCall { status actsFor { id } } } } }`
        const variables = {
          input: { toolId: logins.toolId, action: 'echo', arguments: { message: 'socket' } },
        }
        h.client(program.key, { connectionParams }).subscribe(
          { query: document, variables },
          { next: ({ data }: any) => resolve(data.callTool.toolCall), error: reject, complete: () => {} },
        )
      })
    const authorization = `Bearer ${program.key}`
    expect(await callOn({ authorization, actsFor: bob.keyId })).toEqual({
      status: 'SUCCEEDED',
      actsFor: { id: bob.keyId },
    })
    for (const actsFor of ['', null, 7, ada.keyId.toUpperCase(), 'key_unknown'])
      await expect(callOn({ authorization, actsFor })).rejects.toMatchObject({
        code: 4400,
        reason: expect.stringMatching(/^Gatehouse-Acts-For: /),
      })
    const narrow = await addProgram(h, [ada])
    await expect(callOn({ authorization: `Bearer ${narrow.key}`, actsFor: bob.keyId })).rejects.toMatchObject(
      { code: 4400, reason: `This key may not persons:ActFor on person/${bob.keyId}.` },
    )
    const response = await fetch(`${other.url}/api/v1/tools/${logins.toolId}/call`, {
      method: 'POST',
      headers: headersOf(program, ada.keyId),
      body: JSON.stringify({ action: 'echo', input: { message: 'rest' } }),
    })
    expect(await response.text()).toContain('echoed')
    expect(said()).toEqual(['ada: rest', 'bob: socket'])
  })
})

describe.skipIf(!hasPeers)('a program that calls for a person of an identity provider', () => {
  test('as long as that one is signed in', async () => {
    const port = await freePort()
    const h = await openHarness({ oidc: oidcAt(port) })
    const provider = await startIdentityProvider(port, [`${h.url}/session/callback`])
    const logins = await openOwnLogins(h)
    try {
      const tab = await signIn(h, provider, 'grace', undefined, 'caller')
      const { id: keyId } = (await tab.gql('{ viewer { id } }')).data['viewer']
      const logInHere = `mutation($input: LogInToUpstreamInput!) { logInToUpstream(input: $input) {
        ... on LogInToUpstreamPayload { url } } }`
      const { data } = await tab.gql(logInHere, { input: { toolId: logins.toolId } })
      logins.issuer.account = 'grace'
      await browse(data['logInToUpstream'].url, {}, tab.cookies)
      const program = await addProgram(h)
      const input = { toolId: logins.toolId, action: 'echo', arguments: { message: 'mine' } }
      const call = () =>
        mutateFor(h, program, { keyId }, 'callTool', input, 'toolCall { status actsFor { id kind name } }')
      await expect
        .poll(call)
        .toEqual({ toolCall: { status: 'SUCCEEDED', actsFor: { id: keyId, kind: 'PERSON', name: 'grace' } } })
      expect(logins.calls.map(({ account }) => account)).toEqual(['grace'])
      await h.mutate('endSessions', { principalId: keyId }, 'sessions { id }')
      await query(h.app.services.db, sql`update subjects set expires_at = now() where id = ${keyId}`)
      const { errors } = await askFor(h.url, program, keyId, '{ viewer { id } }')
      expect(errors[0].message).toContain('names no person of this project who may act now')
    } finally {
      await logins.close()
      await h.stop()
      await provider.close()
    }
  })
})
