/** Upstreams in the database: saved, changed, deleted, read often, and their secrets. */
import { beforeEach, describe, expect, it } from 'vitest'
import { sql } from 'drizzle-orm'
import { check } from '../../../src/core/check.ts'
import type { AppError } from '../../../src/core/errors.ts'
import { newId } from '../../../src/core/ids.ts'
import { atomically, query } from '../../../src/store/db/database.ts'
import { seal } from '../../../src/domain/secrets/index.ts'
import {
  checkUpstreamConfig,
  connection,
  dropUpstream,
  loadUpstreams,
  saveUpstream,
} from '../../../src/domain/upstream/index.ts'
import { heartbeat } from '../../../src/store/work/work.ts'
import { openHarness } from '../../support/harness.ts'
import { projectId, saveTo } from '../../support/upstream-services.ts'
import { startModern, type ModernServer } from '../../support/upstream-servers.ts'
import { forFile } from '../../support/for-file.ts'

let server: ModernServer
const h = await forFile(openHarness())
beforeEach(async () => {
  server = await startModern()
  server.tools.set('echo', { tool: { name: 'echo' }, run: () => ({ content: [] }) })
  return () => server.kill()
})

describe('what is saved', () => {
  it('loses its protocol and status when it is changed, but keeps its catalog while the URL is the same', async () => {
    const one = await saveTo(h.app.services, server.url)
    await one.refresh()
    const { hash } = (await one.state()).catalog
    await saveTo(h.app.services, server.url, { id: one.id })
    expect(await one.state()).toMatchObject({ status: 'CONNECTED' })
    await saveTo(h.app.services, server.url, { id: one.id, headers: { 'x-a': '1' } })
    expect(await one.state()).toMatchObject({ status: 'PENDING', era: null, catalogHash: hash })
    await saveTo(h.app.services, `${server.url}?other`, { id: one.id })
    expect(await one.state()).toMatchObject({ status: 'PENDING', catalogHash: null, catalog: { tools: [] } })
    await atomically(h.app.services.db, (tx) => dropUpstream(tx, one.id))
    expect(await loadUpstreams(h.app.services.db, [one.id])).toEqual(new Map())
    expect(await one.call('echo')).toMatchObject({
      sent: false,
      result: { structuredContent: { error: { code: 'upstream_unavailable' } } },
    })
  })

  it('keeps the time of its next refresh when a renewal of the lease comes late', async () => {
    const { db } = h.app.services
    const one = await saveTo(h.app.services, server.url)
    const read = async () =>
      (
        await query<{ epoch: number; wake: string }>(
          db,
          sql`select epoch, wake_at::text as wake from upstreams where id = ${one.id}`,
        )
      )[0]!
    let held = 0
    server.guard = async () => {
      held ||= (await read()).epoch
      return false
    }
    await one.refresh()
    // A refresh of its own follows when it listens, and sets that time too.
    const isKept = async () => {
      const { wake } = await read()
      await heartbeat(db, 'upstreams', 1000, [{ id: one.id, epoch: held }])
      return (await read()).wake === wake
    }
    await expect.poll(isKept).toBe(true)
  })

  it('is reached with the values that its secrets have at the moment of the call', async () => {
    const { services } = h.app
    const setTo = (value: string) => {
      const sealed = seal(services.masterKey, value, `${projectId}/KEY`)
      return query(
        services.db,
        sql`insert into secrets (id, project_id, name, sealed) values ('sec_key', ${projectId}, 'KEY', ${sealed})
          on conflict (project_id, name) do update set sealed = excluded.sealed`,
      )
    }
    const one = await saveTo(services, `${server.url}?key={{secret:KEY}}`, {
      headers: { 'x-key': '{{secret:KEY}}' },
    })
    expect(await one.refresh()).toMatchObject({ status: 'UNREACHABLE', error: { code: 'secret_missing' } })
    expect(await one.call('echo')).toMatchObject({
      sent: false,
      result: { structuredContent: { error: { code: 'secret_missing' } } },
    })
    for (const value of ['first', 'second']) {
      await setTo(value)
      await query(services.db, sql`update upstreams set retry_at = null where id = ${one.id}`)
      expect(await one.call('echo')).toMatchObject({ result: { isError: false } })
      expect(server.seen.at(-1)!.headers['x-key']).toBe(value)
    }
    expect(JSON.stringify(await one.state())).not.toMatch(/first|second/)
  })

  it('is read in a few milliseconds, fifty with a hundred tools each', async () => {
    const { db } = h.app.services
    const tools = Array.from({ length: 100 }, (_, i) => ({
      name: `tool${i}`,
      title: null,
      description: 'x'.repeat(200),
      inputSchema: { type: 'object', properties: { a: { type: 'string', description: 'y'.repeat(100) } } },
      outputSchema: null,
      annotations: null,
      hash: `h${i}`,
    }))
    const ids = Array.from({ length: 50 }, () => newId('tool'))
    for (const id of ids) {
      const config = { url: server.url, headers: {}, auth: null }
      await saveUpstream(db, { id, projectId, config })
      const text = JSON.stringify({
        hash: id,
        tools,
        prompts: [],
        resources: [],
        resourceTemplates: [],
        notes: [],
      })
      await query(
        db,
        sql`update upstreams set catalog = ${text}, catalog_hash = ${id}, wake_at = null, epoch = epoch + 1 where id = ${id}`,
      )
    }
    const first = await loadUpstreams(db, ids)
    expect([...first.values()].every(({ catalog }) => catalog.tools.length === 100)).toBe(true)
    // Nothing was parsed again: the lists are the same objects.
    const again = await loadUpstreams(db, ids)
    for (const [id, { catalog }] of again) expect(catalog).toBe(first.get(id)!.catalog)
  })
})

