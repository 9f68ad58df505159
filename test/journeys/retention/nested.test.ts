/** Runs that agents have started for each other, and followers other than webhooks, against retention. On both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../../support/databases.ts'
import { chainUnder, makeChain, type Chain } from '../../support/nested-fixtures.ts'
import {
  botToken,
  channel,
  openSlackServer,
  signingSecret,
  type SlackServer,
} from '../../support/slack-server.ts'
import { openReceiver } from '../../support/webhook-receiver.ts'
import { openRetained, type Retained } from './deployment.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let r: Retained
  let chain: Chain
  let slack: SlackServer
  beforeAll(async () => {
    slack = await openSlackServer()
    r = await openRetained(kind, { slackApiUrl: slack.url })
    await r.set({ runDays: 30 })
    const { ask } = r.deployment.fixtures.tools
    chain = await makeChain(r.h, 3, (level) => (level === 3 ? { toolIds: [ask] } : {}))
  })
  afterAll(async () => {
    await r?.deployment.close()
    await slack?.close()
  })

  const start = async (innermost: string): Promise<string> =>
    (
      await r.h.mutate(
        'startGeneration',
        { agentId: chain.agents[0]!.id, prompt: chain.prompt(innermost) },
        'generation { id }',
      )
    )['generation'].id
  const tree = async (): Promise<string[]> => {
    const root = await start('say hi')
    await r.h.until(root, ['COMPLETED'])
    return (await chainUnder(r.h, root)).map(({ id }) => id)
  }
  const left = async (ids: readonly string[]) =>
    r.count('generations', `id in (${ids.map((id) => `'${id}'`).join(', ')})`)
  const rowsLeft = async (ids: readonly string[]) => {
    const list = ids.map((id) => `'${id}'`).join(', ')
    return Promise.all(
      ['steps', 'tool_calls', 'events', 'approvals', 'model_attempts'].map((table) =>
        r.count(table, `generation_id in (${list})`),
      ),
    )
  }

  test('a run and those that it has started go together, each with a line of its own', async () => {
    const ids = await tree()
    expect(ids).toHaveLength(3)
    await r.sweep(31)
    expect([await left(ids), await rowsLeft(ids)]).toEqual([0, [0, 0, 0, 0, 0]])
    const { data } = await r.h.gql('{ removedGenerations(first: 3) { nodes { id callCount } } }')
    const lines = data['removedGenerations'].nodes as { id: string; callCount: number }[]
    expect(lines.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    expect(lines.map(({ callCount }) => callCount).toSorted()).toEqual([0, 1, 1])
  })

  test('a hold on a child keeps the whole tree', async () => {
    const ids = await tree()
    const put = await r.h.mutate(
      'putLegalHold',
      { generationId: ids[1], reason: 'a case' },
      'hold { id targetId }',
    )
    expect(put['hold'].targetId).toBe(ids[0])
    await r.sweep(31)
    expect(await left(ids)).toBe(3)
    await r.h.mutate('liftLegalHold', { holdId: put['hold'].id }, 'hold { id }')
    await r.sweep(31)
    expect(await left(ids)).toBe(0)
  })

  test('what is UNKNOWN, or has a thread that goes on, far below keeps the whole tree', async () => {
    const ids = await tree()
    const call = `generation_id = '${ids[1]}'`
    await r.rows(`update tool_calls set status = 'UNKNOWN' where ${call}`)
    await r.sweep(31)
    expect(await left(ids)).toBe(3)
    await r.rows(`update tool_calls set status = 'SUCCEEDED' where ${call}`)
    const open = await r.deployment.fixtures.start(
      await r.deployment.fixtures.agent(),
      'call ask {"word":"a"}',
    )
    await r.h.until(open, ['REQUIRES_ACTION'])
    const [thread] = await r.rows<{ id: string }>(
      `select thread_id as id from generations where id = '${ids[2]}'`,
    )
    const [own] = await r.rows<{ id: string }>(`select thread_id as id from generations where id = '${open}'`)
    await r.rows(`update generations set thread_id = '${thread!.id}' where id = '${open}'`)
    await r.sweep(31)
    expect(await left(ids)).toBe(3)
    await r.rows(`update generations set thread_id = '${own!.id}' where id = '${open}'`)
    await r.sweep(31)
    expect(await left(ids)).toBe(0)
    await r.deployment.fixtures.answer(open)
    await r.h.until(open, ['COMPLETED'])
  })

  test('a tree whose innermost run waits stays whole until it has ended', async () => {
    const root = await start('call ask {"word":"a"}')
    let ids: string[] = []
    await expect.poll(async () => (ids = (await chainUnder(r.h, root)).map(({ id }) => id)).length).toBe(3)
    await r.h.until(ids[2]!, ['REQUIRES_ACTION'])
    await r.sweep(31)
    expect(await left(ids)).toBe(3)
    await r.deployment.fixtures.answer(ids[2]!)
    await r.h.until(root, ['COMPLETED'])
    await r.sweep(31)
    expect([await left(ids), await rowsLeft(ids)]).toEqual([0, [0, 0, 0, 0, 0]])
  })

  test("a removal waits for what a run's callback has refused, and after two days more ends and tells it", async () => {
    const receiver = await openReceiver((_got, response) => void response.writeHead(503).end())
    const made = await r.h.mutate(
      'startGeneration',
      { agentId: chain.agents[2]!.id, prompt: 'say hi', callback: { url: receiver.url } },
      'generation { id }',
    )
    const id = made['generation'].id as string
    await r.h.until(id, ['COMPLETED'])
    await receiver.until((received) => received.length > 0)
    await r.sweep(31)
    expect(await left([id])).toBe(1)
    await expect
      .poll(async () => {
        await r.sweep(33)
        return left([id])
      })
      .toBe(0)
    // It had read everything, and what it has refused is gone: that is told, and its place ends.
    const [webhook] = await r.rows<{ id: string }>(`select id from webhooks where callback_of = '${id}'`)
    const own = `webhook_id = '${webhook!.id}'`
    await r.rows(`update webhook_deliveries set next_at = now() where ${own} and next_at is not null`)
    await r.rows(`update webhook_cursors set wake_at = now(), status = 'WAITING' where ${own}`)
    await expect
      .poll(
        () => r.count('events', `type = 'WEBHOOK_CURSOR_EXPIRED' and data->>'webhookId' = '${webhook!.id}'`),
        {
          timeout: 90_000,
        },
      )
      .toBe(1)
    await expect.poll(() => r.count('webhook_cursors', own)).toBe(0)
    await receiver.close()
  })

  test('a removal waits for Slack that is behind, and after two days more disables it', async () => {
    const set = { botToken, signingSecret, channel }
    const integration = await r.h.mutate('setSlackIntegration', set, 'integration { id }')
    slack.interfere = (_method, _args, response) => {
      response.writeHead(503).end()
      return true
    }
    const { toolId } = await r.deployment.payer({ mode: 'ALWAYS' })
    const { data } = await r.h.gql('query($id: ID!) { tool(id: $id) { name } }', { id: toolId })
    const agentId = await r.deployment.fixtures.agent({ toolIds: [toolId] })
    const id = await r.deployment.fixtures.start(agentId, `call ${data['tool'].name} {"n":"x"}`)
    await r.h.until(id, ['AWAITING_APPROVAL'])
    const calls = slack.calls.length
    await slack.until(() => slack.calls.length > calls || calls > 1)
    const waiting = (await r.h.gql('{ approvals(filter: { statuses: [PENDING] }) { nodes { id } } }')).data[
      'approvals'
    ].nodes
    await r.h.mutate('decideApproval', { approvalId: waiting[0].id, verdict: 'APPROVE' }, 'approval { id }')
    await r.h.until(id, ['COMPLETED'])
    await r.sweep(31)
    expect(await left([id])).toBe(1)
    await expect
      .poll(async () => {
        await r.sweep(33)
        return left([id])
      })
      .toBe(0)
    const { status, disabledReason } = (await r.h.gql('{ slackIntegration { id status disabledReason } }'))
      .data['slackIntegration']
    expect([status, disabledReason]).toEqual(['DISABLED', 'BEHIND'])
    expect(integration['integration'].id).toMatch(/^slk_/)
    expect(await r.count('events', `type = 'SLACK_DISABLED' and data->>'reason' = 'BEHIND'`)).toBe(1)
  })
})
