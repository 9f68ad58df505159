/** Audit entries as lines of standard output: one for each committed entry of this process, and none for others. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { atomically } from '../src/store/db/database.ts'
import { record } from '../src/domain/audit/index.ts'
import { databaseKinds, postgresDatabase } from './support/databases.ts'
import { openHarness, type Harness } from './support/harness.ts'

describe.each(databaseKinds)('on %s', (kind) => {
  let h: Harness
  let drop: (() => Promise<void>) | null = null
  const lines: Record<string, any>[] = []
  const writeAudit = (line: string) => {
    expect(line.endsWith('\n') && !line.trimEnd().includes('\n')).toBe(true)
    lines.push(JSON.parse(line) as Record<string, any>)
  }
  beforeAll(async () => {
    const database = kind === 'PostgreSQL' ? await postgresDatabase() : null
    drop = database && (() => database.drop())
    h = await openHarness({ auditLog: true, databaseUrl: database?.url ?? null }, { writeAudit })
  })
  afterAll(async () => {
    await h?.stop()
    await drop?.()
  })

  const operations = () => lines.map(({ api }) => api.operation as string)

  test('a change and a denial are lines of class API Activity', async () => {
    const { secret } = await h.mutate('createApiKey', { name: 'viewer', role: 'VIEWER' }, 'secret')
    await h.mutate('createApiKey', { name: 'more', role: 'VIEWER' }, 'secret', secret).catch(() => {})
    await expect.poll(operations).toContain('keys:Create')
    await expect.poll(() => lines.some(({ status_id: status }) => status === 2)).toBe(true)
    const allowed = lines.find(
      ({ api, status_id: status }) => api.operation === 'keys:Create' && status === 1,
    )
    expect(allowed).toMatchObject({
      class_uid: 6003,
      category_uid: 6,
      activity_id: 1,
      type_uid: 600301,
      severity_id: 1,
      metadata: { version: '1.3.0', uid: expect.stringMatching(/^aud/), product: { name: 'Gatehouse' } },
      actor: { user: { uid: expect.stringMatching(/^key_/) } },
      resources: [{ type: 'key', uid: expect.any(String) }],
    })
    const denied = lines.find(({ status_id: status }) => status === 2)
    expect(denied).toMatchObject({ severity_id: 3, src_endpoint: { ip: '127.0.0.1' } })
  })

  test('an entry that was rolled back has no line, and every committed one has exactly one', async () => {
    const { db } = h.app.services
    const entry = (action: string) => ({
      projectId: 'proj_any',
      principalId: 'system',
      action,
      resource: 'tool/tool_1',
      outcome: 'ALLOWED' as const,
      details: {},
    })
    await atomically(db, async (tx) => {
      await record(tx, entry('tools:Undone'))
      throw new Error('undone')
    }).catch(() => {})
    for (let i = 0; i < 20; i++) await record(db, entry(`tools:Done${i}`))
    await expect.poll(() => operations().filter((action) => action.includes('Done')).length).toBe(20)
    await h.stop()
    expect(operations()).not.toContain('tools:Undone')
    const ids = lines.map(({ metadata }) => metadata.uid as string)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

test('without the switch nothing is written', async () => {
  const lines: string[] = []
  const h = await openHarness({}, { writeAudit: (line) => void lines.push(line) })
  await h.mutate('createApiKey', { name: 'viewer', role: 'VIEWER' }, 'secret')
  await h.stop()
  expect(lines).toEqual([])
})
