/** The suite judges our own client of upstreams, in the complete sets, scored and unscored: each scenario becomes a test. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../src/app.ts'
import { drive, openServer, type Task } from './client-driver.ts'
import { expectedOf, isInstalled, runSuite, scenariosOf, warnIfMissing, type Check } from './suite.ts'

type Revision = '2025-11-25' | '2026-07-28'

/** Only ever lowered. */
const mostExpected = { '2025-11-25': 5, '2026-07-28': 5 }
/** For all scenarios of a revision, on a busy machine; in milliseconds. */
const patienceMs = 300_000

interface Judged {
  checks: Check[]
  /** What the driver said, line by line. */
  lines: string[]
}

/** How the driver ends where a server must not be believed, or is never content; everywhere else without any error. */
const refusals: Record<string, string> = {
  'auth/iss-supported-missing': 'login: 502',
  'auth/iss-wrong-issuer': 'login: 502',
  'auth/iss-unexpected': 'login: 502',
  'auth/iss-normalized': 'login: 502',
  'auth/metadata-issuer-mismatch':
    'login: The server names another authorization server than the one that is configured. Nothing was sent to it.',
  'auth/resource-mismatch':
    'login: The metadata of the server describes another server. Nothing was sent to its authorization server.',
  'auth/scope-retry-limit': 'AUTHORIZATION_REQUIRED: authorization_required',
  // Its tool is offered without the schema that is elsewhere, and the server answers no calls.
  'json-schema-ref-no-deref': 'CONNECTED: upstream_error',
}

warnIfMissing()
await judgeClient('2025-11-25')
await judgeClient('2026-07-28')

/** One test for each scenario of the revision, with its failures and warnings held against the excuses. */
async function judgeClient(revision: Revision): Promise<void> {
  const scenarios = isInstalled ? await scenariosOf(revision, 'client') : []
  describe.skipIf(!isInstalled)(`the client set of ${revision}`, () => {
    const expected = expectedOf(`client ${revision}`)
    const output = mkdtempSync(join(tmpdir(), 'gatehouse-client-'))
    let judged: Map<string, Judged>

    beforeAll(async () => {
      judged = await runAll(revision, scenarios, output)
    }, patienceMs + 60_000)
    afterAll(() => rmSync(output, { recursive: true, force: true }))

    test('has scenarios, and its list of expected failures has reasons and only shrinks', () => {
      expect(scenarios.length).toBeGreaterThan(20)
      expect(expected.length).toBeLessThanOrEqual(mostExpected[revision])
      for (const { entry, reason } of expected) {
        expect(reason, entry).not.toBe('')
        expect(scenarios).toContain(entry.split(':')[0])
      }
    })

    test.each(scenarios)('%s', (scenario) => {
      const { checks, lines } = judged.get(scenario)!
      const said = [...lines, ...checks.map(wordsOf)].join('\n')
      expect(checks.length, said).toBeGreaterThan(0)
      const failed = new Set(
        checks.filter(({ status }) => /FAILURE|WARNING/.test(status)).map(({ id }) => id),
      )
      const excused = expected.map(({ entry }) => entry.split(':')).filter(([name]) => name === scenario)
      // An excuse that is not needed any more must go, too.
      if (excused.some(([, id]) => id === undefined)) return expect(failed.size, said).toBeGreaterThan(0)
      expect([...failed].toSorted(), said).toEqual(excused.map(([, id]) => id).toSorted())
      expect(lines.at(-1), said).toBe(refusals[scenario] ?? 'CONNECTED: no errors')
    })
  })
}

function wordsOf({ id, status, errorMessage = '' }: Check): string {
  return `${id}: ${status} ${errorMessage}`
}

async function runAll(revision: Revision, scenarios: string[], output: string): Promise<Map<string, Judged>> {
  const app = await openServer()
  const driver = await startDriver(app)
  // The suite hands its own environment on to the program that it starts.
  process.env['DRIVER_URL'] = driver.url
  const command = `${process.execPath} ${join(import.meta.dirname, 'client-messenger.mjs')}`
  const within = ['--timeout', String(patienceMs), '-o', output]
  try {
    const said = await runSuite(['client', '--requirements', revision, '--command', command, ...within])
    const files = readdirSync(output, { recursive: true, encoding: 'utf8' })
    return new Map(scenarios.map((scenario) => [scenario, judgedOf(scenario, output, files, said)]))
  } finally {
    await driver.close()
    await app.stop(500)
  }
}

/** What the suite wrote of a scenario, into a folder whose name ends with the time. */
function judgedOf(scenario: string, output: string, files: string[], said: string): Judged {
  const read = (name: string) => {
    const path = files.find((one) => one.startsWith(`${scenario}-20`) && one.endsWith(`/${name}`))
    if (!path) throw new Error(`no ${name} of ${scenario}: ${said}`)
    return readFileSync(join(output, path), 'utf8')
  }
  const lines = `${read('stderr.txt')}\n${read('stdout.txt')}`.split('\n').filter(Boolean)
  return { checks: JSON.parse(read('checks.json')) as Check[], lines }
}

/** Our client lives in this process: the suite starts a messenger for each scenario, which brings the task here. */
async function startDriver(app: App): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const task = JSON.parse(await text(request)) as Task
    response.end((await drive(app, task)).join('\n'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  }
}
