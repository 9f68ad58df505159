/** What is asked for in the same moment is done together; who is alone waits for nobody, and no group for another. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { batch } from '../../src/core/async-work.ts'

afterEach(() => {
  vi.useRealTimers()
})

const limits = { maxItems: 4, maxBytes: 10, bytesOf: (text: string) => text.length, waitMs: 1 }

/** Records its groups; each ends when the test says so. */
function recorder(more: Partial<typeof limits> = {}) {
  const groups: string[][] = []
  const ends: (() => void)[] = []
  const ask = batch(
    async (items: readonly string[]) => {
      groups.push([...items])
      await new Promise<void>((resolve) => ends.push(resolve))
      return items.map((item) => `${item}!`)
    },
    { ...limits, ...more },
  )
  return { groups, ends, ask }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('what is asked for', () => {
  it('alone is done in the same turn of the event loop, without a timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const { groups, ends, ask } = recorder()
    const one = ask('a')
    await turn()
    expect(groups).toEqual([['a']])
    ends[0]!()
    expect(await one).toBe('a!')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('in one turn is done together, in its order, and each gets its own result', async () => {
    const { groups, ends, ask } = recorder()
    const all = Promise.all([ask('a'), ask('b'), ask('c')])
    await turn()
    expect(groups).toEqual([['a', 'b', 'c']])
    ends[0]!()
    expect(await all).toEqual(['a!', 'b!', 'c!'])
  })

  it('while a group is under way waits for others, but at most waitMs and not for the group', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { groups, ask } = recorder()
    void ask('a')
    await turn()
    void ask('b')
    await turn()
    void ask('c')
    await turn()
    expect(groups).toEqual([['a']])
    vi.advanceTimersByTime(1)
    expect(groups).toEqual([['a'], ['b', 'c']])
  })

  it('is done as soon as the group before it has ended', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { groups, ends, ask } = recorder()
    const first = ask('a')
    await turn()
    void ask('b')
    ends[0]!()
    await first
    await turn()
    expect(groups).toEqual([['a'], ['b']])
    vi.advanceTimersByTime(5)
    expect(groups).toHaveLength(2)
  })

  it('beyond the most items or bytes is another group, and what is too large for any is one by itself', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { groups, ask } = recorder()
    for (const item of ['a', 'b', 'c', 'd', 'e']) void ask(item)
    await turn()
    vi.advanceTimersByTime(limits.waitMs)
    expect(groups).toEqual([['a', 'b', 'c', 'd'], ['e']])
    const bytes = recorder()
    for (const item of ['123456', '1234', '1', '12345678901234', 'x']) void bytes.ask(item)
    await turn()
    vi.advanceTimersByTime(limits.waitMs)
    expect(bytes.groups).toEqual([['123456', '1234'], ['1'], ['12345678901234'], ['x']])
  })

  it('fails with the error of its group, and the next group does not', async () => {
    const failing = batch(async (items: readonly string[]) => {
      if (items.includes('bad')) throw new Error('nothing was done')
      return items
    }, limits)
    const outcomes = async (...items: string[]) =>
      (await Promise.allSettled(items.map(failing))).map((one) =>
        one.status === 'fulfilled' ? one.value : one.reason.message,
      )
    expect(await outcomes('a', 'bad')).toEqual(['nothing was done', 'nothing was done'])
    expect(await outcomes('a', 'b')).toEqual(['a', 'b'])
  })
})
