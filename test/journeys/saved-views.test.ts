/** Saved views: who sees, replaces and deletes them, and which addresses they may have. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHarness, type Harness } from '../support/harness.ts'

let h: Harness
beforeAll(async () => {
  h = await openHarness()
})
afterAll(() => h.stop())

const keyOf = async (name: string, role: string, more: object = {}) => {
  const made = await h.mutate('createApiKey', { name, role, ...more }, 'secret apiKey { id }')
  return { id: made['apiKey'].id as string, key: made['secret'] as string }
}
const save = (input: object, key?: string) =>
  h.mutate('saveView', input, 'view { id name address shared createdBy { id } }', key)
const names = async (key?: string) => {
  const { data } = await h.gql('{ savedViews(first: 100) { nodes { name address shared } } }', {}, key)
  return data['savedViews'].nodes as { name: string; address: string; shared: boolean }[]
}

test('an own view is seen by who saved it alone; one of the project by everybody who reads', async () => {
  const [ada, bob] = [await keyOf('Ada', 'VIEWER'), await keyOf('Bob', 'APPROVER')]
  const own = await save({ name: 'Failed', address: '/runs?status=FAILED' }, ada.key)
  expect(own['view']).toMatchObject({ name: 'Failed', shared: false, createdBy: { id: ada.id } })
  await save({ name: 'Refunds', address: '/approvals?tool=tool_1', shared: true }, bob.key)
  expect((await names(ada.key)).map(({ name }) => name)).toEqual(['Refunds', 'Failed'])
  expect((await names(bob.key)).map(({ name }) => name)).toEqual(['Refunds'])
  // Of another person there is nothing to delete, and nothing to learn.
  const none = { __typename: 'NotFoundError' }
  const remove = (viewId: string, key: string) => h.mutate('deleteView', { viewId }, 'deletedId deleted', key)
  expect(await remove(own['view'].id, bob.key)).toMatchObject(none)
  expect(await remove('view_none', bob.key)).toMatchObject(none)
  const deleted = await remove(own['view'].id, ada.key)
  expect(deleted).toMatchObject({ deletedId: own['view'].id, deleted: true })
})

test('the same name replaces its own where that is wanted, and never that of another owner', async () => {
  const { key } = await keyOf('Eve', 'DEVELOPER')
  const first = await save({ name: 'Mine', address: '/runs?a=1' }, key)
  expect(await save({ name: 'Mine', address: '/runs?a=2' }, key)).toMatchObject({ code: 'NAME_TAKEN' })
  expect(await names(key)).toContainEqual({ name: 'Mine', address: '/runs?a=1', shared: false })
  const again = await save({ name: 'Mine', address: '/runs?a=2', replace: true }, key)
  const shared = await save({ name: 'Mine', address: '/runs?a=3', shared: true }, key)
  expect(again['view']).toMatchObject({ id: first['view'].id, address: '/runs?a=2' })
  expect(shared['view'].id).not.toBe(first['view'].id)
})

test('a viewer shares nothing and deletes nothing of the project; a caller saves nothing', async () => {
  const [vera, carl] = [await keyOf('Vera', 'VIEWER'), await keyOf('Carl', 'CALLER')]
  const shared = await save({ name: 'Ours', address: '/audit', shared: true })
  const refusals: [() => Promise<unknown>, string][] = [
    [() => save({ name: 'x', address: '/runs', shared: true }, vera.key), 'views:Share'],
    [() => h.mutate('deleteView', { viewId: shared['view'].id }, 'deletedId', vera.key), 'views:Share'],
    [() => save({ name: 'x', address: '/runs' }, carl.key), 'views:Save'],
  ]
  for (const [refusal, action] of refusals) await expect(refusal()).rejects.toThrow(action)
  expect((await names()).map(({ name }) => name)).toContain('Ours')
})

test.each([
  '//evil.example/runs',
  '/\\evil.example',
  'https://evil.example/runs',
  'javascript:alert(1)',
  'runs',
  '',
  '/runs#x',
  '/runs\n',
  '/ru\u202ens',
  `/runs?q=${'x'.repeat(2000)}`,
])('an address that is no path of the dashboard is refused: %j', async (address) => {
  const refused = await h.mutate('saveView', { name: 'bad', address }, 'view { id }')
  expect(refused).toMatchObject({ __typename: 'ValidationError', issues: [{ path: ['input', 'address'] }] })
})

test('a hundred views are enough, and one more is refused with nothing written', async () => {
  const { key } = await keyOf('Max', 'VIEWER')
  for (let n = 0; n < 100; n++) await save({ name: `view ${n}`, address: '/runs' }, key)
  const refused = await save({ name: 'one more', address: '/runs' }, key)
  expect(refused).toMatchObject({ __typename: 'LimitReachedError' })
  expect(await save({ name: 'view 7', address: '/runs?a=7', replace: true }, key)).toMatchObject({
    view: { name: 'view 7' },
  })
})

test('another project sees none of it', async () => {
  const { project } = await h.mutate('createProject', { name: 'elsewhere' }, 'project { id }')
  const other = await keyOf('Olga', 'ADMIN', { projectId: project.id })
  const own = await save({ name: 'Here', address: '/runs', shared: true })
  expect(await names(other.key)).toEqual([])
  const answer = await h.mutate('deleteView', { viewId: own['view'].id }, 'deletedId', other.key)
  expect(answer).toMatchObject({ __typename: 'NotFoundError' })
})
