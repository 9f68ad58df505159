/** Who may use the MCP endpoints: keys, tokens, hosts and origins, and the errors for everybody else. */
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { callRaw, rpc } from '../../support/bridge.ts'
import { makeGatedAgent } from '../../support/gated-agent.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { startTokenIssuer } from '../../support/token-issuer.ts'
import { forFile } from '../../support/for-file.ts'

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const publicUrl = 'https://gate.example.com'

const claims: Record<string, unknown> = {}
const provider = await forFile(startTokenIssuer(claims))
const h = await forFile(openHarness({ publicUrl, oidc: provider.oidc }))
const agent = await forFile(makeGatedAgent(h))
const projectId: string = (await h.gql('{ viewer { project { id } } }')).data['viewer'].project.id
Object.assign(claims, { aud: 'gatehouse', gatehouse_project: projectId })

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Lists the tools with these headers; returns the status and what a refusal says. */
async function listWith(headers: Record<string, string>, url = agent.url) {
  const answer = await rpc(url, null, list, headers)
  return {
    status: answer.status,
    challenge: answer.headers.get('www-authenticate'),
    type: answer.body['error']?.data.type,
    message: answer.body['error']?.message,
  }
}

async function makeKey(input: object): Promise<Record<string, any>> {
  return h.mutate(
    'createApiKey',
    { name: 'k', role: 'CALLER', ...input },
    'apiKey { id agent { id } } secret',
  )
}

describe('credentials', () => {
  test('either header authenticates, and both when they agree', async () => {
    const key = agent.callerKey
    for (const headers of [
      bearer(key),
      { 'x-agent-api-key': key },
      { ...bearer(key), 'x-agent-api-key': key },
    ])
      expect((await listWith(headers as Record<string, string>)).status).toBe(200)
  })

  const refused: [string, () => Record<string, string>][] = [
    ['none', () => ({})],
    ['an unknown key', () => bearer('gh_nobody')],
    ['two that differ, both good', () => ({ ...bearer(agent.callerKey), 'x-agent-api-key': adminKey })],
    ['another scheme', () => ({ authorization: `Basic ${agent.callerKey}` })],
    ['a key of ours with something behind it', () => bearer(`${agent.callerKey}x`)],
    ['a very long one', () => bearer(`eyJ${'a'.repeat(7000)}.b.c`)],
  ]
  test.each(refused)('%s: 401 with the same challenge and message', async (_what, headers) => {
    const metadata = `${publicUrl}/.well-known/oauth-protected-resource/mcp/${agent.agentId}`
    expect(await listWith(headers())).toEqual({
      status: 401,
      challenge: `Bearer resource_metadata="${metadata}", error="invalid_token"`,
      type: 'unauthenticated',
      message: expect.stringContaining('A valid API key is required'),
    })
  })

  test('a revoked key is refused from that moment on', async () => {
    const made = await makeKey({})
    expect((await listWith(bearer(made['secret']))).status).toBe(200)
    await h.mutate('revokeApiKey', { id: made['apiKey'].id }, 'apiKey { id }')
    expect((await listWith(bearer(made['secret']))).status).toBe(401)
  })

  test("a key that is bound to an agent may use that agent's endpoint, and nothing else", async () => {
    const other = await makeGatedAgentBeside()
    const made = await makeKey({ agentId: agent.agentId, role: 'ADMIN' })
    expect(made['apiKey'].agent.id).toBe(agent.agentId)
    const key = made['secret']
    expect((await listWith(bearer(key))).status).toBe(200)
    expect(await listWith(bearer(key), `${h.url}/mcp/${other}`)).toMatchObject({
      status: 403,
      type: 'forbidden',
      challenge: expect.stringContaining('error="insufficient_scope"'),
    })
    expect((await listWith(bearer(key), `${h.url}/mcp`)).status).toBe(403)
    const asked = await h.gql('{ viewer { id } }', {}, key)
    expect(asked.errors![0]!.extensions!['code']).toBe('FORBIDDEN')
  })

  test('a key cannot be bound to an agent that does not exist for its maker', async () => {
    expect(await makeKey({ agentId: 'agt_none' })).toMatchObject({ __typename: 'NotFoundError' })
  })

  test("another project's agent, one without MCP, a missing one and a malformed id are all not found", async () => {
    const elsewhere = await h.mutate('createProject', { name: 'else' }, 'project { id }')
    const foreign = await makeKey({ projectId: elsewhere['project'].id, role: 'ADMIN' })
    const closed = await h.mutate('createAgent', { name: 'closed' }, 'agent { id mcp { enabled } }')
    expect(closed['agent'].mcp.enabled).toBe(false)
    const answers = [
      await listWith(bearer(foreign['secret'])),
      await listWith(bearer(adminKey), `${h.url}/mcp/${closed['agent'].id}`),
      await listWith(bearer(adminKey), `${h.url}/mcp/agt_0000000000000000000000000`),
      await listWith(bearer(adminKey), `${h.url}/mcp/what`),
    ]
    for (const { status, type, message } of answers) {
      expect([status, type]).toEqual([404, 'not_found'])
      expect(message).toMatch(/^No agent with the id ".+"\.$/)
    }
  })

  test('what the caller may not call is not on its list, and is unknown when called', async () => {
    const policy = {
      statement: [
        { effect: 'Allow', action: ['agents:Get'], resource: ['*'] },
        { effect: 'Allow', action: ['tools:Call'], resource: [`tool/${agent.tools.echo}`] },
      ],
    }
    const narrow = (await makeKey({ policy, role: null }))['secret']
    const { body } = await rpc(agent.url, narrow, list)
    expect(body['result'].tools.map((tool: any) => tool.name)).toEqual([
      'echo',
      'approval_wait',
      'approval_cancel',
    ])
    expect((await callRaw(agent.url, narrow, 'echo', { word: 'w' })).body['result'].isError).toBe(false)
    expect((await callRaw(agent.url, narrow, 'fail', { word: 'w' })).body['error'].code).toBe(-32601)
  })
})

