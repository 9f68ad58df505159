/**
 * The route table: a path has its parameters, a method its route or the list of those that the path has. What fails behind the
 * beginning of a response is logged.
 */
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

const run = async ({ response }: { response: ServerResponse }): Promise<null> => {
  response.writeHead(200)
  await new Promise((sent) => response.write('a beginning', sent))
  throw new Error('broken')
}
const route = { method: 'GET', path: '/streams', run } as const
const errorBody = () => ({})

test.each(['open', 'authenticated'])(
  'a response of %s routes that fails behind its beginning is cut off, and the error is logged',
  async (kind) => {
    const log = { ...silentLog, error: vi.fn() }
    const callers = { authenticatedCaller: async () => ({}) as never }
    const api = { resource: '/streams', routes: [route], errorBody }
    const group =
      kind === 'open'
        ? openRoutes(log, { routes: [{ ...route, run: async (call) => void (await run(call)) }], errorBody })
        : authenticatedRoute(api as never, callers, log)
    const server = createServer((request, response) => void group.serve(request, response, async () => null))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const response = await fetch(`http://127.0.0.1:${port}/streams`)
      await expect(response.text()).rejects.toThrow()
      expect(log.error.mock.calls).toMatchObject([[{ err: { message: 'broken' } }, expect.any(String)]])
    } finally {
      server.close()
    }
  },
)
