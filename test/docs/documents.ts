/** The documents of the repository, as the tests of test/docs read them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

/** Paths from the root, sorted, below a folder: every file whose name ends like this. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .map((path) => join(folder, path))
    .toSorted()
}

export const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** Written by `npm run schema`, so that nobody edits them. */
export const generated = ['docs/schema.graphql', 'docs/platform-actions.md']

/** Every document that a person has written. */
export const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'examples/README.md',
  ...filesBelow('docs', '.md').filter((path) => !generated.includes(path)),
]
