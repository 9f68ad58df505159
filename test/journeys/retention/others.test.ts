/** Legal holds, requests to remove, followers that are behind, and rows that belong to no run. On both databases. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeRuns } from '../../../src/domain/retention/remove-runs.ts'
import { databaseKinds } from '../../support/databases.ts'
import { openReceiver } from '../../support/webhook-receiver.ts'
import { openRetained, type Retained } from './deployment.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let r: Retained
  let agentId: string
  let blobDir: string
  beforeAll(async () => {
    blobDir = await mkdtemp(join(tmpdir(), 'gatehouse-blobs-'))
    r = await openRetained(kind, { blobDir })
    agentId = await r.deployment.fixtures.agent()
    await r.set({ runDays: 30 })
  })
  afterAll(async () => {
    await r?.deployment.close()
    await rm(blobDir, { recursive: true, force: true })
  })

  const run = async (prompt = 'say one', key?: string): Promise<string> => {
    const made = await r.h.mutate('startGeneration', { agentId, prompt }, 'generation { id }', key)
    const id = made['generation'].id as string
    await r.h.until(id, ['COMPLETED'])
    return id
  }
  const exists = (id: string) => r.count('generations', `id = '${id}'`)
  const keyOf = async (role: string): Promise<{ id: string; secret: string }> => {
    const made = await r.h.mutate(
      'createApiKey',
      { name: role, role: role.toUpperCase() },
      'apiKey { id } secret',
    )
    return { id: made['apiKey'].id, secret: made['secret'] }
  }
  const hold = async (input: object) =>
    (await r.h.mutate('putLegalHold', { reason: 'a case', ...input }, 'hold { id kind targetId }'))['hold']
  const lift = (id: string) => r.h.mutate('liftLegalHold', { holdId: id }, 'hold { liftedAt }')

  test('a legal hold keeps a run, what a requester has left, or the project, until it is lifted', async () => {
    const key = await keyOf('developer')
    const [held, theirs, free] = [await run(), await run('say two', key.secret), await run()]
    const ofRun = await hold({ generationId: held })
    expect(ofRun).toMatchObject({ kind: 'RUN', targetId: held })
    expect((await hold({ generationId: held })).id).toBe(ofRun.id)
    const ofKey = await hold({ requesterId: key.id })
    const ofAll = await hold({})
    expect([ofKey.kind, ofAll.kind]).toEqual(['REQUESTER', 'PROJECT'])
    expect(await r.sweep(31)).toEqual({})
    await lift(ofAll.id)
    const preview = await r.h.gql(
      '{ retentionPreview(runDays: 1) { removed { runs } kept { held recent } } }',
    )
    // Nothing is as old as a day by the clock of the database.
    expect(preview.data['retentionPreview']).toMatchObject({ removed: { runs: 0 } })
    await r.sweep(31)
    expect(await Promise.all([held, theirs, free].map(exists))).toEqual([1, 1, 0])
    const refused = await r.h.mutate('removeRequesterData', { requesterId: key.id }, 'removal { id }')
    expect(refused).toMatchObject({ code: 'CONFLICT' })
    await lift(ofKey.id)
    await lift(ofRun.id)
    await r.sweep(31)
    expect(await Promise.all([held, theirs].map(exists))).toEqual([0, 0])
    const gone = await r.h.mutate('putLegalHold', { generationId: held, reason: 'late' }, 'hold { id }')
    expect(gone['code']).toBe('NOT_FOUND')
    const { data } = await r.h.gql('{ legalHolds { nodes { id liftedAt liftedBy { id } } } }')
    expect(data['legalHolds'].nodes.filter((one: any) => one.liftedAt === null)).toEqual([])
    expect(await r.count('audit_entries', `action = 'retention:Hold'`)).toBe(6)
  })

  test('a hold that is put while its run is being removed keeps it, or says that it is gone', async () => {
    for (let round = 0; round < 8; round++) {
      const id = await run()
      await r.touch()
      const held = await r.take()
      const before = new Date(Date.now() + 86_400_000)
      const [put] = await Promise.all([
        r.h.mutate('putLegalHold', { generationId: id, reason: 'now' }, 'hold { id }'),
        removeRuns(r.h.app.services.db, held, { projectId: r.projectId, ids: [id], before, removalId: null }),
      ])
      expect([await exists(id), put['code'] ?? null]).toEqual(put['hold'] ? [1, null] : [0, 'NOT_FOUND'])
      if (put['hold']) await lift(put['hold'].id)
    }
  })

  test("a requester's data goes by request, and a line of each call and verdict stays", async () => {
    const key = await keyOf('developer')
    const { toolId } = await r.deployment.payer({ mode: 'ALWAYS' })
    const tool = (await r.h.gql('query($id: ID!) { tool(id: $id) { name } }', { id: toolId })).data['tool']
      .name
    const payer = await r.deployment.fixtures.agent({ toolIds: [toolId] })
    const made = await r.h.mutate(
      'startGeneration',
      { agentId: payer, prompt: `call ${tool} {"n":"secret-name"}` },
      'generation { id }',
      key.secret,
    )
    const id = made['generation'].id as string
    await r.h.until(id, ['AWAITING_APPROVAL'])
    const { data } = await r.h.gql('{ approvals { nodes { id } } }')
    const approvalId = data['approvals'].nodes[0].id
    await r.h.mutate('decideApproval', { approvalId, verdict: 'APPROVE' }, 'approval { id }')
    await r.h.until(id, ['COMPLETED'])
    const mine = await run()
    const open = await r.h.mutate(
      'startGeneration',
      { agentId, prompt: 'call ask {"word":"a"}' },
      'generation { id }',
      key.secret,
    )
    await r.h.until(open['generation'].id, ['REQUIRES_ACTION'])
    const asked = await r.h.mutate(
      'removeRequesterData',
      { requesterId: key.id, reason: 'asked by mail' },
      'removal { id }',
    )
    expect(asked['removal'].id).toMatch(/^rem_/)
    // What ended today counts for keys and budgets until tomorrow.
    await r.sweep(0)
    expect(await removal(asked['removal'].id)).toMatchObject({
      finishedAt: null,
      kept: { open: 1, recent: 1 },
    })
    await r.sweep(2)
    expect(await removal(asked['removal'].id)).toMatchObject({
      finishedAt: expect.any(String),
      removed: { runs: 1 },
      kept: { open: 1, recent: 0 },
    })
    expect(await Promise.all([id, mine, open['generation'].id].map(exists))).toEqual([0, 1, 1])
    const left = await r.h.gql(
      `query($id: ID!) { removedGenerations(generationId: $id, first: 1) { nodes { requester { id } calls { name status attempts approvalStatus votes { verdict } } } } }`,
      { id },
    )
    expect(left.data['removedGenerations'].nodes[0]).toEqual({
      requester: { id: key.id },
      calls: [
        {
          name: tool,
          status: 'SUCCEEDED',
          attempts: 1,
          approvalStatus: 'APPROVED',
          votes: [{ verdict: 'APPROVE' }],
        },
      ],
    })
    for (const table of [
      'events',
      'tool_calls',
      'approvals',
      'steps',
      'generations',
      'removed_generations',
      'audit_entries',
    ])
      expect([table, await r.count(`${table} as t`, `t::text like '%secret-name%'`)]).toEqual([table, 0])
    await r.deployment.fixtures.answer(open['generation'].id)
  })

  test('a removal goes on until a young call, thread and file of the requester have gone, too', async () => {
    const made = await r.h.mutate('createApiKey', { name: 'leaves', role: 'CALLER' }, 'secret apiKey { id }')
    const [secret, requesterId] = [made['secret'] as string, made['apiKey'].id as string]
    const { toolId } = await r.deployment.payer({ autoApprove: true })
    const called = await r.h.mutate(
      'callTool',
      { toolId, arguments: { n: 'young' } },
      'toolCall { id }',
      secret,
    )
    const upload = { filename: 'young.txt', contentType: 'text/plain' }
    const file = await r.h.mutate('presignUpload', upload, 'file { id } uploadUrl', secret)
    await fetch(file['uploadUrl'], { method: 'PUT', body: 'young' })
    const opened = await r.h.mutate('createThread', { agentId, externalId: 'young' }, 'thread { id }', secret)
    const left = async () => [
      await r.count('threads', `id = '${opened['thread'].id}'`),
      await r.count('tool_calls as t', `t.id = '${called['toolCall'].id}'`),
      await r.count('files as f', `f.id = '${file['file'].id}'`),
    ]
    const asked = await r.h.mutate('removeRequesterData', { requesterId }, 'removal { id }')
    const { id } = asked['removal']
    await r.sweep(0)
    expect(await left()).toEqual([1, 1, 1])
    expect((await removal(id)).finishedAt).toBeNull()
    await r.deployment.rows(
      `update files set upload_until = now() - interval '1 hour' where id = '${file['file'].id}'`,
    )
    await r.sweep(2)
    expect(await left()).toEqual([0, 0, 0])
    expect((await removal(id)).finishedAt).not.toBeNull()
  })

  const removal = async (id: string) => {
    const { data } = await r.h.gql(
      '{ dataRemovals { nodes { id finishedAt removed { runs } kept { open recent } } } }',
    )
    return data['dataRemovals'].nodes.find((one: any) => one.id === id)
  }

  test('a removal waits for a webhook that is behind, and after two days more disables it with that reason', async () => {
    const receiver = await openReceiver((_got, response) => void response.writeHead(503).end())
    const made = await r.h.mutate('createWebhook', { url: receiver.url, ordered: true }, 'webhook { id }')
    const webhookId = made['webhook'].id as string
    const id = await run()
    await receiver.until((received) => received.length > 0)
    await r.sweep(31)
    expect(await exists(id)).toBe(1)
    await expect
      .poll(async () => {
        await r.sweep(33)
        return exists(id)
      })
      .toBe(0)
    const { data } = await r.h.gql('query($id: ID!) { webhook(id: $id) { status disabledReason } }', {
      id: webhookId,
    })
    expect(data['webhook']).toEqual({ status: 'DISABLED', disabledReason: 'BEHIND' })
    expect(await r.count('events', `type = 'WEBHOOK_DISABLED' and data->>'reason' = 'BEHIND'`)).toBe(1)
    expect(await r.count('audit_entries', `details->>'disabled' = 'BEHIND'`)).toBe(1)
    await receiver.close()
  })

  test('a removal waits for what an endpoint has refused and gets again', async () => {
    const receiver = await openReceiver(
      ({ type }, response) => void response.writeHead(type === 'generation.completed' ? 503 : 200).end(),
    )
    const made = await r.h.mutate('createWebhook', { url: receiver.url }, 'webhook { id }')
    const webhookId = made['webhook'].id as string
    const id = await run()
    await receiver.until((received) => received.some(({ type }) => type === 'generation.completed'))
    await expect.poll(() => r.count('webhook_deliveries', `webhook_id = '${webhookId}'`)).toBe(1)
    // The endpoint has read everything, but for that one event.
    await r.touch()
    await expect
      .poll(() =>
        r.count(
          'webhook_cursors',
          `webhook_id = '${webhookId}' and at >= (select max(position) from events where generation_id = '${id}')`,
        ),
      )
      .toBe(1)
    await r.sweep(31)
    expect(await exists(id)).toBe(1)
    await r.rows(
      `update webhook_deliveries set status = 'DELIVERED', next_at = null where webhook_id = '${webhookId}'`,
    )
    await expect
      .poll(async () => {
        await r.sweep(31)
        return exists(id)
      })
      .toBe(0)
    await r.h.mutate('deleteWebhook', { webhookId }, '__typename')
    await receiver.close()
  })

  test('a call outside runs that was UNKNOWN is as old as its resolution', async () => {
    const called = await r.h.mutate(
      'callTool',
      { toolId: r.deployment.fixtures.tools.look, arguments: { word: 'y' } },
      'toolCall { id }',
    )
    const id = called['toolCall'].id
    const left = () => r.count('tool_calls', `id = '${id}'`)
    const set = (change: string) => r.rows(`update tool_calls set ${change} where id = '${id}'`)
    await set(`status = 'UNKNOWN', resolution = 'RUN_AGAIN', resolved_at = now(), settled_at = now()`)
    await r.sweep(31)
    expect(await left()).toBe(1)
    await set(`status = 'SUCCEEDED', resolution = 'SUCCEEDED', settled_at = now() - interval '20 days'`)
    await r.sweep(15)
    expect(await left()).toBe(1)
    await r.sweep(31)
    expect(await left()).toBe(0)
  })

  test('a call outside runs that a person lets run again stays while a pause holds it, and then runs', async () => {
    const toolId = r.deployment.fixtures.tools.look
    const called = await r.h.mutate('callTool', { toolId, arguments: { word: 'again' } }, 'toolCall { id }')
    const id = called['toolCall'].id
    await leaveUnknown(id)
    const { pause } = await r.h.mutate('pause', { toolId }, 'pause { id }')
    await r.h.mutate('resolveUnknownCall', { toolCallId: id, outcome: 'RUN_AGAIN' }, 'toolCall { status }')
    await r.sweep(365)
    await r.h.mutate('resume', { pauseId: pause.id }, '__typename')
    await expect
      .poll(() => r.rows(`select status from tool_calls where id = '${id}'`))
      .toEqual([{ status: 'SUCCEEDED' }])
  })

  const leaveUnknown = (id: string) =>
    r.rows(`update tool_calls set status = 'UNKNOWN', result = null where id = '${id}'`)

  test('a webhook that wants nothing of what is removed is moved along', async () => {
    const receiver = await openReceiver()
    const made = await r.h.mutate(
      'createWebhook',
      { url: receiver.url, types: ['SECRET_SET'] },
      'webhook { id }',
    )
    const id = await run()
    await expect
      .poll(async () => {
        await r.sweep(31)
        return exists(id)
      })
      .toBe(0)
    await r.h.mutate('setSecret', { name: 'KEY', value: 'x' }, 'secret { id }')
    await receiver.until((received) => received.some(({ type }) => type === 'secret.set'))
    expect(await r.count('events', `type = 'WEBHOOK_CURSOR_EXPIRED'`)).toBe(0)
    await r.h.mutate('deleteWebhook', { webhookId: made['webhook'].id }, '__typename')
    await receiver.close()
  })

  test('calls outside runs, events, deliveries and audit entries go by their own age', async () => {
    const called = await r.h.mutate(
      'callTool',
      { toolId: r.deployment.fixtures.tools.look, arguments: { word: 'x' } },
      'toolCall { id }',
    )
    const callId = called['toolCall'].id
    await r.rows(`insert into webhook_deliveries (id, project_id, webhook_id, cursor_id, event_id, type, status, tries, attempts, answers)
      values ('whd_1', '${r.projectId}', 'whk_x', 'whk_x', 1, 'x', 'DEAD', 1, 1, '[]'),
        ('whd_2', '${r.projectId}', 'whk_x', 'whk_x', 2, 'x', 'PENDING', 1, 1, '[]')`)
    await r.set({ runDays: 0, eventDays: 0, deliveryDays: 0, auditDays: 0 })
    expect(await r.sweep(1000)).toEqual({})
    await r.set({ eventDays: 7, deliveryDays: 5 })
    const before = await r.cursor()
    await r.touch()
    const removed = await r.sweep(8)
    expect(removed).toMatchObject({ deliveries: 1 })
    expect(removed!.events).toBeGreaterThan(3)
    expect(await r.count('webhook_deliveries', `webhook_id = 'whk_x'`)).toBe(1)
    expect((await r.events(before)).error).toMatchObject({ code: 'CURSOR_EXPIRED' })
    // The newest event of the installation stays: positions count on from it.
    expect((await r.events(null)).cursors).toHaveLength(1)
    expect(await r.count('tool_calls', `id = '${callId}'`)).toBe(1)
    await r.set({ runDays: 5 })
    expect((await r.sweep(8))!.calls).toBeGreaterThanOrEqual(1)
    expect(await r.count('tool_calls', `id = '${callId}'`)).toBe(0)
    const audits = await r.count('audit_entries')
    await r.set({ auditDays: 30 })
    await r.sweep(29)
    expect(await r.count('audit_entries')).toBeGreaterThan(audits)
    expect((await r.sweep(31))!.auditEntries).toBeGreaterThan(audits)
    await r.set({ runDays: 30, eventDays: 0, deliveryDays: 0, auditDays: 0 })
  })

  const uploaded = async (text: string): Promise<string> => {
    const { file, uploadUrl } = await r.h.mutate(
      'presignUpload',
      { filename: 'a.txt', contentType: 'text/plain' },
      'file { id } uploadUrl',
    )
    await fetch(uploadUrl, { method: 'PUT', body: text, headers: { 'content-type': 'text/plain' } })
    await r.rows(`update files set upload_until = now() - interval '1 minute' where id = '${file.id}'`)
    return file.id
  }
  const filesLeft = () => r.count('files')
  const blobsLeft = async () =>
    (await readdir(blobDir, { recursive: true })).filter((name) => /file_/.test(name)).length
  const withFile = async (fileId: string) => {
    const input = { agentId, prompt: 'say one', attachments: [{ fileId }] }
    const made = await r.h.mutate('startGeneration', input, 'generation { id }')
    const id = made['generation'].id as string
    await r.h.until(id, ['COMPLETED'])
    await r.rows(`update files set used_at = now() - interval '2 hours' where id = '${fileId}'`)
    return id
  }

  test('a file goes with the last run that names it, and its bytes after it', async () => {
    const fileId = await uploaded('both')
    const [first, second] = [await withFile(fileId), await withFile(fileId)]
    await r.touch()
    const held = await r.take()
    const before = new Date(Date.now() + 86_400_000)
    const remove = (id: string) =>
      removeRuns(r.h.app.services.db, held, { projectId: r.projectId, ids: [id], before, removalId: null })
    await remove(first)
    expect([await filesLeft(), await blobsLeft()]).toEqual([1, 1])
    await remove(second)
    // As if the process had been lost before it deleted the bytes.
    expect([await filesLeft(), await blobsLeft(), await r.count('removed_blobs')]).toEqual([0, 1, 2])
    await r.sweep(0)
    expect([await blobsLeft(), await r.count('removed_blobs')]).toEqual([0, 0])
  })

  test('a file that nothing names goes by age, unless a request has just referred to it', async () => {
    const [idle, used, named] = [await uploaded('one'), await uploaded('two'), await uploaded('three')]
    await withFile(named)
    await r.rows(`update files set used_at = now() where id = '${used}'`)
    await r.set({ runDays: 0, fileDays: 3 })
    await r.sweep(2)
    expect(await filesLeft()).toBe(3)
    expect(await r.sweep(4)).toMatchObject({ files: 1 })
    expect(await r.rows(`select id from files order by id`)).toEqual(
      [{ id: used }, { id: named }].toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    )
    expect(await r.count('files', `id = '${idle}'`)).toBe(0)
    await r.set({ runDays: 30, fileDays: 0 })
  })

  test('a request that names a file of another project keeps it no longer', async () => {
    const other = (await r.h.mutate('createProject', { name: 'stranger' }, 'project { id }'))['project'].id
    const key = await r.h.mutate('createApiKey', { name: 'k', role: 'DEVELOPER', projectId: other }, 'secret')
    const { tool } = await r.h.mutate(
      'createTool',
      { name: 'mail', config: { http: { url: 'http://127.0.0.1:1/', inputSchema: { type: 'object' } } } },
      'tool { id }',
      key['secret'],
    )
    const fileId = await uploaded('mine')
    await r.rows(`update files set created_at = now() - interval '2 hours' where id = '${fileId}'`)
    const call = (secret?: string) =>
      r.h.mutate(
        'callTool',
        { toolId: tool.id, arguments: {}, attachments: [{ fileId }] },
        'toolCall { id }',
        secret,
      )
    expect((await call(key['secret']))['message']).toMatch(/attachments/)
    expect(await r.count('files', `id = '${fileId}' and used_at is not null`)).toBe(0)
  })

  test('settings are refused in a sentence, by role, and by tenant', async () => {
    for (const [input, message] of [
      [{ runDays: -1 }, /whole number of days from 1/],
      [{ runDays: 40_000 }, /whole number of days from 1/],
      [{ auditDays: 29 }, /auditDays: must be at least 30 days/],
      [{ runDays: 90, auditDays: 60 }, /auditDays: must be at least 90 days/],
    ] as const)
      expect((await r.set(input))['message']).toMatch(message)
    const { version } = (await r.h.gql('{ retention { version } }')).data['retention']
    expect(await r.set({ runDays: 31, expectedVersion: version - 1 })).toMatchObject({ code: 'CONFLICT' })
    const developer = await keyOf('developer')
    await expect(r.set({ runDays: 5 }, developer.secret)).rejects.toThrow('may not retention:Set')
    const other = (await r.h.mutate('createProject', { name: 'other' }, 'project { id }'))['project'].id
    for (const name of ['setRetention', 'putLegalHold', 'removeRequesterData']) {
      const input = { projectId: other, reason: 'x', requesterId: 'key_1' }
      const { reason, requesterId, ...own } = input
      const given =
        name === 'setRetention' ? own : name === 'putLegalHold' ? { ...own, reason } : { ...own, requesterId }
      const fields = { setRetention: 'retention', putLegalHold: 'hold', removeRequesterData: 'removal' }[
        name
      ]!
      expect(await r.h.mutate(name, given, `${fields} { __typename }`, developer.secret)).toMatchObject({
        code: 'NOT_FOUND',
      })
    }
    const foreign = await hold({ projectId: other })
    const lifted = await r.h.mutate('liftLegalHold', { holdId: foreign.id }, 'hold { id }', developer.secret)
    expect(lifted['code']).toBe('NOT_FOUND')
    const elsewhere = { name: 'elsewhere', role: 'ADMIN', projectId: other }
    const { secret } = await r.h.mutate('createApiKey', elsewhere, 'secret')
    const ofOurs = { generationId: await run(), reason: 'x' }
    expect((await r.h.mutate('putLegalHold', ofOurs, 'hold { id }', secret))['code']).toBe('NOT_FOUND')
    const metrics = await (await fetch(`${r.h.url}/metrics`)).text()
    expect(metrics).toMatch(/gatehouse_retention_sweeps_total\{outcome="finished"\} [1-9]/)
  })
})
