/** Streams of news to clients of the old era. */
import { expect, test } from 'vitest'
import { createChanges } from '../../../src/api/mcp/changes.ts'
import type { Surfaces } from '../../../src/domain/bridge/index.ts'

const quiet = { watch: () => () => {} } as unknown as Surfaces

test('a client that does not read is sent away, and holds a bounded number of messages until then', async () => {
  const changes = createChanges(quiet)
  let stopped = false
  let tell = (_uri: string) => {}
  const response = changes.stream('agt_1', new AbortController().signal, (listener) => {
    tell = (uri) => listener(uri, uri)
    return () => (stopped = true)
  })
  for (let n = 0; n < 2000; n++) tell(`test://${n}`)
  expect(stopped).toBe(true)
  const text = await response.text()
  expect(text).toContain('test://400')
  expect(text).not.toContain('test://600')
})

test('a client that has gone before its stream begins leaves nobody listening', async () => {
  const changes = createChanges(quiet)
  let stopped = false
  const response = changes.stream('agt_1', AbortSignal.abort(), () => () => (stopped = true))
  expect(stopped).toBe(true)
  expect(await response.text()).toBe(': listening\n\n')
})
