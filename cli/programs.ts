/** Programs of the server's package that run in this process, with the settings of the servers. */
import { note, oneLine, red } from './screen.ts'

/** What the program returns; null when it failed, and was said why. */
export async function runHere<Result>(name: string, input: unknown): Promise<{ result: Result } | null> {
  const load = (path: string) => import(new URL(path, import.meta.url).href)
  const { main } = (await load(`../${name}.js`)) as { main(input: unknown): Promise<Result> }
  const { startFault } = (await load('../start-fault.js')) as { startFault(error: unknown): string }
  try {
    return { result: await main(input) }
  } catch (error) {
    for (const line of startFault(error).split('\n')) note(red(oneLine(line)))
    return null
  }
}
