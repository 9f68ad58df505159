/** OpenAI's clients repeat a request whose response was lost. With an idempotency key of each request nothing runs twice. */
import { expect, test } from 'vitest'
import { adminKey, openHarness } from '../../../support/harness.ts'
import { makeFixtures } from '../../../support/fixtures.ts'
import { majors, openClient } from '../../../support/openai-clients.ts'
import { forFile } from '../../../support/for-file.ts'

const h = await forFile(openHarness())
const fixtures = await forFile(makeFixtures(h))
await fixtures.agent({ name: 'plain' })

/** The first response is lost on its way: the request was served. */
function losing(): { fetch: typeof fetch; keys: (string | null)[] } {
  const keys: (string | null)[] = []
  return {
    keys,
    async fetch(input, init) {
      keys.push(new Headers(init?.headers).get('idempotency-key'))
      const response = await fetch(input, init)
      if (keys.length > 1) return response
      await response.text()
      throw new TypeError('fetch failed')
    },
  }
}

test.each(majors)(
  'openai %i sends the same key with each try, and the tool is called once',
  async (major) => {
    const lost = losing()
    const client = await openClient(major, h.url, adminKey, { fetch: lost.fetch, maxRetries: 2 })
    Object.assign(client, { idempotencyHeader: 'Idempotency-Key' })
    const before = fixtures.upstream.seen.length
    const input = `call act {"word": "${major}"}\nthen\nsay once`
    const made = await client.responses.create({ model: 'plain', input })
    expect(made).toMatchObject({ status: 'completed', output_text: 'once' })
    expect(lost.keys).toHaveLength(2)
    expect(lost.keys[0]).toMatch(/^stainless-node-retry-/)
    expect(new Set(lost.keys).size).toBe(1)
    expect(fixtures.upstream.seen.length - before).toBe(1)
    // Another request is another run, although it says the same.
    const next = await client.responses.create({ model: 'plain', input })
    expect(next.id).not.toBe(made.id)
  },
)
