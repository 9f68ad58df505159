/** Streams end with their key: after a hint, without a hint, or when the key expires. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/core/time.ts'
import { silentLog } from '../../../src/core/log.ts'
import { createRevocationWatcher } from '../../../src/domain/access/index.ts'
import { localPubSub } from '../../../src/store/pubsub/pubsub.ts'
import { openHarness, type Harness } from '../../support/harness.ts'

let h: Harness

beforeAll(async () => void (h = await openHarness()))
afterAll(() => h.stop())

/** A watcher with a PubSub of its own: hints of operations do not reach it. */
function openWatcher() {
  const pubsub = localPubSub()
  const revocations = createRevocationWatcher({
    db: h.app.services.db,
    pubsub,
    clock: systemClock,
    log: silentLog,
    limits: { maxStreamsPerKey: 10, maxStreamsPerProject: 10 },
  })
  return { pubsub, revocations, [Symbol.dispose]: () => revocations.close() }
}

async function newKey(): Promise<string> {
  return (await h.mutate('createApiKey', { name: 'k', role: 'VIEWER' }, 'apiKey { id } secret'))['apiKey'].id
}

const principal = (id: string, expiresAt: Date | null = null) => ({ id, projectId: 'proj_1', expiresAt })

test('every stream of a key ends once when it is revoked, and none of another key', () => {
  using open = openWatcher()
  const ended: string[] = []
  open.revocations.onRevoked(principal('key_1'), () => ended.push('first'))
  open.revocations.onRevoked(principal('key_1'), () => ended.push('second'))
  open.revocations.onRevoked(principal('key_1'), () => ended.push('removed'))()
  open.revocations.onRevoked(principal('key_2'), () => ended.push('other'))
  for (let i = 0; i < 2; i++) open.pubsub.publish([{ kind: 'signal', name: 'revoked', id: 'key_1' }])
  expect(ended).toEqual(['first', 'second'])
})

test('a revocation whose hint was lost is found after a reconnect', async () => {
  using open = openWatcher()
  const [revoked, sound] = [await newKey(), await newKey()]
  const ended = new Promise((resolve) =>
    open.revocations.onRevoked(principal(revoked), () => resolve('revoked')),
  )
  open.revocations.onRevoked(principal(sound), () => expect.unreachable('its key is sound'))
  await h.app.services.db.execute(sql`update api_keys set revoked_at = now() where id = ${revoked}`)
  open.pubsub.publish([{ kind: 'reconnected' }])
  expect(await ended).toBe('revoked')
})

test('a key whose row was deleted ends its streams as well', async () => {
  using open = openWatcher()
  const id = await newKey()
  const ended = new Promise((resolve) => open.revocations.onRevoked(principal(id), () => resolve('gone')))
  await h.app.services.db.execute(sql`delete from api_keys where id = ${id}`)
  open.pubsub.publish([{ kind: 'reconnected' }])
  expect(await ended).toBe('gone')
})

test('and is found by polling without a reconnect', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    using open = openWatcher()
    const id = await newKey()
    const ended = new Promise((resolve) =>
      open.revocations.onRevoked(principal(id), () => resolve('revoked')),
    )
    await h.app.services.db.execute(sql`update api_keys set revoked_at = now() where id = ${id}`)
    vi.advanceTimersByTime(5000)
    expect(await ended).toBe('revoked')
  } finally {
    vi.useRealTimers()
  }
})

test('ends when the key or token expires, however far in the future', () => {
  vi.useFakeTimers()
  try {
    using open = openWatcher()
    const ended: string[] = []
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
    open.revocations.onRevoked(principal('usr_1', inDays(1)), () => ended.push('a day'))
    open.revocations.onRevoked(principal('usr_1', inDays(60)), () => ended.push('two months'))
    open.revocations.onRevoked(principal('usr_1', inDays(60)), () => ended.push('removed'))()
    vi.advanceTimersByTime(86_400_000 - 1)
    expect(ended).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ended).toEqual(['a day'])
    vi.advanceTimersByTime(59 * 86_400_000)
    expect(ended).toEqual(['a day', 'two months'])
  } finally {
    vi.useRealTimers()
  }
})
