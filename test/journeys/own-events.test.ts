/** The events of a caller that reaches only its own: whose an event is stands in it, whatever becomes of rows and keys. */
import { expect, test } from 'vitest'
import { eventKinds } from '../../src/domain/events/index.ts'
import { query } from '../../src/store/db/database.ts'
import { sql, type SQL } from '../../src/store/db/sql.ts'
import { makeFixtures, objectSchema } from '../support/fixtures.ts'
import { openHarness } from '../support/harness.ts'
import { forFile } from '../support/for-file.ts'

interface Key {
  id: string
  secret: string
}

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
const agentId = await fixtures.agent()
const inputSchema = objectSchema({ word: { type: 'string' } })
const config = { http: { url: `${fixtures.upstream.url}/pay`, inputSchema } }
const gate = { autoApprove: false }
const gated: string = (await h.mutate('createTool', { name: 'pay', config, gate }, 'tool { id }'))['tool'].id

const actions = [
  '*:Get',
  '*:List',
  'generations:*',
  'tools:Call',
  'events:Subscribe',
  'files:*',
  'keys:Create',
]
const policy = {
  statement: [
    { effect: 'Allow', action: actions, resource: ['*'] },
    { effect: 'Deny', action: ['generations:ReachOthers'], resource: ['*'] },
  ],
}

async function makeKey(secret?: string): Promise<Key> {
  const made = await h.mutate('createApiKey', { name: 'own', policy }, 'apiKey { id } secret', secret)
  return { id: made['apiKey'].id, secret: made['secret'] }
}

const rows = <Row>(statement: SQL) => query<Row>(h.app.services.db, statement)

async function makeFile({ secret }: Key): Promise<string> {
  const upload = { filename: 'a.txt', contentType: 'text/plain' }
  return (await h.mutate('presignUpload', upload, 'file { id }', secret))['file'].id
}

const feed = `subscription($after: String, $types: [EventType!]) { projectEvents(after: $after, types: $types) { cursor type
  ... on GenerationEvent { generationId } ... on FileEvent { fileId } ... on FileEvent { fileId } } }`
const cursorNow = async ({ secret }: Key): Promise<string> =>
  (await h.gql('{ viewer { project { feedCursor } } }', {}, secret)).data['viewer'].project.feedCursor

interface Told {
  type: string
  fileId?: string
}

const searched = async ({ secret }: Key, after: string | null, types: string[]): Promise<Told[]> => {
  const found: Told[] = []
  for (let cursor = after; ;) {
    const { data } = await h.gql(
      `query($after: String, $types: [EventType!]) { projectEvents(after: $after, first: 100, filter: { types: $types }) {
        nodes { type ... on FileEvent { fileId } } pageInfo { endCursor hasNextPage } } }`,
      { after: cursor, types },
      secret,
    )
    found.push(...data['projectEvents'].nodes)
    if (!data['projectEvents'].pageInfo.hasNextPage) return found
    cursor = data['projectEvents'].pageInfo.endCursor
  }
}

test('a stream has the events of keys that are made while it is open, and so has one that resumes', async () => {
  const maker = await makeKey()
  const other = await makeKey()
  const before = await cursorNow(maker)
  const heard: (Told & { cursor: string })[] = []
  const made: string[] = []
  const ended = h.collect(
    feed,
    { after: before, types: ['FILE_CREATED'] },
    (all) => {
      heard.splice(0, heard.length, ...all)
      return all.length === 3
    },
    maker.secret,
  )
  made.push(await makeFile(maker))
  // The stream has judged somebody before the keys are there.
  await expect.poll(() => heard.length).toBe(1)
  const child = await makeKey(maker.secret)
  made.push(await makeFile(child))
  await makeFile(other)
  const grandchild = await makeKey(child.secret)
  made.push(await makeFile(grandchild))
  await ended
  expect(heard.map(({ fileId }) => fileId)).toEqual(made)
  const resumed = await h.collect(
    feed,
    { after: heard[0]!.cursor, types: ['FILE_CREATED'] },
    (all) => all.length === 2,
    maker.secret,
  )
  expect(resumed.map(({ fileId }) => fileId)).toEqual(made.slice(1))
  const ofChild = await h.collect(
    feed,
    { after: before, types: ['FILE_CREATED'] },
    (all) => all.length === 2,
    child.secret,
  )
  expect(ofChild.map(({ fileId }) => fileId)).toEqual(made.slice(1))
})

