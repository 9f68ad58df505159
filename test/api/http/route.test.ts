/** The route table: a path has its parameters, a method its route or the list of those that the path has. */
import { expect, test } from 'vitest'
import { createTable } from '../../../src/api/http/route.ts'

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
