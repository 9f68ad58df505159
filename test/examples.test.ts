/** The examples run as they are, against the server that `npm start` starts. */
import { execFile } from 'node:child_process'
import { readFile, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { ask } from './support/ask.ts'
import { buildServer } from './support/build.ts'
import { embeddedDatabase } from './support/databases.ts'
import { hasChromium, openChromium } from './support/chromium.ts'
import { adminKey } from './support/harness.ts'
import { copilotKitPackages } from './support/peers.ts'
import { startReplica } from './support/replica.ts'
import { servePage } from './support/vite-page.ts'
import { folderForFile } from './support/for-file.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../examples')
const built = await buildServer()
const folder = await folderForFile()
await embeddedDatabase(join(folder, 'data'))
const server = startReplica(built.entry, {
  GATEHOUSE_PORT: '0',
  GATEHOUSE_DATA_DIR: join(folder, 'data'),
  GATEHOUSE_ADMIN_KEY: adminKey,
})
await server.ready
const env: Record<string, string> = {
  PATH: process.env['PATH']!,
  GATEHOUSE_URL: server.url,
  GATEHOUSE_KEY: adminKey,
}
afterAll(async () => {
  await server?.stop()
})

const newestRefund = async () => {
  const { data } = await ask(
    server.url,
    adminKey,
    '{ generations(first: 1) { nodes { status toolCalls { name status attempts { outcome } approval { votes { verdict } } } } } }',
  )
  const { status, toolCalls } = data['generations'].nodes[0]
  return { status, refund: toolCalls.find(({ name }: { name: string }) => name === 'send_refund') }
}
const refunded = {
  status: 'COMPLETED',
  refund: {
    status: 'SUCCEEDED',
    attempts: [{ outcome: 'SUCCEEDED' }],
    approval: { votes: [{ verdict: 'APPROVE' }] },
  },
}

test('curl: a refund waits, is approved and runs once', async () => {
  const { stdout } = await run('bash', [join(root, 'curl/refund.sh')], { env })
  expect(stdout).toMatch(/send_refund waits for a person: apr_\S+\n/)
  expect(stdout).toContain('"text":"The money is on its way."')
  expect(await newestRefund()).toMatchObject(refunded)
})

test('client-tools: a file is read here, then a refund waits, is approved and runs once', async () => {
  const program = await built.program(await readFile(join(root, 'client-tools/refund.mjs'), 'utf8'))
  const { stdout } = await run(process.execPath, [program], { env }).finally(() => rm(program))
  expect(stdout).toMatch(/read_local_file \S+A-17\.csv\n/)
  expect(stdout).toContain('waits for a person: approving')
  expect(stdout).toContain('COMPLETED: The money is on its way.')
  expect(await newestRefund()).toMatchObject(refunded)
})

test('a2a: another agent asks for a refund, is asked for a verdict, and it runs once', async () => {
  const program = await built.program(await readFile(join(root, 'a2a/refund.mjs'), 'utf8'))
  const { stdout } = await run(process.execPath, [program], { env }).finally(() => rm(program))
  expect(stdout).toContain('waits for a person: approving')
  expect(stdout).toMatch(/^gen_\S+: The money is on its way\.$/m)
  expect(await newestRefund()).toMatchObject(refunded)
})

test('openai: the refund is a question of the response, is approved and runs once', async () => {
  const source = await readFile(join(root, 'openai/refund.mjs'), 'utf8')
  const { dependencies } = JSON.parse(await readFile(join(root, 'openai/package.json'), 'utf8'))
  const own = JSON.parse(await readFile(join(root, '../package.json'), 'utf8'))
  // The same package, under the name that it has here.
  expect(own.devDependencies.openai6).toBe(`npm:openai@${dependencies.openai}`)
  const program = await built.program(source.replace("from 'openai'", "from 'openai6'"))
  const { stdout } = await run(process.execPath, [program], { env }).finally(() => rm(program))
  expect(stdout).toContain('waits for a person: approving')
  expect(stdout).toContain('completed: The money is on its way.')
  expect(await newestRefund()).toMatchObject(refunded)
})

test.skipIf(!hasChromium || !copilotKitPackages)(
  'copilotkit: the page is asked for the refund, a person approves it there, and it runs once',
  async () => {
    const source = join(root, 'copilotkit')
    const { dependencies } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
    const tested = JSON.parse(await readFile(join(root, '../tools/copilotkit/package.json'), 'utf8'))
    expect(tested.dependencies).toMatchObject(dependencies)
    await withPage(source, copilotKitPackages!, async (page) => {
      await page.getByRole('button', { name: 'Refund order A-17' }).click()
      await page.getByText(/^send_refund .*A-17.* waits for a person/).waitFor()
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('The money is on its way.', { exact: true }).waitFor()
    })
    expect(await newestRefund()).toMatchObject(refunded)
  },
)

test.skipIf(!hasChromium)('chat: a person approves the refund on the page, and it runs once', async () => {
  await withPage(join(root, 'chat'), undefined, async (page) => {
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('send_refund').first().waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('#messages p', { hasText: /^The money is on its way\.$/ }).waitFor()
  })
  expect(await newestRefund()).toMatchObject(refunded)
})

/** Opens the page of an example in a browser. */
async function withPage(
  source: string,
  packages: string | undefined,
  act: (page: Page) => Promise<void>,
): Promise<void> {
  const served = await servePage(source, { env, ...(packages ? { packages } : {}) })
  const browser = await openChromium()
  try {
    const page = await browser.newPage()
    page.setDefaultTimeout(60_000)
    await page.goto(served.url)
    await act(page)
  } finally {
    await browser.close()
    await served.close()
  }
}

test('every example has a test here and a row in README', async () => {
  const folders = (await readdir(root, { withFileTypes: true })).filter((one) => one.isDirectory())
  const own = await readFile(import.meta.filename, 'utf8')
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  expect(folders.length).toBeGreaterThan(1)
  for (const { name } of folders) {
    expect(own).toContain(`'${name}: `)
    expect(readme).toContain(`examples/${name}/`)
  }
})
