/** The order of the test files: vitest begins with the largest, which are not always those that take longest. */
import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Small files that take long: begun among the last, they would keep one worker busy while the others have nothing to do. */
const slow = new Set([
  'test/api/protocols/frameworks/mcp.test.ts',
  'test/api/same-rights.test.ts',
  'test/chaos/a2a.test.ts',
  'test/chaos/chat.test.ts',
  'test/chaos/embedded-upgrade.test.ts',
  'test/chaos/failover-patroni.test.ts',
  'test/chaos/former-leader.test.ts',
  'test/chaos/killed-migrations.test.ts',
  'test/chaos/pglite.test.ts',
  'test/chaos/protocol-model.test.ts',
  'test/cli/local-keys.test.ts',
  'test/conformance/server.test.ts',
  'test/docs/examples.test.ts',
  'test/first-start.test.ts',
  'test/journeys/connected-servers.test.ts',
  'test/journeys/mcp/clients.test.ts',
  'test/journeys/retention/soak.test.ts',
  'test/journeys/verdicts/everywhere-at-once.test.ts',
  'test/journeys/wires.test.ts',
  'test/slow/database-matrix.test.ts',
  'test/slow/impatient-clients.test.ts',
  'test/store/start-on-postgres.test.ts',
  'test/store/work.test.ts',
  'test/tools/packed.test.ts',
  'test/web/every-screen.test.ts',
  'test/web/german.test.ts',
  'test/web/playground.test.ts',
])

/** Those first, within their project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = [...slow].filter((path) => !existsSync(path))
    if (gone.length > 0) throw new Error(`There is no such file any more: ${gone.join(', ')}`)
    const isSlow = ({ moduleId }: TestSpecification) => slow.has(relative(this.ctx.config.root, moduleId))
    // oxlint-disable-next-line unicorn/no-array-sort -- not the one of arrays
    const sorted = await super.sort(files)
    const projects = [...new Set(sorted.map(({ project }) => project.name))]
    return projects.flatMap((name) => {
      const own = sorted.filter(({ project }) => project.name === name)
      return [...own.filter(isSlow), ...own.filter((file) => !isSlow(file))]
    })
  }
}
