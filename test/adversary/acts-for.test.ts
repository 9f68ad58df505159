/** For whom a program says it acts: judged at every route, by permission, and never by half. */
import { request as httpRequest } from 'node:http'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { createClient } from '../../client/index.ts'
import { createLog } from '../../src/logging.ts'
import { query } from '../../src/store/db/database.ts'
import { sql } from '../../src/store/db/sql.ts'
import { addProgram, askFor, headersOf } from '../support/acts-for.ts'
import { openTab } from '../support/cookie-jar.ts'
import { forFile } from '../support/for-file.ts'
import { openHarness } from '../support/harness.ts'
import { addPerson, type Person } from '../support/own-logins.ts'

let lines = ''
const into = new Writable({
  write(chunk, _encoding, done) {
    lines += String(chunk)
    done()
  },
})
const h = await forFile(openHarness({}, { log: createLog('debug', into) }))
const ada = await addPerson(h, 'ada')
const program = await addProgram(h)
const { agent } = await h.mutate('createAgent', { name: 'bridge', mcp: { enabled: true } }, 'agent { id }')
const viewer = '{ viewer { id } }'

const fault = async (who: Pick<Person, 'key'>, named: string | null) => {
  const { data, errors } = await askFor(h.url, who, named, viewer)
  return errors ? `${errors[0].extensions.code} ${errors[0].message}` : data.viewer.id
}

/** A request with raw headers: `fetch` would join or refuse them. */
const raw = (path: string, named: string[], method = 'POST') =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    const { 'Gatehouse-Acts-For': _none, ...headers } = headersOf(program, null)
    const sent = httpRequest(`${h.url}${path}`, {
      method,
      headers: { ...headers, 'gatehouse-acts-for': named },
    })
    sent.on('response', (response) => {
      let body = ''
      response.on('data', (chunk) => (body += String(chunk)))
      response.on('end', () => resolve({ status: response.statusCode!, body }))
    })
    sent.on('error', reject)
    sent.end(
      method === 'POST' ? JSON.stringify({ query: viewer, jsonrpc: '2.0', id: 1, method: 'ping' }) : '',
    )
  })

const routes = [
  '/graphql',
  '/mcp',
  `/mcp/${agent.id}`,
  '/api/v1/tools',
  '/api/v1/files/presign-upload',
  '/v1/responses',
  '/v1/chat/completions',
  '/api/chat',
  '/ag-ui/x',
  '/copilotkit/info',
  '/a2a/x',
  '/connectors/x/next',
]

test.each(routes)('%s refuses a person who is named by halves, and repeats nothing of it', async (path) => {
  const secret = 'ghsecret0123456789'
  const malformed = [
    [''],
    [ada.keyId, ada.keyId],
    [`${ada.keyId},${ada.keyId}`],
    [secret],
    [`key_${'a'.repeat(4000)}${secret}`],
    ['key_'],
    [`${ada.keyId}; ${secret}`],
    [agent.id],
    ['system'],
  ]
  for (const named of malformed) {
    const { status, body } = await raw(path, named)
    // 422 is what the routes of files say to input that is not valid.
    expect([400, 422]).toContain(status)
    expect(body).toContain('must be one id of a person')
    expect(body).not.toContain(secret)
  }
  expect(lines).not.toContain(secret)
})

test('a program without the permission names nobody, and the denial is audited', async () => {
  const developer = await addPerson(h, 'developer program', { votes: false })
  expect(await fault(developer, ada.keyId)).toMatch(/^FORBIDDEN .*persons:ActFor on person\/key_/)
  const { data } = await h.gql(
    '{ auditEntries(first: 5) { nodes { action outcome resource principal { id } } } }',
  )
  expect(data['auditEntries'].nodes[0]).toEqual({
    action: 'persons:ActFor',
    outcome: 'DENIED',
    resource: `person/${ada.keyId}`,
    principal: { id: developer.keyId },
  })
  const admin = await addPerson(h, 'admin program', { votes: false, role: 'ADMIN' })
  expect(await fault(admin, ada.keyId)).toBe(admin.keyId)
})

