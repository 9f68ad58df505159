/** The log of PostgreSQL as the measurements read it. */
import postgres from 'postgres'
import { expect, it } from 'vitest'
import { labelOf, logSettings, statementsOf } from '../../bench/statement-log.ts'
import { hasClusters, startCluster } from '../support/cluster.ts'

it('counts statements with their application, name and bytes, and nothing else', () => {
  const log = [
    '2026-01-01 LOG:  starting PostgreSQL',
    '@gatehouse@LOG:  execute <unnamed>: select 1',
    '@gatehouse@LOG:  execute s_1: update generations',
    '\tset n = $1',
    '\twhere id = $2',
    "@gatehouse@DETAIL:  parameters: $1 = '7', $2 = 'a",
    "\tb'",
    '@gatehouse lease@LOG:  statement: begin',
    '@gatehouse@ERROR:  duplicate key',
    '@gatehouse@DETAIL:  Key (id)=(1) already exists.',
    '@@LOG:  checkpoint starting: time',
    '',
  ].join('\n')
  expect(statementsOf(log)).toEqual([
    { application: 'gatehouse', prepared: false, text: 'select 1', bytes: 8 },
    {
      application: 'gatehouse',
      prepared: true,
      text: 'update generations set n = $1 where id = $2',
      bytes: 'update generations\nset n = $1\nwhere id = $2'.length + "$1 = '7', $2 = 'a\nb'".length,
    },
    { application: 'gatehouse lease', prepared: false, text: 'begin', bytes: 5 },
  ])
})

it('groups statements by what they do to which tables', () => {
  const labels = {
    'select pg_notify($1, $2)': 'select pg_notify',
    'select a, extract(epoch from created_at) from steps for no key update': 'select steps',
    'with g as (select id from generations for update skip locked) update generations set n = 1 from g':
      'update generations',
    'with u as (update calls set a = 1 returning id), e as (insert into events select id from u) select * from e':
      'insert calls, events',
    commit: 'commit',
  }
  expect(Object.keys(labels).map(labelOf)).toEqual(Object.values(labels))
})

it.runIf(hasClusters)('reads what a server really writes', async () => {
  const cluster = await startCluster(logSettings)
  try {
    const sql = postgres(cluster.url, {
      max: 1,
      connection: { application_name: 'reader' },
      onnotice: () => {},
    })
    const before = (await cluster.log()).length
    const long = `line\nline\t${'x'.repeat(2000)}`
    await sql`select ${long}::text as "mark",
      ${7}::int`
    await sql.unsafe('select 1 as simple')
    await sql.end()
    const found = statementsOf((await cluster.log()).slice(before)).filter(
      (one) => one.application === 'reader',
    )
    const [tagged, simple] = ['mark', 'simple'].map((word) => found.find((one) => one.text.includes(word)))
    expect(tagged).toMatchObject({ prepared: true, text: 'select $1::text as mark, $2::int' })
    expect(tagged!.bytes).toBeGreaterThan(2000)
    expect(simple).toMatchObject({ prepared: false, text: 'select 1 as simple' })
  } finally {
    await cluster.remove()
  }
})
