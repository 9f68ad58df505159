/** What stays open ends with its key: told by a bell, found without one, or by the time. */
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { silentLog } from '../../../src/core/log.ts'
import { createRevocationWatcher } from '../../../src/domain/access/index.ts'
import { localPubSub } from '../../../src/store/events/pubsub.ts'
import { openHarness, type Harness } from '../../support/harness.ts'

let h: Harness

beforeAll(async () => void (h = await openHarness()))
afterAll(() => h.stop())

/** Stays on a bell of their own: what the operation rings does not reach them. */
function openStays() {
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

test('everything of a key ends once when it is revoked, and nothing of another', () => {
  using open = openStays()
  const ended: string[] = []
  open.revocations.onRevoked(principal('key_1'), () => ended.push('first'))
  open.revocations.onRevoked(principal('key_1'), () => ended.push('second'))
  open.revocations.onRevoked(principal('key_1'), () => ended.push('forgotten'))()
  open.revocations.onRevoked(principal('key_2'), () => ended.push('other'))
  for (let i = 0; i < 2; i++) open.pubsub.publish([{ kind: 'signal', name: 'revoked', id: 'key_1' }])
  expect(ended).toEqual(['first', 'second'])
})

test('a revocation that no bell told of is found when the bell is back', async () => {
  using open = openStays()
  const [revoked, sound] = [await newKey(), await newKey()]
  const ended = new Promise((resolve) =>
    open.revocations.onRevoked(principal(revoked), () => resolve('revoked')),
  )
  open.revocations.onRevoked(principal(sound), () => expect.unreachable('its key is sound'))
  await h.app.services.db.execute(sql`update api_keys set revoked_at = now() where id = ${revoked}`)
  open.pubsub.publish([{ kind: 'reconnected' }])
  expect(await ended).toBe('revoked')
})

test('and is found by looking when it never comes back', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    using open = openStays()
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

test('ends when the time of a key or token is over, however far that is', () => {
  vi.useFakeTimers()
  try {
    using open = openStays()
    const ended: string[] = []
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
    open.revocations.onRevoked(principal('usr_1', inDays(1)), () => ended.push('a day'))
    open.revocations.onRevoked(principal('usr_1', inDays(60)), () => ended.push('two months'))
    open.revocations.onRevoked(principal('usr_1', inDays(60)), () => ended.push('forgotten'))()
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