test('a permission for one person is none for another, nor for whom that one is', async () => {
  const bob = await addPerson(h, 'bob')
  const second = await addPerson(h, 'second key of bob')
  await query(
    h.app.services.db,
    sql`update api_keys set created_by = ${bob.keyId} where id = ${second.keyId}`,
  )
  const ofAda = await addProgram(h, [ada])
  expect(await fault(ofAda, ada.keyId)).toBe(ofAda.keyId)
  expect(await fault(ofAda, bob.keyId)).toMatch(/^FORBIDDEN /)
  // A key of a person is that person.
  const ofSecond = await addProgram(h, [second])
  expect(await fault(ofSecond, second.keyId)).toContain(
    `FORBIDDEN This key may not persons:ActFor on person/${bob.keyId}`,
  )
  const ofBoth = await addProgram(h, [second, bob])
  expect(await fault(ofBoth, second.keyId)).toBe(ofBoth.keyId)
})

test('whoever may not act any more, is of another project or is no person is named by nobody', async () => {
  const { project } = await h.mutate('createProject', { name: 'elsewhere' }, 'project { id }')
  const invited = await h.mutate('createInvitation', { name: 'eve', role: 'DEVELOPER' }, 'apiKey { id }')
  const gone = await addPerson(h, 'gone')
  await h.mutate('revokeApiKey', { id: gone.keyId }, 'apiKey { id }')
  const over = await addPerson(h, 'over')
  await query(h.app.services.db, sql`update api_keys set expires_at = now() where id = ${over.keyId}`)
  const foreign = await addPerson(h, 'foreign', { projectId: project.id })
  const robot = await addPerson(h, 'robot', { votes: false })
  const stranger = `usr_${'0'.repeat(32)}`
  const all = [invited['apiKey'].id, gone.keyId, over.keyId, foreign.keyId, robot.keyId, program.keyId]
  for (const named of [...all, stranger, `key_${'0'.repeat(24)}`])
    expect(await fault(program, named)).toMatch(/^INVALID .*names no person of this project who may act now/)
  // A token that has expired ends a person without a session and without keys.
  await query(
    h.app.services.db,
    sql`insert into subjects (id, project_id, issuer, subject, name, role, expires_at)
      select ${stranger}, project_id, 'i', 's', 'Sue', 'caller', now() + interval '1 hour'
      from api_keys where id = ${ada.keyId}`,
  )
  expect(await fault(program, stranger)).toBe(program.keyId)
  await query(h.app.services.db, sql`update subjects set expires_at = now() where id = ${stranger}`)
  expect(await fault(program, stranger)).toMatch(/^INVALID /)
  await query(h.app.services.db, sql`update api_keys set person = ${stranger} where id = ${ada.keyId}`)
  const ofSue = await addProgram(h, [{ keyId: stranger }])
  expect(await fault(ofSue, stranger)).toBe(ofSue.keyId)
  await query(h.app.services.db, sql`update api_keys set person = null where id = ${ada.keyId}`)
})

test('people act for themselves: their keys, and sessions, also those of programs', async () => {
  const bob = await addPerson(h, 'bob', { role: 'ADMIN' })
  const message = 'is for the API keys of programs'
  expect(await fault(bob, ada.keyId)).toContain(message)
  expect(await fault(bob, bob.keyId)).toContain(message)
  const robot = await addPerson(h, 'robot', { role: 'ADMIN', votes: false })
  for (const who of [bob, robot]) {
    const tab = openTab(h.url)
    expect(await tab.signIn(who.key)).toBe(201)
    const { errors } = await tab.gql(viewer, {}, { headers: { 'gatehouse-acts-for': ada.keyId } })
    expect(errors[0].message).toContain(message)
  }
})

