/** The client tools that this process runs, and ran: a call runs at most once, whoever follows its generation. */
import { readForeignJson, writeJson } from '../src/core/exact-json.ts'

/** A handler of one tool. It may throw: the message becomes the output, marked as an error, and the model reads it. */
export type ToolFunction<Args = Record<string, unknown>> = (args: Args, context: ToolContext) => unknown

/** A handler with a check of its own: what `parse` throws is the output of the call. */
export interface CheckedTool<Args> {
  parse(args: unknown): Args | Promise<Args>
  run: ToolFunction<Args>
}

// oxlint-disable-next-line typescript/no-explicit-any -- handlers of one list differ in their arguments
export type ClientTool = ToolFunction<any> | CheckedTool<any>

export interface ToolContext {
  toolCallId: string
  name: string
  generationId: string
  /** Aborts when the time for the output is over, when the generation ends, and when runClientTools is aborted. */
  signal: AbortSignal
  /** When the server stops to wait for the output; null: never. */
  deadline: Date | null
}

/** What is submitted. Made once for each call, so that a repeat is identical. */
export interface ToolOutput {
  output: unknown
  isError: boolean
}

/** The output of each call that began here; null once the server needs none any more. */
const runs = new Map<string, Promise<ToolOutput> | null>()
const mostRemembered = 10_000

/** The output of the call: it begins to run unless it did before. null: it has been settled. */
export function outputOf(id: string, begin: () => Promise<ToolOutput>): Promise<ToolOutput> | null {
  const known = runs.get(id)
  if (known !== undefined) return known
  const output = begin()
  runs.set(id, output)
  return output
}

/** Puts another output in the place of one that the server does not take. */
export function replaceOutput(id: string, output: ToolOutput): void {
  runs.set(id, Promise.resolve(output))
}

/** The server has an output, or wants none any more: only that the call ran is remembered. */
export function forgetOutput(id: string): void {
  // Newest last.
  runs.delete(id)
  runs.set(id, null)
  if (runs.size <= mostRemembered) return
  for (const [old, output] of runs) {
    if (output !== null) continue
    runs.delete(old)
    return
  }
}

const mostMessage = 10_000
/** A request may have 1 MiB. What has fewer characters and more bytes is refused by the server, and told then. */
const mostOutput = 1_000_000

export const errorOutput = (message: string): ToolOutput => ({
  output: message.slice(0, mostMessage),
  isError: true,
})

/** Runs a handler until it returns or the signal aborts. Never rejects. */
export async function runTool(tool: ClientTool, args: unknown, context: ToolContext): Promise<ToolOutput> {
  const { signal } = context
  let stop = () => {}
  const stopped = new Promise<ToolOutput>((resolve) => {
    stop = () => resolve(errorOutput(whyStopped(signal.reason)))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([call(tool, args, context), stopped])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function call(tool: ClientTool, args: unknown, context: ToolContext): Promise<ToolOutput> {
  try {
    if (context.signal.aborted) throw context.signal.reason
    const value: unknown =
      typeof tool === 'function'
        ? await tool(args, context)
        : await tool.run(await checked(tool, args), context)
    return { output: asJson(value), isError: false }
  } catch (error) {
    return errorOutput(error instanceof Error ? error.message || error.name : String(error))
  }
}

async function checked(tool: CheckedTool<unknown>, args: unknown): Promise<unknown> {
  try {
    return await tool.parse(args)
  } catch (error) {
    throw new Error(`Invalid arguments: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** The value as it is sent, so that every repeat is the same. Throws for what is no JSON. */
function asJson(value: unknown): unknown {
  let text: string | undefined
  try {
    text = writeJson(value)
  } catch (error) {
    throw new Error('The tool returned a value that is not JSON.', { cause: error })
  }
  if (text !== undefined && text.length > mostOutput)
    throw new Error('The output is larger than 1,000,000 characters.')
  return text === undefined ? null : readForeignJson(text)
}

/** The handler may have begun something before it was stopped: the model must not read that nothing happened. */
function whyStopped(reason: unknown): string {
  const late = (reason as { name?: unknown } | undefined)?.name === 'TimeoutError'
  const what = late ? 'did not finish in time' : 'was interrupted before it returned'
  return `The tool ${what}; whether it took effect is not known.`
}
