/**
 * What people leave, in every table: a marker is written through the product's own APIs, then held, swept and erased, and looked
 * for in the whole database, on both databases. What each column may hold is said by `tableTraits`.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { forgetOldDeliveries } from '../../../src/domain/followers/webhooks/endings.ts'
import { tableTraits } from '../../../src/store/db/tables/all-traits.ts'
import { databaseKinds } from '../../support/databases.ts'
import { adminKey } from '../../support/harness.ts'
import { objectSchema } from '../../support/fixtures.ts'
import { startLoopback, type Loopback } from '../../support/loopback.ts'
import { startTokenIssuer, type TokenIssuer } from '../../support/token-issuer.ts'
import { openReceiver, type Receiver } from '../../support/webhook-receiver.ts'
import { openRetained, type Retained } from './deployment.ts'
import { leaveTraces, type Left, type Places } from './traces.ts'

/** Contents that this test does not write, and why. */
const unreached: Record<string, string> = {
  'generations.next_step': 'is there while a step of a run is repaired',
  'threads.waiting_messages': 'the release before alone writes it',
  'steps.notice': 'is there when a limit was reached or an answer repaired',
  'steps.elided': 'is there when a history was too long for the model',
  'steps.left_out': 'is there when the tools were too many for the model',
  'tool_calls.asked': 'is there while an upstream asks back',
  'sessions.remote_address': 'is an address, never the marker',
}

