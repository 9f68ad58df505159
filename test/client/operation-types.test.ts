/** The client's types are those of its documents and of the schema of today. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildSchema, parse, validate } from 'graphql'
import { expect, test } from 'vitest'
import * as operations from '../../client/documents.ts'
import { generateTypes } from './generate-types.ts'

const root = join(import.meta.dirname, '../..')
const file = join(root, 'client/operation-types.ts')
const schema = buildSchema(await readFile(join(root, 'docs/schema.graphql'), 'utf8'))
const documents = Object.values(operations)

test('every document of the client is valid against the schema', () => {
  expect(documents.length).toBeGreaterThan(10)
  for (const text of documents) expect(validate(schema, parse(text)).map(String), text).toEqual([])
})

test('client/operation-types.ts is what the documents and the schema say; "npm run schema" writes it', async () => {
  const generated = generateTypes(schema, documents)
  if (process.env['UPDATE']) await writeFile(file, generated)
  expect(await readFile(file, 'utf8')).toBe(generated)
})

test('a changed schema changes the types, so that they cannot become stale unseen', async () => {
  const changed = (await readFile(join(root, 'docs/schema.graphql'), 'utf8')).replace(
    /(type TextDeltaEvent [\s\S]*?attempt: )Int!/,
    '$1String',
  )
  expect(generateTypes(buildSchema(changed), documents)).not.toBe(await readFile(file, 'utf8'))
})
