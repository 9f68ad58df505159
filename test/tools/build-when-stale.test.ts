/** `npm start` runs what the sources say: dist is built when, and only when, it was made from others. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const script = join(root, 'tools/build-when-stale.mjs')

/** Built once; every test gets a copy. */
let template: string
let project: string
beforeAll(async () => {
  project = template = await mkdtemp(join(tmpdir(), 'gatehouse-build-'))
  await mkdir(join(project, 'src'))
  await mkdir(join(project, 'node_modules'))
  await symlink(join(root, 'node_modules/typescript'), join(project, 'node_modules/typescript'))
  await write('package.json', '{"type":"module"}')
  await write('tsconfig.json', JSON.stringify({ compilerOptions: { target: 'ES2022' } }))
  await write('src/main.ts', "export const answer: string = 'first'\n")
  await write('src/backup.ts', 'export const other = 1\n')
  expect(run()).toEqual({ status: 0, said: '' })
  expect(await built()).toContain('first')
})
beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'gatehouse-build-'))
  await cp(template, project, { recursive: true })
})
afterEach(() => rm(project, { recursive: true }))
afterAll(() => rm(template, { recursive: true }))

const write = (path: string, content: string) => writeFile(join(project, path), content)
const built = () => readFile(join(project, 'dist/main.js'), 'utf8')
const withoutTypescript = () => rm(join(project, 'node_modules/typescript'))

function run(option?: '--install' | '--force') {
  const { status, stderr, stdout } = spawnSync(process.execPath, [script, ...(option ? [option] : [])], {
    cwd: project,
    encoding: 'utf8',
  })
  return { status, said: stderr + stdout }
}

/** Marks dist, so that a build, which replaces it as a whole, is seen. */
const mark = () => write('dist/mark', '')
const isMarked = () => existsSync(join(project, 'dist/mark'))

it('builds nothing when dist was made from these sources', async () => {
  await mark()
  expect(run()).toEqual({ status: 0, said: '' })
  expect(isMarked()).toBe(true)
})

it('builds when a source changed, whatever its time says', async () => {
  await write('src/main.ts', "export const answer: string = 'second'\n")
  await utimes(join(project, 'src/main.ts'), new Date(0), new Date(0))
  expect(run().status).toBe(0)
  expect(await built()).toContain('second')
})

it('builds when a compiler option changed', async () => {
  await mark()
  const path = join(project, 'tsconfig.json')
  await writeFile(path, (await readFile(path, 'utf8')).replace('ES2022', 'ES2023'))
  expect(run().status).toBe(0)
  expect(isMarked()).toBe(false)
})

it('leaves nothing of a deleted source', async () => {
  expect(await readdir(join(project, 'dist'))).toContain('backup.js')
  await rm(join(project, 'src/backup.ts'))
  expect(run().status).toBe(0)
  expect(await readdir(join(project, 'dist'))).not.toContain('backup.js')
})

it('leaves dist as it was when a build fails, says why, and tries again the next time', async () => {
  await write('src/main.ts', 'export const answer =\n')
  for (const _ of ['once', 'again']) {
    const failed = run()
    expect(failed.status).toBeGreaterThan(0)
    expect(failed.said).toContain('src/main.ts:1:23')
    expect(await built()).toContain('first')
  }
  expect((await readdir(project)).filter((name) => name.startsWith('dist'))).toEqual(['dist'])
})

it('builds client and command line beside the server, and anew when one of them changed', async () => {
  const compilerOptions = {
    module: 'ESNext',
    target: 'ES2022',
    lib: ['ES5'],
    types: [],
    rootDir: '.',
    declaration: true,
  }
  await write('tsconfig.client.json', JSON.stringify({ compilerOptions, include: ['client'] }))
  for (const part of ['client', 'cli']) await mkdir(join(project, part))
  await write('client/index.ts', "export const answer: string = 'first'\n")
  await write('cli/main.ts', "export { answer } from '../client/index.ts'\n")
  expect(run()).toEqual({ status: 0, said: '' })
  expect((await readdir(join(project, 'dist'))).toSorted()).toEqual(
    expect.arrayContaining(['cli', 'client', 'main.js']),
  )
  expect(await readdir(join(project, 'dist/client'))).toContain('index.d.ts')
  await write('client/index.ts', "export const answer: string = 'second'\n")
  expect(run().status).toBe(0)
  expect(await readFile(join(project, 'dist/client/index.js'), 'utf8')).toContain('second')
})

it('builds in any case when it is told to', async () => {
  await mark()
  expect(run('--force')).toEqual({ status: 0, said: '' })
  expect(isMarked()).toBe(false)
})

it('without TypeScript: starts what is there, refuses to start nothing, and lets an install pass', async () => {
  await withoutTypescript()
  expect(run()).toEqual({ status: 0, said: '' })
  await write('src/main.ts', "export const answer: string = 'second'\n")
  expect(run()).toEqual({
    status: 0,
    said: expect.stringMatching(/^dist was not built from these sources.*npm ci && npm run build/),
  })
  expect(run('--force').status).toBe(1)
  await rm(join(project, 'dist'), { recursive: true })
  const missing = { said: expect.stringMatching(/^dist\/main.js is missing.*npm ci && npm run build/) }
  expect(run()).toEqual({ status: 1, ...missing })
  expect(run('--install')).toEqual({ status: 0, ...missing })
})

it('starts a dist that came without its sources', async () => {
  await rm(join(project, 'src'), { recursive: true })
  expect(run()).toEqual({ status: 0, said: '' })
})
