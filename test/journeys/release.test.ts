/** A server says which release it is, and which schema it needs, to probes, to Prometheus and over GraphQL. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { openHarness } from '../support/harness.ts'

test('everywhere the same', async () => {
  const root = resolve(import.meta.dirname, '../..')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const files = readdirSync(join(root, 'migrations')).filter((name) => name.endsWith('.sql'))
  const schema = files.toSorted().at(-1)!.replace('.sql', '')
  const h = await openHarness()
  try {
    const ready = await fetch(`${h.url}/readyz`)
    expect(await ready.json()).toEqual({ status: 'ready', version, schema })
    const metrics = await (await fetch(`${h.url}/metrics`)).text()
    expect(metrics).toContain(`gatehouse_build_info{version="${version}",schema="${schema}"} 1`)
    const { data } = await h.gql('{ viewer { release { version schema } } }')
    expect(data['viewer'].release).toEqual({ version, schema })
  } finally {
    await h.stop()
  }
})
