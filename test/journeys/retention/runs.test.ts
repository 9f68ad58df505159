/** Finished runs go whole, the feed begins after them, and whatever is not finished stays. On both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeRuns } from '../../../src/domain/retention/remove-runs.ts'
import { sweepProject } from '../../../src/domain/retention/worker.ts'
import { LeaseLostError } from '../../../src/store/work/work.ts'
import { databaseKinds } from '../../support/databases.ts'
import { adminKey } from '../../support/harness.ts'
import { openClient } from '../../support/openai-clients.ts'
import { openRetained, type Retained } from './deployment.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let r: Retained
  let agentId: string
  beforeAll(async () => {
    r = await openRetained(kind)
    agentId = await r.deployment.fixtures.agent()
    await r.set({ runDays: 30 })
  })
  afterAll(() => r?.deployment.close())

  const run = async (prompt = 'call look {"word":"a"}', more: object = {}): Promise<string> => {
    const id = await r.deployment.fixtures.start(agentId, prompt, more)
    await r.h.until(id, ['COMPLETED'])
    return id
  }
  const exists = (id: string) => r.count('generations', `id = '${id}'`)
  const leftOf = async (id: string) => {
    const tables = [
      'events',
      'steps',
      'tool_calls',
      'approvals',
      'model_attempts',
      'awaited_requests',
      'conversation_places',
    ]
    const counts = await Promise.all(tables.map((table) => r.count(table, `generation_id = '${id}'`)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  const threadOf = async (id: string) =>
    (await r.rows<{ thread_id: string }>(`select thread_id from generations where id = '${id}'`))[0]!
      .thread_id

  test('a run goes with all its rows when its time has come, and not before', async () => {
    const client = await openClient(6, r.h.url, adminKey)
    const messages = [{ role: 'user' as const, content: 'call look {"word":"a"}' }]
    const told = await client.chat.completions.create({ model: agentId, messages })
    const id = `gen_${told.id.split('_')[1]}`
    const thread = await threadOf(id)
    expect(await leftOf(id)).toBeGreaterThan(3)
    expect(await r.count('conversation_places', `generation_id = '${id}'`)).toBe(2)
    expect(await r.sweep(29)).toEqual({})
    expect(await exists(id)).toBe(1)
    expect(await r.sweep(31)).toMatchObject({ runs: 1 })
    expect([await exists(id), await leftOf(id)]).toEqual([0, 0])
    expect(await r.count('threads', `id = '${thread}'`)).toBe(0)
    const read = await r.h.gql(
      `query($id: ID!) { generation(id: $id) { id } removedGenerations(generationId: $id, first: 1) { nodes { id status stepCount callCount removedAt calls { id } } } }`,
      { id },
    )
    expect(read.data['generation']).toBeNull()
    expect(read.data['removedGenerations'].nodes[0]).toMatchObject({
      id,
      status: 'COMPLETED',
      callCount: 1,
      calls: null,
    })
    const { message } = await r.h.mutate('cancelGeneration', { generationId: id }, 'generation { id }')
    expect(message).toMatch(/was removed on/)
    // Who could not read it is not told that it was removed.
    const made = await r.h.mutate('createApiKey', { name: 'c', role: 'CALLER' }, 'secret')
    const hidden = await r.h.mutate('cancelGeneration', { generationId: id }, '__typename', made['secret'])
    expect(hidden).toMatchObject({ code: 'NOT_FOUND', message: `No generation with the id "${id}".` })
    const { removedUntil, allRemoved } = (
      await r.h.gql('{ retention { removedUntil allRemoved { runs } lastRemoved { runs } } }')
    ).data['retention']
    expect([Boolean(removedUntil), allRemoved.runs]).toEqual([true, 1])
    const { data } = await r.h.gql('{ statistics { complete } }')
    expect(data['statistics'].complete).toBe(false)
  })

  test('the feed begins after what was removed, and a cursor before is refused with the oldest one that lives', async () => {
    const before = await r.cursor()
    const first = await run()
    const { cursors } = await r.events(before)
    await r.sweep(31)
    expect(await exists(first)).toBe(0)
    for (const cursor of [before, cursors[0]!]) {
      const { error } = await r.events(cursor)
      expect(error).toMatchObject({ code: 'CURSOR_EXPIRED', oldestCursor: expect.any(String) })
      const again = await r.events(error!['oldestCursor'])
      expect(again.error).toBeNull()
      expect(again.cursors).toEqual((await r.events(null)).cursors)
      expect(await refusal(cursor)).toMatchObject({ code: 'CURSOR_EXPIRED' })
    }
    // Right after the last one that was removed, nothing was missed.
    expect((await r.events(cursors.at(-1)!)).error).toBeNull()
    const positions = await r.rows<{ position: number; floor: number }>(
      `select min(position)::float8 as position, (select position::float8 from feed_starts) as floor
        from events where position > (select position from feed_starts)`,
    )
    expect(positions[0]!.position).toBeGreaterThan(positions[0]!.floor)
  })

  /** How a subscription with this cursor is refused. */
  const refusal = (after: string) =>
    new Promise((resolve) => {
      r.h.client().subscribe(
        {
          query: 'subscription($after: String) { projectEvents(after: $after) { cursor } }',
          variables: { after },
        },
        {
          next: ({ errors }) => resolve(errors?.[0]?.extensions ?? null),
          error: (error) => resolve((error as any)[0]?.extensions ?? error),
          complete: () => resolve('complete'),
        },
      )
    })

  test('what is open, UNKNOWN, retried, or in a thread that goes on stays', async () => {
    const open = await r.deployment.fixtures.start(agentId, 'call ask {"word":"a"}')
    await r.h.until(open, ['REQUIRES_ACTION'])
    const unknown = await run()
    await r.rows(`update tool_calls set status = 'UNKNOWN' where generation_id = '${unknown}'`)
    const retried = await run()
    const retry = await r.deployment.fixtures.start(agentId, 'call ask {"word":"b"}', {
      retryOf: { generationId: retried, step: 0 },
    })
    await r.h.until(retry, ['REQUIRES_ACTION'])
    const earlier = await run()
    const later = await r.deployment.fixtures.start(agentId, 'call ask {"word":"c"}', {
      threadId: await threadOf(earlier),
    })
    await r.h.until(later, ['REQUIRES_ACTION'])
    await r.touch()
    const all = [open, unknown, retried, retry, earlier, later]
    await r.sweep(31)
    expect(await Promise.all(all.map(exists))).toEqual(all.map(() => 1))
    for (const id of [open, retry, later]) await r.deployment.fixtures.answer(id)
    for (const id of [open, retry, later]) await r.h.until(id, ['COMPLETED'])
    // The retry went in the first sweep, so that the second one finds what it began with.
    await r.sweep(31)
    await r.sweep(31)
    expect(await Promise.all(all.map(exists))).toEqual(all.map((id) => (id === unknown ? 1 : 0)))
    // One that was run again and is UNKNOWN again has a resolution, and nobody knows what became of it.
    await r.rows(`update tool_calls set resolution = 'RUN_AGAIN' where generation_id = '${unknown}'`)
    await r.sweep(31)
    expect(await exists(unknown)).toBe(1)
    // One that a person lets run again is settled, and yet it waits, or it is under way.
    for (const status of ['PROPOSED', 'EXECUTING']) {
      await r.rows(`update tool_calls set status = '${status}' where generation_id = '${unknown}'`)
      await r.sweep(31)
      expect(await exists(unknown), status).toBe(1)
    }
    await r.rows(`update tool_calls set status = 'SUCCEEDED' where generation_id = '${unknown}'`)
    await r.sweep(31)
    expect(await exists(unknown)).toBe(0)
  })

  test('a thread whose newest runs stay keeps them, and goes on', async () => {
    const old = await run('say one')
    const threadId = await threadOf(old)
    await r.touch()
    await r.rows(`update generations set finished_at = finished_at - interval '20 days' where id = '${old}'`)
    await r.rows(
      `update events set created_at = created_at - interval '20 days' where generation_id = '${old}'`,
    )
    const young = await run('say two', { threadId })
    await r.sweep(15)
    expect([await exists(old), await exists(young)]).toEqual([0, 1])
    const next = await run('say three', { threadId })
    expect(await threadOf(next)).toBe(threadId)
    await r.sweep(31)
    expect(await r.count('threads', `id = '${threadId}'`)).toBe(0)
    const made = await r.h.mutate(
      'startGeneration',
      { agentId, prompt: 'say x', threadId },
      'generation { id }',
    )
    expect(made['code']).toBe('NOT_FOUND')
  })

  test('a nested run goes with its root alone', async () => {
    const root = await run()
    await r.rows(`insert into generations select (g).* from (
        select jsonb_populate_record(g, jsonb_build_object('id', g.id || '_child', 'root_id', g.id, 'parent_id', g.id,
          'depth', 1, 'finished_at', null, 'status', 'WAITING', 'wake_at', null)) as g
        from generations as g where g.id = '${root}') as made`)
    await r.sweep(31)
    expect(await exists(root)).toBe(1)
    await r.rows(
      `update generations set status = 'COMPLETED', finished_at = now() where id = '${root}_child'`,
    )
    await r.sweep(31)
    expect([await exists(root), await exists(`${root}_child`)]).toEqual([0, 0])
  })

  test('a sweep whose row another process has taken writes nothing', async () => {
    const id = await run()
    await r.touch()
    const lost = await r.take()
    const newer = await r.take()
    const before = new Date(Date.now() + 86_400_000)
    const removal = { projectId: r.projectId, ids: [id], before, removalId: null }
    await expect(removeRuns(r.h.app.services.db, lost, removal)).rejects.toThrow(LeaseLostError)
    expect([await exists(id), await leftOf(id)]).not.toContain(0)
    expect(await removeRuns(r.h.app.services.db, newer, removal)).toBe(true)
    expect(await exists(id)).toBe(0)
  })

  test('a sweep that was killed between two batches is taken up by another process, and counts once', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => run('say a')))
    await r.touch()
    const now = new Date(Date.now() + 31 * 86_400_000)
    const killed = await r.take()
    let steps = 0
    const dies = async () => {
      if (++steps > 1) throw new Error('killed')
      return true
    }
    await expect(sweepProject(r.h.app.services, killed, dies, now)).rejects.toThrow('killed')
    const other = r.deployment.replicas.at(-1)!
    const [row] = await r.rows<{ epoch: number }>(
      `update retentions set epoch = epoch + 1, wake_at = now() + interval '1 hour' where id = '${r.projectId}' returning epoch`,
    )
    const removed = await sweepProject(
      other.app.services,
      { id: r.projectId, epoch: row!.epoch },
      async () => true,
      now,
    )
    expect(removed!.runs).toBeGreaterThanOrEqual(ids.length)
    expect(await Promise.all(ids.map(exists))).toEqual(ids.map(() => 0))
    const tombstones = await r.count(
      'removed_generations',
      `id in (${ids.map((id) => `'${id}'`).join(', ')})`,
    )
    expect(tombstones).toBe(ids.length)
  })

  test('starting, retrying and removing at the same time leaves each run whole or gone', async () => {
    for (let round = 0; round < 6; round++) {
      const old = await run('say one')
      const threadId = await threadOf(old)
      await r.touch()
      const held = await r.take()
      const before = new Date(Date.now() + 86_400_000)
      const [continued, retried] = await Promise.all([
        r.h.mutate('startGeneration', { agentId, prompt: 'say two', threadId }, 'generation { id }'),
        r.h.mutate(
          'startGeneration',
          { agentId, prompt: 'say three', retryOf: { generationId: old, step: 0 } },
          'generation { id }',
        ),
        removeRuns(r.h.app.services.db, held, {
          projectId: r.projectId,
          ids: [old],
          before,
          removalId: null,
        }),
      ])
      const gone = (await exists(old)) === 0
      if (gone) expect(await leftOf(old)).toBe(0)
      for (const made of [continued, retried]) {
        if (!made['generation']) expect(made['code']).toMatch(/NOT_FOUND|CONFLICT/)
        else {
          await r.h.until(made['generation'].id, ['COMPLETED'])
          const thread = await threadOf(made['generation'].id)
          expect(await r.count('threads', `id = '${thread}'`)).toBe(1)
        }
      }
      if (retried['generation']) expect(gone).toBe(false)
    }
    // A run that was retried goes after its retry.
    await r.sweep(31)
    await r.sweep(31)
    expect([await r.count('generations'), await r.count('threads')]).toEqual([0, 0])
  })
})
