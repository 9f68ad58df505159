/** The summary of a project counts what runs and what waits, of this project only. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { leaveBehind } from '../support/left-behind.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'

let deployment: Deployment

beforeAll(async () => void (deployment = await openDeployment('PGlite')))
afterAll(() => deployment?.close())

test('counts each kind, and nothing of another project', async () => {
  const h = deployment.replicas[0]!
  const read = async (key?: string) => {
    const { data, errors } = await h.gql(
      '{ projectSummary { pendingApprovals unknownCalls faultyUpstreams running waiting } }',
      {},
      key,
    )
    expect(errors).toBeUndefined()
    return data['projectSummary']
  }
  const none = { pendingApprovals: 0, unknownCalls: 0, faultyUpstreams: 0, running: 0, waiting: 0 }
  expect(await read()).toEqual(none)
  const { toolId } = await deployment.payer({ mode: 'ALWAYS' })
  await h.mutate('callTool', { toolId, arguments: { n: 'a' } }, 'toolCall { id }')
  const input = { toolId: deployment.fixtures.tools.act, arguments: { word: 'a' } }
  const called = await h.mutate('callTool', input, 'toolCall { id }')
  await leaveBehind(h, called['toolCall'].id)
  const config = { mcp: { url: `${deployment.fixtures.upstream.url}/mcp` } }
  const { tool } = await h.mutate('createTool', { name: 'far', config }, 'tool { id }')
  await deployment.rows(
    `update upstreams set wake_at = null, epoch = epoch + 1, status = 'UNREACHABLE' where id = '${tool.id}'`,
  )
  const agentId = await deployment.fixtures.agent()
  const waits = await deployment.fixtures.start(agentId, 'call ask {"word":"a"}')
  await h.until(waits, ['REQUIRES_ACTION'])
  const runs = await deployment.fixtures.start(agentId, 'call ask {"word":"b"}')
  await h.until(runs, ['REQUIRES_ACTION'])
  await deployment.rows(`update generations set status = 'RUNNING', wake_at = null where id = '${runs}'`)
  expect(await read()).toEqual({
    pendingApprovals: 1,
    unknownCalls: 1,
    faultyUpstreams: 1,
    running: 1,
    waiting: 1,
  })
  const { project } = await h.mutate('createProject', { name: 'other' }, 'project { id }')
  const key = { name: 'k', role: 'VIEWER', projectId: project.id }
  expect(await read((await h.mutate('createApiKey', key, 'secret'))['secret'])).toEqual(none)
})
