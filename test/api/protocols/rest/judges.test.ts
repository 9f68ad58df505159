/** What others make of docs/openapi.json: two linters, and a typed client that is generated from it. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../../../support/harness.ts'
import { describeWithPeers, importPeer, peerFile } from '../../../support/peers.ts'

/** Their types are of another realm. */
type Untyped = Record<string, any>

const file = join(import.meta.dirname, '../../../../docs/openapi.json')
/** Each line that must not compile says so: tsc reports one that does. */
const program = `import createClient from 'openapi-fetch'
import type { paths } from './api.ts'
export async function use(baseUrl: string, key: string) {
  const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } })
  const execute = { url: 'http://127.0.0.1:9/x' }
  const made = await client.POST('/api/v1/tools', { body: { name: 'typed', execute, parameters: { type: 'object' } } })
  if (!made.data) throw new Error(made.error.error.message)
  const path = { tool_id: made.data.id }
  const read = await client.GET('/api/v1/tools/{tool_id}', { params: { path } })
  const missing = await client.GET('/api/v1/tools/{tool_id}', { params: { path: { tool_id: 'tool_none' } } })
  // @ts-expect-error -- a body has a name
  const refused = await client.POST('/api/v1/tools', { body: { execute } })
  // @ts-expect-error -- there is no such path
  void (() => client.GET('/api/v1/nothing'))
  return { name: read.data?.name, missing: missing.error?.error.code, refused: refused.error?.error.code }
}
`

describeWithPeers('the OpenAPI document', () => {
  let h: Harness
  let folder: string
  beforeAll(async () => {
    h = await openHarness()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-openapi-'))
  })
  afterAll(async () => {
    await h.stop()
    await rm(folder, { recursive: true })
  })

  test('Redocly has nothing to say, by its recommended rules', async () => {
    const { createConfig, lint } = await importPeer<Untyped>('@redocly/openapi-core')
    const config = await createConfig({ extends: ['recommended'] })
    const problems = (await lint({ ref: file, config })) as Untyped[]
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    )
  })

  test('nor has Spectral, but that nobody is named who runs the server', async () => {
    const { Spectral } = await importPeer<Untyped>('@stoplight/spectral-core')
    const { oas } = await importPeer<Untyped>('@stoplight/spectral-rulesets')
    const spectral = new Spectral()
    spectral.setRuleset({ extends: [[oas, 'recommended']] })
    const problems = (await spectral.run(JSON.parse(await readFile(file, 'utf8')))) as Untyped[]
    expect(problems.map(({ code, path }) => [code, path.join('/')])).toEqual([['info-contact', 'info']])
  })

  test(
    'types of openapi-typescript hold what openapi-fetch sends and reads',
    { timeout: 60_000 },
    async () => {
      const generator = await importPeer<Untyped>('openapi-typescript')
      const nodes = await generator['default'](pathToFileURL(file))
      await writeFile(join(folder, 'api.ts'), generator['astToString'](nodes))
      await writeFile(join(folder, 'use.ts'), program)
      await writeFile(join(folder, 'package.json'), '{"type":"module"}')
      await symlink(peerFile('node_modules'), join(folder, 'node_modules'))
      const options = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--outDir', 'out']
      const compiler = peerFile('node_modules/typescript/bin/tsc')
      const flags = [
        '--lib',
        'es2023,dom',
        '--allowImportingTsExtensions',
        '--rewriteRelativeImportExtensions',
      ]
      const compiled = promisify(execFile)(process.execPath, [compiler, ...options, ...flags, 'use.ts'], {
        cwd: folder,
      })
      expect(await compiled.catch((error: Untyped) => error['stdout'] as string)).toMatchObject({
        stdout: '',
      })
      const made = (await import(pathToFileURL(join(folder, 'out/use.js')).href)) as Untyped
      expect(await made['use'](h.url, adminKey)).toEqual({
        name: 'typed',
        missing: 'NOT_FOUND',
        refused: 'INVALID',
      })
    },
  )
})
