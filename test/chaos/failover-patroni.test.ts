/**
 * The leader of a PostgreSQL under Patroni is killed, frozen or switched over, under gated load: with a synchronous
 * standby nothing is lost, nothing runs twice and no subscriber misses an event, behind HAProxy and with every node in
 * DATABASE_URL. Five rounds of each with `npm run chaos`.
 */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { buildServer } from '../support/build.ts'
import { dose } from '../support/dose.ts'
import { hasPatroni, startPatroni, type PatroniCluster } from '../support/patroni.ts'
import { drawn } from '../support/random.ts'
import { playRound, type Entry, type Fault } from './failover-rounds.ts'

const faults: Record<'kill' | 'switchover' | 'freeze', Fault> = {
  kill: {
    strike: (cluster, leader) => cluster.kill(leader),
    mend: async (cluster, former) => cluster.start(former),
  },
  switchover: { strike: (cluster) => cluster.switchOver(), mend: async () => {} },
  freeze: {
    strike: (cluster, leader) => cluster.freeze(leader),
    mend: async (cluster, former) => cluster.thaw(former),
  },
}

/** In the small dose one round of one of the first two, by the seed on which. */
const isFull = dose(0, 1) === 1
const cases: [keyof typeof faults, Entry][] = isFull
  ? (['kill', 'switchover', 'freeze'] as const).flatMap((name) =>
      (['proxy', 'hosts', 'proxy', 'hosts', 'proxy'] as const).map((entry): [keyof typeof faults, Entry] => [
        name,
        entry,
      ]),
    )
  : drawn<[keyof typeof faults, Entry]>([
      ['kill', 'proxy'],
      ['switchover', 'hosts'],
    ])

describe.skipIf(!hasPatroni)('a leader of PostgreSQL that is gone', () => {
  let cluster: PatroniCluster
  let program: string
  beforeAll(async () => {
    if (!hasPatroni) return
    program = (await buildServer()).entry
    cluster = await startPatroni()
  })
  afterAll(() => cluster?.remove())

  test.each(cases)('by %s loses and doubles nothing, over %s', { timeout: 720_000 }, async (name, entry) => {
    console.log(name, await playRound({ cluster, program, entry, fault: faults[name] }))
    await cluster.isWhole()
  })
})
