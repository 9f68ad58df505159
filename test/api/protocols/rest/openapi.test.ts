/** docs/openapi.json is printed from the routes and the platform actions, and is valid. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeActions } from '../../../../src/api/graphql/transport/actions.ts'
import { openApiOf } from '../../../../src/api/protocols/rest/openapi.ts'
import { routes } from '../../../../src/api/protocols/rest/routes.ts'

const file = join(import.meta.dirname, '../../../../docs/openapi.json')
const actions = makeActions(() => {
  throw new Error('nothing runs here')
})

test('docs/openapi.json is the document of the routes; "npm run schema" writes it', async () => {
  const printed = `${JSON.stringify(openApiOf(routes, actions), null, 2)}\n`
  if (process.env['UPDATE']) await writeFile(file, printed)
  expect(await readFile(file, 'utf8')).toBe(printed)
})

test('the document is valid OpenAPI 3.1, and has every route and action', async () => {
  const document = JSON.parse(await readFile(file, 'utf8')) as { paths: Record<string, object> }
  const validator = new Validator()
  expect(await validator.validate(document)).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  expect(await new Validator().validate({ ...document, paths: { '/x': { get: 7 } } })).toMatchObject({
    valid: false,
  })
  const operations = Object.values(document.paths).flatMap(
    (one) => Object.values(one) as { operationId: string }[],
  )
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { operationId } of routes.filter((one) => one.operationId !== 'runAction'))
    expect(ids).toContain(operationId)
  for (const { name } of actions.list()) expect(document.paths).toHaveProperty([`/api/v1/actions/${name}`])
})
