/**
 * Lets another process of this machine copy the directory of the embedded database while it is in use: PostgreSQL's
 * low-level base backup (https://www.postgresql.org/docs/current/continuous-archiving.html), over the socket file beside the
 * lock. Who may open that may read the directory, too.
 */
import type { Socket } from 'node:net'
import type { PGlite } from '@electric-sql/pglite'

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

/** A connection that says nothing only asks whether the process lives. A copy may take an hour. In milliseconds. */
const silenceMs = 1000
const copyMs = 60 * 60_000

/** One backup at a time; a second one is told so. A connection that is lost ends its backup. */
export function serveBackups(client: PGlite): (socket: Socket) => void {
  let isBusy = false
  return (socket) => {
    const next = linesOf(socket)
    socket.setTimeout(silenceMs, () => socket.destroy())
    void serve().catch(() => {})
    async function serve() {
      try {
        if ((await next()) !== backupWords.begin) return
        if (isBusy) return say({ busy: true })
        isBusy = true
        await backUp()
      } finally {
        socket.end()
      }
    }
    async function backUp() {
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
    function say(value: object) {
      socket.write(`${JSON.stringify(value)}\n`)
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
      `select (select max(created_at)::float8 from drizzle.__drizzle_migrations) as schema, incarnation from installation`,
    )
    .catch(() => null)
  return { ...ended.rows[0]!, schema: null, incarnation: null, ...state?.rows[0] }
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