async function makeGatedAgentBeside(): Promise<string> {
  const input = { name: `beside ${randomUUID()}`, mcp: { enabled: true } }
  return (await h.mutate('createAgent', input, 'agent { id }'))['agent'].id
}

describe('tokens of the identity provider', () => {
  test('give the rights of their claims, for the configured audience or the endpoint itself', async () => {
    expect((await listWith(bearer(await provider.token()))).status).toBe(200)
    const aud = `${publicUrl}/mcp/${agent.agentId}`
    expect((await listWith(bearer(await provider.token({ aud })))).status).toBe(200)
    const alias = `${h.url}/${agent.agentId}/mcp`
    expect((await listWith(bearer(await provider.token({ aud })), alias)).status).toBe(200)
  })

  test('act as their subject: the call is theirs, and so is the run of an agent', async () => {
    const token = await provider.token({ sub: 'grace', name: 'Grace' })
    const { body } = await rpc(
      agent.url,
      null,
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { word: 'hi' } } },
      bearer(token),
    )
    const id = body['result']._meta['gatehouse/call_id']
    const seen = await h.gql('query($id: ID!) { toolCall(id: $id) { requestedBy } }', { id })
    expect(seen.data['toolCall'].requestedBy).toMatch(/^usr_[0-9a-f]{32}$/)
    const talk = await rpc(
      agent.url,
      null,
      {
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: 'teller', arguments: { message: 'call echo {"word":"by grace"}' } },
      },
      bearer(token),
    )
    expect(talk.body['result'].content[0].text).toContain('by grace')
    const viewer = await h.gql(
      '{ viewer { id name } }',
      {},
      await provider.token({ sub: 'grace', name: 'Grace' }),
    )
    expect(viewer.data['viewer']).toEqual({ id: seen.data['toolCall'].requestedBy, name: 'Grace' })
  })

  const refused: [string, () => Promise<string>][] = [
    ['for another audience', () => provider.token({ aud: 'https://elsewhere.example.com/mcp' })],
    ['for another agent', () => provider.token({ aud: `${publicUrl}/mcp/agt_other` })],
    ['without an audience', () => provider.token({ aud: null })],
    ['that has expired', () => provider.token({ exp: Math.floor(Date.now() / 1000) - 60 })],
    ['that never expires', () => provider.token({ exp: null })],
    ['that is not good yet', () => provider.token({ nbf: Math.floor(Date.now() / 1000) + 600 })],
    ['of another issuer', () => provider.token({ iss: 'https://evil.example.com' })],
    ['signed with an unknown key', () => provider.token({}, provider.unpublishedKey)],
    ['without a subject', () => provider.token({ sub: null })],
    ['without a project', () => provider.token({ gatehouse_project: null })],
    ['of a project that does not exist', () => provider.token({ gatehouse_project: 'proj_none' })],
    ['with a role that does not exist', () => provider.token({ gatehouse_role: 'emperor' })],
    ['signed with a shared secret', () => forged()],
    ['without a signature', async () => `${(await provider.token()).split('.').slice(0, 2).join('.')}.AAAA`],
  ]
  test.each(refused)('%s is refused like any wrong key', async (_what, make) => {
    expect(await listWith(bearer(await make()))).toMatchObject({ status: 401, type: 'unauthenticated' })
  })

  function forged(): Promise<string> {
    return new SignJWT({ iss: provider.issuer, sub: 'ada', aud: 'gatehouse', gatehouse_project: projectId })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode('a secret that the forger has chosen'))
  }

  test("another tenant's token finds nothing here, whatever headers it brings", async () => {
    const elsewhere = await h.mutate('createProject', { name: 'tenant' }, 'project { id }')
    const token = await provider.token({
      gatehouse_project: elsewhere['project'].id,
      gatehouse_role: 'admin',
    })
    const forgeries = {
      'x-org-id': projectId,
      'x-tenant-id': projectId,
      'x-gatehouse-project': projectId,
      'x-forwarded-user': 'operator',
    }
    expect(await listWith({ ...bearer(token), ...forgeries })).toMatchObject({
      status: 404,
      type: 'not_found',
    })
  })

  test('have only the permissions of the role in the token', async () => {
    const viewer = await provider.token({ sub: 'viewer', gatehouse_role: 'viewer' })
    const { body } = await rpc(agent.url, null, list, bearer(viewer))
    expect(body['result'].tools.map((tool: any) => tool.name)).toEqual(['approval_wait', 'approval_cancel'])
  })
})

