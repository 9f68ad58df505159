/**
 * What processes of one machine ask of the one that uses the directory of the embedded database, and what it does for
 * them.
 */
import type { Socket } from 'node:net'
import type { PGlite } from '@electric-sql/pglite'
import { writeJson, isJsonObject, type JsonObject, tryParseJson } from '../../../core/json.ts'
import { UnusableDatabaseError } from '../storage-error.ts'
import { lockPathOf, ownerOf, connectToOwner } from './directory-lock.ts'

/** What a copy needs beside the files. */
export interface BackupEnd {
  /** The content of the file `backup_label`. */
  label: string
  /** The name of the newest file of the write-ahead log that the copy needs. */
  lastWal: string
  /** The time of the newest migration, and the name of the log's incarnation; null before the first start has ended. */
  schema: number | null
  incarnation: string | null
}

/** Sent by the process that copies: before, and when all but the write-ahead log is copied. */
export const backupWords = { begin: 'begin backup', end: 'end backup' } as const

/** How long a copy may take, in milliseconds. */
const copyMs = 60 * 60_000

/** One backup at a time; a second one is told so. `next` has the lines after the first one. A connection that is lost ends its backup. */
export function serveBackups(client: PGlite): (socket: Socket, next: () => Promise<string>) => Promise<void> {
  let isBusy = false
  return async (socket, next) => {
    const say = (value: object) => void socket.write(`${writeJson(value)}\n`)
    if (isBusy) return say({ busy: true })
    isBusy = true
    socket.setTimeout(copyMs)
    try {
      await client.query(`select pg_backup_start('gatehouse', fast => true)`)
      say({ begun: true })
      const isCopied = (await next()) === backupWords.end
      const end = await endBackup(client)
      if (isCopied) say(end)
    } finally {
      isBusy = false
    }
  }
}

async function endBackup(client: PGlite): Promise<BackupEnd> {
  // By itself: an error of another part would leave the backup open, and none could begin again.
  const ended = await client.query<Pick<BackupEnd, 'label' | 'lastWal'>>(
    `select labelfile as label, pg_walfile_name(lsn) as "lastWal" from pg_backup_stop(wait_for_archive => false)`,
  )
  const state = await client
    .query<Pick<BackupEnd, 'schema' | 'incarnation'>>(
      `select (select max(made_at)::float8 from gatehouse_migrations) as schema, incarnation from installation`,
    )
    .catch(() => null)
  return { ...ended.rows[0]!, schema: null, incarnation: null, ...state?.rows[0] }
}

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

/** A connection to the process that uses the directory; null when none does, or it cannot be reached from here. */
export async function reachOwner(directory: string): Promise<Socket | null> {
  const lock = lockPathOf(directory)
  const owner = await ownerOf(lock)
  return owner && connectToOwner(lock, owner)
}

/**
 * What the server on this directory answers. Throws UnusableDatabaseError when it cannot be reached, which is so for another
 * account of the system, or does not answer: then it is not known whether it did what was asked.
 */
export async function askOwner(directory: string, request: JsonObject): Promise<JsonObject> {
  const socket = await reachOwner(directory)
  if (!socket)
    throw new UnusableDatabaseError(
      'The process that uses the database cannot be reached from here. Run this on its machine and as its user, or stop it first.',
    )
  try {
    const next = linesOf(socket)
    socket.write(`${writeJson(request)}\n`)
    const answer = tryParseJson(await next())
    if (isJsonObject(answer)) return answer
    throw new UnusableDatabaseError(
      'The process that uses the database did not answer: it is starting or stopping, or is of another release. Look whether it has done this, and try again.',
    )
  } finally {
    socket.destroy()
  }
}
