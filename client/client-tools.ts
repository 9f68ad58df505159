/** Runs the client tools of a generation: it follows the events, runs what is asked, and submits the outputs. */
import { followGeneration, isLastEvent, run, runPatiently, typed, type Core } from './core.ts'
import * as documents from './documents.ts'
import { abortReason, ConflictError, errorOf, ValidationError, type GatehouseError } from './errors.ts'
import type {
  Generation,
  GenerationByIdData,
  GenerationByIdVariables,
  GenerationEvent,
  SubmitToolOutputsData,
  SubmitToolOutputsVariables,
  ToolCall,
} from './operation-types.ts'
import { limited } from './pause.ts'
import {
  errorOutput,
  forgetOutput,
  outputOf,
  replaceOutput,
  runTool,
  type ClientTool,
  type ToolOutput,
} from './tool-runs.ts'

export type SubmissionStatus = 'ACCEPTED' | 'UNCHANGED' | 'REFUSED'

export interface RunClientToolsOptions {
  /** Ends the work: running tools are told by their signal, and nothing more is submitted. */
  signal?: AbortSignal
  /** The most tools that run at the same time. Default: 8. */
  concurrency?: number
  /** How long one tool may run, in milliseconds, at most to the deadline of its call. Default: to that deadline. */
  timeoutMs?: number
  /** What happens to calls of tools that are not given: `leave` them for other programs, or `refuse`. Default: leave. */
  unknownTools?: 'leave' | 'refuse'
  /** Hears every event of the generation, in order, also text as it is written. */
  onEvent?: (event: GenerationEvent) => void
  /** Hears what became of each output. REFUSED: another program was faster, or the time was over. */
  onSubmitted?: (call: ToolCall, status: SubmissionStatus) => void
}

const byId = typed<GenerationByIdData, GenerationByIdVariables>(documents.generationById)
const submit = typed<SubmitToolOutputsData, SubmitToolOutputsVariables>(documents.submitToolOutputs)

/**
 * Runs the client tools that a generation and its child runs ask for, until it has ended; returns it as it is then. A call
 * runs at most once in this process. Connections may be lost at any time, and other programs may answer too: the first
 * output holds. Throws GatehouseError when this key may not follow or answer, and the reason of the signal.
 */
export async function runClientTools(
  core: Core,
  generationId: string,
  tools: Readonly<Record<string, ClientTool>>,
  options: RunClientToolsOptions = {},
): Promise<Generation> {
  const { signal } = options
  if (signal?.aborted) throw abortReason(signal)
  const ended = new AbortController()
  const forward = () => ended.abort(abortReason(signal!))
  signal?.addEventListener('abort', forward, { once: true })
  const runner = new Runner(core, generationId, tools, options, ended)
  try {
    // Tells early that there is no such generation, and what time it is on the server.
    await generation(core, generationId, ended.signal)
    const following = { signal: ended.signal, onCursorExpired: 'oldest' } as const
    for await (const event of followGeneration(core, generationId, following)) {
      if (event.type === 'REQUIRES_ACTION') event.toolCalls.forEach((call) => runner.take(call))
      options.onEvent?.(event)
      if (isLastEvent(event)) break
    }
    return await generation(core, generationId, ended.signal)
  } finally {
    signal?.removeEventListener('abort', forward)
    ended.abort(new DOMException('The generation has ended', 'AbortError'))
  }
}

async function generation(core: Core, id: string, signal: AbortSignal): Promise<Generation> {
  const { generation: found } = await runPatiently(core, byId, { id }, signal)
  if (!found) throw errorOf('NOT_FOUND', 'There is no such generation for this key.')
  return found
}

class Runner {
  readonly #seen = new Set<string>()
  readonly #queue: ToolCall[] = []
  #active = 0
  readonly #core: Core
  readonly #generationId: string
  readonly #tools: Readonly<Record<string, ClientTool>>
  readonly #options: RunClientToolsOptions
  /** Aborted at the end; with the error that ends the work. */
  readonly #ended: AbortController