test('the deletion of a file is told to its owner, who can find it as well, and to no other caller', async () => {
  const [owner, other] = [await makeKey(), await makeKey()]
  const [before, beforeOther] = [await cursorNow(owner), await cursorNow(other)]
  const fileId = await makeFile(owner)
  await h.mutate('deleteFile', { fileId }, 'file { id }')
  const own = await makeFile(other)
  await h.mutate('deleteFile', { fileId: own }, 'file { id }', other.secret)
  const types = ['FILE_DELETED']
  const heard = (after: string, { secret }: Key) =>
    h.collect(feed, { after, types }, (all) => all.length === 1, secret)
  expect(await heard(before, owner)).toMatchObject([{ fileId }])
  expect(await heard(beforeOther, other)).toMatchObject([{ fileId: own }])
  expect(await searched(owner, before, types)).toEqual([{ type: 'FILE_DELETED', fileId }])
  expect(await searched(other, beforeOther, types)).toEqual([{ type: 'FILE_DELETED', fileId: own }])
})

test('what is told of a direct call stays when its rows are removed', async () => {
  const caller = await makeKey()
  const before = await cursorNow(caller)
  const input = { toolId: gated, arguments: { word: 'w' } }
  const made = await h.mutate('callTool', input, 'toolCall { id approval { id } }', caller.secret)
  const { id, approval } = made['toolCall']
  await h.mutate('claimApproval', { approvalId: approval.id }, 'approval { id }')
  await h.mutate('decideApproval', { approvalId: approval.id, verdict: 'REJECT' }, 'approval { id }')
  const expected = ['APPROVAL_REQUESTED', 'APPROVAL_CLAIMED', 'APPROVAL_DECIDED', 'TOOL_CALL_SETTLED']
  const heard = async () =>
    (await h.collect(feed, { after: before }, (all) => all.length === expected.length, caller.secret)).map(
      ({ type }) => type,
    )
  await rows(sql`delete from approvals where id = ${approval.id}`)
  await rows(sql`delete from tool_calls where id = ${id}`)
  expect(await heard()).toEqual(expected)
  expect((await searched(caller, before, expected)).map(({ type }) => type)).toEqual(expected)
})

test('events that the release before has written are found by their rows', async () => {
  const caller = await makeKey()
  const other = await makeKey()
  const before = await cursorNow(caller)
  const [fileId] = [await makeFile(caller), await makeFile(other)]
  const started = await h.mutate(
    'startGeneration',
    { agentId, prompt: 'say done' },
    'generation { id }',
    caller.secret,
  )
  await h.until(started['generation'].id, ['COMPLETED'])
  await rows(sql`update events set requested_by = null`)
  const heard = await h.collect(
    feed,
    { after: before },
    (all) => all.at(-1).type === 'GENERATION_COMPLETED',
    caller.secret,
  )
  expect(heard[0]).toMatchObject({ type: 'FILE_CREATED', fileId })
  expect(heard.map(({ type }) => type)).not.toContain('AGENT_CREATED')
  const found = await searched(caller, before, ['FILE_CREATED', 'GENERATION_COMPLETED'])
  expect(found.map(({ type }) => type)).toEqual(['FILE_CREATED', 'GENERATION_COMPLETED'])
})

