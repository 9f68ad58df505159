/** Objects of another project do not exist: a foreign id at any path of the schema gives the result of a missing one. */
import { sql } from 'drizzle-orm'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { isInterfaceType, isRequiredArgument } from 'graphql'
import { idPrefixes } from '../../../src/core/ids.ts'
import { query } from '../../../src/store/db/database.ts'
import { numberAll } from '../../../src/store/events/numbering.ts'
import { dose } from '../../support/dose.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { answerAs } from './as-principal.ts'
import { extrasOf, furnish, type FurnishedProject } from './furnished-project.ts'
import {
  argumentsWith,
  documentOf,
  minimalArguments,
  placesOf,
  prefixAt,
  rootFields,
  schema,
  type RootField,
} from './minimal-input.ts'
import { forFile } from '../../support/for-file.ts'

const upstream = await forFile(startLoopback((_request, response) => void response.end('{}')))
const h = await forFile(openHarness())
const own = await furnish(h, 'mine', upstream.url)
const foreign = await furnish(h, 'theirs', upstream.url)

/** The whole response as text, over SSE for subscriptions, which end because they are refused. */
async function answer(root: RootField, variables: object, key = own.key): Promise<string> {
  const stream = root.kind === 'subscription'
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      ...(stream ? { accept: 'text/event-stream' } : {}),
    },
    body: JSON.stringify({ query: documentOf(root), variables }),
    signal: AbortSignal.timeout(90_000),
  })
  return `${response.status} ${await response.text()}`
}

/** An id of the same form that no object has. */
function missing(id: string): string {
  return id.slice(0, -6) + id.slice(-6).replace(/./g, (char) => (char === '0' ? '1' : '0'))
}

/** All rows of the foreign project in any table. */
const holdings = () => rowsOf(foreign.id)

async function rowsOf(projectId: string): Promise<string> {
  const { db, pubsub } = h.app.services
  // Events receive their positions in the background.
  await numberAll(db, pubsub)
  const tables = await query<{ name: string }>(
    db,
    sql`select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'project_id' order by 1`,
  )
  expect(tables.length).toBeGreaterThan(8)
  const rows = tables.map(
    ({ name }) =>
      sql`select ${name} as t, to_jsonb(x) as row from ${sql.raw(name)} x where project_id = ${projectId}`,
  )
  rows.push(sql`select 'projects', to_jsonb(x) from projects x where id = ${projectId}`)
  return JSON.stringify(await query(db, sql`${sql.join(rows, sql` union all `)} order by 1, 2`))
}

const places = rootFields
  .flatMap((root) => placesOf(root, ['ID']).map((path) => [root, path] as const))
  .map(([root, path], i) => [`${root.name}(${path.join('.')})`, root, path, i] as const)

/**
 * The foreign ids that are tried at a place: of each kind where it takes any, else of its own kind and of every sixth other,
 * by turns. `npm run chaos` tries each at each.
 */
function triedAt(root: RootField, path: (string | 0)[], place: number): string[] {
  const named = prefixAt(root, path)
  const every = dose(6, 1)
  return Object.entries(foreign.ids)
    .filter(([prefix], i) => named === null || prefix === named || (i + place) % every === 0)
    .map(([, id]) => id)
}

test('the schema has many paths with ids, so that this file cannot pass on nothing', () => {
  expect(places.length).toBeGreaterThan(35)
})

describe('a foreign id is answered word for word like a missing one, and nothing is written', () => {
  let before: string
  beforeAll(async () => {
    before = await holdings()
  })
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') before = await holdings()
  })

  test.each(places)('in %s', async (_name, root, path, place) => {
    // An output for a missing call changes nothing, so that the same request has the same response twice.
    const nothing = { toolCallId: missing(own.ids['call_']!), output: 'o' }
    const arguments_ = { ids: own.ids, extras: { ...extrasOf(own), ToolOutputInput: nothing } }
    for (const id of triedAt(root, path, place)) {
      const theirs = await answer(root, argumentsWith(root, arguments_, path, id))
      const nobodys = await answer(root, argumentsWith(root, arguments_, path, missing(id)))
      // The remaining points of the key refill with time.
      const plain = (text: string) =>
        text.replace(/\bn\d+\b/g, 'n').replace(/"currentlyAvailable":\d+/, '"currentlyAvailable":n')
      expect(plain(theirs.replaceAll(id, '<id>')), id).toBe(plain(nobodys.replaceAll(missing(id), '<id>')))
      expect(theirs, id).not.toMatch(/theirs|INTERNAL|FORBIDDEN/)
    }
    expect(await holdings()).toBe(before)
  })

  test('the own id at the same path is found, so that the results above mean something', async () => {
    const query_ = rootFields.filter((root) => root.kind === 'query' && root.name !== 'nodes')
    for (const root of query_.filter(
      (one) =>
        placesOf(one, ['ID']).length === 1 &&
        one.field.args.length === 1 &&
        one.field.args[0]!.name !== 'projectId',
    )) {
      const ids = root.name === 'node' ? nodeIds(own) : [own.ids[prefixIn(root)]!]
      for (const id of ids)
        expect(
          await answer(
            root,
            argumentsWith(root, { ids: own.ids, extras: extrasOf(own) }, placesOf(root, ['ID'])[0]!, id),
          ),
        ).toContain(`"id":"${id}"`)
    }
  })
})

