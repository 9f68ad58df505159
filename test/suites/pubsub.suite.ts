/** The contract of every PubSub, whatever transport it uses. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PubSub, Hint } from '../../src/store/pubsub/pubsub.ts'

export interface BellTower {
  /** Two PubSubs of one installation; for a single process both are the same. */
  one: PubSub
  other: PubSub
  /** Closes the connections of the transport; null where there are none. */
  cut: (() => Promise<unknown>) | null
  close(): Promise<unknown>
}

const news = (generationId: string, seq: number): Hint => ({
  kind: 'news',
  projectId: 'proj_x',
  generationId,
  seq,
})
const delta = (offset: number, text: string): Hint => ({
  kind: 'delta',
  generationId: 'gen_d',
  projectId: 'proj_x',
  after: 1,
  stepIndex: 1,
  attempt: 1,
  offset,
  text,
})

/** Collects hints until `enough`. Called before anything is published. */
function heard(pubsub: PubSub, enough: (hints: Hint[]) => boolean): Promise<Hint[]> {
  return new Promise((resolve) => {
    const hints: Hint[] = []
    const stop = pubsub.subscribe((hint) => {
      hints.push(hint)
      if (!enough(hints)) return
      stop()
      resolve(hints)
    })
  })
}

export function bellSuite(name: string, build: () => Promise<BellTower>): void {
  describe(name, () => {
    let tower: BellTower
    const alone = () => tower.one === tower.other
    beforeAll(async () => {
      tower = await build()
    })
    afterAll(async () => {
      await tower?.close()
    })

    test('a hint is delivered to the subscribers of the same process at once, and once', async () => {
      const hints: Hint[] = []
      const stop = tower.one.subscribe((hint) => hints.push(hint))
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'signal'))
      tower.one.publish([news('gen_a', 1), { kind: 'signal', name: 'cancel', id: 'gen_a' }])
      expect(hints).toHaveLength(2)
      expect(await far).toEqual([news('gen_a', 1), { kind: 'signal', name: 'cancel', id: 'gen_a' }])
      const answer = heard(tower.one, (all) => all.some((hint) => hint.kind === 'work'))
      tower.other.publish([{ kind: 'work', table: 'generations' }])
      await answer
      // An echo of the first two would have come before the response.
      expect(hints).toHaveLength(3)
      stop()
    })

    test('after unsubscribing, no hint is delivered', async () => {
      let count = 0
      const stop = tower.other.subscribe(() => count++)
      stop()
      const far = heard(tower.other, (all) => all.length === 1)
      tower.one.publish([news('gen_b', 1)])
      await far
      expect(count).toBe(0)
    })

    test('a thousand pieces of news of one generation are delivered as the newest one, in few hints', async () => {
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'news' && hint.seq === 1000))
      for (let seq = 1; seq <= 1000; seq++) tower.one.publish([news('gen_c', seq)])
      const hints = await far
      expect(hints.at(-1)).toEqual(news('gen_c', 1000))
      if (!alone()) expect(hints.length).toBeLessThan(50)
    })

    test('more than one message can carry arrives whole and in order', async () => {
      const texts = Array.from({ length: 200 }, (_, i) => `${i} `.padEnd(900, 'ü'))
      const far = heard(tower.other, (all) => all.length === texts.length + 1)
      tower.one.publish([...texts.map((text, i) => delta(i, text)), news('gen_d', 2)])
      const hints = await far
      expect(hints.slice(0, -1).map((hint) => (hint.kind === 'delta' ? hint.text : null))).toEqual(texts)
      expect(hints.at(-1)).toEqual(news('gen_d', 2))
    })

    test('what is published later is delivered later, although a large load is still being sent', async () => {
      const far = heard(tower.other, (all) => all.filter((hint) => hint.kind === 'delta').length === 300)
      for (let i = 0; i < 300; i++) {
        tower.one.publish([delta(i, `${i}`.padEnd(900, 'x'))])
        if (i % 30 === 0) await new Promise((resolve) => setTimeout(resolve, 4))
      }
      const offsets = (await far).map((hint) => (hint.kind === 'delta' ? hint.offset : -1))
      expect(offsets.findIndex((offset, i) => offset !== i)).toBe(-1)
    })

    test('a hint that is too large for the transport is dropped, and no other one', async () => {
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'news'))
      tower.one.publish([delta(0, 'x'.repeat(300_000)), news('gen_e', 7)])
      expect((await far).at(-1)).toEqual(news('gen_e', 7))
    })

    test('after a cut it says that hints may be lost, and delivers hints again', async ({ skip }) => {
      if (!tower.cut) return skip()
      const far = heard(tower.other, (all) => all.some((hint) => hint.kind === 'reconnected'))
      await tower.cut()
      await far
      let seq = 0
      const again = heard(tower.other, (all) => all.some((hint) => hint.kind === 'news'))
      // The sender may still be reconnecting, and what it publishes then is lost: that is the contract.
      const ringing = setInterval(() => tower.one.publish([news('gen_f', ++seq)]), 20)
      expect((await again).at(-1)).toMatchObject({ kind: 'news', generationId: 'gen_f' })
      clearInterval(ringing)
    })

    test('publishing to a closed PubSub does nothing', async () => {
      await tower.one.close()
      expect(() => tower.one.publish([news('gen_g', 1)])).not.toThrow()
    })
  })
}
