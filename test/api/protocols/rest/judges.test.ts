/** What others make of docs/openapi.json: two linters, and typed clients that are generated from it. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder as suite, isInstalled, newerNode } from '../../../conformance/suite.ts'
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

/** The same with the functions that orval writes. */
const programOfOrval = `import { createTool, getTool } from './orval.ts'
export async function use(key: string) {
  const options = { headers: { authorization: \`Bearer \${key}\` } }
  const execute = { url: 'http://127.0.0.1:9/x' }
  const made = await createTool({ name: 'by_orval', execute, parameters: { type: 'object' } }, options)
  if (made.status !== 201) throw new Error(made.data.error.message)
  const read = await getTool(made.data.id, options)
  const missing = await getTool('tool_none', options)
  // @ts-expect-error -- a body has a name
  const refused = await createTool({ execute }, options)
  return {
    name: read.status === 200 ? read.data.name : null,
    missing: missing.status === 200 ? null : missing.data.error.code,
    refused: refused.status === 201 ? null : refused.data.error.code,
  }
}
`

const run = promisify(execFile)

/** Compiles a program strictly; what it exports. */
async function compiled(folder: string, name: string): Promise<Untyped> {
  const options = [
    '--strict',
    '--target',
    'es2023',
    '--lib',
    'es2023,dom,dom.iterable',
    '--module',
    'nodenext',
  ]
  const flags = [
    '--skipLibCheck',
    '--outDir',
    'out',
    '--allowImportingTsExtensions',
    '--rewriteRelativeImportExtensions',
  ]
  const compiler = peerFile('node_modules/typescript/bin/tsc')
  const made = run(process.execPath, [compiler, ...options, ...flags, `${name}.ts`], { cwd: folder })
  expect(await made.catch((error: Untyped) => error['stdout'] as string)).toMatchObject({ stdout: '' })
  return (await import(pathToFileURL(join(folder, `out/${name}.js`)).href)) as Untyped
}

describeWithPeers('the OpenAPI document', () => {
  let h: Harness
  let folder: string
  beforeAll(async () => {
    h = await openHarness()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-openapi-'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await symlink(peerFile('node_modules'), join(folder, 'node_modules'))
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
    { timeout: 180_000 },
    async () => {
      const generator = await importPeer<Untyped>('openapi-typescript')
      const nodes = await generator['default'](pathToFileURL(file))
      await writeFile(join(folder, 'api.ts'), generator['astToString'](nodes))
      await writeFile(join(folder, 'use.ts'), program)
      const made = await compiled(folder, 'use')
      expect(await made['use'](h.url, adminKey)).toEqual({
        name: 'typed',
        missing: 'NOT_FOUND',
        refused: 'INVALID',
      })
    },
  )

  test.skipIf(!isInstalled)('functions of orval do too', { timeout: 180_000 }, async () => {
    const output = { target: './orval.ts', client: 'fetch', mode: 'single', baseUrl: h.url }
    const configuration = { gatehouse: { input: file, output } }
    await writeFile(join(folder, 'orval.config.mjs'), `export default ${JSON.stringify(configuration)}`)
    const orval = join(suite, 'orval/dist/bin/orval.mjs')
    await run(newerNode()!, [orval, '--config', 'orval.config.mjs'], { cwd: folder })
    await writeFile(join(folder, 'use-orval.ts'), programOfOrval)
    const made = await compiled(folder, 'use-orval')
    expect(await made['use'](adminKey)).toEqual({
      name: 'by_orval',
      missing: 'NOT_FOUND',
      refused: 'INVALID',
    })
  })
})