describe('an operator who names a project that does not exist', () => {
  const named = places.filter(([, , path]) => path.at(-1) === 'projectId')

  test('there are many such places, so that this cannot pass on nothing', () => {
    expect(named.length).toBeGreaterThan(30)
  })

  test.each(named)('is told so in %s, and nothing is written', async (_name, root, path) => {
    const nobodys = missing(own.ids['proj_']!)
    const variables = argumentsWith(root, { ids: own.ids, extras: extrasOf(own) }, path, nobodys)
    expect(await answer(root, variables, adminKey)).toMatch(/"code":"NOT_FOUND"/)
    expect(await rowsOf(nobodys)).toBe('[]')
  })
})

describe('an operator who names a project and something of another one', () => {
  const mutations = rootFields.filter(({ kind }) => kind === 'mutation')
  const contradictions = mutations.flatMap((root) => {
    // A filter of two projects finds nothing.
    const ids = placesOf(root, ['ID']).filter((path) => !path.includes('filter'))
    const project = ids.find((path) => path.at(-1) === 'projectId')
    const others = ids.flatMap((path) => {
      const named = path.join()
      const prefix =
        prefixAt(root, path) ?? (/agent/i.test(named) ? 'agt_' : /tool/i.test(named) ? 'tool_' : null)
      return path.at(-1) === 'projectId' || prefix === null ? [] : [{ path, prefix }]
    })
    return project
      ? others.map(({ path, prefix }) => [`${root.name}(${path.join('.')})`, root, path, prefix] as const)
      : []
  })

  test('there are such inputs, so that this cannot pass on nothing', () => {
    expect(contradictions.length).toBeGreaterThan(5)
  })

  test.each(contradictions)('is refused in %s, and nothing is written', async (_name, root, path, prefix) => {
    const before = await Promise.all([rowsOf(foreign.id), rowsOf(own.id)])
    const arguments_ = { ids: own.ids, extras: extrasOf(own) }
    const variables = argumentsWith(root, arguments_, path, own.ids[prefix]!) as any
    variables.input.projectId = foreign.id
    expect(await answer(root, variables, adminKey)).toMatch(/"code":"(?:NOT_FOUND|INVALID)"/)
    expect(await Promise.all([rowsOf(foreign.id), rowsOf(own.id)])).toEqual(before)
  })
})

function prefixIn(root: RootField): string {
  return /\bbegins with (\w+_)/.exec(root.field.args[0]!.description!)![1]!
}

function nodeIds({ ids }: FurnishedProject): string[] {
  return [
    'proj_',
    'key_',
    'usr_',
    'tool_',
    'agt_',
    'thr_',
    'gen_',
    'step_',
    'call_',
    'apr_',
    'grt_',
    'trg_',
    'pse_',
    'gch_',
    'file_',
    'whk_',
  ].map((prefix) => ids[prefix]!)
}

test('every type of node is among the ids that are tried', () => {
  const node = schema.getType('Node')
  if (!isInterfaceType(node)) throw new Error('Node is no interface')
  const kinds = schema.getPossibleTypes(node).length
  // The four kinds of tools share a prefix.
  expect(nodeIds(foreign)).toHaveLength(kinds - 3)
  for (const prefix of Object.values(idPrefixes))
    expect(foreign.ids[`${prefix}_`], prefix).toEqual(expect.any(String))
})