  constructor(
    core: Core,
    generationId: string,
    tools: Readonly<Record<string, ClientTool>>,
    options: RunClientToolsOptions,
    ended: AbortController,
  ) {
    this.#core = core
    this.#generationId = generationId
    this.#tools = tools
    this.#options = options
    this.#ended = ended
  }

  /** Begins with a call unless it is another program's, settled, or known already. */
  take(call: ToolCall): void {
    const isOurs = Object.hasOwn(this.#tools, call.name) || this.#options.unknownTools === 'refuse'
    if (!isOurs || call.status !== 'AWAITING_CLIENT' || this.#seen.has(call.id)) return
    this.#seen.add(call.id)
    this.#queue.push(call)
    this.#advance()
  }

  #advance(): void {
    while (this.#active < (this.#options.concurrency ?? 8)) {
      const call = this.#queue.shift()
      if (!call || this.#ended.signal.aborted) return
      this.#active++
      void this.#serve(call)
        .catch((error: unknown) => this.#ended.abort(error))
        .finally(() => {
          this.#active--
          this.#advance()
        })
    }
  }

  async #serve(call: ToolCall): Promise<void> {
    const begun = outputOf(call.id, () => this.#run(call))
    if (begun === null) return
    const output = await begun
    if (this.#ended.signal.aborted) return
    const status = await this.#submit(call, output)
    forgetOutput(call.id)
    this.#options.onSubmitted?.(call, status)
  }

  async #run(call: ToolCall): Promise<ToolOutput> {
    const tool = Object.hasOwn(this.#tools, call.name) ? this.#tools[call.name] : undefined
    if (!tool) return errorOutput(`This client has no tool ${call.name}.`)
    const deadline = call.deadlineAt === null ? null : new Date(call.deadlineAt)
    const limit = limited(this.#timeFor(deadline), this.#ended.signal)
    const { id: toolCallId, name } = call
    const context = { toolCallId, name, generationId: this.#generationId, signal: limit.signal, deadline }
    return runTool(tool, call.arguments ?? {}, context).finally(limit.done)
  }

  /** Milliseconds until the deadline, by the server's clock; the server judges by its own anyway. */
  #timeFor(deadline: Date | null): number {
    const { timeoutMs = Infinity } = this.#options
    const now = this.#core.server.now()
    if (deadline === null || now === null) return timeoutMs
    return Math.min(timeoutMs, Math.max(0, deadline.getTime() - now))
  }

  /** Submits until the server has answered. An output that it does not take is replaced by an error that says why. */
  async #submit(call: ToolCall, output: ToolOutput): Promise<SubmissionStatus> {
    const answer = await this.#send(call, output)
    if (answer.refusal?.code !== 'INVALID' || output.isError) return answer.status
    const instead = errorOutput(`The output of the tool was refused: ${answer.refusal.message}`)
    replaceOutput(call.id, instead)
    return (await this.#send(call, instead)).status
  }

  async #send(
    call: ToolCall,
    output: ToolOutput,
  ): Promise<{ status: SubmissionStatus; refusal: Pick<GatehouseError, 'code' | 'message'> | null }> {
    const input = { generationId: this.#generationId, outputs: [{ toolCallId: call.id, ...output }] }
    try {
      const { submitToolOutputs } = await runPatiently(this.#core, submit, { input }, this.#ended.signal)
      const { status, error } = submitToolOutputs.outcomes[0]!
      return { status, refusal: error }
    } catch (error) {
      // The generation ended meanwhile, or the output is larger than a request may be.
      if (error instanceof ConflictError || error instanceof ValidationError)
        return { status: 'REFUSED', refusal: error }
      throw error
    }
  }
}

/** The generation as it is now; null when it does not exist for this key. */
export async function readGeneration(
  core: Core,
  id: string,
  signal?: AbortSignal,
): Promise<Generation | null> {
  return (await run(core, byId, { id }, true, { signal })).generation
}