describe('Protected Resource Metadata', () => {
  test('is at the well-known URL and below the resource, and names the provider', async () => {
    const path = `/mcp/${agent.agentId}`
    for (const url of [
      `${h.url}/.well-known/oauth-protected-resource${path}`,
      `${h.url}${path}/.well-known/oauth-protected-resource`,
    ]) {
      const response = await fetch(url)
      expect(await response.json()).toMatchObject({
        resource: `${publicUrl}${path}`,
        authorization_servers: [provider.issuer],
        bearer_methods_supported: ['header'],
      })
    }
  })
})

describe('the guard', () => {
  /** fetch cannot set Host. */
  function listFrom(headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request(agent.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(agent.callerKey), ...headers },
      })
      sent.on('response', (answer) => {
        answer.resume()
        resolve(answer.statusCode!)
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(list))
    })
  }

  test.each([
    ['a foreign host name that resolves to this server', { host: 'evil.example.com' }, 403],
    ['our public name', { host: 'gate.example.com' }, 200],
    ['an address', { host: '10.1.2.3:4000' }, 200],
    ['a page of another site', { origin: 'https://evil.example.com' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
  ])('%s', async (_what, headers, status) => {
    expect(await listFrom(headers)).toBe(status)
  })

  test('our own origin passes', async () => {
    const { host } = new URL(h.url)
    expect(await listFrom({ host, origin: h.url })).toBe(200)
  })
})

test('too many requests get Retry-After, and each message of a batch counts', async () => {
  const tight = await openHarness({ requestsPerMinute: 5 })
  const made = await makeGatedAgent(tight).catch(() => null)
  const batch = Array.from({ length: 10 }, (_, id) => ({ ...list, id }))
  const answer = await rpc(made?.url ?? `${tight.url}/mcp/agt_none`, adminKey, batch)
  // A batch has no id of its own that could be answered.
  expect(answer.status).toBe(429)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(answer.body['error']).toMatchObject({ code: 429001, data: { type: 'limited' } })
  await made?.close()
  await tight.stop()
})
