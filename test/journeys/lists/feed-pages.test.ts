/** The feed as pages: what matches a filter, in order, and a subscription that goes on where a page ends. */
import { expect, test } from 'vitest'
import { followFeed } from '../../support/feed-readers.ts'
import { adminKey } from '../../support/harness.ts'
import { openDeployment } from '../../support/deployment.ts'
import { forFile } from '../../support/for-file.ts'

const deployment = await forFile(openDeployment('PGlite'))
const projectId: string = (await deployment.replicas[0]!.gql('{ viewer { project { id } } }')).data['viewer']
  .project.id

interface FeedPage {
  edges: { cursor: string; node: { cursor: string; type: string } }[]
  nodes: { type: string }[]
  pageInfo: { startCursor: string | null; endCursor: string; hasNextPage: boolean }
}

async function pageOf(
  args: { filter?: object; after?: string; first?: number },
  key?: string,
): Promise<FeedPage> {
  const { data, errors } = await deployment.replicas[0]!.gql(
    `query($filter: ProjectEventFilter, $after: String, $first: Int) {
      projectEvents(filter: $filter, after: $after, first: $first) {
        edges { cursor node { cursor type } } nodes { type } pageInfo { startCursor endCursor hasNextPage } } }`,
    args,
    key,
  )
  if (errors) throw Object.assign(new Error(errors[0]!.message), errors[0]!.extensions)
  return data['projectEvents']
}

const types = (page: FeedPage) => page.nodes.map(({ type }) => type)

/** All pages of so many entries, from the beginning. */
async function walk(filter: object, first: number): Promise<{ found: FeedPage['edges']; pages: number }> {
  const found: FeedPage['edges'] = []
  for (let pages = 1, after = '0'; ; pages++) {
    const page = await pageOf({ filter, after, first })
    found.push(...page.edges)
    if (!page.pageInfo.hasNextPage) return { found, pages }
    after = page.pageInfo.endCursor
  }
}

test('pages have every event once in the order of the subscription, with its cursors', async () => {
  const h = deployment.replicas[0]!
  const id = await deployment.fixtures.start(await deployment.fixtures.agent(), 'call look {"word":"a"}')
  await h.until(id, ['COMPLETED'])
  const [all, one] = [await walk({}, 100), await walk({}, 1)]
  expect(one.found).toEqual(all.found)
  const reader = followFeed({ url: h.url, key: adminKey, after: '0' })
  await reader.until(all.found.length)
  await reader.close()
  expect(all.found.map(({ cursor }) => cursor)).toEqual(reader.told.map(({ cursor }) => cursor))
  for (const { cursor, node } of all.found) expect(node.cursor).toBe(cursor)
})

test('a subscription after the end cursor has what was committed later, and nothing that the page searched', async () => {
  const h = deployment.replicas[0]!
  const page = await pageOf({ filter: { types: ['AGENT_DELETED'] } })
  expect(page).toMatchObject({ nodes: [], pageInfo: { hasNextPage: false, startCursor: null } })
  const reader = followFeed({ url: h.url, key: adminKey, after: page.pageInfo.endCursor })
  const { tool } = await h.mutate(
    'createTool',
    { name: 'later', config: { client: { inputSchema: {} } } },
    'tool { id }',
  )
  await reader.until(1)
  await reader.close()
  expect(reader.told).toHaveLength(1)
  const next = await pageOf({ after: page.pageInfo.endCursor })
  expect(next.edges.map(({ cursor }) => cursor)).toEqual([reader.told[0]!.cursor])
  expect(types(await pageOf({ filter: { toolId: tool.id } }))).toEqual(['TOOL_CREATED'])
})

test('events by generation, agent, tool and type', async () => {
  const h = deployment.replicas[0]!
  const { toolId, agentId } = await deployment.payer({ mode: 'ALWAYS' })
  const id = await deployment.fixtures.start(agentId, 'call pay {"n":"1"}')
  await h.until(id, ['AWAITING_APPROVAL'])
  const ofRun = types(await pageOf({ filter: { generationId: id } }))
  expect(ofRun.slice(0, 2)).toEqual(['GENERATION_QUEUED', 'GENERATION_STARTED'])
  expect(ofRun).toContain('APPROVAL_REQUESTED')
  expect(types(await pageOf({ filter: { agentId } }))).toEqual(['AGENT_CREATED', ...ofRun])
  expect(types(await pageOf({ filter: { toolId } }))).toEqual([
    'TOOL_CREATED',
    'TOOL_CALL_PROPOSED',
    'APPROVAL_REQUESTED',
  ])
  expect(types(await pageOf({ filter: { toolId, types: ['APPROVAL_REQUESTED'] } }))).toEqual([
    'APPROVAL_REQUESTED',
  ])
  expect(types(await pageOf({ filter: { types: [] } }))).toEqual([])
})

test('a page searches 5,000 events and says where it stopped, so that a search of any length ends', async () => {
  const h = deployment.replicas[0]!
  await deployment.rows(`insert into events (project_id, type, data, commit_order)
    select '${projectId}', 'PROJECT_UPDATED', '{}', 1 from generate_series(1, 5500)`)
  await h.mutate('createTool', { name: 'last', config: { client: { inputSchema: {} } } }, 'tool { id }')
  const filter = { types: ['TOOL_CREATED'] }
  const { found, pages } = await walk(filter, 100)
  expect(pages).toBe(2)
  const all = await deployment.rows(
    `select 1 from events where type = 'TOOL_CREATED' and project_id = '${projectId}'`,
  )
  expect(found).toHaveLength(all.length)
})

test('size, cursor and permission are checked', async () => {
  expect(await pageOf({ first: 0 })).toMatchObject({
    edges: [],
    pageInfo: { endCursor: '0', hasNextPage: true },
  })
  for (const first of [-1, 101]) await expect(pageOf({ first })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(pageOf({ after: 'x' })).rejects.toMatchObject({ code: 'BAD_CURSOR' })
  const { nodes, pageInfo } = await pageOf({ first: 1 })
  expect(nodes).toHaveLength(1)
  await deployment.rows(
    `update events set commit_order = commit_order + 1 where position = (select min(position) from events)`,
  )
  await expect(pageOf({ after: pageInfo.endCursor })).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
  const policy = { statement: [{ effect: 'Allow', action: ['projects:Get'], resource: ['*'] }] }
  const { secret } = await deployment.replicas[0]!.mutate('createApiKey', { name: 'k', policy }, 'secret')
  await expect(pageOf({}, secret)).rejects.toMatchObject({ code: 'FORBIDDEN', action: 'events:Subscribe' })
})