describe('a configuration', () => {
  const faults = (input: unknown) => {
    try {
      checkUpstreamConfig(h.app.services, check(connection, input))
      return []
    } catch (error) {
      return (error as AppError).details.issues!.map(({ path }) => path.slice(1).join('.'))
    }
  }
  const url = 'https://mcp.example.com/mcp'
  it.each([
    [{}, ['url']],
    [{ url: 'ftp://example.com' }, ['url']],
    [{ url: 'https://user:secret@example.com' }, ['url']],
    [{ url: 'https://{{secret:HOST}}/mcp' }, ['url']],
    [{ url: 'https://example.com/{x}' }, ['url']],
    [{ url: 'https://example.com/#here' }, ['url']],
    [{ url, headers: { 'bad name': 'x' } }, ['headers.bad name']],
    [{ url, headers: { 'Mcp-Session-Id': 'x' } }, ['headers.Mcp-Session-Id']],
    [{ url, headers: { host: 'x' } }, ['headers.host']],
    [{ url, headers: { a: 'x\ny' } }, ['headers.a']],
    [
      { url, auth: { clientCredentials: {} } },
      [
        'auth.clientCredentials.clientId',
        'auth.clientCredentials.issuer',
        'auth.clientCredentials.clientSecret',
      ],
    ],
    [
      { url, auth: { clientCredentials: { clientId: 'a', clientSecret: 'S', issuer: 'http://x.test' } } },
      ['auth.clientCredentials.issuer'],
    ],
    [{ url, headers: { authorization: 'x' }, auth: { authorizationCode: {} } }, ['headers.authorization']],
    [{ url, auth: { authorizationCode: { clientId: 'a', clientSecret: 'S' } } }, ['auth.issuer']],
  ])('%j is faulty at its places', (input, places) => {
    expect(faults(input)).toEqual(places)
  })

  it('may contain secrets after its host and port and in headers', () => {
    const input = {
      url: `${url}/{{secret:PATH}}?k={{secret:KEY}}`,
      headers: { authorization: 'Bearer {{secret:KEY}}' },
    }
    expect(faults(input)).toEqual([])
  })
})