describe.each(databaseKinds)('on %s', (kind) => {
  let r: Retained
  let blobDir: string
  let people: TokenIssuer
  let model: Loopback
  let receiver: Receiver
  let places: Places
  beforeAll(async () => {
    blobDir = await mkdtemp(join(tmpdir(), 'gatehouse-blobs-'))
    const claims: Record<string, unknown> = {}
    people = await startTokenIssuer(claims)
    const oidc = {
      issuer: people.issuer,
      audiences: ['gatehouse'],
      jwksUrl: null,
      projectClaim: 'gatehouse_project',
      roleClaim: 'gatehouse_role',
      client: null,
      exchangeIssuers: [],
    }
    r = await openRetained(kind, { blobDir, oidc })
    Object.assign(claims, { aud: 'gatehouse', gatehouse_project: r.projectId, gatehouse_role: 'admin' })
    // The model refuses with what it was asked.
    model = await startLoopback(({ body }, response) => {
      const message = `${/[a-z]+mark/.exec(body)?.[0]} is refused`
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message, type: 'invalid_request_error' } }))
    })
    receiver = await openReceiver()
    await r.h.mutate(
      'setProvider',
      { name: 'refuses', kind: 'COMPATIBLE', baseUrl: `${model.url}/v1`, defaultModel: 'm' },
      'provider { id }',
    )
    const { toolId } = await r.deployment.payer({ mode: 'ALWAYS' })
    const { fixtures } = r.deployment
    places = {
      people,
      receiver,
      gatedTool: { id: toolId },
      agentId: await fixtures.agent(),
      gatedAgentId: await fixtures.agent({ gate: { mode: 'ALWAYS' } }),
      refusedAgentId: await fixtures.agent({ model: 'refuses/m' }),
      objectAgentId: await fixtures.agent({ outputSchema: objectSchema({ a: { type: 'string' } }) }),
    }
  })
  afterAll(async () => {
    await r?.deployment.close()
    await Promise.all([people?.close(), model?.close(), receiver?.close()])
    await rm(blobDir, { recursive: true, force: true })
  })

  /** The columns of each table that contain the marker, as `table.column`, with the rows in which they do. */
  const dump = async (mark: string): Promise<Record<string, number>> => {
    const found: Record<string, number> = {}
    for (const { name } of tableTraits)
      for (const { row } of await r.rows<{ row: object }>(`select to_jsonb(t) as row from ${name} as t`))
        for (const [column, value] of Object.entries(row))
          if (JSON.stringify(value).includes(mark)) {
            const cell = `${name}.${column}`
            found[cell] = (found[cell] ?? 0) + 1
          }
    return found
  }
  /** Columns that hold contents and go, by the traits. */
  const contents = (which: (traits: (typeof tableTraits)[number]) => boolean) =>
    tableTraits
      .filter(which)
      .flatMap(({ name, columns }) =>
        [...columns].flatMap(([column, content]) => (content === 'content' ? [`${name}.${column}`] : [])),
      )
  /** Nothing that was written a moment ago counts as used any more. */
  const letAge = async () => {
    await r.rows(`update files set used_at = null, upload_until = now() - interval '2 hours'`)
    await r.rows(
      `update webhook_deliveries set updated_at = now() - interval '31 days' where status <> 'PENDING'`,
    )
    await r.rows(`update webhooks set disabled_at = now() - interval '31 days' where callback_of is not null`)
    await r.rows(`update webhook_receipts set at = now() - interval '4 days'`)
  }
  const lasts = contents(({ soon }) => soon === undefined)
  const only = (cells: Record<string, number>, among: readonly string[]) =>
    Object.fromEntries(Object.entries(cells).filter(([cell]) => among.includes(cell)))

  let held: Left
  let gone: Left
  test('the marker is in every column that holds contents, and in no other', async () => {
    held = await leaveTraces(r, places, 'heldmark')
    gone = await leaveTraces(r, places, 'gonemark', adminKey)
    const cells = Object.keys(await dump('heldmark'))
    const expected = contents(({ under, with: whole, erased }) => Boolean(under ?? whole ?? erased))
    expect(expected.filter((cell) => !cells.includes(cell))).toEqual(Object.keys(unreached))
    // Names of arguments that an approver has edited.
    const told = ['audit_entries.details']
    expect(cells.filter((cell) => !contents(() => true).includes(cell))).toEqual(told)
  })

  test('nothing of what is erased is left', async () => {
    await r.touch()
    for (const requesterId of gone.requesterIds)
      await r.h.mutate('removeRequesterData', { requesterId }, 'removal { id }')
    await r.rows(`update files set used_at = null, upload_until = now() - interval '2 hours'`)
    await r.sweep(4)
    expect(await r.count('data_removals', 'finished_at is null')).toBe(0)
    expect(
      only(
        await dump('gonemark'),
        contents(({ soon, erased }) => !soon || Boolean(erased)),
      ),
    ).toEqual({})
  })

  test('a person who was erased has a name again with the next token', async () => {
    // Not the token of before, which the process remembers.
    const token = await people.token({ sub: 'gonemark subject', name: 'gonemark person', jti: 'again' })
    await r.h.gql('{ viewer { id } }', {}, token)
    expect(await r.rows(`select subject, name from subjects where id = '${gone.requesterIds[1]}'`)).toEqual([
      { subject: 'gonemark subject', name: 'gonemark person' },
    ])
  })

  test('nothing of what is held is gone by age', async () => {
    const holds = []
    for (const requesterId of held.requesterIds)
      holds.push(
        (await r.h.mutate('putLegalHold', { requesterId, reason: 'a case' }, 'hold { id }'))['hold'].id,
      )
    const before = only(await dump('heldmark'), lasts)
    const audits = () => r.count('audit_entries', `principal_id = any('{${held.requesterIds.join(',')}}')`)
    const counted = await audits()
    await r.set({ runDays: 1, eventDays: 1, fileDays: 1, deliveryDays: 1, auditDays: 30 })
    await letAge()
    await r.sweep(400)
    await forgetOldDeliveries(r.h.app.services.db)
    expect(only(await dump('heldmark'), lasts)).toEqual(before)
    expect(await audits()).toBe(counted)
    const [fileId] = held.fileIds
    expect(await r.h.mutate('deleteFile', { fileId }, 'file { id }')).toMatchObject({ code: 'CONFLICT' })
    for (const holdId of holds) await r.h.mutate('liftLegalHold', { holdId }, 'hold { id }')
  })

  test('nothing of a run that is held is gone, by age or by request, and the rest goes', async () => {
    const { runId, requesterIds } = await leaveTraces(r, places, 'runmark')
    const [requesterId] = requesterIds
    const calls = (
      await r.rows<{ id: string }>(`select id from tool_calls where generation_id = '${runId}'`)
    ).map(({ id }) => id)
    const namesIt = (column: string) => `${column}::text ~ '${[runId, ...calls].join('|')}'`
    const ofRun = async () => ({
      generations: await r.count('generations', `id = '${runId}'`),
      calls: await r.count('tool_calls', `generation_id = '${runId}'`),
      approvals: await r.count('approvals', `generation_id = '${runId}'`),
      events: await r.count('events', `generation_id = '${runId}' or ${namesIt('data')}`),
      audit: await r.count('audit_entries', namesIt('details')),
      callbacks: await r.count('webhooks', `callback_of = '${runId}'`),
      versions: await r.count('tool_versions', `definition::text like '%runmark%'`),
      files: await r.count(
        'files',
        `filename like '%runmark%' and exists (
        select 1 from generations as g where g.id = '${runId}' and g.input::text like '%' || files.id || '%')`,
      ),
    })
    // The hold is an event and an entry itself, which name the run.
    const { hold } = await r.h.mutate(
      'putLegalHold',
      { generationId: runId, reason: 'a case' },
      'hold { id }',
    )
    const before = await ofRun()
    expect(Object.values(before).filter((count) => count === 0)).toEqual([])
    await r.h.mutate('removeRequesterData', { requesterId }, 'removal { id }')
    await letAge()
    await r.sweep(400)
    await forgetOldDeliveries(r.h.app.services.db)
    expect(await ofRun()).toEqual(before)
    expect(await r.count('generations', `requested_by = '${requesterId}'`)).toBe(1)
    const [fileId] = (
      await r.rows<{ id: string }>(`select id from files where filename like '%runmark%'`)
    ).map(({ id }) => id)
    expect(await r.h.mutate('deleteFile', { fileId }, 'file { id }')).toMatchObject({ code: 'CONFLICT' })
    await r.h.mutate('liftLegalHold', { holdId: hold.id }, 'hold { id }')
  })

  test('everything that was held goes by age once the holds are lifted', async () => {
    await r.touch()
    await r.sweep(400)
    // The removal of files is an event itself, with their names.
    await r.sweep(400)
    for (const mark of ['heldmark', 'runmark']) {
      const left = Object.keys(only(await dump(mark), lasts))
      expect(left.filter((cell) => !cell.startsWith('subjects.'))).toEqual([])
    }
    expect(await r.count('audit_entries', `principal_id = any('{${held.requesterIds.join(',')}}')`)).toBe(0)
  })
})
