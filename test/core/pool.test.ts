/** The pool: resources are shared, closed when idle, old or too many, and never while they are leased. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createPool } from '../../src/core/pool.ts'

afterEach(() => {
  vi.useRealTimers()
})

function resource(name: string, closed: string[]) {
  return { name, close: async () => void closed.push(name) }
}
const defaults = { max: 10, idleMs: 60_000, maxAgeMs: 60_000 }

describe('a pool', () => {
  it('opens a resource once for concurrent leases of one key, and again after a failure', async () => {
    const pool = createPool(defaults)
    let opened = 0
    const open = async () => {
      opened += 1
      if (opened === 1) throw new Error('not yet')
      return resource(`t${opened}`, [])
    }
    await expect(pool.lease('a', open)).rejects.toThrow('not yet')
    const [one, other] = await Promise.all([pool.lease('a', open), pool.lease('a', open)])
    expect(one.resource).toBe(other.resource)
    expect(opened).toBe(2)
    await pool.close()
  })

  it('closes a retired resource when its last lease is released, and leases another one meanwhile', async () => {
    const closed: string[] = []
    const pool = createPool(defaults)
    const one = await pool.lease('a', async () => resource('first', closed))
    pool.retire(one.resource)
    const other = await pool.lease('a', async () => resource('second', closed))
    expect(other.resource).not.toBe(one.resource)
    expect(closed).toEqual([])
    one.release()
    one.release()
    expect(closed).toEqual(['first'])
    await pool.close()
    expect(closed).toEqual(['first', 'second'])
  })

  it('keeps at most max resources: closes the least recently used one, and never a leased one', async () => {
    const closed: string[] = []
    const pool = createPool({ ...defaults, max: 2 })
    const a = await pool.lease('a', async () => resource('a', closed))
    const b = await pool.lease('b', async () => resource('b', closed))
    const c = await pool.lease('c', async () => resource('c', closed))
    expect(closed).toEqual([])
    c.release()
    expect(closed).toEqual(['c'])
    b.release()
    const d = await pool.lease('d', async () => resource('d', closed))
    expect(closed).toEqual(['c', 'b'])
    a.release()
    d.release()
    await pool.close()
    expect(pool.size()).toBe(0)
  })

  it('closes idle resources, and leases none that is too old', async () => {
    vi.useFakeTimers()
    const closed: string[] = []
    const pool = createPool({ max: 2, idleMs: 1000, maxAgeMs: 5000 })
    const idle = await pool.lease('a', async () => resource('idle', closed))
    idle.release()
    await vi.advanceTimersByTimeAsync(1001)
    expect(closed).toEqual(['idle'])
    const old = await pool.lease('b', async () => resource('old', closed))
    await vi.advanceTimersByTimeAsync(5001)
    const fresh = await pool.lease('b', async () => resource('fresh', closed))
    expect(fresh.resource.name).toBe('fresh')
    old.release()
    expect(closed).toEqual(['idle', 'old'])
    await pool.close()
    await expect(pool.lease('b', async () => resource('late', closed))).rejects.toThrow('closed')
  })

  it('joins work that is running under the same key', async () => {
    const pool = createPool(defaults)
    let runs = 0
    const work = async () => ++runs
    expect(await Promise.all([pool.share('a', work), pool.share('a', work)])).toEqual([1, 1])
    expect(await pool.share('a', work)).toBe(2)
  })
})
