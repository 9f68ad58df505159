/** Notification streams of legacy clients. */
import { expect, test } from 'vitest'
import { createChangeNotifications } from '../../../src/api/mcp/http/change-notifications.ts'

const unchanging = { watch: () => () => {} }

test('a client that does not read is disconnected, and until then a bounded number of messages is buffered', async () => {
  const changes = createChangeNotifications(unchanging)
  let stopped = false
  let update = (_uri: string) => {}
  const response = changes.stream('agt_1', new AbortController().signal, (onUpdated) => {
    update = (uri) => onUpdated(uri, uri)
    return () => (stopped = true)
  })
  for (let n = 0; n < 2000; n++) update(`test://${n}`)
  expect(stopped).toBe(true)
  const text = await response.text()
  expect(text).toContain('test://400')
  expect(text).not.toContain('test://600')
})

test('a client that disconnects before its stream begins leaves no subscription behind', async () => {
  const changes = createChangeNotifications(unchanging)
  let stopped = false
  const response = changes.stream('agt_1', AbortSignal.abort(), () => () => (stopped = true))
  expect(stopped).toBe(true)
  expect(await response.text()).toBe(': listening\n\n')
})
