/** The MCP conformance suite against the public route of an agent, at both frozen revisions. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminKey, openHarness, type Harness } from '../support/harness.ts'
import { makeFixture, type Fixture } from './fixture.ts'
import { startProxy, type Proxy } from './proxy.ts'
import {
  expectedOf,
  isInstalled,
  readChecks,
  runSuite,
  scenariosOf,
  warnIfMissing,
  type Check,
} from './suite.ts'

/** Only ever lowered. */
const mostExpected = { '2025-11-25': 0, '2026-07-28': 0 }
const revisions = ['2025-11-25', '2026-07-28'] as const

warnIfMissing()

describe.skipIf(!isInstalled).each(revisions)('the server set of %s', async (revision) => {
  const scenarios = isInstalled ? await scenariosOf(revision, 'server') : []
  const expected = expectedOf(revision)
  const output = mkdtempSync(join(tmpdir(), 'gatehouse-conformance-'))
  let h: Harness
  let fixture: Fixture
  let proxy: Proxy
  let checks: Map<string, Check[]>

  beforeAll(async () => {
    h = await openHarness()
    fixture = await makeFixture(h)
    proxy = await startProxy(new URL(`${h.url}/mcp/${fixture.agentId}`), adminKey)
    const url = `http://localhost:${proxy.port}/mcp`
    await runSuite(['server', '--url', url, '--requirements', revision, '-o', output])
    checks = readChecks(output)
  }, 360_000)
  afterAll(async () => {
    await proxy?.close()
    await fixture?.close()
    await h?.stop()
    rmSync(output, { recursive: true, force: true })
  })

  test('has scenarios, and its list of expected failures has reasons and only shrinks', () => {
    expect(scenarios.length).toBeGreaterThan(30)
    expect(expected.length).toBeLessThanOrEqual(mostExpected[revision])
    for (const { entry, reason } of expected) {
      expect(reason, entry).not.toBe('')
      expect(scenarios).toContain(entry.split(':')[0])
    }
  })

  test.each(scenarios)('%s', (scenario) => {
    const done = checks.get(scenario)
    expect(done, 'the scenario was run').toBeDefined()
    const failed = [...new Set(done!.filter((check) => check.status === 'FAILURE').map((check) => check.id))]
    const excused = expected
      .map(({ entry }) => entry.split(':'))
      .filter(([name]) => name === scenario)
      .map(([, id]) => id)
    const said = done!.map((check) => `${check.id}: ${check.status} ${check.errorMessage ?? ''}`).join('\n')
    // An excuse that is not needed any more must go, too.
    expect(failed.toSorted(), said).toEqual(excused.toSorted())
  })
})
