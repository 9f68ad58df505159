/**
 * The route table: a path has its parameters, a method its route or the list of those that the path has. What fails behind the
 * beginning of a response is logged.
 */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { authenticatedRoute } from '../../../src/api/http/authenticated-api.ts'
import { createTable, openRoutes } from '../../../src/api/http/route.ts'
import { silentLog } from '../../../src/core/log.ts'

const find = createTable([
  { method: 'GET', path: '/things', head: true },
  { method: 'POST', path: '/things' },
  { method: 'DELETE', path: '/things/{id}' },
  { method: 'POST', path: '/things/{id}/parts/{part}' },
])

test.each([
  ['GET', '/things', {}],
  ['HEAD', '/things', {}],
  ['DELETE', '/things/a%2Fb', { id: 'a%2Fb' }],
  ['POST', '/things/a/parts/b', { id: 'a', part: 'b' }],
])('%s %s is served with its parameters as they were sent', (method, path, params) => {
  expect(find(method, path)).toMatchObject({ route: { method: method.replace('HEAD', 'GET') }, params })
})

test.each([
  ['PUT', '/things', 'GET, HEAD, POST'],
  ['HEAD', '/things/a', 'DELETE'],
  [undefined, '/things/a', 'DELETE'],
])('%s %s names the methods that there are', (method, path, allow) => {
  expect(find(method, path)).toEqual({ allow })
})

test.each(['/', '/things/', '/things//parts/b', '/things/a/parts', '/THINGS', '/things/a/parts/b/c'])(
  'nothing is at %s',
  (path) => {
    expect(find('GET', path)).toBeNull()
  },
)

const errorBody = () => ({})
const kinds = ['open', 'authenticated']

/** A server of one route of this kind, which does this. */
async function serving(kind: string, run: (response: ServerResponse) => Promise<void>) {
  const log = { ...silentLog, error: vi.fn() }
  const route = {
    method: 'GET',
    path: '/streams',
    run: async ({ response }: { response: ServerResponse }) => (await run(response), null),
  } as const
  const callers = { authenticatedCaller: async () => ({}) as never }
  const group =
    kind === 'open'
      ? openRoutes(log, {
          routes: [{ ...route, run: async (call) => void (await route.run(call)) }],
          errorBody,
        })
      : authenticatedRoute({ resource: '/streams', routes: [route], errorBody }, callers, log)
  let served: () => void
  const isServed = new Promise<void>((resolve) => (served = resolve))
  const server = createServer(async (request, response) => {
    await group.serve(request, response, async () => null)
    served()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/streams`,
    log,
    isServed,
    [Symbol.dispose]: () => void server.close(),
  }
}

test.each(kinds)(
  'a response of %s routes that fails behind its beginning is cut off, and the error is logged',
  async (kind) => {
    using server = await serving(kind, async (response) => {
      response.writeHead(200)
      await new Promise((sent) => response.write('a beginning', sent))
      throw new Error('broken')
    })
    const response = await fetch(server.url)
    await expect(response.text()).rejects.toThrow()
    await server.isServed
    expect(server.log.error.mock.calls).toMatchObject([[{ err: { message: 'broken' } }, expect.any(String)]])
  },
)

test.each(kinds)('a client of %s routes that has gone is no error of the server', async (kind) => {
  const gone = new AbortController()
  using server = await serving(kind, async (response) => {
    gone.abort()
    await once(response, 'close')
    throw new Error('aborted')
  })
  await expect(fetch(server.url, { signal: gone.signal })).rejects.toThrow()
  await server.isServed
  expect(server.log.error).not.toHaveBeenCalled()
})
