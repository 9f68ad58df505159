/** Opens the embedded database: on a directory, or in memory. */
import type { Socket } from 'node:net'
import { PGlite, types } from '@electric-sql/pglite'
import { readForeignJson } from '../../../core/json.ts'
import { embeddedHealth } from '../health.ts'
import type { Connection, DatabaseAddress } from '../connection.ts'
import { lockDirectory } from './directory-lock.ts'
import { initialiseDirectory } from './initialise.ts'
import { databaseOverPglite } from './client.ts'
import { serveProcesses, type AnswerProcess } from './serve-processes.ts'

/**
 * A quarter of PostgreSQL's default: the process holds the buffers itself, and the system caches the files beneath them.
 * The resident memory is a hundred megabytes smaller, at the same speed.
 */
const embedded = {
  startParams: [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB'],
  parsers: { [types.JSON]: readForeignJson, [types.JSONB]: readForeignJson },
}

/** Connects; see `connect`. */
export async function connectEmbedded(
  address: Exclude<DatabaseAddress, { kind: 'postgres' }>,
): Promise<Connection> {
  if (address.kind === 'memory')
    return connectionOver(
      await PGlite.create({ ...embedded, ...(address.dump ? { loadDataDir: address.dump } : {}) }),
    )
  // A process that asks before the database is open gets no response.
  let answer = (socket: Socket): void => void socket.destroy()
  const unlock = await lockDirectory(address.directory, (socket) => answer(socket))
  try {
    await initialiseDirectory(address.directory)
    const client = await PGlite.create(address.directory, embedded)
    let answerProcess: AnswerProcess | null = null
    answer = serveProcesses(client, () => answerProcess)
    return { ...connectionOver(client, unlock), answerProcesses: (given) => void (answerProcess = given) }
  } catch (error) {
    await unlock()
    throw error
  }
}

function connectionOver(client: PGlite, unlock: () => Promise<void> = async () => {}): Connection {
  let statements = 0
  const db = databaseOverPglite(client, () => void statements++)
  return {
    db,
    leaseDb: db,
    kind: 'pglite',
    schema: 'public',
    statementCount: () => statements,
    openSession: null,
    openPooled: null,
    answerProcesses: null,
    health: embeddedHealth(db),
    close: async () => {
      if (!client.closed) await client.close()
      await unlock()
    },
  }
}
