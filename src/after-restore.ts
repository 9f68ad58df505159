/** The command to run once after a restore from a backup, before any server starts on it. Stop all servers first. */
import { makeActions } from './api/graphql/actions.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { endAllLeases, settleInterruptedCalls } from './domain/generations/index.ts'
import { addressOf } from './paths.ts'
import { connect } from './store/db/connect.ts'
import { atomically } from './store/db/database.ts'
import { migrate } from './store/db/migrate.ts'
import { localPubSub } from './store/events/pubsub.ts'
import { beginIncarnation } from './store/events/incarnation.ts'

/**
 * Begins another incarnation of the log, so that clients of the lost future are told so; ends every lease; and makes calls
 * that were under way, and must not be repeated, UNKNOWN. Answers how many. A repetition does no harm.
 */
export async function afterRestore(config: Config): Promise<{ unknown: number }> {
  const connection = await connect(addressOf(config))
  try {
    await migrate(connection)
    const { db, leaseDb } = connection
    await atomically(db, async (tx) => {
      await beginIncarnation(tx)
      await endAllLeases(tx)
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
  throw new Error('Nothing runs after a restore until a server starts.')
}

async function main(): Promise<void> {
  const { unknown } = await afterRestore(loadConfig())
  process.stdout.write(
    `The log has begun anew behind the backup. ${unknown} calls that were under way are UNKNOWN: see what became of them. ` +
      'Start the servers as before.\n',
  )
}

if (process.argv[1]?.match(/after-restore\.(js|ts)$/))
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`)
    process.exit(1)
  })
