/** The table of clients names the versions that are installed for its tests. */
import { expect, test } from 'vitest'
import { read } from './documents.ts'

interface Manifest {
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const apart = ['peers', 'copilotkit', 'conformance', 'coding-agents']
const manifests = ['package.json', ...apart.map((folder) => `tools/${folder}/package.json`)]

/** `name@version` of every dependency, by its own name where it has another one here, and without the platform. */
const installed = new Set(
  manifests.flatMap((path) => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read(path)) as Manifest
    return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).map(
      ([name, version]) =>
        (version.startsWith('npm:') ? version.slice('npm:'.length) : `${name}@${version}`).replace(
          /-linux-(?:x64|arm64)/,
          '',
        ),
    )
  }),
)

const rows = read('docs/guides/clients.md')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| client |') && !line.startsWith('| ---'))
  .map((line) => line.split(' | ') as [client: string, tested: string, ...rest: string[]])

/** A name, and one version or several: `openai 5.23.2, 6.49.0`. */
const named = /(@?[a-z][\w./-]*) (\d+\.\d+\.\d+(?:, \d+\.\d+\.\d+)*)/g

test.each(rows)('%s', (_client, tested) => {
  for (const [, name, versions] of tested.matchAll(named))
    for (const version of versions!.split(', ')) expect(installed).toContain(`${name}@${version}`)
})

test('most rows name a version', () => {
  expect(rows.length).toBeGreaterThan(12)
  expect(rows.filter(([, tested]) => tested.match(named)).length).toBeGreaterThan(rows.length - 3)
})
