/** The lists of events in the page are those of the declarations. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventKinds } from '../../src/domain/events/index.ts'
import { eventLists } from './event-lists.ts'

const file = join(import.meta.dirname, '../../web/src/api/declared-events.ts')

test('web/src/api/declared-events.ts is what the events declare; "npm run schema" writes it', async () => {
  const made = eventLists(Object.values(eventKinds))
  if (process.env['UPDATE']) await writeFile(file, made)
  expect(await readFile(file, 'utf8')).toBe(made)
})
