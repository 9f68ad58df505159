/**
 * Lets another process of this machine copy the directory of the embedded database while it is in use: PostgreSQL's
 * low-level base backup (https://www.postgresql.org/docs/current/continuous-archiving.html), over the socket file beside the
 * lock. Who may open that may read the directory, too.
 */
import type { Socket } from 'node:net'
import type { PGlite } from '@electric-sql/pglite'
import { writeJson } from '../../../core/json.ts'

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
