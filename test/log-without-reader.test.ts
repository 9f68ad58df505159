/** A server whose standard output takes nothing any more. */
import { spawnSync } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { expect, test } from 'vitest'

const program = `
import { createLog } from './src/logging.ts'
const log = createLog('info')
for (let i = 0; i < 20; i++) log.info({ filler: 'x'.repeat(200_000) }, 'line')
process.stdout.write('an audit entry')
setTimeout(() => process.stderr.write('goes on'), 50)
`

test.skipIf(!existsSync('/dev/full'))('goes on when its disk is full', () => {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
  const full = openSync('/dev/full', 'w')
  const { status, stderr } = spawnSync(process.execPath, args, {
    stdio: ['ignore', full, 'pipe'],
    timeout: 90_000,
  })
  expect(stderr.toString()).toBe('goes on')
  expect(status).toBe(0)
})
