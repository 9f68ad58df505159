/**
 * What the process that uses the directory of the embedded database does for others of this machine, over the socket file beside
 * its lock: backups, and requests that the server answers. Who may open the socket may write the directory, too.
 */
import type { Socket } from 'node:net'
import type { PGlite } from '@electric-sql/pglite'
import { isJsonObject, type JsonObject, tryParseJson, writeJson } from '../../../core/json.ts'
import { backupWords, serveBackups } from './serve-backups.ts'

/** Answers a request of another process. */
export type AnswerProcess = (request: JsonObject) => Promise<object>

/** A connection that says nothing only asks whether the process lives. In milliseconds, as is the time for an answer. */
const silenceMs = 1000
const answerMs = 30_000

/** Serves one connection after another until they end. `answer` is asked for each time; null: it cannot answer yet. */
export function serveProcesses(client: PGlite, answer: () => AnswerProcess | null): (socket: Socket) => void {
  const backUp = serveBackups(client)
  return (socket) => {
    const next = linesOf(socket)
    socket.setTimeout(silenceMs, () => socket.destroy())
    void serve()
      .catch(() => {})
      .finally(() => socket.end())
    async function serve() {
      const word = await next()
      if (word === backupWords.begin) return backUp(socket, next)
      const request = tryParseJson(word)
      const answerOf = answer()
      if (!isJsonObject(request) || !answerOf) return
      socket.setTimeout(answerMs)
      socket.write(`${writeJson(await answerOf(request))}\n`)
    }
  }
}

/** The lines of a socket, one at each call; an empty one when there are no more, or one is too long. */
export function linesOf(socket: Socket): () => Promise<string> {
  let text = ''
  let isOver = false
  let wake = () => {}
  const end = () => {
    isOver = true
    wake()
  }
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => {
    text += chunk
    if (text.length > 10_000) socket.destroy()
    wake()
  })
  socket.once('error', end).once('close', end).once('end', end)
  return async () => {
    while (!text.includes('\n') && !isOver) await new Promise<void>((resolve) => (wake = resolve))
    const at = text.indexOf('\n')
    if (at < 0) return ''
    const line = text.slice(0, at)
    text = text.slice(at + 1)
    return line
  }
}