test('lists have only objects of the own project, for any arguments', async () => {
  const lists = rootFields.filter((root) => root.field.args.some((arg) => arg.name === 'first'))
  expect(lists.length).toBeGreaterThan(5)
  for (const root of lists) {
    const needed = root.field.args.some(isRequiredArgument)
      ? minimalArguments(root, { ids: own.ids, extras: extrasOf(own) })
      : {}
    const page = await answer(root, { ...needed, first: 20 })
    // Lists with nested lists need smaller pages.
    const text = page.includes('complexity') ? await answer(root, { ...needed, first: 2 }) : page
    // Events of the feed name their project only.
    expect(text.replaceAll(own.id, 'mine'), root.name).toContain('mine')
    expect(text.replaceAll(foreign.id, 'theirs'), root.name).not.toContain('theirs')
  }
})

test('a cursor of a foreign stream is BAD_CURSOR, and one of a foreign list returns nothing foreign', async () => {
  const theirs = await h.gql(
    `{ generation(id: "${foreign.ids['gen_']}") { events { pageInfo { endCursor } } } tools { pageInfo { endCursor startCursor } } }`,
    {},
    foreign.key,
  )
  const after = theirs.data['generation'].events.pageInfo.endCursor
  const events = rootFields.filter((root) => root.kind === 'subscription')
  for (const root of events) {
    const variables = { generationId: own.ids['gen_'], after }
    expect(await answer(root, variables), root.name).toContain('"BAD_CURSOR"')
  }
  const page = await h.gql(
    'query($a: String, $id: ID!) { tools(after: $a) { nodes { name } } generation(id: $id) { id } }',
    { a: theirs.data['tools'].pageInfo.startCursor, id: own.ids['gen_'] },
    own.key,
  )
  expect(JSON.stringify(page)).not.toContain('theirs')
})

// In process, and last: the connections of the tests above would time out meanwhile.
describe('a foreign id shows nothing to a key that is bound to an agent, and does nothing for it', () => {
  let bound: string
  let before: string
  beforeAll(async () => {
    const input = { name: 'mine bound', role: 'ADMIN', agentId: own.ids['agt_'] }
    bound = (await h.mutate('createApiKey', input, 'apiKey { id }', own.key))['apiKey'].id
    before = await holdings()
  })

  test.each(places)('in %s', async (_name, root, path, place) => {
    for (const id of triedAt(root, path, place)) {
      const variables = argumentsWith(root, { ids: own.ids, extras: extrasOf(own) }, path, id)
      const text = JSON.stringify(await answerAs(h.app, bound, root, variables))
      expect(text, id).not.toMatch(/theirs|INTERNAL/)
    }
  })

  test('and the foreign project is unchanged', async () => {
    expect(await holdings()).toBe(before)
  })
})

/** The kinds of things that belong to whoever requested them. */
const requested = ['gen_', 'thr_', 'step_', 'call_', 'direct', 'unknown', 'apr_', 'file_']

describe('what another principal requested is answered word for word like what does not exist', () => {
  let caller: { id: string; secret: string }
  let bound: { id: string; secret: string }
  beforeAll(async () => {
    const make = async (input: object) => {
      const made = await h.mutate('createApiKey', { name: 'k', ...input }, 'apiKey { id } secret', own.key)
      return { id: made['apiKey'].id as string, secret: made['secret'] as string }
    }
    caller = await make({ role: 'CALLER' })
    bound = await make({ role: 'ADMIN', agentId: own.ids['agt_'] })
  })

  const owned = places.flatMap(([name, root, path]) => {
    const named = prefixAt(root, path)
    const kinds = requested.filter((kind) => {
      const prefix = /^(direct|unknown)$/.test(kind) ? 'call_' : kind
      return named === null ? path.join() === 'id' || path.join() === 'ids.0' : prefix === named
    })
    return kinds.map((kind) => [`${name} for ${kind}`, root, path, kind] as const)
  })

  test('there are many such places, so that this cannot pass on nothing', () => {
    expect(owned.length).toBeGreaterThan(35)
  })

  test.each(owned)('in %s', async (_name, root, path, kind) => {
    const id = own.ids[kind]!
    const variables = (value: string) =>
      argumentsWith(root, { ids: own.ids, extras: extrasOf(own) }, path, value)
    const asCaller = (value: string) => answer(root, variables(value), caller.secret)
    const asBound = async (value: string) =>
      JSON.stringify(await answerAs(h.app, bound.id, root, variables(value)))
    for (const ask of [asCaller, asBound]) {
      const [theirs, nobodys] = [await ask(id), await ask(missing(id))]
      const plain = (text: string, one: string) =>
        text
          .replaceAll(one, '<id>')
          .replace(/\bn\d+\b/g, 'n')
          .replace(/"currentlyAvailable":\d+/, '')
      expect(plain(theirs, id), ask === asBound ? 'bound' : 'caller').toBe(plain(nobodys, missing(id)))
    }
  })
})
