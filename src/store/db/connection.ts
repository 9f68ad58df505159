/** A database that was opened, and the address of one. */
import type { JsonObject } from '../../core/json.ts'
import type { Database } from './database.ts'
import type { DatabaseHealth } from './health.ts'
import type { Session } from './postgres/session.ts'

export interface Connection {
  db: Database
  /**
   * The same database over a pool of its own, for heartbeats, claims, outcomes and the readiness probe, which must not
   * wait while `db` is busy. On PGlite it is `db`.
   */
  leaseDb: Database
  kind: 'pglite' | 'postgres'
  /** The schema of the tables. */
  schema: string
  /** The statements sent so far, on PGlite, to which no other process writes; null on PostgreSQL. */
  statementCount: (() => number) | null
  /** Opens a connection outside the pools, past a pooler if the address says how, for migrations; null on PGlite. */
  openSession: (() => Promise<Session>) | null
  /** Opens one of the address that the pools use; null on PGlite. */
  openPooled: (() => Promise<Session>) | null
  /** Sets what answers other processes of this machine that may write the directory; null where there is none. */
  answerProcesses: ((answer: (request: JsonObject) => Promise<object>) => void) | null
  health: DatabaseHealth
  close(): Promise<void>
}

export type DatabaseAddress =
  /** `directUrl`: the same database without a pooler. Default: `url`. `schema`: of the tables. Default: public. */
  | { kind: 'postgres'; url: string; directUrl?: string; schema?: string; poolSize: number }
  | { kind: 'pglite'; directory: string }
  /** In memory, from a dump of a migrated database when there is one. */
  | { kind: 'memory'; dump?: Blob }
