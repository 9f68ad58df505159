/**
 * Every example of README and guides runs as it stands, in the order of the document, against the real server.
 * The rules of examples are in CONTRIBUTING.md, under "Documents".
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSchema, parse, validate } from 'graphql'
import { afterAll, describe, expect, test } from 'vitest'
import { startExampleHosts } from './example-hosts.ts'
import { examplesOf } from './blocks.ts'
import { filesBelow, read, root } from './documents.ts'
import { arrive } from './newcomer.ts'
import { forFile } from '../support/for-file.ts'

/** README, then the quickstart, then the other guides in the order in which README and the list of clients name them. */
const linksOf = (file: string, pattern: RegExp) => [...read(file).matchAll(pattern)].map((match) => match[1]!)
const guides = [
  ...linksOf('README.md', /\]\((docs\/guides\/[a-z0-9-]+\.md)\)/g),
  ...linksOf('docs/guides/clients.md', /\]\(([a-z0-9-]+\.md)[)#]/g).map((name) => `docs/guides/${name}`),
]
const files = ['README.md', ...new Set(['docs/guides/quickstart.md', ...guides])]
const examples = files.map((file) => ({ file, found: examplesOf(file, read(file)) }))
const all = examples.flatMap(({ found }) => found)
const runnable = ['graphql', 'sh', 'js', 'json']

const hosts = await forFile(startExampleHosts())
const newcomer = await arrive(hosts)
afterAll(async () => {
  await newcomer?.leave()
  const ran = all.filter((one) => one.excuse === null).length
  console.log(`examples of the documents: ${ran} ran, ${all.length - ran} excused`)
})

test('README or the list of clients names every guide', () => {
  expect(files.slice(1).toSorted()).toEqual(filesBelow('docs/guides', '.md'))
})

test('there are examples, each in a language that can be run, or excused with a reason', () => {
  expect(all.length).toBeGreaterThan(30)
  const unknown = all.filter((one) => one.excuse === null && !runnable.includes(one.language))
  expect(unknown.map((one) => `${one.at} "${one.language}"`)).toEqual([])
})

test('a test that is named as the one that runs a block exists', () => {
  const named = all.flatMap(({ at, excuse }) =>
    [...(excuse ?? '').matchAll(/\btest\/[\w./-]+/g)].map(([path]) => ({ at, path })),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([])
})

test('a block of JSON answers an example, or is the entry of an MCP client', () => {
  const lonely = all.filter((one) => one.language === 'json' && one.excuse === null)
  for (const one of lonely)
    expect(Object.keys(JSON.parse(one.text) as object), one.at).toEqual(['mcpServers'])
})

test('also what cannot run is valid against the schema', () => {
  const schema = buildSchema(readFileSync(join(root, 'docs/schema.graphql'), 'utf8'))
  for (const one of all.filter(({ language }) => language === 'graphql'))
    expect(validate(schema, parse(one.text)).map(String), one.at).toEqual([])
})

test('the two commands that the server prints work when they are pasted', async () => {
  const commands = newcomer.banner.split('\n').filter((line) => line.trim().startsWith('curl '))
  expect(commands).toHaveLength(2)
  expect(await newcomer.shell(commands[0]!)).toContain('"status":"QUEUED"')
  expect(await newcomer.shell(commands[1]!)).toContain('"id":"gen_')
})

test('the refund that waits in a new installation has the amount that README and quickstart name', async () => {
  const query = '{ approvals(filter: { statuses: [PENDING] }, first: 2) { nodes { toolName arguments } } }'
  const answer = await newcomer.shell(
    `curl -s localhost:4000/graphql -H 'content-type: application/json' -H "authorization: Bearer $GATEHOUSE_KEY" -d '{"query":"${query}"}'`,
  )
  const { nodes } = JSON.parse(answer).data.approvals
  expect(nodes).toMatchObject([{ toolName: 'send_refund', arguments: { amount: expect.any(Number) } }])
  for (const file of ['README.md', 'docs/guides/quickstart.md'])
    expect(read(file).match(/\brefund of (\d+)/)?.[1], file).toBe(String(nodes[0].arguments.amount))
})

for (const { file, found } of examples)
  describe(file, () => {
    let held = true
    for (const one of found)
      test.skipIf(one.excuse !== null)(`${one.language} at ${one.at} does what the text says`, async () => {
        if (!held) throw new Error('an example before this one failed')
        held = false
        await newcomer.follow(one)
        held = true
      })
    test('what its subscriptions were told to expect has come', () => newcomer.turnPage())
  })
