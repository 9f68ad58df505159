/** Signs of life for a client that asked for them: the agent's steps and text, and how long a person may still take. */
import type { ServerContext } from '@modelcontextprotocol/server'
import { watchTalk, type Work } from '../../domain/bridge/index.ts'
import type { Visit } from './visit.ts'

/** Text of the agent is told at most so often, in milliseconds. */
const textEveryMs = 200

/** Tells something, with a number that rises each time. */
export type Progress = (message: string) => void

/** Null when the client did not ask, or cannot hear it. */
export function progressOf(visit: Pick<Visit, 'streams'>, mcp: ServerContext): Progress | null {
  const progressToken = mcp.mcpReq._meta?.progressToken
  if (progressToken === undefined || !visit.streams) return null
  let progress = 0
  return (message) => {
    const params = { progressToken, progress: ++progress, message }
    // A client that has gone hears nothing more.
    void mcp.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}

/** Tells what the run does, until the answer ends it. Nothing for a call of a tool. */
export function tellTalk({ ctx, gone, log }: Visit, progress: Progress, id: string): () => void {
  if (!id.startsWith('gen_')) return () => {}
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, gone])
  const tell = async () => {
    let last = 0
    for await (const { message, isText } of watchTalk(ctx, id, signal)) {
      if (isText && Date.now() - last < textEveryMs) continue
      last = Date.now()
      progress(message)
    }
  }
  tell().catch((error: unknown) => log.warn({ err: error, id }, 'the progress of a run could not be told'))
  return () => stop.abort()
}

/** Tells every few seconds that a person has to decide. */
export function tellWaiting({ times }: Visit, progress: Progress, { pending }: Work): () => void {
  const tell = () => {
    const left = Math.max(0, Math.round(((pending?.expiresAt.getTime() ?? 0) - Date.now()) / 1000))
    progress(`waiting for approval, ${left} s left`)
  }
  tell()
  const timer = setInterval(tell, times.progressMs)
  return () => clearInterval(timer)
}