test('a key that has made thousands reaches what each of them does', async () => {
  const maker = await makeKey()
  const child = await makeKey(maker.secret)
  const count = 3000
  await rows(sql`insert into api_keys (id, project_id, name, hash, prefix, policy, policy_version, created_by)
    select ${'key_of_'} || n, project_id, name, 'hash ' || n, prefix, policy, policy_version, created_by
    from api_keys, generate_series(1, ${count}::int) as n
    where id = ${child.id}`)
  const before = await cursorNow(maker)
  const fileIds = [await makeFile(child), await makeFile(child), await makeFile(child)]
  const by = ['key_of_1', 'key_of_1500', `key_of_${count}`]
  for (const [i, id] of fileIds.entries()) {
    await rows(sql`update files set created_by = ${by[i]!} where id = ${id}`)
    await rows(sql`update events set requested_by = ${by[i]!} where data->>'fileId' = ${id}`)
  }
  const heard = await h.collect(feed, { after: before }, (all) => all.length === fileIds.length, maker.secret)
  expect(heard.map(({ fileId }) => fileId)).toEqual(fileIds)
  expect(await searched(maker, before, ['FILE_CREATED'])).toHaveLength(fileIds.length)
  const { data } = await h.gql('{ files(first: 10) { nodes { id } } }', {}, maker.secret)
  expect(data['files'].nodes.map(({ id }: { id: string }) => id).toSorted()).toEqual(fileIds.toSorted())
})

test('every event of what a principal requested says whose it is, in runs, their children and outside', async () => {
  const newest = sql`select coalesce(max(id), 0)::float8 as id from events`
  const [{ id: before } = { id: 0 }] = await rows<{ id: number }>(newest)
  const caller = await makeKey()
  const inner = await fixtures.agent({ name: 'inner', toolIds: [gated] })
  const outer = await fixtures.agent({ name: 'outer', toolIds: [fixtures.tools.ask], agentIds: [inner] })
  const prompt = 'call inner {"message":"say hi"}\ncall ask {"word":"w"}\nthen\nsay done'
  const run = { agentId: outer, prompt }
  const started = await h.mutate('startGeneration', run, 'generation { id }', caller.secret)
  await fixtures.answer(started['generation'].id)
  await h.until(started['generation'].id, ['COMPLETED'])
  const asks = { agentId: inner, prompt: 'call pay {"word":"w"}\nthen\nsay paid' }
  const asking = await h.mutate('startGeneration', asks, 'generation { id }', caller.secret)
  const waiting = await h.until(
    asking['generation'].id,
    ['AWAITING_APPROVAL'],
    'requiredAction { approvals { id } }',
  )
  const approvalId = waiting['requiredAction'].approvals[0].id
  const until = new Date(Date.now() + 86_400_000).toISOString()
  await h.mutate('extendApproval', { approvalId, until }, 'approval { id }')
  const remember = { holder: 'CALLER', scope: 'EXACT', maxUses: 1, expiresInSeconds: 60 }
  await h.mutate('decideApproval', { approvalId, verdict: 'APPROVE', grant: remember }, 'approval { id }')
  await h.until(asking['generation'].id, ['COMPLETED'])
  const direct = { toolId: fixtures.tools.act, arguments: { word: 'w' } }
  await h.mutate('callTool', direct, 'toolCall { status }', caller.secret)
  await makeFile(caller)
  const requested = Object.values(eventKinds).flatMap(({ type, traits }) =>
    traits.ofRequester ? [type] : [],
  )
  const written = await rows<{ type: string; by: string | null }>(
    sql`select type, requested_by as by from events where id > ${before}::bigint and type in ${requested}`,
  )
  expect(written.filter(({ by }) => by !== caller.id)).toEqual([])
  const types = new Set(written.map(({ type }) => type))
  for (const type of [
    'CHILD_STARTED',
    'APPROVAL_EXTENDED',
    'GRANT_CREATED',
    'TOOL_CALL_SETTLED',
    'FILE_CREATED',
  ])
    expect(types).toContain(type)
})
