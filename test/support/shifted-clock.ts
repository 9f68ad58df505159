/** A clock that is wrong in one process alone: a program that Node loads before the server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The clock is off by TEST_CLOCK_SHIFT_MS from the start, and is set back by an hour at SIGUSR2. */
const program = `
const real = Date
let shiftMs = Number(process.env.TEST_CLOCK_SHIFT_MS ?? 0)
process.on('SIGUSR2', () => void (shiftMs -= 3_600_000))
globalThis.Date = class extends real {
  constructor(...parts) {
    if (parts.length > 0) super(...parts)
    else super(real.now() + shiftMs)
  }
  static now() {
    return real.now() + shiftMs
  }
}
`

export interface ShiftedClock {
  /** The settings of a process whose clock is off by so many milliseconds. */
  off(milliseconds: number): Record<string, string>
  remove(): Promise<void>
}

export async function shiftedClock(): Promise<ShiftedClock> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-clock-'))
  const file = join(folder, 'clock.mjs')
  await writeFile(file, program)
  return {
    off: (milliseconds) => ({
      NODE_OPTIONS: `--import=${pathToFileURL(file).href}`,
      TEST_CLOCK_SHIFT_MS: String(milliseconds),
    }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
