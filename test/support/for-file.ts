/** What a test file opens for all of its tests. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

type Opened = { stop(): unknown } | { close(): unknown } | { drop(): unknown } | { kill(): unknown }

const longestMs = 360_000

/** At the top of a file: waits until it is open, and closes it after the last test. What was opened last is closed first. */
export async function forFile<Thing extends Opened>(opening: Promise<Thing>): Promise<Thing> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('It did not open within six minutes.')), longestMs)
  })
  const thing = await Promise.race([opening, late]).finally(() => clearTimeout(timer))
  afterAll(async () => {
    if ('stop' in thing) await thing.stop()
    else if ('close' in thing) await thing.close()
    else if ('drop' in thing) await thing.drop()
    else await thing.kill()
  })
  return thing
}

/** A folder of temporary files, for as long. */
export async function folderForFile(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-'))
  afterAll(() => rm(path, { recursive: true, force: true }))
  return path
}
