/** What a model or a tool said cannot be stored: it is paid for once, and everybody is told. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { databaseKinds } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { refuseWrites } from '../support/refusing-tables.ts'
import { addProvider, startStrictProvider } from '../support/strict-provider.ts'
import { forFile } from '../support/for-file.ts'

const answer = { text: 'paid for', usage: { input: 60, output: 7 } }
const ended = ['COMPLETED', 'FAILED']
const notOurs = /trigger|refused by the test|insert into|SQLSTATE|steps|\bat \//i

const provider = await forFile(startStrictProvider())
afterEach(() => void provider.clear())

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  const closers: (() => Promise<void>)[] = []
  beforeAll(async () => {
    deployment = await openDeployment(kind, { leaseMs: 1000 }, 1)
    await addProvider(deployment.replicas[0]!, provider, 'compatible', 'paid')
  })
  afterEach(async () => {
    for (const close of closers.splice(0)) await close()
  })
  afterAll(() => deployment?.close())

  const refuse = async (refusal: Parameters<typeof refuseWrites>[1]) => {
    const refusing = await refuseWrites(deployment, refusal)
    closers.push(refusing.end)
    return refusing
  }
  const run = async (settings: object = {}) => {
    const [h] = deployment.replicas
    const before = provider.journal.length
    const agentId = await deployment.fixtures.agent({ model: 'paid/m', ...settings })
    const id = await deployment.fixtures.start(agentId, 'Go.')
    const end = await h!.until(id, ended, 'usage { totalTokens } toolCalls { status errorCode content }')
    return { end, requests: provider.journal.length - before, id }
  }

  test.each(['22P05', '23514', 'P0001', 'XX000', '54000'])(
    'a response that the database refuses with %s fails the run, which has its cost',
    async (state) => {
      provider.script(answer, answer)
      await refuse({ table: 'steps', state })
      const { end, requests } = await run({ maxSteps: 1 })
      expect(end).toMatchObject({
        status: 'FAILED',
        error: { code: 'NOT_STORED' },
        usage: { totalTokens: 67 },
      })
      expect(end['error'].message).not.toMatch(notOurs)
      expect(requests).toBe(1)
    },
  )

  test('the run fails as well where its cost cannot be stored either', async () => {
    provider.script(answer, answer)
    await refuse({ table: 'model_attempts', state: '22003' })
    const { end, requests } = await run()
    expect(end).toMatchObject({ status: 'FAILED', error: { code: 'NOT_STORED' } })
    expect(requests).toBe(1)
  })

  test.each(['53100', '40001', '57014', '55P03'])(
    'a response is kept over an outage with %s, and asked for once',
    async (state) => {
      provider.script(answer, answer)
      const refusing = await refuse({ table: 'steps', state, times: 3 })
      const { end, requests } = await run()
      expect(end).toMatchObject({ status: 'COMPLETED', output: { text: 'paid for' } })
      expect(await refusing.times()).toBeGreaterThan(1)
      expect(requests).toBe(1)
    },
  )

  test('a response that is lost to a full disk counts for the budget', async () => {
    provider.script(answer, answer)
    await refuse({ table: 'steps', state: '53100' })
    const { end, requests } = await run({ budget: { tokensPerGeneration: 50 } })
    expect(end).toMatchObject({ status: 'COMPLETED', stopReason: 'BUDGET', usage: { totalTokens: 67 } })
    expect(requests).toBe(1)
  })

  test('NUL and half a surrogate pair in what a model says become U+FFFD', async () => {
    const [nul, half] = ['\0', '\uD83C']
    provider.script(
      { calls: [{ name: `act${nul}`, arguments: `{"word":"x"}${nul}`, id: `id${half}` }] },
      { text: [`a${nul}b`, half, '\uDF88', ` ${half}.`] },
    )
    const { end, requests } = await run()
    expect(end).toMatchObject({ status: 'COMPLETED', output: { text: 'a\uFFFDb🎈 \uFFFD.' } })
    expect(requests).toBe(2)
    provider.script({ status: 400, message: `no ${nul}${half} model`, code: `bad${nul}` })
    const { end: refused } = await run()
    expect(refused).toMatchObject({ status: 'FAILED', error: { code: 'MODEL_BAD_REQUEST' } })
    expect(refused['error'].message).toContain('no \uFFFD\uFFFD model')
  })

  test('a result that the database refuses is UNKNOWN with the cause, and the call is sent once', async () => {
    provider.script({ calls: [{ name: 'act', arguments: '{"word":"once"}' }] }, { text: 'done' })
    await refuse({ table: 'tool_calls', on: 'update', when: `new.status = 'SUCCEEDED'`, state: '22P05' })
    const { upstream, tools } = deployment.fixtures
    const sent = () => upstream.seen.length
    const before = sent()
    const { end } = await run()
    const unknown = {
      status: 'UNKNOWN',
      errorCode: 'outcome_unknown',
      content: [{ text: expect.stringMatching(/refused to store the answer.*not repeated/s) }],
    }
    expect(end).toMatchObject({ status: 'COMPLETED', toolCalls: [unknown] })
    const { toolCall } = await deployment.replicas[0]!.mutate(
      'callTool',
      { toolId: tools.act, arguments: { word: 'again' } },
      'toolCall { status errorCode content }',
    )
    expect(toolCall).toMatchObject(unknown)
    expect(sent() - before).toBe(2)
  })

  test('a call whose beginning the database refuses is an error, and is not sent', async () => {
    const [h] = deployment.replicas
    const { toolId, agentId } = await deployment.payer({ autoApprove: true })
    const { pause } = await h!.mutate('pause', { toolId }, 'pause { id }')
    await refuse({ table: 'tool_calls', on: 'update', when: `new.status = 'EXECUTING'`, state: 'P0001' })
    const before = deployment.fixtures.upstream.seen.length
    const id = await deployment.fixtures.start(agentId, 'call pay {"n": "1"}\nthen\nsay done')
    const { toolCall } = await h!.mutate(
      'callTool',
      { toolId, arguments: { n: '1' } },
      'toolCall { id status }',
    )
    expect(toolCall.status).toBe('PROPOSED')
    await h!.mutate('resume', { pauseId: pause.id }, 'pause { endedAt }')
    const notBegun = { status: 'ERRORED', errorCode: 'not_stored' }
    expect(await h!.until(id, ended, 'toolCalls { status errorCode }')).toMatchObject({
      status: 'COMPLETED',
      toolCalls: [notBegun],
    })
    const read = async () => {
      const query = 'query($id: ID!) { toolCall(id: $id) { status errorCode } }'
      return (await h!.gql(query, { id: toolCall.id })).data['toolCall']
    }
    await expect.poll(read).toEqual(notBegun)
    expect(deployment.fixtures.upstream.seen).toHaveLength(before)
  })
  test('a round of a webhook that the database refuses is tried again in minutes, and not with each lease', async () => {
    const [h] = deployment.replicas
    const refusing = await refuse({ table: 'webhook_receipts', state: '22P05' })
    const { upstream } = deployment.fixtures
    const { webhook } = await h!.mutate('createWebhook', { url: `${upstream.url}/told` }, 'webhook { id }')
    // An event.
    await deployment.fixtures.agent()
    const waits = async () => {
      const [row] = await deployment.rows<{ waits: boolean }>(
        `select wake_at > now() + interval '4 minutes' as waits from webhook_cursors where id = '${webhook.id}'`,
      )
      return row!.waits
    }
    await expect.poll(waits).toBe(true)
    expect(await refusing.times()).toBe(1)
  })

  test('a tick whose run the database refuses is skipped, and the trigger says so', async () => {
    const [h] = deployment.replicas
    const agentId = await deployment.fixtures.agent()
    // Half a day from now, whenever the test runs.
    const hour = (new Date().getUTCHours() + 12) % 24
    const { trigger } = await h!.mutate(
      'createTrigger',
      { agentId, name: 'nightly', prompt: 'say done', cron: `0 ${hour} * * *` },
      'trigger { id }',
    )
    await refuse({ table: 'generations', state: 'P0001', when: `new.agent_id = '${agentId}'` })
    await deployment.rows(`update triggers set next_at = now(), wake_at = now() where id = '${trigger.id}'`)
    h!.app.services.pubsub.publish([{ kind: 'work', table: 'triggers' }])
    const read = () =>
      deployment.rows(
        `select last_error, next_at > now() + interval '1 hour' as moved from triggers where id = '${trigger.id}'`,
      )
    await expect.poll(read).toEqual([{ last_error: 'The database refused to store the run.', moved: true }])
  })
})
