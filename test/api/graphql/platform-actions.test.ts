/** docs/platform-actions.md is generated from the schema, as the actions are. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeActions } from '../../../src/api/graphql/transport/actions.ts'
import type { PlatformAction } from '../../../src/domain/access/index.ts'

const file = join(import.meta.dirname, '../../../docs/platform-actions.md')
const actions = makeActions(() => {
  throw new Error('nothing runs here')
})

const head = `# Platform actions

Operations of Gatehouse that MCP clients can call at \`/mcp\`, and that a platform tool offers to models as
\`{name}_{action}\`. Each runs in process with the permissions of the caller. Generated from the schema by \`npm run schema\`.
`

function sectionOf({ name, description, inputSchema, annotations }: PlatformAction): string {
  const properties = Object.entries(
    (inputSchema['properties'] ?? {}) as Record<string, { description?: string }>,
  )
  const required = (inputSchema['required'] ?? []) as string[]
  const kind = annotations.readOnlyHint
    ? 'Reads only.'
    : annotations.destructiveHint
      ? 'Destructive: the gate stops the call unless the tool has another gate.'
      : 'Writes.'
  const lines = properties.map(
    ([argument, schema]) =>
      `- \`${argument}\`${required.includes(argument) ? ' (required)' : ''}: ${schema.description ?? ''}`,
  )
  return [`## ${name}`, '', `${description} ${kind}`, '', ...lines, ''].join('\n')
}

test('docs/platform-actions.md lists every action with its arguments; "npm run schema" writes it', async () => {
  const printed = [head, ...actions.list().map(sectionOf)].join('\n')
  if (process.env['UPDATE']) await writeFile(file, printed)
  expect(await readFile(file, 'utf8')).toBe(printed)
})

test('each action has a hash of its own, which is the same each time', () => {
  const again = makeActions(() => {
    throw new Error('nothing runs here')
  })
  const hashes = actions.list().map((action) => action.hash)
  expect(new Set(hashes).size).toBe(hashes.length)
  expect(again.list().map((action) => action.hash)).toEqual(hashes)
})
