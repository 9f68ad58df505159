/** The command `after-restore`: run it once after restoring a backup, while all servers are stopped. */
import { makeActions } from './api/graphql/transport/actions.ts'
import { loadConfig, type Config } from './config.ts'
import { settleInterruptedCalls } from './domain/generations/index.ts'
import { startFault } from './start-fault.ts'
import { addressOf } from './paths.ts'
import { connect } from './store/db/connect.ts'
import { atomically } from './store/db/database.ts'
import { migrate } from './store/db/migrate.ts'
import { localPubSub } from './store/pubsub/pubsub.ts'
import { beginIncarnation, endEveryLease } from './store/db/incarnation.ts'

/**
 * Begins another incarnation of the event log, so that cursors of events after the backup are refused with
 * CURSOR_EXPIRED; ends every lease; and makes calls UNKNOWN that ran or were next, and must not be repeated. Returns the
 * number of UNKNOWN calls. May be repeated.
 */
export async function afterRestore(config: Config): Promise<{ unknown: number }> {
  const connection = await connect(addressOf(config))
  try {
    await migrate(connection)
    const { db, leaseDb } = connection
    await atomically(db, async (tx) => {
      await beginIncarnation(tx)
      await endEveryLease(tx)
    })
    const unknown = await settleInterruptedCalls({
      db,
      leaseDb,
      pubsub: localPubSub(),
      actions: makeActions(neverRun),
      limits: { leaseMs: config.leaseMs },
    })
    return { unknown }
  } finally {
    await connection.close()
  }
}

function neverRun(): never {
  throw new Error('The after-restore command runs no platform actions.')
}

async function main(): Promise<void> {
  const { unknown } = await afterRestore(loadConfig())
  process.stdout.write(
    `The event log has a new incarnation. ${unknown} calls that ran or were next are UNKNOWN: find out their outcomes. ` +
      'Start the servers again.\n',
  )
}

if (process.argv[1]?.match(/after-restore\.(js|ts)$/))
  main().catch((error: unknown) => {
    process.stderr.write(`${startFault(error)}\n`)
    process.exit(1)
  })
