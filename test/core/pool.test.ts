/** Things on loan: shared, closed when idle, old or too many, and never while somebody has them. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createPool } from '../../src/core/pool.ts'

afterEach(() => {
  vi.useRealTimers()
})

function thing(name: string, closed: string[]) {
  return { name, close: async () => void closed.push(name) }
}
const usual = { max: 10, idleMs: 60_000, maxAgeMs: 60_000 }

describe('a pool', () => {
  it('opens a thing once for everybody who asks at the same time, and again after a failure', async () => {
    const pool = createPool(usual)
    let opened = 0
    const open = async () => {
      opened += 1
      if (opened === 1) throw new Error('not yet')
      return thing(`t${opened}`, [])
    }
    await expect(pool.lease('a', open)).rejects.toThrow('not yet')
    const [one, other] = await Promise.all([pool.lease('a', open), pool.lease('a', open)])
    expect(one.thing).toBe(other.thing)
    expect(opened).toBe(2)
    await pool.close()
  })

  it('closes a retired thing when its last borrower gives it back, and lends another meanwhile', async () => {
    const closed: string[] = []
    const pool = createPool(usual)
    const one = await pool.lease('a', async () => thing('first', closed))
    pool.retire(one.thing)
    const other = await pool.lease('a', async () => thing('second', closed))
    expect(other.thing).not.toBe(one.thing)
    expect(closed).toEqual([])
    one.release()
    one.release()
    expect(closed).toEqual(['first'])
    await pool.close()
    expect(closed).toEqual(['first', 'second'])
  })

  it('keeps no more than it may: the one unused for longest goes, and what is on loan stays', async () => {
    const closed: string[] = []
    const pool = createPool({ ...usual, max: 2 })
    const a = await pool.lease('a', async () => thing('a', closed))
    const b = await pool.lease('b', async () => thing('b', closed))
    const c = await pool.lease('c', async () => thing('c', closed))
    expect(closed).toEqual([])
    c.release()
    expect(closed).toEqual(['c'])
    b.release()
    const d = await pool.lease('d', async () => thing('d', closed))
    expect(closed).toEqual(['c', 'b'])
    a.release()
    d.release()
    await pool.close()
    expect(pool.size()).toBe(0)
  })

  it('closes what nobody uses, and lends nothing that is too old', async () => {
    vi.useFakeTimers()
    const closed: string[] = []
    const pool = createPool({ max: 2, idleMs: 1000, maxAgeMs: 5000 })
    const idle = await pool.lease('a', async () => thing('idle', closed))
    idle.release()
    await vi.advanceTimersByTimeAsync(1001)
    expect(closed).toEqual(['idle'])
    const old = await pool.lease('b', async () => thing('old', closed))
    await vi.advanceTimersByTimeAsync(5001)
    const fresh = await pool.lease('b', async () => thing('fresh', closed))
    expect(fresh.thing.name).toBe('fresh')
    old.release()
    expect(closed).toEqual(['idle', 'old'])
    await pool.close()
    await expect(pool.lease('b', async () => thing('late', closed))).rejects.toThrow('closed')
  })

  it('joins work that is under way under the same name', async () => {
    const pool = createPool(usual)
    let runs = 0
    const work = async () => ++runs
    expect(await Promise.all([pool.share('a', work), pool.share('a', work)])).toEqual([1, 1])
    expect(await pool.share('a', work)).toBe(2)
  })
})
