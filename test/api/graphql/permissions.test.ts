/** Permissions: the action that every root field requires, the roles, and API keys that create API keys. */
import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ExecutionResult } from 'graphql'
import { roles } from '../../../src/domain/access/index.ts'
import { query } from '../../../src/store/db/database.ts'
import { adminKey, openHarness } from '../../support/harness.ts'
import { startLoopback } from '../../support/loopback.ts'
import { answerAs } from './as-principal.ts'
import { extrasOf, furnish, type FurnishedProject } from './furnished-project.ts'
import { documentOf, minimalArguments, rootFields, type RootField } from './minimal-input.ts'
import { hides, isOnRequested, lineOf, matrix, refusedTo } from './role-matrix.ts'
import { forFile } from '../../support/for-file.ts'

const upstream = await forFile(startLoopback((_request, response) => void response.end('{}')))
const h = await forFile(openHarness())
const home = await furnish(h, 'home', upstream.url)

interface Refusal {
  message: string
  extensions: { code: string; action?: string }
}

/** The first error of a response, or null. Of a stream, only the first event is read. */
async function refusalOf(root: RootField, variables: object, key: string): Promise<Refusal | null> {
  const streams = root.kind === 'subscription'
  const response = await fetch(`${h.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      ...(streams ? { accept: 'text/event-stream' } : {}),
    },
    body: JSON.stringify({
      query: documentOf(root),
      variables: { ...variables, ...(streams ? { after: '0' } : {}) },
    }),
  })
  if (!streams) return ((await response.json()) as any).errors?.[0] ?? null
  let text = ''
  // Leaving the loop cancels the stream.
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk).toString()
    const event = /^data: (.+)$/m.exec(text)
    if (!event || !text.includes('\n\n')) continue
    return JSON.parse(event[1]!).errors?.[0] ?? null
  }
  throw new Error('the stream ended without an event')
}

const statement = (effect: 'Allow' | 'Deny', action: string[], resource = ['*']) => ({
  effect,
  action,
  resource,
})

function makeKey(input: object, by = home.key): Promise<Record<string, any>> {
  return h.mutate('createApiKey', { name: 'made', ...input }, 'apiKey { id role policy } secret', by)
}

async function secretOf(input: object, by = home.key): Promise<string> {
  const made = await makeKey(input, by)
  expect(made['secret'], JSON.stringify(made)).toEqual(expect.any(String))
  return made['secret']
}

const ownerOf = (project: FurnishedProject) => ({ ids: project.ids, extras: extrasOf(project) })

/** The actions that the description of the field names: "Permission: tools:Get, and toolCalls:List." */
function permissionsOf({ field }: RootField): string[] {
  const [, named = ''] = /Permission: (.*)\.$/.exec(field.description ?? '') ?? []
  return named.match(/\b[a-zA-Z]+:[A-Z][a-zA-Z]+/g) ?? []
}

describe('a key that may only see its project', () => {
  let weak: string
  beforeAll(async () => {
    weak = await secretOf({ policy: { statement: [statement('Allow', ['projects:Get'])] } })
  })

  const open = ['viewer', 'project', 'pauses']
  const refusing = rootFields.filter((root) => !open.includes(root.name) && !isOnRequested(root))
  test.each(refusing.map((root) => [root.name, root] as const))(
    'is refused by %s with the action that it lacks',
    async (_name, root) => {
      const refusal = await refusalOf(root, minimalArguments(root, ownerOf(home)), weak)
      expect(refusal).toMatchObject({
        message: expect.stringMatching(/^This key may not \w+:\w+ on \w+\/.+\.$/),
        extensions: { code: 'FORBIDDEN', action: expect.stringMatching(/^[a-zA-Z]+:[A-Z][a-zA-Z]+$/) },
      })
      expect(refusal!.extensions.action).not.toBe('projects:Get')
      expect(permissionsOf(root)).toContain(refusal!.extensions.action)
    },
  )

  test('is refused every other node, and sees its project and itself', async () => {
    const codeOfNode = async (prefix: string) => {
      const document = 'query($id: ID!) { node(id: $id) { id } }'
      const { data, errors } = await h.gql(document, { id: home.ids[prefix] }, weak)
      expect(data['node'], prefix).toBeNull()
      return errors?.[0]?.extensions?.['code']
    }
    for (const prefix of ['key_', 'tool_', 'agt_', 'grt_', 'gch_', 'whk_'])
      expect(await codeOfNode(prefix), prefix).toBe('FORBIDDEN')
    // What others requested does not exist for it.
    for (const prefix of ['gen_', 'step_', 'call_', 'apr_', 'file_'])
      expect(await codeOfNode(prefix), prefix).toBeUndefined()
    const seen = await h.gql(
      'query($id: ID!) { node(id: $id) { id } viewer { project { id } } }',
      { id: home.id },
      weak,
    )
    expect(seen).toMatchObject({ data: { node: { id: home.id }, viewer: { project: { id: home.id } } } })
  })

  test('leaves a trace in the audit of every action that was denied', async () => {
    await h.gql('{ secrets { nodes { id } } }', {}, weak)
    const listed = await h.gql(
      '{ auditEntries { nodes { action resource outcome principalId details } } }',
      {},
      home.key,
    )
    const viewer = await h.gql('{ viewer { id } }', {}, weak)
    expect(listed.data['auditEntries'].nodes[0]).toEqual({
      action: 'secrets:List',
      resource: 'secret/*',
      outcome: 'DENIED',
      principalId: viewer.data['viewer'].id,
      details: { remoteAddress: expect.stringContaining('127.0.0.1') },
    })
  })
})

describe('the roles', () => {
  test('every root field has a line in the matrix, and every line belongs to a field', () => {
    for (const { name } of rootFields) lineOf(name)
    const names = rootFields.map((root) => root.name)
    expect(Object.keys(matrix).filter((name) => !names.includes(name))).toEqual([])
    expect(() => lineOf('aFieldOfTomorrow')).toThrow(/add "aFieldOfTomorrow: line\(/)
  })

  /** Fields that delete are called last, so that the others find their objects. */
  const ordered = rootFields.toSorted((a, b) => Number(destroys(a)) - Number(destroys(b)))

  test.each(roles.map((role) => [role]))(
    '%s may call exactly the fields that the matrix says',
    async (role) => {
      const project = await furnish(h, `for_${role}`, upstream.url)
      const key = await secretOf({ role: role.toUpperCase() }, project.key)
      const refused: string[] = []
      for (const root of ordered) {
        const refusal = await refusalOf(root, minimalArguments(root, ownerOf(project)), key)
        if (!refusal) continue
        const code = hides(role, root) ? 'NOT_FOUND' : 'FORBIDDEN'
        expect([root.name, refusal.extensions.code]).toEqual([root.name, code])
        if (code === 'FORBIDDEN') refused.push(root.name)
      }
      expect(refused.toSorted()).toEqual(refusedTo(role).toSorted())
    },
  )

  function destroys({ name }: RootField): boolean {
    return /^(delete|revoke|cancel)/.test(name)
  }
})

describe('a key that is bound to an agent, with the rights of an admin', () => {
  let project: FurnishedProject
  let bound: { id: string; secret: string }

  beforeAll(async () => {
    project = await furnish(h, 'bound', upstream.url)
    const made = await makeKey({ role: 'ADMIN', agentId: project.ids['agt_'] }, project.key)
    bound = { id: made['apiKey'].id, secret: made['secret'] }
  })

  const asBound = (root: RootField, variables: Record<string, unknown>) =>
    answerAs(h.app, bound.id, root, variables)

  /** The code with which the root field was refused; null when it succeeded, even if a nested field was refused. */
  function codeOf(root: RootField, { data, errors = [] }: ExecutionResult): string | null {
    const answer = data?.[root.name] as { __typename?: string } | null | undefined
    if (answer?.__typename?.endsWith('Error')) return answer.__typename
    const own = errors.find((error) => error.path?.length === 1)
    return own ? ((own.originalError as { code?: string } | null)?.code ?? own.message) : null
  }

  test.each(rootFields.map((root) => [root.name, root] as const))(
    'is refused by %s for objects that others requested',
    async (_name, root) => {
      const variables = minimalArguments(root, ownerOf(project))
      const code = codeOf(root, await asBound(root, variables))
      const hidden = { query: null, mutation: 'NotFoundError', subscription: 'NOT_FOUND' }[root.kind]
      if (isOnRequested(root)) expect(code).toBe(hidden)
      else expect(code).toBe(lineOf(root.name).bound === 'OPEN' ? null : 'FORBIDDEN')
    },
  )

  test('reaches what it requested itself, by every field of the matrix that allows it', async () => {
    const find = (name: string) => rootFields.find((root) => root.name === name)!
    const name = `${project.marker}_client`
    const started = await asBound(find('startGeneration'), {
      input: { agentId: project.ids['agt_'], prompt: `call ${name} {"a":"mine"}` },
    })
    const { id } = (started.data as any)['startGeneration'].generation
    const { toolCalls, steps, threadId } = await h.until(
      id,
      ['REQUIRES_ACTION'],
      'threadId toolCalls { id } steps { id }',
    )
    const ids = { ...project.ids, gen_: id, thr_: threadId, call_: toolCalls[0].id, step_: steps[0].id }
    const gated = await h.gql(
      '{ approvals(filter: { statuses: [PENDING] }, first: 1) { nodes { id } } }',
      {},
      project.key,
    )
    await query(
      h.app.services.db,
      sql`update approvals set requested_by = ${bound.id} where id = ${gated.data['approvals'].nodes[0].id}`,
    )
    await query(
      h.app.services.db,
      sql`update tool_calls set requested_by = ${bound.id} where id in (${project.ids['direct']}, ${project.ids['taken']})`,
    )
    await query(
      h.app.services.db,
      sql`update files set created_by = ${bound.id} where id = ${project.ids['file_']}`,
    )
    const mine = { ids, extras: extrasOf({ ids }) }
    // The fields that end the generation are called last.
    const fields = rootFields
      .filter((root) => lineOf(root.name).bound === 'OWN')
      .toSorted((a, b) => Number(a.name.startsWith('cancel')) - Number(b.name.startsWith('cancel')))
    expect(fields.length).toBeGreaterThan(5)
    for (const root of fields) {
      const variables =
        root.name === 'node'
          ? { id }
          : root.name === 'nodes'
            ? { ids: [id, ids.step_] }
            : minimalArguments(root, mine)
      expect([root.name, codeOf(root, await asBound(root, variables))]).toEqual([root.name, null])
    }
  })
})

describe('a key that makes keys', () => {
  const maker = (...more: object[]) =>
    secretOf({
      policy: {
        statement: [
          statement('Allow', ['keys:Create', 'keys:Get', 'tools:Get'], ['key/*', 'tool/*']),
          ...more,
        ],
      },
    })

  test.each([
    ['a role that may more', { role: 'VIEWER' }],
    ['an action that it lacks', { policy: { statement: [statement('Allow', ['tools:List'], ['tool/*'])] } }],
    [
      'a pattern of actions of which it has only some',
      { policy: { statement: [statement('Allow', ['tools:*'], ['tool/*'])] } },
    ],
    [
      'all resources instead of its own',
      { policy: { statement: [statement('Allow', ['tools:Get'], ['*'])] } },
    ],
    [
      'a wider pattern of resources',
      { policy: { statement: [statement('Allow', ['tools:Get'], ['tool*'])] } },
    ],
    [
      'more than it has in a second statement',
      { policy: { statement: [statement('Allow', ['tools:Get'], ['tool/a']), statement('Allow', ['*'])] } },
    ],
  ])('cannot hand out %s', async (_what, input) => {
    const secret = await maker()
    await expect(makeKey(input, secret)).rejects.toThrow(/FORBIDDEN.*keys:Create/)
  })

  test('can give a new key its own permissions or fewer', async () => {
    const secret = await maker()
    const less = await secretOf(
      { policy: { statement: [statement('Allow', ['tools:Get'], [`tool/${home.ids['tool_']}`])] } },
      secret,
    )
    const seen = await h.gql('query($id: ID!) { tool(id: $id) { id } }', { id: home.ids['tool_'] }, less)
    expect(seen.data['tool'].id).toBe(home.ids['tool_'])
  })

  test('is bound by its Deny statements, and so are the keys that it creates and that those create', async () => {
    const policy = { statement: [statement('Allow', ['*']), statement('Deny', ['secrets:*', 'tools:Get'])] }
    const first = await secretOf({ policy })
    const second = await secretOf({ policy: { statement: [statement('Allow', ['*'])] } }, first)
    const third = await secretOf({ policy: { statement: [statement('Allow', ['*'])] } }, second)
    for (const secret of [first, second, third]) {
      const denied = await h.gql('{ secrets { nodes { id } } }', {}, secret)
      expect(denied.errors![0]!.extensions).toEqual({ code: 'FORBIDDEN', action: 'secrets:List' })
      expect((await h.gql('{ tools { nodes { id } } }', {}, secret)).errors).toBeUndefined()
    }
  })

  test('gives no role without one, be its policy everything, and an admin gives every role', async () => {
    const all = await secretOf({ policy: { statement: [statement('Allow', ['*'])] } })
    const admin = await secretOf({ role: 'ADMIN' })
    for (const role of ['ADMIN', 'DEVELOPER', 'APPROVER', 'CALLER', 'VIEWER']) {
      for (const mutation of ['createApiKey', 'createInvitation']) {
        const invited = h.mutate(mutation, { name: 'k', role }, 'apiKey { id }', all)
        await expect(invited, mutation).rejects.toThrow(/FORBIDDEN.*keys:Create/)
      }
      expect(await secretOf({ role }, admin)).toMatch(/^gh_/)
    }
  })

  test('a Deny statement wins in any order, and only for what it names', async () => {
    const other = home.ids['tool_']
    const policy = {
      statement: [statement('Deny', ['tools:Get'], [`tool/${other}`]), statement('Allow', ['tools:*'])],
    }
    const secret = await secretOf({ policy })
    const { data, errors } = await h.gql(
      'query($id: ID!) { tool(id: $id) { id } tools { nodes { id } } }',
      { id: other },
      secret,
    )
    expect(data['tool']).toBeNull()
    expect(errors![0]!.extensions).toEqual({ code: 'FORBIDDEN', action: 'tools:Get' })
    expect(data['tools'].nodes.length).toBe(5)
  })

  test('belongs to one project and cannot create keys for another; only an operator creates operators', async () => {
    const elsewhere = await h.mutate('createProject', { name: 'elsewhere' }, 'project { id }')
    const refused = await makeKey({ role: 'VIEWER', projectId: elsewhere['project'].id })
    expect(refused['__typename']).toBe('NotFoundError')
    const secret = await secretOf({ role: 'ADMIN', projectId: elsewhere['project'].id }, adminKey)
    const seen = await h.gql('{ projects { nodes { id } } }', {}, secret)
    expect(seen.data['projects'].nodes).toEqual([{ id: elsewhere['project'].id }])
  })

  test("an admin of the operator's own project cannot revoke the operator's key", async () => {
    const admin = await secretOf({ role: 'ADMIN' }, adminKey)
    const operator = await h.gql('{ viewer { id } }')
    const revoke = h.mutate('revokeApiKey', { id: operator.data['viewer'].id }, 'apiKey { id }', admin)
    await expect(revoke).rejects.toThrow(/FORBIDDEN/)
    expect((await h.gql('{ viewer { id } }')).errors).toBeUndefined()
  })
})

describe('a policy is checked when it is written', () => {
  const path = (...rest: string[]) => ['input', 'policy', 'statement', ...rest]
  test.each([
    [
      'an action that does not exist',
      [statement('Allow', ['tools:Get', 'tools:Explode'])],
      path('0', 'action', '1'),
    ],
    ['a pattern that fits no action', [statement('Allow', ['nothing:*'])], path('0', 'action', '0')],
    ['an unknown effect', [{ effect: 'Maybe', action: ['*'], resource: ['*'] }], path('0', 'effect')],
    ['no resource', [{ effect: 'Allow', action: ['*'] }], path('0', 'resource')],
    ['an empty list of actions', [statement('Allow', [])], path('0', 'action')],
    ['no statement at all', [], path()],
    [
      'a denial of what does not exist',
      [statement('Allow', ['*']), statement('Deny', ['x'])],
      path('1', 'action', '0'),
    ],
  ])('and %s is told with its path', async (_what, given, where) => {
    const refused = await makeKey({ policy: { statement: given } })
    expect(refused).toMatchObject({ __typename: 'ValidationError', issues: [{ path: where }] })
  })

  test.each([
    ['neither', {}],
    ['both', { role: 'VIEWER', policy: { statement: [statement('Allow', ['*'])] } }],
  ])('%s of role and policy is refused', async (_what, input) => {
    expect(await makeKey(input)).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: ['input', 'role'] }],
    })
  })
})
