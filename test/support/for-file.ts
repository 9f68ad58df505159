/** What a test file opens for all of its tests. */
import { afterAll } from 'vitest'

type Opened = { stop(): unknown } | { close(): unknown } | { drop(): unknown }

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
    else await thing.drop()
  })
  return thing
}