test('a program that is bound to an agent acts for people over its bridge', async () => {
  const bound = await addProgram(h, [ada], { agentId: agent.id })
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const status = async (named: string) => {
    const headers = headersOf(bound, named)
    return (await fetch(`${h.url}/mcp/${agent.id}`, { method: 'POST', headers, body: list })).status
  }
  expect(await status(ada.keyId)).toBe(200)
  expect(await status((await addPerson(h, 'bob')).keyId)).toBe(403)
})

test('a program has its own rights and not those of the person', async () => {
  const admin = await addPerson(h, 'admin', { role: 'ADMIN' })
  const create = `mutation { createApiKey(input: { name: "x", role: ADMIN }) { ... on Error { code } } }`
  const { data, errors } = await askFor(h.url, program, admin.keyId, create)
  expect(data?.createApiKey ?? errors[0].extensions).toMatchObject({ code: 'FORBIDDEN' })
})

test('what one person was asked about is not what another one is: grants, runs and permissions of coding agents', async () => {
  const bob = await addPerson(h, 'bob')
  await h.mutate('addCodingAgent', { agent: 'CLAUDE' }, 'tool { id }')
  const ask = async (person: Person) => {
    const response = await fetch(`${h.url}/v1/agent/claude/hook?wait=0`, {
      method: 'POST',
      headers: headersOf(program, person.keyId),
      body: JSON.stringify({
        hook_event_name: 'PreToolUse',
        session_id: 's',
        cwd: '/',
        tool_name: 'Bash',
        tool_use_id: 'toolu_1',
        tool_input: { command: 'ls' },
      }),
    })
    return response.text()
  }
  for (const person of [ada, bob, ada]) await ask(person)
  const rows = await query<{ by: string }>(
    h.app.services.db,
    sql`select requester->>'actsFor' as by from tool_calls where kind = 'client' order by created_at`,
  )
  expect(rows.map(({ by }) => by)).toEqual([ada.keyId, bob.keyId])
})

test('equal conversations of two people are two conversations', async () => {
  const bob = await addPerson(h, 'bob')
  await h.mutate('createAgent', { name: 'talker' }, 'agent { id }')
  const say = async (person: Person, messages: object[]) => {
    const response = await fetch(`${h.url}/v1/chat/completions`, {
      method: 'POST',
      headers: headersOf(program, person.keyId),
      body: JSON.stringify({ model: 'talker', messages }),
    })
    return (await response.json()) as any
  }
  const begin = [{ role: 'user', content: 'say hello' }]
  const [mine, theirs] = [await say(ada, begin), await say(bob, begin)]
  expect(mine.id).not.toBe(theirs.id)
  const { message } = mine.choices[0]
  expect(message.content).toBe(theirs.choices[0].message.content)
  const goesOn = [
    ...begin,
    { role: 'assistant', content: message.content },
    { role: 'user', content: 'say more' },
  ]
  await say(ada, goesOn)
  await say(bob, goesOn)
  const rows = await query<{ by: string; runs: number }>(
    h.app.services.db,
    sql`select min(requester->>'actsFor') as by, count(*)::int as runs,
        count(distinct requester->>'actsFor')::int as people
      from generations group by thread_id order by min(created_at)`,
  )
  expect(rows).toEqual([
    { by: ada.keyId, runs: 2, people: 1 },
    { by: bob.keyId, runs: 2, people: 1 },
  ])
})

test('the client library names the person over HTTP', async () => {
  const client = createClient({ url: h.url, key: program.key, actsFor: ada.keyId, webSocket: null })
  await expect(client.query('{ viewer { id } }')).resolves.toMatchObject({ viewer: { id: program.keyId } })
  const wrong = createClient({ url: h.url, key: program.key, actsFor: 'x', webSocket: null })
  await expect(wrong.query('{ viewer { id } }')).rejects.toThrow('must be one id of a person')
})
