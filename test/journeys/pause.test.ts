/** Pause and resume: after the answer nothing leaves, nothing under way is harmed, and everything goes on where it stopped. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { principalById } from '../../src/domain/access/index.ts'
import { loadApprovals } from '../../src/domain/approvals/index.ts'
import { outcomeOf, voteOf } from '../../src/domain/approvals/judge-verdict.ts'
import { writeVerdict } from '../../src/domain/approvals/write-verdict.ts'
import { ownerOf } from '../../src/store/work/owner.ts'
import { databaseKinds } from '../support/databases.ts'
import { openDeployment, type Deployment } from '../support/deployment.ts'
import { adminKey } from '../support/harness.ts'

const untilTrue = (isSo: () => Promise<boolean>) => expect.poll(isSo).toBe(true)

describe.each(databaseKinds)('on %s', (kind) => {
  let deployment: Deployment
  let toolId: string
  let agentId: string
  beforeAll(async () => {
    deployment = await openDeployment(kind)
    ;({ toolId, agentId } = await deployment.payer({ autoApprove: true }))
  })
  afterAll(() => deployment?.close())

  const [first, last] = [() => deployment.replicas[0]!, () => deployment.replicas.at(-1)!]
  const paid = (n: string) =>
    deployment.fixtures.upstream.seen.filter(({ url, body }) => url === '/pay' && JSON.parse(body).n === n)
  const pause = async (input: object) => {
    const done = await first().mutate('pause', input, 'pause { id kind targetId endedAt }', adminKey)
    expect(done).toMatchObject({ __typename: 'PausePayload' })
    return done['pause'] as { id: string; kind: string; targetId: string }
  }
  const ownProject = async () =>
    (await first().gql('{ viewer { project { id } } }', {}, adminKey)).data['viewer'].project.id as string
  const resume = (pauseId: string) => last().mutate('resume', { pauseId }, 'pause { id endedAt }', adminKey)
  const run = async (id: string, fields: string) =>
    (await first().gql(`query($id: ID!) { generation(id: $id) { ${fields} } }`, { id })).data['generation']
  const rows = (text: string) => deployment.rows(text)

  test('a run that is started while the project is paused waits before its first step, and goes on', async () => {
    const held = await pause({ projectId: await ownProject(), reason: 'an incident' })
    expect(held.kind).toBe('PROJECT')
    const id = await deployment.fixtures.start(agentId, 'call pay {"n": "project"}\nthen\nsay done')
    await untilTrue(async () => (await run(id, 'status')).status === 'QUEUED')
    expect(await run(id, 'status steps { id } pause { id reason pausedBy { name } }')).toMatchObject({
      status: 'QUEUED',
      steps: [],
      pause: { id: held.id, reason: 'an incident' },
    })
    expect(await rows(`select 1 from steps where generation_id = '${id}'`)).toEqual([])
    await resume(held.id)
    await first().until(id, ['COMPLETED'])
    expect(paid('project')).toHaveLength(1)
    expect(await run(id, 'pause { id }')).toEqual({ pause: null })
  })

  test('a call of a paused tool waits with its status, the others of the step run, and the model waits for both', async () => {
    const other = await deployment.payer({ autoApprove: true })
    const both = await deployment.fixtures.agent({ toolIds: [toolId, other.toolId] })
    const names = (await rows(`select name from tools where id = '${other.toolId}'`))[0]!['name']
    const held = await pause({ toolId })
    const id = await deployment.fixtures.start(
      both,
      `call pay {"n": "held"}\ncall ${names} {"n": "free"}\nthen\nsay done`,
    )
    await untilTrue(async () => paid('free').length === 1)
    await untilTrue(async () => (await run(id, 'status')).status === 'QUEUED')
    const seen = await run(id, 'pause { id } steps { toolCalls { status name pause { id } } }')
    expect(seen.pause).toEqual({ id: held.id })
    expect(seen.steps[0].toolCalls).toMatchObject([
      { name: 'pay', status: 'PROPOSED', pause: { id: held.id } },
      { name: names, status: 'SUCCEEDED', pause: null },
    ])
    expect(paid('held')).toEqual([])
    await resume(held.id)
    await first().until(id, ['COMPLETED'])
    expect([paid('held').length, paid('free').length]).toEqual([1, 1])
  })

  test('an approval can be decided while the tool is paused; the call runs after the pause, once', async () => {
    const gated = await deployment.payer({ autoApprove: false })
    const [{ name }] = (await rows(`select name from tools where id = '${gated.toolId}'`)) as [
      { name: string },
    ]
    const id = await deployment.fixtures.start(gated.agentId, `call ${name} {"n": "gated"}\nthen\nsay done`)
    const waiting = await first().until(id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
    const held = await pause({ toolId: gated.toolId })
    const approvalId = waiting['requiredAction'].approvals[0].id
    const decided = await last().mutate(
      'decideApproval',
      { approvalId, verdict: 'APPROVE' },
      'approval { status }',
    )
    expect(decided).toMatchObject({ approval: { status: 'APPROVED' } })
    await untilTrue(async () => (await run(id, 'status')).status === 'QUEUED')
    expect(paid('gated')).toEqual([])
    await resume(held.id)
    await first().until(id, ['COMPLETED'])
    expect(paid('gated')).toHaveLength(1)
  })

  test('the time of a question that ends while its tool is paused begins anew, and it is decided later', async () => {
    const gated = await deployment.payer({ autoApprove: false, timeoutSeconds: 5 })
    const [{ name }] = (await rows(`select name from tools where id = '${gated.toolId}'`)) as [
      { name: string },
    ]
    const id = await deployment.fixtures.start(gated.agentId, `call ${name} {"n": "late"}\nthen\nsay done`)
    const waiting = await first().until(
      id,
      ['AWAITING_APPROVAL'],
      'requiredAction { approvals { id expiresAt } }',
    )
    const [approval] = waiting['requiredAction'].approvals
    const held = await pause({ toolId: gated.toolId })
    await untilTrue(async () => {
      const [row] = await rows(`select data->>'extendedBy' as by from events
        where type = 'APPROVAL_EXTENDED' and data->>'approvalId' = '${approval.id}'`)
      return row?.['by'] === 'system'
    })
    const [now] = await rows(`select status, expires_at > '${approval.expiresAt}' as later from approvals
      where id = '${approval.id}'`)
    expect(now).toEqual({ status: 'PENDING', later: true })
    await resume(held.id)
    await last().mutate(
      'decideApproval',
      { approvalId: approval.id, verdict: 'APPROVE' },
      'approval { status }',
    )
    await first().until(id, ['COMPLETED'])
    expect(paid('late')).toHaveLength(1)
  })

  test('a direct call waits as PROPOSED, can be withdrawn, and runs once when the pause ends', async () => {
    const held = await pause({ toolId })
    const call = (n: string) =>
      last().mutate('callTool', { toolId, arguments: { n } }, 'toolCall { id status pause { id } }')
    const { toolCall: kept } = await call('direct')
    const { toolCall: withdrawn } = await call('withdrawn')
    expect(kept).toMatchObject({ status: 'PROPOSED', pause: { id: held.id } })
    const gone = await last().mutate('cancelToolCall', { toolCallId: withdrawn.id }, 'toolCall { status }')
    expect(gone).toMatchObject({ toolCall: { status: 'CANCELLED' } })
    await resume(held.id)
    await untilTrue(
      async () =>
        (await rows(`select status from tool_calls where id = '${kept.id}'`))[0]!['status'] === 'SUCCEEDED',
    )
    expect([paid('direct').length, paid('withdrawn').length]).toEqual([1, 0])
  })

  test('a pause of an agent holds its runs only, and a cancel ends a run that waits', async () => {
    const other = await deployment.fixtures.agent({ toolIds: [toolId] })
    const held = await pause({ agentId })
    const stopped = await deployment.fixtures.start(agentId, 'call pay {"n": "stopped"}\nthen\nsay done')
    const free = await deployment.fixtures.start(other, 'call pay {"n": "other agent"}\nthen\nsay done')
    await first().until(free, ['COMPLETED'])
    await untilTrue(async () => (await run(stopped, 'pause { id }')).pause?.id === held.id)
    await first().mutate('cancelGeneration', { generationId: stopped }, 'generation { status }')
    await first().until(stopped, ['CANCELLED'])
    await resume(held.id)
    expect([paid('stopped').length, paid('other agent').length]).toEqual([0, 1])
  })

  test('the time of a pause does not count for the deadline of a run', async () => {
    const quick = await deployment.fixtures.agent({ toolIds: [toolId], timeoutMs: 3000 })
    const held = await pause({ agentId: quick })
    const id = await deployment.fixtures.start(quick, 'call pay {"n": "in time"}\nthen\nsay done')
    await untilTrue(async () => {
      const [row] = await rows(`select deadline_at < now() as over from generations where id = '${id}'`)
      return row!['over'] === true
    })
    await resume(held.id)
    await first().until(id, ['COMPLETED'])
    expect(paid('in time')).toHaveLength(1)
  })

  test('what two pauses hold goes on when both have ended; each is audited and told once', async () => {
    const one = await pause({ toolId, reason: 'first' })
    const again = await pause({ toolId, reason: 'second' })
    expect(again.id).toBe(one.id)
    const two = await pause({ agentId })
    const id = await deployment.fixtures.start(agentId, 'call pay {"n": "twice"}\nthen\nsay done')
    await resume(one.id)
    await untilTrue(async () => (await run(id, 'pause { id }')).pause?.id === two.id)
    expect(paid('twice')).toEqual([])
    await resume(two.id)
    await resume(two.id)
    await first().until(id, ['COMPLETED'])
    expect(paid('twice')).toHaveLength(1)
    const told = await rows(`select type from events where data->>'pauseId' = '${one.id}' order by id`)
    expect(told.map(({ type }) => type)).toEqual(['PAUSE_STARTED', 'PAUSE_ENDED'])
    const audited = await rows(`select details->'paused' as paused from audit_entries
      where action = 'projects:Pause' and details->>'pauseId' = '${two.id}' order by created_at, id`)
    expect(audited.map(({ paused }) => paused)).toEqual([true, false])
  })

  test('wrong targets are refused with a sentence, and unknown pauses are not found', async () => {
    for (const nothing of [{}, { reason: 'all' }, { projectId: null, agentId: null }]) {
      const refused = await first().mutate('pause', nothing, 'pause { id }', adminKey)
      expect(refused, JSON.stringify(nothing)).toMatchObject({
        __typename: 'ValidationError',
        message: expect.stringContaining('names nothing to pause: give agentId, toolId or'),
      })
    }
    const both = await first().mutate('pause', { toolId, agentId }, 'pause { id }', adminKey)
    expect(both).toMatchObject({ __typename: 'ValidationError' })
    const unknown = await first().mutate('pause', { toolId: 'tool_0' }, 'pause { id }', adminKey)
    expect(unknown).toMatchObject({ __typename: 'NotFoundError' })
    const none = await first().mutate('resume', { pauseId: 'pse_0' }, 'pause { id }', adminKey)
    expect(none).toMatchObject({ __typename: 'NotFoundError' })
  })

  describe('calls that a client runs', () => {
    const callsOf = async (id: string) =>
      (await run(id, 'toolCalls { id name status pause { id } }')).toolCalls as Record<string, any>[]
    const offers = (id: string) =>
      rows(`select jsonb_array_elements_text(e.data->'toolCallIds') as id from events as e
        where e.generation_id = '${id}' and e.type = 'REQUIRES_ACTION' order by e.seq`)
    const submit = (generationId: string, toolCallId: string) =>
      last().mutate(
        'submitToolOutputs',
        { generationId, outputs: [{ toolCallId, output: 'answered' }] },
        'outcomes { status error { code } }',
      )
    /** Held in its row, shown as held, told to nobody, and refused. */
    const isHeld = async (id: string, pauseId: string, status = 'PROPOSED') => {
      await untilTrue(async () => {
        const now = await run(id, 'status toolCalls { id }')
        return now.status === 'QUEUED' && now.toolCalls.length > 0
      })
      const [call] = await callsOf(id)
      expect(call).toMatchObject({ status, pause: { id: pauseId } })
      expect(await run(id, 'pause { id } requiredAction { toolCalls { id } }')).toMatchObject({
        pause: { id: pauseId },
      })
      expect(await offers(id)).toEqual([])
      expect((await submit(id, call!['id']))['outcomes']).toMatchObject([
        { status: 'REFUSED', error: { code: 'CONFLICT' } },
      ])
      return call!['id'] as string
    }
    /** Given to its client once, with the whole time from then on; its answer ends the run. */
    const isOfferedOnce = async (id: string, callId: string) => {
      await first().until(id, ['REQUIRES_ACTION'])
      const [row] = await rows(`select extract(epoch from t.deadline_at - e.created_at) as left
        from tool_calls as t join events as e on e.generation_id = t.generation_id
        where t.id = '${callId}' and e.type = 'REQUIRES_ACTION'`)
      expect(Number(row!['left'])).toBeCloseTo(600, 1)
      expect((await submit(id, callId))['outcomes']).toMatchObject([{ status: 'ACCEPTED' }])
      await first().until(id, ['COMPLETED'])
      expect(await offers(id)).toEqual([{ id: callId }])
    }

    test('a call of a paused client tool waits, and is offered once when the pause has ended', async () => {
      const asking = await deployment.fixtures.agent()
      const held = await pause({ toolId: deployment.fixtures.tools.ask })
      expect(held.kind).toBe('TOOL')
      const id = await deployment.fixtures.start(asking, 'call ask {"word": "a"}\nthen\nsay done')
      const callId = await isHeld(id, held.id)
      await resume(held.id)
      await isOfferedOnce(id, callId)
    })

    test('a tool that came with the run waits when its agent is paused while the model speaks', async () => {
      const asking = await deployment.fixtures.agent()
      const prompt = 'slow 2s before\ncall locate {}\nthen\nsay done'
      const id = await deployment.fixtures.start(asking, prompt, { clientTools: [{ name: 'locate' }] })
      await untilTrue(async () => (await run(id, 'status')).status === 'RUNNING')
      const held = await pause({ agentId: asking })
      const callId = await isHeld(id, held.id)
      await resume(held.id)
      await isOfferedOnce(id, callId)
    })

    test.each(['project', 'agent', 'tool'])(
      'one that is approved while its %s is paused waits as approved',
      async (what) => {
        const gate = { mode: 'ALWAYS' }
        const gated = await deployment.fixtures.agent({ gate })
        const id = await deployment.fixtures.start(gated, 'call ask {"word": "a"}\nthen\nsay done')
        const waiting = await first().until(id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
        const targets = {
          project: { projectId: await ownProject() },
          agent: { agentId: gated },
          tool: { toolId: deployment.fixtures.tools.ask },
        }
        const held = await pause(targets[what as keyof typeof targets])
        const approvalId = waiting['requiredAction'].approvals[0].id
        await last().mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { status }')
        const callId = await isHeld(id, held.id, 'APPROVED')
        await resume(held.id)
        await isOfferedOnce(id, callId)
      },
    )

    test('a verdict that was judged before the pause gives no call to a client: its statement proves that', async () => {
      const gated = await deployment.fixtures.agent({ gate: { mode: 'ALWAYS' } })
      const id = await deployment.fixtures.start(gated, 'call ask {"word": "a"}\nthen\nsay done')
      const waiting = await first().until(id, ['AWAITING_APPROVAL'], 'requiredAction { approvals { id } }')
      const approvalId = waiting['requiredAction'].approvals[0].id as string
      const { db } = first().app.services
      const { viewer } = (await first().gql('{ viewer { id } }')).data
      const ctx = first().app.ctxOf((await principalById(db, viewer.id, Date.now()))!)
      const [approval] = await loadApprovals(db, [approvalId])
      const votes = [voteOf(ctx, { approvalId, verdict: 'APPROVE' }, new Date())]
      const outcome = outcomeOf(approval!, votes)
      expect(outcome.call?.status).toBe('AWAITING_CLIENT')
      const owner = ownerOf({ ...approval!, id: approval!.toolCallId })
      const verdict = { approval: approval!, owner, votes, outcome, edit: null, dropped: [] }
      const held = await pause({ agentId: gated })
      expect(await writeVerdict(db, ctx, verdict)).toBeNull()
      expect(await offers(id)).toEqual([])
      await resume(held.id)
      expect(await writeVerdict(db, ctx, verdict)).not.toBeNull()
      await isOfferedOnce(id, approval!.toolCallId)
    })

    test('one that was offered before may be answered, and the model waits for the end', async () => {
      const asking = await deployment.fixtures.agent()
      const id = await deployment.fixtures.start(asking, 'call ask {"word": "a"}\nthen\nsay done')
      await first().until(id, ['REQUIRES_ACTION'])
      const held = await pause({ agentId: asking })
      const [call] = await callsOf(id)
      expect(call).toMatchObject({ status: 'AWAITING_CLIENT', pause: null })
      expect((await submit(id, call!['id']))['outcomes']).toMatchObject([{ status: 'ACCEPTED' }])
      await untilTrue(async () => (await run(id, 'status')).status === 'QUEUED')
      expect(await run(id, 'pause { id } steps { id }')).toMatchObject({
        pause: { id: held.id },
        steps: [{}],
      })
      await resume(held.id)
      await first().until(id, ['COMPLETED'])
    })

    test('the others of a step are offered, and the answer to the last of them leaves what is held', async () => {
      const asking = await deployment.fixtures.agent()
      const { ask } = deployment.fixtures.tools
      const held = await pause({ toolId: ask })
      const prompt = 'call ask {"word": "a"}\ncall tell {"word": "b"}\nthen\nsay done'
      const id = await deployment.fixtures.start(asking, prompt)
      await first().until(id, ['REQUIRES_ACTION'])
      const [waits, free] = (await callsOf(id)) as [Record<string, any>, Record<string, any>]
      expect([waits['status'], free['status']]).toEqual(['PROPOSED', 'AWAITING_CLIENT'])
      await submit(id, free['id'])
      await untilTrue(async () => (await run(id, 'status')).status === 'QUEUED')
      await resume(held.id)
      await first().until(id, ['REQUIRES_ACTION'])
      await submit(id, waits['id'])
      await first().until(id, ['COMPLETED'])
      expect(await offers(id)).toEqual([{ id: free['id'] }, { id: waits['id'] }])
    })

    test('a stream ends at the question of a step whose client call is held, and has that call later', async () => {
      const gated = await deployment.payer({ autoApprove: false })
      const [{ name }] = (await rows(`select name from tools where id = '${gated.toolId}'`)) as [
        { name: string },
      ]
      const { ask } = deployment.fixtures.tools
      const both = await deployment.fixtures.agent({ toolIds: [gated.toolId, ask] })
      const respond = async (body: object) => {
        const response = await fetch(`${first().url}/v1/responses`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${adminKey}` },
          body: JSON.stringify({ model: both, ...body }),
        })
        return (await response.json()) as { id: string; output: { type: string; id: string }[] }
      }
      const held = await pause({ toolId: ask })
      const input = `call ${name} {"n": "beside"}\ncall ask {"word": "a"}\nthen\nsay done`
      const asked = await respond({ input })
      expect(asked.output.map(({ type }) => type)).toEqual(['mcp_approval_request'])
      await resume(held.id)
      const answer = {
        type: 'mcp_approval_response',
        approval_request_id: asked.output[0]!.id,
        approve: true,
      }
      const later = await respond({ previous_response_id: asked.id, input: [answer] })
      expect(later.output.map(({ type }) => type)).toContain('function_call')
    })
  })
})
